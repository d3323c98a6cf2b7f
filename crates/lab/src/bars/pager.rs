//! Random events against the pager in a simulated world that checks it: no lost write, no frame with two owners, no
//! leak. And the instructions that it takes.

use super::{callgrind, the_command, Failure};
use crate::input::write_input;
use crate::row::Row;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs an example of the pager, which prints one JSON object. It is a separate process because the simulated worlds
/// are a test-only feature of the pager.
fn example(name: &str, arguments: &[&str]) -> Result<serde_json::Value, Failure> {
    let run = Command::new("cargo")
        .args([
            "run",
            "--quiet",
            "--release",
            "-p",
            "tombolo-pager",
            "--features",
            "testing",
        ])
        .args(["--example", name, "--"])
        .args(arguments)
        .current_dir(simcard::home())
        .output()?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into());
    }
    Ok(serde_json::from_slice(&run.stdout)?)
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let result = example("pager-random", &["--events", "1000000", "--seed", "1"])?;
    let events = result["random_events"].as_f64().ok_or("no figure")?;
    Ok(vec![Row::new("pager.random_events", events, "events")])
}

/// Every interleaving of small worlds; any violated rule is a failure.
pub fn exhaustive() -> Result<Vec<Row>, Failure> {
    let result = example("pager-explore", &[])?;
    let figure = |name: &str| result[name].as_f64().ok_or("no figure");
    let share = figure("pairs_seen")? / figure("pairs")?;
    let moves = figure("moves_seen")? / figure("moves")?;
    Ok(vec![
        Row::new("pager.exhaustive_pairs", share, "share"),
        Row::new("pager.exhaustive_moves", moves, "share"),
        Row::new(
            "pager.exhaustive_interleavings",
            figure("states")?,
            "states",
        ),
        Row::new("pager.exhaustive_steps", figure("steps")?, "steps"),
        Row::new("pager.exhaustive_violations", figure("violations")?, ""),
    ])
}

/// Bytes copied in pages of 4 KiB.
const COPIED: u64 = 4 << 20;

/// Instructions of the pager for a page of 4 KiB, from its fault, or its request ahead, to its end: a copy on the
/// functional card, in which half of the pages are read and half are written.
pub fn instructions() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    write_input(&at("in"), COPIED)?;
    let mut copy = Command::new(the_command()?);
    copy.args(["run", "copy", "--functional", "--set=bytes=size(input)"])
        .arg(format!("--map=input={}:page=4KiB", at("in").display()))
        .arg(format!(
            "--map=output={}:new:page=4KiB",
            at("out").display()
        ))
        .arg(format!("--json={}", at("report").display()))
        .current_dir(simcard::home());
    let said = callgrind::run(&copy, "*Pager*handle*", &[], Path::new("/dev/null"))?;
    if fs::read(at("in"))? != fs::read(at("out"))? {
        return Err("the copy is another one".into());
    }
    let report: serde_json::Value = serde_json::from_slice(&fs::read(at("report"))?)?;
    let pages = |name: &str| {
        let count = report["paging"][name].as_f64();
        count.ok_or_else(|| format!("the report has no {name}"))
    };
    let came = pages("pages_read")? + pages("pages_zeroed")?;
    Ok(vec![Row::new(
        "pager.instructions_per_fault",
        callgrind::count(&said)? / came,
        "",
    )])
}
