//! What the command prints.

use crate::standard::{was_closed, Stream};
use std::fmt::{Arguments, Display};
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
    print_to(Output, "standard output", text)
}

/// The same where errors go. If that was closed nobody wants them.
///
/// # Errors
/// As [`print`].
pub fn print_error(text: impl Display) -> Result<(), NotPrinted> {
    print_to(io::stderr().lock(), "standard error", text)
}

/// Says something to the user, on the standard error; if that takes nothing, nobody can be told so.
pub fn to_user(text: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// As `eprintln!`, which panics where the standard error takes nothing.
macro_rules! say {
    ($($text:tt)*) => { $crate::print::to_user(format_args!($($text)*)) };
}
pub(crate) use say;

/// The standard output. The standard library takes what is written to a closed one as written.
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
