//! Formal proofs of RTL blocks: every property is proved, and every mutant refuted.

use super::Failure;
use crate::row::Row;
use crate::tools;
use std::collections::BTreeMap;
use std::process::Command;

/// Result of a proof, from `tools/formal --json`.
#[derive(serde::Deserialize)]
struct Proof {
    /// `None` if the tools could not decide.
    proved: Option<bool>,
    depth: Option<u32>,
    mutants: u32,
    survived: u32,
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    let folder = home.join("build/formal");
    std::fs::create_dir_all(&folder)?;
    let report = folder.join("results.json");
    if report.exists() {
        std::fs::remove_file(&report)?;
    }
    // The command fails if a proof fails; its report identifies the proof.
    Command::new(tools::python(&home))
        .arg(home.join("tools/formal"))
        .args(["--mutants", "--json"])
        .arg(&report)
        .status()?;
    let proofs: BTreeMap<String, Proof> = serde_json::from_slice(&std::fs::read(&report)?)?;
    let mut rows = Vec::new();
    for (name, proof) in &proofs {
        let proved = proof.proved == Some(true);
        rows.push(Row::holds(&format!("formal.{name}.proved"), proved));
        let depth = f64::from(proof.depth.unwrap_or(0));
        let name = format!("formal.{name}.depth");
        rows.push(Row::new(&name, depth, "frames"));
    }
    let refuted: u32 = proofs.values().map(|p| p.mutants - p.survived).sum();
    let survived: u32 = proofs.values().map(|p| p.survived).sum();
    rows.push(Row::new("formal.mutants_refuted", refuted.into(), ""));
    rows.push(Row::new("formal.mutants_survived", survived.into(), ""));
    Ok(rows)
}
