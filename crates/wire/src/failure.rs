//! A failure on its way to a client in another process.

use crate::ErrorCode;
use serde::{Deserialize, Serialize};
use std::fmt;
use units::{Picoseconds, SlotId, VirtAddr};

/// What went wrong: a code for programs, a text for people, and the values that programs look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    code: u32,
    /// For people.
    pub message: String,
    /// For programs.
    #[serde(default)]
    pub values: Values,
}

/// The values of failures that programs tell apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Values {
    /// None beyond the code.
    #[default]
    None,
    /// A handle whose object has ended.
    Gone {
        /// What the handle named.
        what: String,
        /// How such things end.
        why: String,
    },
    /// A slot is running, or not, against what the call needs.
    SlotState {
        /// The slot.
        slot: SlotId,
        /// The rule.
        rule: String,
    },
    /// All address spaces are in use.
    NoFreeSpace {
        /// How many there are.
        spaces: u8,
    },
    /// A kernel was not done in time.
    Deadline {
        /// Its slot.
        slot: SlotId,
        /// Its name.
        kernel: String,
        /// Virtual time since its start.
        elapsed: Picoseconds,
        /// What it waits for.
        waiting: String,
    },
    /// An access of a kernel failed.
    Access {
        /// Its slot.
        slot: SlotId,
        /// Its name.
        kernel: String,
        /// The port.
        port: String,
        /// A write.
        write: bool,
        /// First byte of the burst.
        address: VirtAddr,
        /// The rule that was broken.
        reason: String,
    },
}

impl Failure {
    /// With no values.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: code.number(),
            message: message.into(),
            values: Values::None,
        }
    }

    /// With values for programs.
    #[must_use]
    pub fn with(self, values: Values) -> Self {
        Self { values, ..self }
    }

    /// Its kind; [`ErrorCode::Internal`] if this version does not know it.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::from_number(self.code).unwrap_or(ErrorCode::Internal)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
