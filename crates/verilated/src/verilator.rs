//! Running Verilator.

use crate::design::{inline_code, Design};
use crate::error::BuildError;
use crate::sandbox::Sandbox;
use crate::toolchain::Toolchain;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Adds the files of a design, its macros and parameters. A file for which `instead` has a replacement is omitted.
pub(crate) fn add_sources(
    command: &mut Command,
    design: &Design,
    instead: &dyn Fn(&Path) -> Option<PathBuf>,
) {
    // With one file set, run in its folder, so that messages name files as the author does.
    let relative = design.file_sets.len() == 1;
    if let (true, Some(set)) = (relative, design.file_sets.first()) {
        command.current_dir(&set.base);
    }
    command.args(design.defines.iter().map(|name| format!("-D{name}")));
    let parameters = design.parameters.iter();
    command.args(parameters.map(|(name, value)| format!("-G{name}={value}")));
    for set in &design.file_sets {
        let place = |path: &PathBuf| match relative {
            true if path.as_os_str().is_empty() => PathBuf::from("."),
            true => path.clone(),
            false => set.base.join(path),
        };
        for include in &set.include {
            command.arg(format!("-I{}", place(include).display()));
        }
        let files = set.files.iter();
        command.args(files.map(|file| instead(file).unwrap_or_else(|| place(file))));
    }
}

/// Adds the SystemVerilog generated for this build, written into `folder`.
pub(crate) fn add_generated(
    command: &mut Command,
    design: &Design,
    folder: &Path,
) -> Result<(), BuildError> {
    if let Some(text) = &design.generated {
        let path = folder.join(format!("{}.sv", design.top));
        std::fs::write(&path, text).map_err(BuildError::io(&path))?;
        command.arg(path);
    }
    Ok(())
}

/// Runs Verilator; retries with another option if it ends with an internal error.
pub(crate) fn run(
    design: &Design,
    mut command: Command,
    sandbox: &Sandbox,
) -> Result<(), BuildError> {
    let mut workarounds = vec![NO_DEDUP, NO_EXPAND_LIMIT];
    let mut verilog = design.has_verilog();
    // Output of the run that rejected the files as SystemVerilog.
    let mut refused: Option<Output> = None;
    let output = loop {
        let output = sandbox.output(command.stdout(Stdio::null()))?;
        let Some(next) = next_workaround(&output, &mut workarounds) else {
            // Names of Verilog-2005 may be keywords of SystemVerilog, which many write into `.v` files, too.
            if verilog && !output.status.success() {
                verilog = false;
                refused = Some(output);
                command.arg(VERILOG_2005);
                continue;
            }
            break match output.status.success() {
                true => output,
                false => refused.unwrap_or(output),
            };
        };
        tracing::debug!(
            design = design.name,
            ?next,
            "Verilator failed by itself; again"
        );
        command.args(next);
    };
    let mut said = String::from_utf8_lossy(&output.stderr).into_owned();
    // `$error` and `$fatal` of the RTL at elaboration, which are warnings to Verilator.
    let mut is_refused = !output.status.success();
    for check in ["USERERROR", "USERFATAL"] {
        let warning = format!("%Warning-{check}");
        is_refused |= said.contains(&warning);
        said = said.replace(&warning, &format!("%Error-{check}"));
    }
    if is_refused {
        return Err(BuildError::Rtl {
            design: design.name.clone(),
            messages: errors_of(&said),
        });
    }
    if !said.trim().is_empty() {
        tracing::debug!(design = design.name, "{}", said.trim());
    }
    Ok(())
}

/// Rejects inline C++ in what the preprocessor makes of the sources: in included files, and put together by macros.
pub(crate) fn refuse_inline_code(
    tools: &Toolchain,
    design: &Design,
    folder: &Path,
    sandbox: &Sandbox,
) -> Result<(), BuildError> {
    let mut command = tools.verilator();
    command.args(["-E", "-Wno-lint", "-Wno-style", "-Wno-fatal"]);
    add_sources(&mut command, design, &|_| None);
    let path = folder.join("preprocessed");
    let file = File::create(&path).map_err(BuildError::io(&path))?;
    let output = sandbox.output(command.stdout(file))?;
    if !output.status.success() {
        return Err(BuildError::Rtl {
            design: design.name.clone(),
            messages: errors_of(&String::from_utf8_lossy(&output.stderr)),
        });
    }
    let text = std::fs::read(&path).map_err(BuildError::io(&path))?;
    let text = String::from_utf8_lossy(&text);
    match inline_code(&text, is_call) {
        None => Ok(()),
        Some((at, construct)) => Err(BuildError::Refused {
            design: design.name.clone(),
            place: place_in(&text, at),
            construct,
        }),
    }
}

/// In preprocessed text: whether the name ends at `rest`, whatever follows it.
fn is_call(before: &str, rest: &str) -> bool {
    // An escaped identifier, which ends at a blank, may contain anything.
    let word = before.rsplit(char::is_whitespace).next();
    !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$')
        && !word.is_some_and(|word| word.starts_with('\\'))
}

/// File and line of a position in preprocessed text, from the last directive `` `line `` above it.
fn place_in(text: &str, at: usize) -> String {
    let above = &text[..at];
    let Some((_, since)) = above.rsplit_once("`line ") else {
        return "its RTL".to_owned();
    };
    let mut words = since.split_whitespace();
    let first = words.next().and_then(|line| line.parse::<usize>().ok());
    let file = words.next().unwrap_or_default().trim_matches('"');
    let lines = since.matches('\n').count().saturating_sub(1);
    format!("{file}:{}", first.unwrap_or(1) + lines)
}

/// Files `.v` are Verilog-2005.
const VERILOG_2005: &str = "+1364-2005ext+v";

/// Verilator 5.48 fails on some queues with constant inputs when it looks for equal gates.
const NO_DEDUP: &[&str] = &["-fno-dedup"];

/// And on some correct RTL with the limit that models have; this is its default, and the last one counts.
const NO_EXPAND_LIMIT: &[&str] = &["--expand-limit", "64"];

/// The workaround to try next when Verilator ended with an internal error; removed from `left`.
fn next_workaround(
    output: &Output,
    left: &mut Vec<&'static [&'static str]>,
) -> Option<&'static [&'static str]> {
    let said = String::from_utf8_lossy(&output.stderr);
    // Without a status, a signal ended it.
    let by_itself = output.status.code().is_none() || said.contains("Internal Error");
    if output.status.success() || !by_itself || left.is_empty() {
        return None;
    }
    let likely = match said.contains("V3Gate.cpp") {
        true => NO_DEDUP,
        false => NO_EXPAND_LIMIT,
    };
    let at = left.iter().position(|flags| *flags == likely).unwrap_or(0);
    Some(left.remove(at))
}

/// Verilator's errors with the lines that show their position, without warnings and advice.
fn errors_of(said: &str) -> String {
    let mut kept = Vec::new();
    let mut keeping = false;
    for line in said.lines() {
        if line.starts_with('%') {
            keeping = line.starts_with("%Error") && !line.contains("Exiting due to");
        }
        if keeping && !line.contains("... See the manual") && !line.contains("... For ") {
            kept.push(line);
        }
        if kept.len() == 40 {
            kept.push("(and more)");
            break;
        }
    }
    if kept.is_empty() {
        return said.lines().rev().take(20).collect::<Vec<_>>().join("\n");
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_code_is_found_after_the_preprocessor() {
        let found = |code: &str| {
            let text = format!("`line 1 \"a.sv\" 1\n\n`line 7 \"b.svh\" 0\nmodule\n{code}\n");
            inline_code(&text, is_call).map(|(at, _)| place_in(&text, at))
        };
        for code in [
            "x = $c(\"1\");",
            "$display(\"//\"); x = $c32\n(\"1\");",
            "#'h A$cpure(\"1\");",
            "`systemc_header",
        ] {
            assert_eq!(found(code).as_deref(), Some("b.svh:8"), "{code}");
        }
        for code in [
            "x = $clog2(8) + $ceil(2.0) + $countones(y);",
            "assign \\bus$c[1] = y;",
        ] {
            assert_eq!(found(code), None, "{code}");
        }
    }

    #[test]
    fn errors_are_told_from_warnings() {
        let said = "%Warning-WIDTH: a.sv:1:1: narrow\n    1 | x\n\
                    %Error: a.sv:4:74: Can't find definition of variable: 'q'\n    4 |  q\n      |  ^\n\
                    \x20       ... See the manual at https://…\n%Error: Exiting due to 1 error(s)\n";
        let kept = errors_of(said);
        assert!(kept.starts_with("%Error: a.sv:4:74"), "{kept}");
        assert_eq!(kept.lines().count(), 3);
    }
}
