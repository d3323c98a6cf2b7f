//! What can go wrong with a device, each with its name, the rule and what to do.

use remote::RemoteError;
use std::io;
use std::time::Duration;

/// A failure of a device that a stream port is plugged into.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// Not the name of a device.
    #[error("`{text}`: {rule}; `tombolo devices` lists what there is")]
    Syntax {
        /// What was given.
        text: String,
        /// What is wrong.
        rule: String,
    },
    /// It cannot be opened.
    #[error("{device}: {what}: {source}")]
    Open {
        /// The device.
        device: String,
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// It is something else.
    #[error("{device}: {rule}")]
    Unfit {
        /// The device.
        device: String,
        /// Which rule.
        rule: String,
    },
    /// The other end did nothing for too long.
    #[error("{device}: {what} within {timeout:?}, after {bytes} bytes; `:timeout=` sets how long to wait")]
    Late {
        /// The device.
        device: String,
        /// What did not happen.
        what: &'static str,
        /// How long it was waited for.
        timeout: Duration,
        /// Bytes that had gone through.
        bytes: u64,
    },
    /// Nobody reads any more.
    #[error("{device}: the other end has closed after {bytes} bytes, and the kernel sends more")]
    Closed {
        /// The device.
        device: String,
        /// Bytes that it was given.
        bytes: u64,
    },
    /// Reading or writing failed.
    #[error("{device}: {what} it failed after {bytes} bytes: {source}")]
    Failed {
        /// The device.
        device: String,
        /// Reading or writing.
        what: &'static str,
        /// Bytes before.
        bytes: u64,
        /// Why.
        source: io::Error,
    },
    /// Remote memory.
    #[error("peer {0}")]
    Remote(#[from] RemoteError),
    /// It ended before its first byte.
    #[error("{device}: it ended before its first byte; a packet for a kernel has at least one")]
    Empty {
        /// The device.
        device: String,
    },
}

impl DeviceError {
    /// Whether the other end is to blame, not how the device was asked for.
    pub fn is_of_peer(&self) -> bool {
        !matches!(
            self,
            Self::Syntax { .. }
                | Self::Open { .. }
                | Self::Unfit { .. }
                | Self::Remote(RemoteError::OutOfRange { .. } | RemoteError::Address { .. })
        )
    }
}
