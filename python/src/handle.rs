//! Handles that can be closed, and that know the process they belong to.

use crate::errors;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Something of the library behind a Python object.
///
/// It is let go without the interpreter's lock, because letting go writes back. A child process that
/// inherited it forgets it instead: its parent writes back.
pub struct Handle<T: Send> {
    what: &'static str,
    process: u32,
    held: Mutex<Option<T>>,
}

impl<T: Send> Handle<T> {
    /// A handle on `held`; `what` names it in errors.
    pub fn new(what: &'static str, held: T) -> Self {
        Self {
            what,
            process: std::process::id(),
            held: Mutex::new(Some(held)),
        }
    }

    /// Calls the library without the interpreter's lock.
    ///
    /// # Errors
    /// It is closed, or another process's; or what the library says.
    pub fn call<R: Send>(
        &self,
        py: Python<'_>,
        call: impl Send + FnOnce(&mut T) -> Result<R, tombolo::Error>,
    ) -> PyResult<R> {
        self.own(py)?;
        let answer = py.detach(|| self.lock().as_mut().map(call));
        match answer {
            Some(answer) => answer.map_err(|error| errors::raise(py, &error)),
            None => Err(errors::closed(py, self.what)),
        }
    }

    /// Takes it out and ends it; nothing if it is closed already.
    ///
    /// # Errors
    /// It is another process's, or what the library says.
    pub fn close(
        &self,
        py: Python<'_>,
        end: impl Send + FnOnce(T) -> Result<(), tombolo::Error>,
    ) -> PyResult<()> {
        self.own(py)?;
        let ended = py.detach(|| {
            // Taken first: what ends may wait, and nobody else should wait for this lock meanwhile.
            let held = self.lock().take();
            held.map_or(Ok(()), end)
        });
        ended.map_err(|error| errors::raise(py, &error))
    }

    fn own(&self, py: Python<'_>) -> PyResult<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(errors::forked(py, self.what)),
        }
    }

    // A panic in the library leaves the value as whole as any error does.
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<T>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send> Drop for Handle<T> {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = held.take() else { return };
        if self.process != std::process::id() {
            std::mem::forget(held);
            return;
        }
        // At the very end of the interpreter there is no lock to let go of.
        let mut held = Some(held);
        Python::try_attach(|py| {
            let held = held.take();
            py.detach(move || drop(held));
        });
        drop(held);
    }
}
