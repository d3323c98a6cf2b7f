//! Counts lines and branches of sources, as in table 4: by words of the text, like the paper's tool.

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
    /// A file cannot be read.
    /// One cannot be read.
    pub fn of(files: &[&Path]) -> std::io::Result<Self> {
        let mut sum = Self::default();
        for file in files {
            let language = match file.extension().is_some_and(|extension| extension == "rs") {
                true => &RUST,
                false => &OTHERS,
            };
            sum.add(&std::fs::read_to_string(file)?, language);
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
}
