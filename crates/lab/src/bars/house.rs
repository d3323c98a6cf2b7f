//! The house: is each thing in one room?

use super::{speed, Failure};
use crate::row::{Row, Target};
use std::collections::{BTreeMap, BTreeSet};
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

/// What each figure of `tools/house` counts, and the most that it should be.
const MOST: [(&str, &str, f64); 9] = [
    ("house.circle_rooms", "rooms", 0.0),
    ("house.owner_fields", "fields", 15.0),
    ("house.owner_borrows", "places", 0.0),
    ("house.impl_files", "files", 3.0),
    ("house.card_methods", "methods", 20.0),
    ("house.scalar_tuples", "functions", 0.0),
    ("house.names_twice", "names", 0.0),
    ("house.mapping_shapes", "shapes", 5.0),
    ("house.longest_rtl", "lines", 900.0),
];

/// Sizes of rooms and arrows between them.
pub fn figures() -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    let output = Command::new(speed::python(&home))
        .arg(home.join("tools/house"))
        .arg("--json")
        .output()?;
    let counted: BTreeMap<String, f64> = serde_json::from_slice(&output.stdout)?;
    MOST.iter()
        .map(|&(name, unit, most)| {
            let value = counted.get(name).ok_or(format!("no figure {name}"))?;
            Ok(Row::new(name, *value, unit, Target::AtMost(most)))
        })
        .collect()
}
