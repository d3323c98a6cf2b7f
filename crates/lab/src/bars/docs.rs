//! Does the site build, and does each of its links lead somewhere?

use super::Failure;
use crate::row::{Row, Target};
use std::process::Command;

pub const NAMES: &[&str] = &["docs.broken_links", "docs.warnings", "docs.pages"];

pub fn measure() -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    let built = Command::new(home.join("tools/docs"))
        .current_dir(&home)
        .output()?;
    let said = String::from_utf8_lossy(&built.stdout);
    let last = said.lines().last().ok_or_else(|| {
        let wrong = String::from_utf8_lossy(&built.stderr);
        format!("tools/docs: {wrong}")
    })?;
    let counts: serde_json::Value = serde_json::from_str(last)?;
    let count = |what: &str| counts[what].as_f64().unwrap_or(f64::NAN);
    let none = Target::Exactly(0.0);
    Ok(vec![
        Row::new("docs.broken_links", count("broken_links"), "", none),
        Row::new("docs.warnings", count("warnings"), "", none),
        Row::new("docs.pages", count("pages"), "", Target::Shown),
    ])
}
