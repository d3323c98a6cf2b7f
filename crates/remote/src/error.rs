//! Errors of remote memory.

use super::FabricError;
use std::io;
use std::time::Duration;

/// A failure of remote memory, or of the peer that has it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The connection was not established.
    #[error("{address}: connecting to it: {source}; is `tombolo serve` running there?")]
    Connect {
        /// Address of the peer.
        address: String,
        /// Error of the underlying call.
        source: io::Error,
    },
    /// The text is no address.
    #[error("`{address}` is no address of a peer: write HOST:PORT")]
    Address {
        /// Text that was given.
        address: String,
    },
    /// The connection was lost and must be established again.
    #[error("{address}: {what}: {source}; connect again")]
    Lost {
        /// Address of the peer.
        address: String,
        /// Operation that failed.
        what: &'static str,
        /// Error of the underlying call.
        source: io::Error,
    },
    /// The peer does not respond: it was stopped, or the link is down.
    #[error("{address}: no answer within {timeout:?}: the peer is stopped, or the link is down; connect again")]
    Silent {
        /// Address of the peer.
        address: String,
        /// Timeout that expired.
        timeout: Duration,
    },
    /// The peer broke a rule of the protocol.
    #[error("{address}: the peer breaks the protocol: {rule}")]
    Lies {
        /// Address of the peer.
        address: String,
        /// Broken rule.
        rule: String,
    },
    /// The access exceeds the memory.
    #[error("{address}: {bytes} bytes from offset {offset}: it has {size} bytes")]
    OutOfRange {
        /// Address of the peer.
        address: String,
        /// Offset of the first byte.
        offset: u64,
        /// Size of the access in bytes.
        bytes: u64,
        /// Size of the memory in bytes.
        size: u64,
    },
    /// The peer refused the request.
    #[error("{address}: the peer refuses: {why}")]
    Refused {
        /// Address of the peer.
        address: String,
        /// Reason of the peer.
        why: &'static str,
    },
    /// Libfabric failed on this machine.
    #[error("{address}: {source}")]
    Fabric {
        /// Address of the peer.
        address: String,
        /// Error of the underlying call.
        source: FabricError,
    },
    /// The peer cannot use libfabric.
    #[error("{address}: the peer cannot use it: {why}")]
    NoFabric {
        /// Address of the peer.
        address: String,
        /// Reason of the peer.
        why: String,
    },
}
