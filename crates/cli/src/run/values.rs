//! Values of options that are texts or times.

use clap::builder::{OsStringValueParser, TypedValueParser};
use std::ffi::OsString;
use tombolo::Picoseconds;

/// A value that must be UTF-8; the error names the option.
pub(super) fn text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().try_map(|text: OsString| {
        let wrong = |text: OsString| format!("{} is not UTF-8", text.to_string_lossy());
        text.into_string().map_err(wrong)
    })
}

/// Parses a duration in virtual time.
pub(super) fn parse_time(text: &str) -> Result<Picoseconds, String> {
    let units = [
        ("ns", 1_000),
        ("us", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
    ];
    let parsed = units.iter().find_map(|(unit, scale): &(&str, u64)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(*scale).map(Picoseconds::new)
    });
    parsed.ok_or_else(|| "write a whole number and a unit: 500us, 10ms, 2s".to_owned())
}
