//! `bench/results.json`: the figures of the last measurement of every bar, by name.

use crate::row::Row;
use std::io;
use std::path::PathBuf;

fn path() -> PathBuf {
    simcard::home().join("bench/results.json")
}

/// Replaces the rows measured now and keeps the others.
pub fn merge(measured: &[Row]) -> io::Result<()> {
    let path = path();
    let mut rows: Vec<Row> = match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    for row in measured {
        match rows.iter_mut().find(|old| old.name == row.name) {
            Some(old) => *old = row.clone(),
            None => rows.push(row.clone()),
        }
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    std::fs::write(path, serde_json::to_string_pretty(&rows)? + "\n")
}
