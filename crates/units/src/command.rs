//! Commands to a card, and their completions.

use crate::{
    Asid, CardAddr, FaultToken, HostAddr, PageEntry, PageSize, Stripe, TableGeometry, VirtAddr,
};
use std::fmt;

/// Identifier of a command. Chosen by the sender; returned in the completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u32);

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {}", self.0)
    }
}

/// Operation of a command; docs/architecture.md ("Command ring") defines each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    /// No operation.
    #[default]
    Nop,
    /// Copies host memory to card memory.
    CopyIn {
        /// Source, row-aligned.
        from: HostAddr,
        /// Destination, row-aligned.
        to: CardAddr,
        /// Size in bytes, a multiple of 64.
        bytes: u64,
        /// Striping of the card address: that of the frames of the operation's space. Page tables are not striped.
        stripe: Stripe,
    },
    /// Copies card memory to host memory.
    CopyOut {
        /// Source, row-aligned.
        from: CardAddr,
        /// Destination, row-aligned.
        to: HostAddr,
        /// Size in bytes, a multiple of 64.
        bytes: u64,
        /// Striping of the card address.
        stripe: Stripe,
    },
    /// Zeroes card memory.
    Zero {
        /// Destination, row-aligned.
        to: CardAddr,
        /// Size in bytes, a multiple of 64.
        bytes: u64,
        /// Striping of the card address.
        stripe: Stripe,
    },
    /// Writes a page-table entry.
    Install {
        /// Address space.
        asid: Asid,
        /// Virtual address, page-aligned.
        address: VirtAddr,
        /// Entry to write.
        entry: PageEntry,
    },
    /// Removes a page-table entry; the completion reports accessed and dirty.
    Invalidate {
        /// Address space.
        asid: Asid,
        /// Virtual address, page-aligned.
        address: VirtAddr,
        /// Size of the page.
        size: PageSize,
    },
    /// Clears W and dirty of an entry; the completion reports accessed and dirty.
    Protect {
        /// Address space.
        asid: Asid,
        /// Virtual address, page-aligned.
        address: VirtAddr,
        /// Size of the page.
        size: PageSize,
    },
    /// Reports accessed and dirty; clears accessed.
    ReadClear {
        /// Address space.
        asid: Asid,
        /// Virtual address, page-aligned.
        address: VirtAddr,
        /// Size of the page.
        size: PageSize,
    },
    /// Moves the page table to one with twice as many sets. Accesses of the space stall meanwhile; afterwards the old
    /// table's memory is free.
    Grow {
        /// Address space.
        asid: Asid,
        /// The new table: need not be zeroed, and must not overlap the old one.
        table: TableGeometry,
    },
    /// Resumes a parked burst with a translation, or fails it (`None`).
    FaultReply {
        /// Token of the burst.
        token: FaultToken,
        /// Translation of its page.
        entry: Option<PageEntry>,
    },
}

impl Operation {
    /// The space whose table the operation changes.
    pub const fn table(&self) -> Option<Asid> {
        match self {
            Self::Install { asid, .. }
            | Self::Invalidate { asid, .. }
            | Self::Protect { asid, .. }
            | Self::ReadClear { asid, .. }
            | Self::Grow { asid, .. } => Some(*asid),
            Self::Nop
            | Self::CopyIn { .. }
            | Self::CopyOut { .. }
            | Self::Zero { .. }
            | Self::FaultReply { .. } => None,
        }
    }

    /// Striping of the card address of a copy or a zeroing.
    pub const fn stripe(&self) -> Stripe {
        match self {
            Self::CopyIn { stripe, .. }
            | Self::CopyOut { stripe, .. }
            | Self::Zero { stripe, .. } => *stripe,
            _ => Stripe::NONE,
        }
    }

    /// The same operation, with another striping of the card address of a copy or a zeroing.
    pub const fn striped(mut self, with: Stripe) -> Self {
        if let Self::CopyIn { stripe, .. }
        | Self::CopyOut { stripe, .. }
        | Self::Zero { stripe, .. } = &mut self
        {
            *stripe = with;
        }
        self
    }
}

/// Status of a completed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandStatus {
    /// The command succeeded.
    Ok,
    /// A table command found no entry for the page.
    Absent,
    /// An install found no free way in the set.
    SetFull,
    /// Malformed: misaligned, empty, unknown, or a space that is not enabled.
    Refused,
    /// The memory or the host responded with an error.
    BusError,
}
