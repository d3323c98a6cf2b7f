//! Random events against the pager in a simulated world, which judges it: no lost write, no frame
//! owned twice, no leak.

use super::Failure;
use crate::row::{Row, Target};
use std::process::Command;

pub fn measure() -> Result<Vec<Row>, Failure> {
    // A process of its own: the simulated world is a test-only feature of the pager.
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
        .args([
            "--example",
            "pager-random",
            "--",
            "--events",
            "1000000",
            "--seed",
            "1",
        ])
        .current_dir(card::sim::home())
        .output()?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into());
    }
    let result: serde_json::Value = serde_json::from_slice(&run.stdout)?;
    let events = result["random_events"].as_f64().ok_or("no figure")?;
    Ok(vec![Row::new(
        "pager.random_events",
        events,
        "events",
        Target::AtLeast(1e6),
    )])
}
