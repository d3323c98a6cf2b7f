//! Kernel accesses that wait for the host.

use crate::{Asid, VirtAddr};
use serde::{Deserialize, Serialize};

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

/// Events that a service thread of the host handles in one batch, by what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ServiceEvents {
    /// Number of faults: each is looked up and answered.
    pub faults: u32,
    /// Number of other events: completions of commands, ends of transfers, interrupts.
    pub others: u32,
}

impl ServiceEvents {
    /// A batch of faults only.
    pub const fn faults(faults: u32) -> Self {
        Self { faults, others: 0 }
    }

    /// Number of all events.
    pub const fn total(self) -> u32 {
        self.faults + self.others
    }
}
