//! The report: text on the standard output, JSON in a file.

use super::Failure;
use crate::outputs::{Outputs, Place};
use crate::print::print;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use tombolo::Report;

/// Where the text goes.
#[derive(Clone, Copy)]
pub(super) enum To {
    /// Nowhere.
    Nobody,
    /// Where it is expected.
    StandardOutput,
    /// Beside the output that comes out of the kernel.
    StandardError,
}

/// Where the JSON goes, or the page.
pub(super) struct ReportFile {
    named: PathBuf,
    to: Destination,
}

enum Destination {
    /// A new file.
    File(File),
    /// A pipe or a device; opened when there is something to write.
    Special,
    StandardOutput,
}

impl ReportFile {
    /// Begins it; a `record` gets its place also if the run fails.
    pub(super) fn begin(place: Place, outputs: &mut Outputs, record: bool) -> io::Result<Self> {
        let named = place.named.clone();
        let to = if named.is_dir() {
            return Err(io::Error::other("is a directory"));
        } else if place.is_special() {
            Destination::Special
        } else if place.is_standard_output() {
            Destination::StandardOutput
        } else if record {
            Destination::File(outputs.record(place)?.0)
        } else {
            Destination::File(outputs.file(place)?.0)
        };
        Ok(Self { named, to })
    }

    /// As the user calls it.
    pub(super) fn named(&self) -> &Path {
        &self.named
    }

    pub(super) fn write(self, text: &str) -> io::Result<()> {
        let text = text.as_bytes();
        match self.to {
            Destination::File(mut file) => file.write_all(text),
            Destination::StandardOutput => io::stdout().write_all(text),
            Destination::Special => {
                let mut file = OpenOptions::new().write(true).open(&self.named)?;
                file.write_all(text)
            }
        }
    }
}

/// Writes the report of everything that the card did.
pub(super) fn write(report: &Report, to: To, file: Option<ReportFile>) -> Result<(), Failure> {
    show(report, to)?;
    if let Some(file) = file {
        let named = file.named.clone();
        let json = with_units(report).map_err(io::Error::other);
        json.and_then(|json| file.write(&(json + "\n")))
            .map_err(Failure::writing(&named))?;
    }
    Ok(())
}

/// What the numbers of the report are, by the names of their fields.
const UNITS: [(&str, &str); 9] = [
    ("time", "picoseconds of virtual time"),
    ("fault_time", "picoseconds of virtual time"),
    ("clock_period", "picoseconds"),
    ("*_busy, busy_*", "picoseconds of virtual time"),
    ("busy_cycles", "cycles of the card's clock"),
    ("cycles, *_cycles", "cycles of the card's clock"),
    ("bytes, *_bytes, bytes_*", "bytes"),
    (
        "rows, rows_*",
        "rows of 64 bytes, or beats at narrower ports",
    ),
    ("page_sizes", "bit k: pages of 2^(12 + k) bytes"),
];

/// The report as JSON, with an object that says what its numbers are.
fn with_units(report: &Report) -> serde_json::Result<String> {
    let mut json = serde_json::to_value(report)?;
    let units = UNITS.map(|(name, unit)| (name.to_owned(), unit.into()));
    if let Some(object) = json.as_object_mut() {
        object.insert(
            "units".to_owned(),
            serde_json::Value::Object(units.into_iter().collect()),
        );
    }
    serde_json::to_string_pretty(&json)
}

/// A reader that has seen enough is no failure.
fn show(report: &Report, to: To) -> Result<(), Failure> {
    match to {
        To::Nobody => Ok(()),
        To::StandardOutput => Ok(print(format_args!("{report}\n"))?),
        To::StandardError => match writeln!(io::stderr(), "{report}") {
            Err(source) if source.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::writing("standard error".as_ref())(source))
            }
            _ => Ok(()),
        },
    }
}
