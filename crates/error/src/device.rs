//! Errors of devices, each with the device's name, the broken rule and the remedy.

use remote::RemoteError;
use std::io;
use std::time::Duration;

/// A failure of a device that is connected to a stream port.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The text is not the name of a device.
    #[error("`{text}`: {rule}; `tombolo devices` lists what there is")]
    Syntax {
        /// Text that was given as the name.
        text: String,
        /// Rule that the text breaks.
        rule: String,
    },
    /// The device cannot be opened.
    #[error("{device}: {what}: {source}")]
    Open {
        /// Name of the device.
        device: String,
        /// Operation that failed.
        what: &'static str,
        /// Cause, from the operating system.
        source: io::Error,
    },
    /// The object cannot serve as this device.
    #[error("{device}: {rule}")]
    Unfit {
        /// Name of the device.
        device: String,
        /// Broken rule and remedy.
        rule: String,
    },
    /// The other end made no progress within the timeout.
    #[error("{device}: {what} within {timeout:?}, after {bytes} bytes; `:timeout=` sets how long to wait")]
    Late {
        /// Name of the device.
        device: String,
        /// Operation that did not complete.
        what: &'static str,
        /// Timeout that expired.
        timeout: Duration,
        /// Bytes transferred before.
        bytes: u64,
    },
    /// The other end no longer reads.
    #[error("{device}: the other end has closed after {bytes} bytes, and the kernel sends more")]
    Closed {
        /// Name of the device.
        device: String,
        /// Bytes that it accepted before.
        bytes: u64,
    },
    /// A read or a write failed.
    #[error("{device}: {what} it failed after {bytes} bytes: {source}")]
    Failed {
        /// Name of the device.
        device: String,
        /// Operation: reading or writing.
        what: &'static str,
        /// Bytes transferred before.
        bytes: u64,
        /// Cause, from the operating system.
        source: io::Error,
    },
    /// Remote memory failed.
    #[error("peer {0}")]
    Remote(#[from] RemoteError),
    /// The input ended before its first byte.
    #[error("{device}: it ended before its first byte; a packet for a kernel has at least one")]
    Empty {
        /// Name of the device.
        device: String,
    },
}

impl DeviceError {
    /// Whether the other end caused the failure, rather than the request.
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
