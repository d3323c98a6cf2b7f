//! An error in transit to a client in another process.

use crate::ErrorCode;
use serde::{Deserialize, Serialize};
use std::fmt;
use units::{Picoseconds, SlotId, VirtAddr};

/// A failure: a code for programs, a message, and values that programs may read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    code: u32,
    /// Human-readable message.
    pub message: String,
    /// Values for programs.
    #[serde(default)]
    pub values: Box<Values>,
    /// Kind of a failure of a stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamErrorKind>,
    /// The operating system's number of the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
}

/// Kinds of failures of a stream that programs distinguish, beyond the error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamErrorKind {
    /// No transfer was begun, or all were waited for.
    NothingUnderWay,
    /// The transfer was not complete at the deadline, or never will be. It is still under way.
    Stuck {
        /// Bytes moved so far.
        moved: u64,
    },
    /// The transfer ended with a failure; those behind it can be waited for.
    TransferFailed,
    /// The stream was closed before, or its slot was.
    NotOpen,
    /// The stream is closed now, and the kernel had sent more than was taken.
    Unread,
    /// The call is wrong for the port or its memory, whatever the state of the stream.
    Argument,
    /// The card has no network interface for the port.
    NoInterface,
}

/// Values of the failures that programs distinguish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Values {
    /// No values beyond the code.
    #[default]
    None,
    /// The handle's object has ended.
    Gone {
        /// Object that the handle named.
        what: String,
        /// How such objects end.
        why: String,
    },
    /// The call needs a running slot and it is not, or the reverse.
    SlotState {
        /// Slot of the kernel.
        slot: SlotId,
        /// Broken rule and remedy.
        rule: String,
    },
    /// All address spaces are in use.
    NoFreeSpace {
        /// Number of address spaces of the card.
        spaces: u8,
    },
    /// A kernel was not done at the deadline.
    Deadline {
        /// Slot of the kernel.
        slot: SlotId,
        /// Name of the kernel.
        kernel: String,
        /// Virtual time since its start.
        elapsed: Picoseconds,
        /// Cause of the wait.
        waiting: String,
    },
    /// A kernel access failed.
    Access {
        /// Slot of the kernel.
        slot: SlotId,
        /// Name of the kernel.
        kernel: String,
        /// Name of the kernel's port.
        port: String,
        /// `true` for a write, `false` for a read.
        write: bool,
        /// Address of the first byte of the burst.
        address: VirtAddr,
        /// Broken rule.
        reason: String,
    },
}

impl Failure {
    /// A failure without values.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: code.number(),
            message: message.into(),
            values: Box::default(),
            stream: None,
            errno: None,
        }
    }

    /// Adds values for programs.
    #[must_use]
    pub fn with(self, values: Values) -> Self {
        Self {
            values: Box::new(values),
            ..self
        }
    }

    /// Kind of the failure; [`ErrorCode::Internal`] if this version does not know the code.
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
