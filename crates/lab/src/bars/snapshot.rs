//! Snapshots, an application of Tombolo: a record that the card changes and cores read atomically, compared with the
//! same record under a sequence lock.

use super::Failure;
use crate::row::Row;
use record::{Record, Way, READERS};

#[path = "../../../tombolo/examples/snapshot/record.rs"]
mod record;

/// Rows produced.
pub const NAMES: &[&str] = &[
    "app.snapshot.unchanged_ns",
    "app.snapshot.changed_ns",
    "app.snapshot.always.read_ns",
    "app.snapshot.always.longest_ns",
    "app.snapshot.always.version_ns",
    "app.snapshot.always_8.read_ns",
    "app.snapshot.always_8.version_ns",
    "app.snapshot.anew",
    "app.snapshot.sequence_lock.unchanged_ns",
    "app.snapshot.sequence_lock.changed_ns",
    "app.snapshot.sequence_lock.always.read_ns",
    "app.snapshot.sequence_lock.always.longest_ns",
    "app.snapshot.sequence_lock.always.version_ns",
    "app.snapshot.sequence_lock.always_8.read_ns",
    "app.snapshot.sequence_lock.always_8.version_ns",
    "app.snapshot.sequence_lock.anew",
    "app.snapshot.wrong",
];

const VERSIONS: u64 = 300;
/// Lines that a version changes, in addition to the first one.
const CHANGES: u64 = 8;

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    let mut wrong = 0;
    for (way, prefix) in [
        (Way::Snapshots, "app.snapshot"),
        (Way::SequenceLock, "app.snapshot.sequence_lock"),
    ] {
        let mut record = Record::new(way)?;
        let mut row = |name: &str, value, unit: &str| {
            rows.push(Row::new(&format!("{prefix}.{name}"), value, unit));
        };
        row("unchanged_ns", record.unchanged_ns()?, "ns");
        row("changed_ns", record.changed_ns(CHANGES)?, "ns");
        let mut anew = 0;
        // Versions back to back.
        for (name, readers) in [("always", 1), ("always_8", READERS)] {
            let run = record.run(readers, VERSIONS, CHANGES, 0)?;
            wrong += run.wrong;
            anew += run.retries;
            let read = run.ns * readers as f64 / run.reads as f64;
            row(&format!("{name}.read_ns"), read, "ns");
            let version = run.ns / run.versions as f64;
            row(&format!("{name}.version_ns"), version, "ns");
            if readers == 1 {
                let longest = run.longest_ns;
                row("always.longest_ns", longest, "ns");
            }
        }
        row("anew", anew as f64, "reads");
    }
    let wrong = wrong as f64;
    rows.push(Row::new("app.snapshot.wrong", wrong, "reads"));
    Ok(rows)
}
