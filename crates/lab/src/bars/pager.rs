//! Random events against the pager in a simulated world that checks it: no lost write, no frame with two owners, no
//! leak.

use super::Failure;
use crate::row::Row;
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
