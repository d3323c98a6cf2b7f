//! Counts lines and branches of sources, as in table 4: by words of the text, like the paper's tool.

use std::collections::BTreeMap;
use std::path::Path;

/// Counts over one or several files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Complexity {
    /// Lines that contain code, not only blanks and comments.
    pub lines: u32,
    /// Number of branching words.
    pub branches: u32,
}

/// Branching words of a language.
struct Branching {
    words: &'static [&'static str],
    signs: &'static [&'static str],
}

/// SystemVerilog and C++.
const OTHERS: Branching = Branching {
    words: &["if", "for", "while", "case", "catch"],
    signs: &["&&", "||", "?"],
};
/// Rust. `?` is excluded: it only propagates an error, and occurs at every call.
const RUST: Branching = Branching {
    words: &["if", "else", "for", "while", "loop", "match"],
    signs: &["&&", "||"],
};

impl Complexity {
    /// Counts over these files.
    ///
    /// Ports that a macro of `kernels/lib/tmb_ports.svh` declares or connects count as if they were written out, as the
    /// paper's are.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn of(files: &[&Path]) -> std::io::Result<Self> {
        let mut sum = Self::default();
        let ports = Ports::read(&simcard::home().join("kernels/lib/tmb_ports.svh"))?;
        for file in files {
            let language = match file.extension().is_some_and(|extension| extension == "rs") {
                true => &RUST,
                false => &OTHERS,
            };
            sum.add(
                &ports.written_out(&std::fs::read_to_string(file)?),
                language,
            );
        }
        Ok(sum)
    }

    fn add(&mut self, text: &str, language: &Branching) {
        let mut in_comment = false;
        for line in text.lines() {
            let mut code = String::new();
            let mut rest = line;
            while !rest.is_empty() {
                if in_comment {
                    match rest.find("*/") {
                        Some(end) => rest = &rest[end + 2..],
                        None => break,
                    }
                    in_comment = false;
                    continue;
                }
                let one_line = rest.find("//").unwrap_or(rest.len());
                let many = rest.find("/*").unwrap_or(rest.len());
                code.push_str(&rest[..one_line.min(many)]);
                if one_line <= many {
                    break;
                }
                in_comment = true;
                rest = &rest[many + 2..];
            }
            if code.trim().is_empty() {
                continue;
            }
            self.lines += 1;
            let words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let of_words = words.filter(|word| language.words.contains(word)).count();
            let signs = language.signs.iter();
            let of_signs: usize = signs.map(|sign| code.matches(sign).count()).sum();
            self.branches += (of_words + of_signs) as u32;
        }
    }
}

/// Macros of ports: the lines of each.
struct Ports(BTreeMap<String, Vec<String>>);

impl Ports {
    fn read(file: &Path) -> std::io::Result<Self> {
        Ok(Self::of(&std::fs::read_to_string(file)?))
    }

    fn of(text: &str) -> Self {
        let mut macros: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut name: Option<&str> = None;
        for line in text.lines() {
            let (body, goes_on) = match line.trim_end().strip_suffix('\\') {
                Some(body) => (body.trim(), true),
                None => (line.trim(), false),
            };
            if let Some(definition) = body.strip_prefix("`define ") {
                name = definition.split(['(', ' ']).next();
            } else if let Some(name) = name {
                let lines = macros.entry(name.to_owned()).or_default();
                lines.push(body.to_owned());
            }
            if !goes_on {
                name = None;
            }
        }
        Self(macros)
    }

    /// The text with macros replaced by their lines; the file that has them is not included.
    fn written_out(&self, text: &str) -> String {
        let mut lines: Vec<String> = Vec::new();
        for line in text.lines() {
            let used = line.trim().strip_prefix('`');
            let name = used.and_then(|used| used.split(['(', ',', ' ']).next());
            match name.and_then(|name| self.0.get(name)) {
                Some(body) => lines.push(self.written_out(&body.join("\n"))),
                None if line.starts_with("`include") => {}
                None => lines.push(line.to_owned()),
            }
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blanks_do_not_count() {
        let mut found = Complexity::default();
        found.add(
            "// if\n\n/* if\n if */ a = b; // && \nif (a && b) x = c ? d : e;\nendif_q <= 1;\n",
            &OTHERS,
        );
        let wanted = Complexity {
            lines: 3,
            branches: 3,
        };
        assert_eq!(found, wanted);
        let mut found = Complexity::default();
        found.add(
            "/// match\nlet a = match b()? {\n  c if c && d => e(),\n}\nlet Some(f) = a else {\n",
            &RUST,
        );
        assert_eq!((found.lines, found.branches), (4, 4));
    }

    #[test]
    fn ports_of_a_macro_count_as_written_out() {
        let ports = Ports::of(
            "`define P                 \\\n  input a,  \\\n  /* off */ \\\n  `Q(b)\n\n`define Q(x) \\\n  output x\n",
        );
        let text = ports.written_out("`include \"p.svh\"\nmodule m (\n  `P,\n  `Q(c)\n);\n");
        let mut found = Complexity::default();
        found.add(&text, &OTHERS);
        assert_eq!(found.lines, 5, "{text}");
    }
}
