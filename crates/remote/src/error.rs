//! What can go wrong with remote memory.

use super::FabricError;
use std::io;
use std::time::Duration;

/// A failure of remote memory, or of the peer that has it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// No connection.
    #[error("{address}: connecting to it: {source}; is `tombolo serve` running there?")]
    Connect {
        /// Where to.
        address: String,
        /// Why not.
        source: io::Error,
    },
    /// No address.
    #[error("`{address}` is no address of a peer: write HOST:PORT")]
    Address {
        /// What was given.
        address: String,
    },
    /// The connection is gone, so that it is to be made anew.
    #[error("{address}: {what}: {source}; connect again")]
    Lost {
        /// Where to.
        address: String,
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// The peer does nothing: it was stopped, or the link is down.
    #[error("{address}: no answer within {timeout:?}: the peer is stopped, or the link is down; connect again")]
    Silent {
        /// Where to.
        address: String,
        /// How long it was waited for.
        timeout: Duration,
    },
    /// What the peer says breaks a rule of the protocol.
    #[error("{address}: the peer breaks the protocol: {rule}")]
    Lies {
        /// Where to.
        address: String,
        /// Which rule.
        rule: String,
    },
    /// An access beyond its end.
    #[error("{address}: {bytes} bytes from offset {offset}: it has {size} bytes")]
    OutOfRange {
        /// Where to.
        address: String,
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u64,
        /// Bytes that there are.
        size: u64,
    },
    /// The peer refuses.
    #[error("{address}: the peer refuses: {why}")]
    Refused {
        /// Where to.
        address: String,
        /// Its reason.
        why: &'static str,
    },
    /// Libfabric does not do what it shall, here.
    #[error("{address}: {source}")]
    Fabric {
        /// Where to.
        address: String,
        /// Why not.
        source: FabricError,
    },
    /// The peer cannot use libfabric.
    #[error("{address}: the peer cannot use it: {why}")]
    NoFabric {
        /// Where to.
        address: String,
        /// Its word.
        why: String,
    },
}
