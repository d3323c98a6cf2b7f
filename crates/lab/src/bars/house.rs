//! Structure of the source tree: each responsibility in one place.

use super::Failure;
use crate::row::{Row, Target};
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
    Ok(vec![Row::new(
        "house.builders",
        found,
        "rooms",
        Target::Exactly(1.0),
    )])
}

/// Figures of `tools/house`: name, unit and target.
const FIGURES: [(&str, &str, Target); 11] = [
    ("house.circle_rooms", "rooms", Target::AtMost(0.0)),
    ("house.owner_fields", "fields", Target::AtMost(15.0)),
    ("house.owner_borrows", "places", Target::AtMost(0.0)),
    ("house.impl_files", "files", Target::AtMost(3.0)),
    ("house.card_methods", "methods", Target::AtMost(20.0)),
    ("house.scalar_tuples", "functions", Target::AtMost(0.0)),
    ("house.names_twice", "names", Target::AtMost(0.0)),
    ("house.mapping_shapes", "shapes", Target::AtMost(5.0)),
    ("house.longest_rtl", "lines", Target::AtMost(900.0)),
    ("house.loose_parameters", "of a module", Target::AtMost(3.0)),
    ("house.port_comments", "of ports", Target::AtLeast(0.5)),
];

/// Figures of `tools/words`: banned phrases.
const WORDS: [(&str, &str, Target); 2] = [
    ("words.banned", "places", Target::AtMost(0.0)),
    ("words.banned_comments", "places", Target::AtMost(0.0)),
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
fn counted(script: &str, figures: &[(&str, &str, Target)]) -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    let output = Command::new(tools::python(&home))
        .arg(home.join(script))
        .arg("--json")
        .output()?;
    let counted: BTreeMap<String, f64> = serde_json::from_slice(&output.stdout)?;
    figures
        .iter()
        .map(|&(name, unit, target)| {
            let value = counted.get(name).ok_or(format!("no figure {name}"))?;
            Ok(Row::new(name, *value, unit, target))
        })
        .collect()
}
