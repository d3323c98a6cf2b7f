//! Handles that can be closed, and that know the process they belong to.

use crate::errors;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Something of the library behind a Python object.
///
/// It is let go without the interpreter's lock, because letting go writes back. A child process that
/// inherited it forgets it instead: its parent writes back.
pub struct Handle<T: Send + Sync> {
    what: &'static str,
    process: u32,
    held: Mutex<Option<Arc<T>>>,
}

impl<T: Send + Sync> Handle<T> {
    /// A handle on `held`; `what` names it in errors.
    pub fn new(what: &'static str, held: T) -> Self {
        Self {
            what,
            process: std::process::id(),
            held: Mutex::new(Some(Arc::new(held))),
        }
    }

    /// A shared reference to the object, which stays alive as long as the reference.
    ///
    /// # Errors
    /// It is closed, or another process's.
    pub fn shared(&self, py: Python<'_>) -> PyResult<Arc<T>> {
        self.own(py)?;
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.clone().ok_or_else(|| errors::closed(py, self.what))
    }

    /// Calls the library without the interpreter's lock.
    ///
    /// # Errors
    /// As [`shared`](Self::shared); or the library's.
    pub fn call<R: Send>(
        &self,
        py: Python<'_>,
        call: impl Send + FnOnce(&T) -> Result<R, tombolo::Error>,
    ) -> PyResult<R> {
        let held = self.shared(py)?;
        let answer = py.detach(move || {
            let answer = call(&held);
            drop(held);
            answer
        });
        answer.map_err(|error| errors::raise(py, &error))
    }

    /// Takes it out and ends it; nothing if it is closed already, or ended with what it belonged to.
    ///
    /// # Errors
    /// It is another process's; or the library's.
    pub fn close(
        &self,
        py: Python<'_>,
        end: impl Send + FnOnce(&T) -> Result<(), tombolo::Error>,
    ) -> PyResult<()> {
        self.own(py)?;
        let held = self
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let ended = py.detach(move || held.map_or(Ok(()), |held| end(&held)));
        match ended {
            Err(tombolo::Error::Gone { .. }) => Ok(()),
            ended => ended.map_err(|error| errors::raise(py, &error)),
        }
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.is_none()
    }

    /// End of an object's `repr`.
    pub fn state(&self) -> &'static str {
        match self.is_closed() {
            true => ", closed",
            false => "",
        }
    }

    fn own(&self, py: Python<'_>) -> PyResult<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(errors::forked(py, self.what)),
        }
    }
}

impl<T: Send + Sync> Drop for Handle<T> {
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
