//! Kernel accesses that wait for the host.

use crate::{Asid, VirtAddr};

/// Token of a parked burst. Opaque except to the shell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultToken {
    /// Requester: port p of the card reads as 2p and writes as 2p + 1.
    pub requester: u8,
    /// Index of the burst among the requester's parked ones.
    pub index: u8,
}

/// Cause of a failed translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultCause {
    /// There is no entry.
    Absent,
    /// The entry does not grant the right that the access needs.
    Permission,
    /// This shell cannot reach the entry's target.
    Target,
}

/// An access that waits for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    /// Token for the reply.
    pub token: FaultToken,
    /// Address space of the port.
    pub asid: Asid,
    /// Address of the burst's first byte.
    pub address: VirtAddr,
    /// `true` for a write, `false` for a read.
    pub write: bool,
    /// Found by look-ahead: an older burst of the same requester is parked too.
    pub ahead: bool,
    /// Cause of the fault.
    pub cause: FaultCause,
}
