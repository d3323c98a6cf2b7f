//! Instruction counts by callgrind.

use super::Failure;
use std::path::Path;
use std::process::Command;

/// Runs a command under callgrind, which counts while a function runs, and writes `file`. `function` is a pattern of its
/// name. Returns what callgrind said.
///
/// # Errors
/// valgrind is missing, or the command failed.
pub(super) fn run(
    command: &Command,
    function: &str,
    options: &[&str],
    file: &Path,
) -> Result<String, Failure> {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .arg("--tool=callgrind")
        .arg(format!("--toggle-collect={function}"))
        .args(options)
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => valgrind.env(name, value),
            None => valgrind.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        valgrind.current_dir(folder);
    }
    let counted = valgrind
        .output()
        .map_err(|error| format!("valgrind: {error} (apt-get install valgrind)"))?;
    let said = String::from_utf8_lossy(&counted.stderr);
    match counted.status.success() {
        true => Ok(said.into()),
        false => Err(format!("callgrind ended with an error: {said}").into()),
    }
}

/// The instructions that callgrind counted.
///
/// # Errors
/// It counted none: no function has the name.
pub(super) fn count(said: &str) -> Result<f64, Failure> {
    let found = said
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, count)| count.trim().parse::<f64>().ok())
        .filter(|count| *count > 0.0);
    Ok(found.ok_or_else(|| format!("callgrind counted nothing: {said}"))?)
}
