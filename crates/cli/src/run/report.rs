//! The report: text on a standard stream, JSON in a file.

use super::RunError;
use crate::print::{print, print_error};
use crate::text_file::TextFile;
use advice::{Bound, Unmodelled};
use std::io;
use tombolo::Report;

/// Destination of the report's text.
#[derive(Clone, Copy)]
pub(super) enum ReportOutput {
    /// Suppressed by `--quiet`.
    Nobody,
    /// Used unless other output goes there.
    StandardOutput,
    /// Because the kernel's output or JSON uses the standard output.
    StandardError,
}

/// Writes the report of the card's whole activity.
pub(super) fn write(
    report: &Report,
    bound: &Result<Bound, Unmodelled>,
    to: ReportOutput,
    file: Option<TextFile>,
) -> Result<(), RunError> {
    show(report, bound, to)?;
    if let Some(file) = file {
        let named = file.named().to_owned();
        let json = with_units(report, bound).map_err(io::Error::other);
        json.and_then(|json| file.write(&(json + "\n")))
            .map_err(RunError::writing(&named))?;
    }
    Ok(())
}

/// Units of the report's numbers, by field name.
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

/// The report as JSON, with an object for the units of its numbers.
fn with_units(report: &Report, bound: &Result<Bound, Unmodelled>) -> serde_json::Result<String> {
    let mut json = serde_json::to_value(report)?;
    json["bound"] = Bound::json(bound);
    let is_there = |unit: &str| report.has_time() || !unit.contains("time");
    let units = UNITS.iter().filter(|(_, unit)| is_there(unit));
    let units = units.map(|(name, unit)| ((*name).to_owned(), (*unit).into()));
    if let Some(object) = json.as_object_mut() {
        object.insert(
            "units".to_owned(),
            serde_json::Value::Object(units.collect()),
        );
    }
    serde_json::to_string_pretty(&json)
}

fn show(
    report: &Report,
    bound: &Result<Bound, Unmodelled>,
    to: ReportOutput,
) -> Result<(), RunError> {
    let advice = Bound::words(bound);
    match to {
        ReportOutput::Nobody => {}
        ReportOutput::StandardOutput => print(format_args!("{report}\n{advice}\n"))?,
        ReportOutput::StandardError => print_error(format_args!("{report}\n{advice}\n"))?,
    }
    Ok(())
}
