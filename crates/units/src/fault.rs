//! Accesses of kernels that wait for the host.

use crate::{Asid, VirtAddr};

/// Names one parked burst of a kernel. Opaque to everything but the shell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultToken {
    /// Requester: port p of the card reads as 2p and writes as 2p+1.
    pub requester: u8,
    /// Place in the requester's park.
    pub index: u8,
}

/// Why an access could not be translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultCause {
    /// No entry.
    Absent,
    /// An entry without the right that the access needs.
    Permission,
    /// An entry whose target this shell cannot reach.
    Target,
}

/// An access that waits for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    /// For the reply.
    pub token: FaultToken,
    /// Address space of the port.
    pub asid: Asid,
    /// First byte of the burst.
    pub address: VirtAddr,
    /// A write.
    pub write: bool,
    /// Found by look-ahead: an older burst of the same requester waits too.
    pub ahead: bool,
    /// Why.
    pub cause: FaultCause,
}
