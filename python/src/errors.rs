//! Errors of the library as exceptions: the classes are in `tombolo/errors.py`, one a code.

use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::path::Path;
use tombolo::{Error, ErrorCode};

/// The exception for an error.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    if let Error::File { path, what, source } = error {
        return raise_file(py, path, what, source);
    }
    if let Error::Unshareable { source, .. } = error {
        if source.kind() == std::io::ErrorKind::OutOfMemory {
            return PyMemoryError::new_err(error.to_string());
        }
    }
    let exception = named(py, error.code(), error.to_string());
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

/// The exception for a file.
pub fn raise_file(_: Python<'_>, path: &Path, what: &str, source: &std::io::Error) -> PyErr {
    let path = path.display();
    if source.kind() == std::io::ErrorKind::OutOfMemory {
        return PyMemoryError::new_err(format!("{what}: {}", reason(source)));
    }
    match source.raw_os_error() {
        // Becomes FileNotFoundError, PermissionError and so on, by its number.
        Some(number) => {
            let text = format!("{what}: {}", reason(source));
            PyOSError::new_err((number, text, path.to_string()))
        }
        None => PyOSError::new_err(format!("{path}: {what}: {source}")),
    }
}

/// A configuration that is wrong before the library sees it.
pub fn configuration(py: Python<'_>, message: String) -> PyErr {
    named(py, ErrorCode::Configuration, message)
}

/// A handle that was closed.
pub fn closed(py: Python<'_>, what: &str) -> PyErr {
    let text = format!("this {what} is gone: it was closed");
    named(py, ErrorCode::Gone, text)
}

/// A handle in a forked child.
pub fn forked(py: Python<'_>, what: &str) -> PyErr {
    let text = format!(
        "this {what} belongs to the parent process: a card cannot be used across fork. Open a card in the \
         child, or start it with multiprocessing's `spawn`"
    );
    of_class(py, "ForkError", text)
}

fn named(py: Python<'_>, code: ErrorCode, message: String) -> PyErr {
    of_class(py, &class_of(code), message)
}

/// `no-free-space` is `NoFreeSpaceError`. Python has an `InterruptedError` already.
pub fn class_of(code: ErrorCode) -> String {
    if code == ErrorCode::Interrupted {
        return "StoppedError".to_owned();
    }
    let mut class = String::new();
    for word in code.name().split('-') {
        let (first, rest) = word.split_at(word.len().min(1));
        class.push_str(&first.to_uppercase());
        class.push_str(rest);
    }
    class + "Error"
}

fn of_class(py: Python<'_>, class: &str, message: String) -> PyErr {
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

/// The system's message, without the error number that Rust appends.
fn reason(source: &std::io::Error) -> String {
    let text = source.to_string();
    match text.rsplit_once(" (os error") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}
