//! The state of a run, and how often it runs.

/// State of a run; numbers of `ert_cmd_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CommandState {
    /// Never started.
    New = 1,
    /// Waits for a compute unit.
    Queued = 2,
    /// On a compute unit.
    Running = 3,
    /// Done.
    Completed = 4,
    /// The kernel, or an access of it, failed.
    Error = 5,
    /// Stopped by the program.
    Abort = 6,
    /// Time-out of a wait; the run goes on.
    Timeout = 8,
}

impl CommandState {
    /// Started, and not at its end.
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

/// How often a kernel runs for one start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// So many times, one after the other; 0 is 1.
    Times(u32),
    /// Until it is stopped.
    Endless,
}

impl Default for Repeat {
    fn default() -> Self {
        Self::Times(1)
    }
}
