//! `bench/results.json`: the last measurement of every figure with a claim, by name.

use crate::claim::{Claims, Judged};
use crate::row::Row;
use crate::tree::Tree;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

/// One figure of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// Name of the figure.
    pub name: String,
    /// Measured value, in `unit`.
    pub value: f64,
    /// Unit of the value.
    pub unit: String,
    /// Its claim in words.
    pub target: String,
    /// Whether that is met; absent if it cannot be missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
    /// Command that measures it.
    pub command: String,
    /// Commit of the measured tree.
    pub commit: String,
    /// Day of the measurement (UTC).
    pub date: String,
}

impl Stored {
    /// A figure measured on this tree; `None` if nothing is claimed of it.
    fn new(judged: Judged, tree: &Tree) -> Option<Self> {
        let Row { name, value, unit } = judged.row;
        Some(Self {
            command: format!("make bench ONLY={name}"),
            met: judged.met,
            target: judged.claim?.to_string(),
            commit: tree.commit().to_owned(),
            date: tree.date().to_owned(),
            name,
            value,
            unit,
        })
    }

    /// The figure alone.
    pub fn row(&self) -> Row {
        Row::new(&self.name, self.value, &self.unit)
    }
}

fn path() -> PathBuf {
    simcard::home().join("bench/results.json")
}

/// All stored figures, by name.
pub fn all() -> io::Result<Vec<Stored>> {
    match std::fs::read(path()) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Stores measured figures and keeps the values of others. All are judged by the present claims; figures of which
/// nothing is claimed are left out.
pub fn merge(measured: &[Judged], claims: &Claims, tree: &Tree) -> io::Result<()> {
    let mut kept = all()?;
    for figure in measured {
        let Some(new) = Stored::new(figure.clone(), tree) else {
            continue;
        };
        match kept.iter_mut().find(|old| old.name == new.name) {
            Some(old) => *old = new,
            None => kept.push(new),
        }
    }
    let again = kept.into_iter().filter_map(|stored| {
        let judged = claims.judge(stored.row());
        Some(Stored {
            met: judged.met,
            target: judged.claim?.to_string(),
            ..stored
        })
    });
    let mut all: Vec<Stored> = again.collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    std::fs::write(path(), serde_json::to_string_pretty(&all)? + "\n")
}

#[cfg(test)]
mod tests {
    /// Measuring one bar leaves all others unchanged, to the last digit.
    #[test]
    fn figures_are_read_as_they_were_written() {
        for number in 1..10_000 {
            let figure = f64::from(number) / 7.0;
            let text = serde_json::to_string(&figure).unwrap();
            assert_eq!(serde_json::from_str::<f64>(&text).unwrap(), figure);
        }
    }
}
