//! Single-point mutants of the RTL: each must be detected by a test of its block.

use super::Failure;
use crate::row::Row;
use crate::tools;
use std::process::Command;

/// Output of `tools/mutants --json`.
#[derive(serde::Deserialize)]
struct MutantReport {
    mutants: u32,
    survivors: Vec<String>,
    minutes: f64,
}

/// `rtl.mutants`: number of surviving mutants.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    let folder = home.join("build/mutants");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("results.json");
    if file.exists() {
        std::fs::remove_file(&file)?;
    }
    // The command fails if a mutant survives; its report identifies it.
    Command::new(tools::python(&home))
        .arg(home.join("tools/mutants"))
        .arg("--json")
        .arg(&file)
        .status()?;
    let text = std::fs::read(&file)
        .map_err(|error| format!("tools/mutants gave up: {}: {error}", file.display()))?;
    let report: MutantReport = serde_json::from_slice(&text)?;
    let survivors = report.survivors.len() as f64;
    let count = report.mutants.into();
    Ok(vec![
        Row::new("rtl.mutants", survivors, ""),
        Row::new("rtl.mutants_count", count, ""),
        Row::new("rtl.mutants_minutes", report.minutes, "min"),
    ])
}
