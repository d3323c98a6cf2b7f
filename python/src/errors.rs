//! Errors of the library as exceptions: the classes are in `tombolo/errors.py`, one a code.

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use tombolo::Error;

/// The exception for an error.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let code = match error {
        Error::File { path, what, source } => {
            return match source.raw_os_error() {
                // Becomes FileNotFoundError, PermissionError and so on, by its number.
                Some(number) => {
                    let text = format!("{what}: {}", reason(source));
                    PyOSError::new_err((number, text, path.display().to_string()))
                }
                None => PyOSError::new_err(error.to_string()),
            };
        }
        Error::Card(_) => "CardError",
        Error::Kernel(_) => "KernelError",
        Error::Pager(_) => "PagerError",
        Error::NoSuchPageSize { .. } => "PageSizeError",
        Error::Unmappable { .. } => "UnmappableError",
        Error::Transfer { .. } => "TransferError",
        Error::NoSuchArgument { .. } => "NoSuchArgumentError",
        Error::ArgumentSize { .. } => "ArgumentSizeError",
        Error::Access(_) => "AccessError",
        Error::Violation(_) => "ViolationError",
        Error::Unanswered { .. } => "UnansweredError",
        Error::InterruptStorm { .. } => "InterruptStormError",
        Error::KernelFailed { .. } => "KernelFailedError",
        Error::Deadline { .. } => "DeadlineError",
        Error::SlotState { .. } => "SlotStateError",
        Error::NoFreeSpace { .. } => "NoFreeSpaceError",
        Error::Interrupted => "StoppedError",
        Error::Gone { .. } => "ClosedError",
        Error::OtherCard => "OtherCardError",
        _ => "Error",
    };
    let exception = named(py, code, error.to_string());
    if let Error::Access(access) = error {
        let value = exception.value(py);
        // Attributes for programs; the message has them already, so a failure here loses nothing.
        let _ = value.setattr("slot", access.slot.0);
        let _ = value.setattr("kernel", &access.kernel);
        let _ = value.setattr("port", &access.port);
        let _ = value.setattr("write", access.write);
        let _ = value.setattr("address", access.address.get());
    }
    exception
}

/// A handle that was closed.
pub fn closed(py: Python<'_>, what: &str) -> PyErr {
    named(py, "ClosedError", format!("this {what} is closed"))
}

/// A handle in a forked child.
pub fn forked(py: Python<'_>, what: &str) -> PyErr {
    let text = format!(
        "this {what} belongs to the parent process: a card cannot be used across fork. Open a card in the \
         child, or start it with multiprocessing's `spawn`"
    );
    named(py, "ForkError", text)
}

fn named(py: Python<'_>, class: &str, message: String) -> PyErr {
    let found = py
        .import("tombolo.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.cast_into::<PyType>().map_err(PyErr::from));
    match found {
        Ok(class) => PyErr::from_type(class, (message,)),
        // The package without its Python half.
        Err(_) => PyRuntimeError::new_err(message),
    }
}

/// What the system says, without Rust's number behind it.
fn reason(source: &std::io::Error) -> String {
    let text = source.to_string();
    match text.rsplit_once(" (os error") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}
