//! Time to first use: from a wheel on disk to a file that a kernel has encrypted.

use super::languages::{home, run};
use super::Failure;
use crate::row::Row;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Interpreters to test the wheel with, as far as they are on the PATH.
const PYTHONS: [&str; 5] = [
    "python3.10",
    "python3.11",
    "python3.12",
    "python3.13",
    "python3.14",
];

/// Bytes per megabyte, as package indexes count.
const MEGABYTE: f64 = 1e6;

/// Tests the wheel that `tools/release` builds from this tree, in empty environments without a compiler.
pub fn measure() -> Result<Vec<Row>, Failure> {
    run(Command::new("tools/release").current_dir(home()))?;
    let mut wheels = std::fs::read_dir(home().join("target/release-wheel"))?.flatten();
    let wheel = wheels.next().ok_or("no wheel")?.path();
    let bytes = std::fs::metadata(&wheel)?.len();
    let tried: Vec<&str> = PYTHONS
        .into_iter()
        .filter(|name| on_path(name).is_some())
        .collect();
    let said = run(Command::new("tools/try-wheel")
        .args(&tried)
        .env("TOMBOLO_WHEEL", &wheel)
        .current_dir(home()))?;
    let said = String::from_utf8(said.stdout)?;
    let seconds: Vec<f64> = said.lines().filter_map(seconds).collect();
    if seconds.len() != tried.len() {
        return Err(format!(
            "{} interpreters were tried, and this said: {said}",
            tried.len()
        )
        .into());
    }
    let slowest = seconds.iter().copied().fold(0.0, f64::max);
    let row = Row::new;
    Ok(vec![
        row("first.wheel_seconds", slowest, "s"),
        row("first.wheel_megabytes", bytes as f64 / MEGABYTE, "MB"),
        row("first.wheel_pythons", tried.len() as f64, ""),
    ])
}

/// Size of the downloads of `tools/setup --to-run` on a machine that has a compiler and Rust.
pub fn to_run() -> Result<Vec<Row>, Failure> {
    let cache = TempDir::new()?;
    run(Command::new("tools/setup")
        .arg("--to-run")
        .env("TOMBOLO_CACHE", cache.path())
        .current_dir(home()))?;
    Ok(vec![Row::new(
        "first.to_run_megabytes",
        bytes_below(cache.path())? as f64 / MEGABYTE,
        "MB",
    )])
}

/// Total size in bytes of all files below a folder.
fn bytes_below(folder: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        bytes += match found.is_dir() {
            true => bytes_below(&entry.path())?,
            false => found.len(),
        };
    }
    Ok(bytes)
}

/// Looks up a program on the PATH.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// Seconds to the encrypted file, from a line of `tools/try-wheel`.
fn seconds(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once("file as openssl's after ")?;
    rest.strip_suffix(" s")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_time_of_a_line_counts() {
        let line = "Python 3.10.8: right; installed after 3.1 s, demo after 3.5 s, file as openssl's after 4.2 s";
        assert_eq!(seconds(line), Some(4.2));
        assert_eq!(seconds("Python 3.10.8: right"), None);
    }
}
