//! The state of a run, and how often it runs.

/// State of a run; values of `ert_cmd_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CommandState {
    /// Never started.
    New = 1,
    /// In the queue for a compute unit.
    Queued = 2,
    /// On a compute unit.
    Running = 3,
    /// Ended without an error.
    Completed = 4,
    /// The kernel, or one of its memory accesses, failed.
    Error = 5,
    /// Aborted by the program.
    Abort = 6,
    /// A wait timed out; the run continues.
    Timeout = 8,
}

impl CommandState {
    /// Whether it is queued or running.
    pub fn is_under_way(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }

    pub(crate) fn from_number(number: u32) -> Self {
        match number {
            2 => Self::Queued,
            3 => Self::Running,
            4 => Self::Completed,
            5 => Self::Error,
            6 => Self::Abort,
            8 => Self::Timeout,
            _ => Self::New,
        }
    }
}

/// How often a kernel runs per start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// This many times in succession; 0 counts as 1.
    Times(u32),
    /// Until it is stopped.
    Endless,
}

impl Default for Repeat {
    fn default() -> Self {
        Self::Times(1)
    }
}
