//! Checks that the site builds, that its links resolve, and that its search answers readers' queries.

use super::Failure;
use crate::row::Row;
use std::process::Command;

pub const NAMES: &[&str] = &[
    "docs.broken_links",
    "docs.warnings",
    "docs.pages",
    "docs.found_first_two",
    "docs.questions",
];

/// The JSON object in the last line of a tool's output.
fn last_line(tool: &str) -> Result<serde_json::Value, Failure> {
    let home = simcard::home();
    let ran = Command::new(home.join(tool)).current_dir(&home).output()?;
    let said = String::from_utf8_lossy(&ran.stdout);
    let last = said.lines().last().ok_or_else(|| {
        let wrong = String::from_utf8_lossy(&ran.stderr);
        format!("{tool}: {wrong}")
    })?;
    eprint!("{said}");
    Ok(serde_json::from_str(last)?)
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let site = last_line("tools/docs")?;
    let search = last_line("tools/ask-docs")?;
    let count = |counts: &serde_json::Value, what: &str| counts[what].as_f64().unwrap_or(f64::NAN);
    Ok(vec![
        Row::new(NAMES[0], count(&site, "broken_links"), ""),
        Row::new(NAMES[1], count(&site, "warnings"), ""),
        Row::new(NAMES[2], count(&site, "pages"), ""),
        Row::new(NAMES[3], count(&search, "found"), ""),
        Row::new(NAMES[4], count(&search, "asked"), ""),
    ])
}
