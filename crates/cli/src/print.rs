//! What the command prints on the standard output.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// The standard output took not all: its disk is full, or it is closed.
#[derive(Debug, thiserror::Error)]
#[error("standard output: {0}")]
pub struct NotPrinted(#[source] io::Error);

/// Prints a text as it is. A reader that has seen enough is no failure.
///
/// # Errors
/// Any other reason why it could not be written.
pub fn print(text: impl Display) -> Result<(), NotPrinted> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(NotPrinted(error)),
        _ => Ok(()),
    }
}
