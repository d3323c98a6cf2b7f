//! The house: is each thing in one room?

use super::Failure;
use crate::row::{Row, Target};
use std::collections::BTreeSet;
use std::process::Command;

/// Rooms (a crate, or a folder of RTL, kernels, tools) with a file that tells Verilator to write C++.
pub fn builders() -> Result<Vec<Row>, Failure> {
    // In two parts, or this file would be one of them.
    let option = ["\"--", "cc\""].concat();
    let output = Command::new("git")
        .args(["grep", "--files-with-matches", "--untracked", "-e", &option])
        .args(["--", "*.rs", "*.py", "tools"])
        .current_dir(simcard::home())
        .output()?;
    let files = String::from_utf8(output.stdout)?;
    let rooms: BTreeSet<Vec<&str>> = files
        .lines()
        .map(|file| file.split('/').take(2).collect())
        .collect();
    let found = rooms.len() as f64;
    Ok(vec![Row::new(
        "house.builders",
        found,
        "rooms",
        Target::Exactly(1.0),
    )])
}
