//! What the command prints.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// The standard output, or that for errors, took not all: its disk is full, or it is closed.
#[derive(Debug, thiserror::Error)]
#[error("{stream}: {source}")]
pub struct NotPrinted {
    stream: &'static str,
    source: io::Error,
}

/// Prints a text as it is on the standard output. A reader that has seen enough is no failure.
///
/// # Errors
/// Any other reason why it could not be written.
pub fn print(text: impl Display) -> Result<(), NotPrinted> {
    print_to(io::stdout().lock(), "standard output", text)
}

/// The same where errors go.
///
/// # Errors
/// As [`print`].
pub fn print_error(text: impl Display) -> Result<(), NotPrinted> {
    print_to(io::stderr().lock(), "standard error", text)
}

fn print_to(
    mut out: impl Write,
    stream: &'static str,
    text: impl Display,
) -> Result<(), NotPrinted> {
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => Err(NotPrinted { stream, source }),
        _ => Ok(()),
    }
}
