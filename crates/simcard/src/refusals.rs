//! Calls in a kernel's RTL that a run refuses: those that write files of the host. They are found in the text, so that
//! `kernel check` reports them beforehand; a call that a macro definition excludes is reported, too.

use card::kernel::KernelPackage;
use std::fmt;
use std::path::Path;
use verilated::BuildError;

/// A call that a run refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// File, relative to the kernel's folder, and line.
    pub place: String,
    /// Name of the system task.
    pub call: &'static str,
    /// Effect that is refused.
    pub what: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.place, self.call, self.what)
    }
}

const WRITES: &str = "writes a file of the host";

/// Calls that are refused for any arguments.
const ALWAYS: [(&str, &str); 5] = [
    ("$writememh", WRITES),
    ("$writememb", WRITES),
    ("$dumpfile", "writes waveforms; `tombolo run --waves` does"),
    ("$dumpvars", "writes waveforms; `tombolo run --waves` does"),
    ("$system", "runs a program of the host"),
];

/// All such calls in a kernel's RTL, in file order.
///
/// # Errors
/// A file that cannot be read.
pub fn refusals(kernel: &KernelPackage) -> Result<Vec<Refusal>, BuildError> {
    let mut found = Vec::new();
    for path in kernel.sources() {
        let text = std::fs::read(&path).map_err(BuildError::io(&path))?;
        let file = path.strip_prefix(&kernel.directory).unwrap_or(&path);
        find(file, &String::from_utf8_lossy(&text), &mut found);
    }
    Ok(found)
}

fn find(file: &Path, text: &str, found: &mut Vec<Refusal>) {
    let code = without_comments(text);
    let mut rest = 0;
    while let Some(at) = code[rest..].find('$').map(|at| rest + at) {
        let name_ends = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let after = at + 1;
        let end = code[after..]
            .find(name_ends)
            .map_or(code.len(), |n| after + n);
        let refused = match &code[at..end] {
            "$fopen" => writes(&code[end..]).then_some(("$fopen", WRITES)),
            name => ALWAYS.into_iter().find(|(call, _)| *call == name),
        };
        if let Some((call, what)) = refused {
            let line = code[..at].matches('\n').count() + 1;
            found.push(Refusal {
                place: format!("{}:{line}", file.display()),
                call,
                what,
            });
        }
        rest = end;
    }
}

/// Whether the arguments after `$fopen` open a file for more than reading: no mode, or a literal mode that permits
/// writing. A mode in a variable is checked during the run.
fn writes(arguments: &str) -> bool {
    let Some(arguments) = arguments.trim_start().strip_prefix('(') else {
        return false;
    };
    let (mut depth, mut quoted, mut escaped, mut comma) = (0_u32, false, false, None);
    let mut end = arguments.len();
    for (at, c) in arguments.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '{' | '[' => depth += 1,
            ')' if depth == 0 => {
                end = at;
                break;
            }
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 && comma.is_none() => comma = Some(at + 1),
            _ => {}
        }
    }
    let Some(comma) = comma else { return true };
    let mode = arguments[comma..end].trim();
    match mode
        .strip_prefix('"')
        .and_then(|mode| mode.strip_suffix('"'))
    {
        Some(mode) => !mode.starts_with('r') || mode.contains('+'),
        None => false,
    }
}

/// The text with comments replaced by blanks, so that positions are unchanged.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = characters.next() {
        match (c, characters.peek()) {
            ('\\', Some(_)) if quoted => {
                code.push(c);
                code.extend(characters.next());
            }
            // A string ends with its line.
            ('"', _) | ('\n', _) => {
                quoted = c == '"' && !quoted;
                code.push(c);
            }
            ('/', Some('/')) if !quoted => {
                while characters.peek().is_some_and(|&c| c != '\n') {
                    characters.next();
                }
            }
            ('/', Some('*')) if !quoted => {
                characters.next();
                let mut before = ' ';
                for c in characters.by_ref() {
                    if c == '\n' {
                        code.push(c);
                    }
                    if (before, c) == ('*', '/') {
                        break;
                    }
                    before = c;
                }
                code.push(' ');
            }
            _ => code.push(c),
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        find(Path::new("a.sv"), text, &mut found);
        found
            .into_iter()
            .map(|refusal| format!("{} {}", refusal.place, refusal.call))
            .collect()
    }

    #[test]
    fn files_that_are_written_are_told_from_those_that_are_read() {
        for written in [
            "f = $fopen(\"out.txt\", \"w\");",
            "f = $fopen ( {name, \",r)\"} , \"a\" );",
            "f = $fopen(\"in.txt\", \"r+\");",
            "f = $fopen(names[index(1, 2)]);",
            "f = $fopen(\"a\\\"b\", \"wb\");",
        ] {
            assert_eq!(places(written), ["a.sv:1 $fopen"], "{written}");
        }
        for read in [
            "f = $fopen(\"in.txt\", \"r\");",
            "f = $fopen(\"in(.txt\", \"rb\");",
            "f = $fopen(name, mode);",
            "// f = $fopen(\"out.txt\", \"w\");",
            "/* $writememh(\"a\", b); */ $readmemh(\"a\", b);",
            "$display(\"// no comment\"); $fopen_of_mine(1); // $system(\"ls\")",
            "$fclose(f); $fopen",
        ] {
            assert_eq!(places(read), [""; 0], "{read}");
        }
    }

    #[test]
    fn a_call_is_named_by_its_line() {
        let text =
            "a\n/* two\nlines */ \"//\" $writememb(x, y);\n// three\n$dumpvars; $system(\"x\");\n";
        assert_eq!(
            places(text),
            ["a.sv:3 $writememb", "a.sv:5 $dumpvars", "a.sv:5 $system"]
        );
    }
}
