//! Output of the command to the standard streams.

use crate::standard::{was_closed, Stream};
use std::fmt::{Arguments, Display};
use std::io::{self, ErrorKind, Write};

/// The standard output or the standard error did not take everything: its disk is full, or it is closed.
#[derive(Debug, thiserror::Error)]
#[error("{stream}: {source}")]
pub struct NotPrinted {
    stream: &'static str,
    source: io::Error,
}

/// Prints a text on the standard output. A reader that closes early is no error.
///
/// # Errors
/// Every other reason why it could not be written.
pub fn print(text: impl Display) -> Result<(), NotPrinted> {
    print_to(Output, "standard output", text)
}

/// Prints a text on the standard error; a closed one is no error.
///
/// # Errors
/// As [`print`].
pub fn print_error(text: impl Display) -> Result<(), NotPrinted> {
    print_to(io::stderr().lock(), "standard error", text)
}

/// Prints a message for the user on the standard error. Errors are ignored, because there is no other place to report
/// them.
pub fn to_user(text: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// As `eprintln!`, which panics if the standard error cannot be written.
macro_rules! say {
    ($($text:tt)*) => { $crate::print::to_user(format_args!($($text)*)) };
}
pub(crate) use say;

/// The standard output. Writes to a closed one fail, while the standard library reports success.
pub struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match was_closed(Stream::Output) {
            true => Err(io::Error::other(
                "it is closed; send it to a file or to /dev/null",
            )),
            false => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
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
