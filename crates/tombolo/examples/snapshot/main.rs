//! Cores read a record of 32 lines whole while the card changes it: with plain loads, without a lock and without
//! beginning anew.
//!
//!     cargo run --release --example snapshot
//!
//! Kernel `kernels/snapshot` stands behind the directory. It sees when a core begins to read, and shows it one version
//! until it begins again. Beside it the same record under a sequence lock. The first run builds the shell's model,
//! which takes a minute or two.

#[path = "../common/command.rs"]
mod command;
mod record;

use command::{command, Failure};
use record::{Record, Way, READERS};
use std::process::ExitCode;

/// Lines that a version changes, in addition to the first one.
const CHANGES: u64 = 8;

const USAGE: &str = "\
Usage: cargo run --release --example snapshot

Cores read a record whole while kernel snapshot changes it, and beside it under a sequence lock.
The first run builds the shell's model, which takes a minute or two.";

fn main() -> ExitCode {
    command(std::env::args_os(), USAGE, 0, |_| run())
}

fn run() -> Result<(), Failure> {
    let mut wrong = 0;
    for (way, name) in [
        (Way::Snapshots, "snapshots"),
        (Way::SequenceLock, "sequence lock"),
    ] {
        let mut record = Record::new(way)?;
        println!(
            "\n{name}: a read takes {:.1} ns if nothing has changed, {:.0} ns if {CHANGES} lines have",
            record.unchanged_ns()?,
            record.changed_ns(CHANGES)?
        );
        println!("cores   ns between versions   versions   reads   anew   ns a read   longest");
        for (readers, versions, pace) in [
            (1, 3, 3000),
            (1, 100, 300),
            (1, 100, 0),
            (READERS, 100, 300),
            (READERS, 100, 0),
        ] {
            let run = record.run(readers, versions, CHANGES, pace)?;
            let mean = run.ns * readers as f64 / run.reads as f64;
            println!(
                "{readers:5}   {:19.0}   {:8}   {:5}   {:4}   {mean:9.0}   {:7.0}",
                run.ns / run.versions as f64,
                run.versions,
                run.reads,
                run.retries,
                run.longest_ns
            );
            wrong += run.wrong;
        }
    }
    println!("\n{wrong} reads torn or old");
    match wrong {
        0 => Ok(()),
        _ => Err("a read was of no version".into()),
    }
}
