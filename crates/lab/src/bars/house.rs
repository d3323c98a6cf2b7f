//! Structure of the source tree: each responsibility in one place.

use super::Failure;
use crate::row::Row;
use crate::tools;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Rooms (a crate, or a folder of RTL, kernels or tools) with a file that makes Verilator generate C++.
pub fn builders() -> Result<Vec<Row>, Failure> {
    // Written in two parts, so that this file does not count itself.
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
    Ok(vec![Row::new("house.builders", found, "rooms")])
}

/// Figures of `tools/house`: name and unit.
const FIGURES: [(&str, &str); 13] = [
    ("house.circle_rooms", "rooms"),
    ("house.owner_fields", "fields"),
    ("house.owner_borrows", "places"),
    ("house.impl_files", "files"),
    ("house.card_methods", "methods"),
    ("house.scalar_tuples", "functions"),
    ("house.names_twice", "names"),
    ("house.mapping_shapes", "shapes"),
    ("house.longest_rtl", "lines"),
    ("house.loose_parameters", "of a module"),
    ("house.port_comments", "of ports"),
    ("house.counter_files", "files"),
    ("house.code_lines", "lines"),
];

/// Figures of `tools/words`: banned phrases.
const WORDS: [(&str, &str); 2] = [
    ("words.banned", "places"),
    ("words.banned_comments", "places"),
];

/// Sizes of rooms and dependencies between them.
pub fn figures() -> Result<Vec<Row>, Failure> {
    counted("tools/house", &FIGURES)
}

/// Banned phrases in documentation pages, and in comments and help texts.
pub fn words() -> Result<Vec<Row>, Failure> {
    counted("tools/words", &WORDS)
}

/// One row for each figure that a script prints as JSON.
fn counted(script: &str, figures: &[(&str, &str)]) -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    let output = Command::new(tools::python(&home))
        .arg(home.join(script))
        .arg("--json")
        .output()?;
    let counted: BTreeMap<String, f64> = serde_json::from_slice(&output.stdout)?;
    figures
        .iter()
        .map(|&(name, unit)| {
            let value = counted.get(name).ok_or(format!("no figure {name}"))?;
            Ok(Row::new(name, *value, unit))
        })
        .collect()
}
