//! Waiting with signals and callbacks.

use crate::values::{self, OnProgress};
use pyo3::prelude::*;
use std::time::{Duration, Instant};
use tombolo::{Continue, Progress};

/// How often a wait looks at signals and calls back.
pub const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);

/// Handles signals and calls the user's callback during a wait.
pub struct Watch {
    callback: Option<OnProgress>,
    next: Instant,
    raised: Option<PyErr>,
}

impl Watch {
    /// Calls `callback` now and then.
    pub fn new(callback: Option<OnProgress>) -> Self {
        Self {
            callback,
            next: Instant::now() + SIGNAL_INTERVAL,
            raised: None,
        }
    }

    /// To be called often, without the interpreter's lock; takes it rarely.
    pub fn look(&mut self, progress: Progress) -> Continue {
        if self.raised.is_some() {
            return Continue::Stop;
        }
        if Instant::now() < self.next {
            return Continue::Yes;
        }
        let looked = Python::attach(|py| {
            py.check_signals()?;
            if let Some(callback) = &self.callback {
                let Progress {
                    now,
                    bytes_in,
                    bytes_out,
                    faults,
                } = progress;
                let seconds = values::seconds(now);
                let progress = values::Progress((seconds, bytes_in, bytes_out, faults));
                callback.0.call1(py, (progress,))?;
            }
            Ok(())
        });
        self.next = Instant::now() + SIGNAL_INTERVAL;
        match looked {
            Ok(()) => Continue::Yes,
            Err(error) => {
                self.raised = Some(error);
                Continue::Stop
            }
        }
    }

    /// The exception of a signal handler or of the callback.
    pub fn raised(self) -> Option<PyErr> {
        self.raised
    }
}
