//! Resource usage of the functional card on its host.

use super::{the_command, Failure};
use crate::input::write_input;
use crate::processor;
use crate::row::Row;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

pub const NAMES: &[&str] = &[
    "functional.copy_over_cp",
    "functional.copy_s",
    "functional.rss_per_mapped_byte",
];

const FILE_BYTES: u64 = 64 << 20;
const LARGE_BYTES: u64 = 1 << 30;
const ROUNDS: usize = 5;

/// Minimum processor time of a command over several rounds, to exclude other load.
fn least(make: impl Fn() -> Command) -> Result<Duration, Failure> {
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        let before = processor::of_children();
        let ended = make().stdout(Stdio::null()).output()?;
        if !ended.status.success() {
            return Err(String::from_utf8_lossy(&ended.stderr).into());
        }
        least = least.min(processor::of_children() - before);
    }
    Ok(least)
}

/// Runs a command and returns its peak memory in bytes.
fn most_memory(mut command: Command) -> Result<f64, Failure> {
    let mut child = command.stdout(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0.0;
    let ended = loop {
        // The value only grows, so the last one before the end is the peak.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let words = line.and_then(|line| line.split_whitespace().next());
        let kibibytes = words.and_then(|word| word.parse::<f64>().ok());
        most = kibibytes.map_or(most, |kibibytes| kibibytes * 1024.0);
        match child.try_wait()? {
            Some(ended) => break ended,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    match ended.success() {
        true => Ok(most),
        false => Err(format!("the copy failed: {ended}").into()),
    }
}

/// Writes an incompressible file larger than the processor's caches, by repeating one block with a running number.
fn write_large(path: &Path, bytes: u64) -> Result<(), Failure> {
    const PART: u64 = 1 << 20;
    write_input(path, PART)?;
    let mut part = fs::read(path)?;
    let mut file = fs::File::create(path)?;
    for number in 0..bytes / PART {
        part[..8].copy_from_slice(&number.to_le_bytes());
        file.write_all(&part)?;
    }
    Ok(())
}

fn equal(one: &Path, other: &Path) -> Result<(), Failure> {
    match Command::new("cmp").arg(one).arg(other).status()?.success() {
        true => Ok(()),
        false => Err("the copy is another one".into()),
    }
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let command = the_command()?;
    let copy = |from: &str, to: &str| {
        let mut run = Command::new(&command);
        run.args(["run", "copy", "--functional"])
            .arg(format!("--map=input={}", at(from).display()))
            .arg(format!("--map=output={}:new", at(to).display()))
            .arg("--set=bytes=size(input)")
            .current_dir(simcard::home());
        run
    };
    write_large(&at("in"), FILE_BYTES)?;
    let ours = least(|| copy("in", "out"))?;
    equal(&at("in"), &at("out"))?;
    let theirs = least(|| {
        let mut cp = Command::new("cp");
        // Copy the data instead of sharing extents.
        cp.arg("--reflink=never").args([at("in"), at("cp")]);
        cp
    })?;
    write_large(&at("large"), LARGE_BYTES)?;
    let memory = most_memory(copy("large", "out"))?;
    equal(&at("large"), &at("out"))?;
    let seconds = ours.as_secs_f64();
    Ok(vec![
        Row::new(
            "functional.copy_over_cp",
            theirs.as_secs_f64() / seconds,
            "ratio",
        ),
        Row::new("functional.copy_s", seconds, "s"),
        Row::new(
            "functional.rss_per_mapped_byte",
            memory / (2 * LARGE_BYTES) as f64,
            "bytes",
        ),
    ])
}
