//! Failures that the protocol cannot express, for the daemon's administrator.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// Maximum notices per connection, so that a faulty program does not flood the daemon's output.
const MOST_NOTICES: usize = 100;

/// A failure, with the process it concerns.
#[derive(Clone, Debug)]
pub struct Notice {
    process: u32,
    text: String,
}

impl Notice {
    /// A request failed; the connection continues.
    pub(crate) fn failed(process: u32, app: Option<u64>, error: &dyn std::error::Error) -> Self {
        let text = match app {
            Some(app) => format!("application {app}: {error}"),
            None => error.to_string(),
        };
        Self { process, text }
    }

    /// The connection was ended.
    pub(crate) fn ended(process: u32, error: &dyn std::error::Error) -> Self {
        let text = error.to_string();
        Self { process, text }
    }

    /// A connection was refused.
    pub(crate) fn refused(error: &dyn std::error::Error) -> Self {
        let text = format!("a program is refused: {error}");
        Self { process: 0, text }
    }

    /// The process; 0 for a refused connection.
    pub fn process(&self) -> u32 {
        self.process
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // File names come from a program: control characters are removed.
        let text = self.text.chars().map(|c| match c.is_control() {
            true => '?',
            false => c,
        });
        let text: String = text.collect();
        match self.process {
            0 => f.write_str(&text),
            process => write!(f, "process {process}: {text}"),
        }
    }
}

/// Receives notices; it must not block.
pub type Report = Arc<dyn Fn(&Notice) + Send + Sync>;

/// The notices of a connection.
pub(crate) struct Notices {
    report: Report,
    given: AtomicUsize,
}

impl Notices {
    pub(crate) fn new(report: Report) -> Self {
        Self {
            report,
            given: AtomicUsize::new(0),
        }
    }

    pub(crate) fn give(&self, mut notice: Notice) {
        match self.given.fetch_add(1, Ordering::Relaxed) {
            given if given < MOST_NOTICES => {}
            MOST_NOTICES => notice.text = "more of this connection is not reported".to_owned(),
            _ => return,
        }
        (self.report)(&notice);
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Notices").field(&self.given).finish()
    }
}
