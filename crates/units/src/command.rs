//! What a card is asked to do, and how it ends.

use crate::{
    Asid, CardAddr, FaultToken, HostAddr, PageEntry, PageSize, Stripe, TableGeometry, VirtAddr,
};
use std::fmt;

/// Names a command to the card. Chosen by whoever sends it; comes back in its completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u32);

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {}", self.0)
    }
}

/// What the card shall do; each is one command of docs/architecture.md ("Command ring").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Nothing.
    #[default]
    Nop,
    /// Host memory to card memory.
    CopyIn {
        /// Source, row-aligned.
        from: HostAddr,
        /// Destination, row-aligned.
        to: CardAddr,
        /// A multiple of 64.
        bytes: u64,
        /// How the card address is striped: as the frames of the space that the operation is for. Page tables are
        /// not striped.
        stripe: Stripe,
    },
    /// Card memory to host memory.
    CopyOut {
        /// Source, row-aligned.
        from: CardAddr,
        /// Destination, row-aligned.
        to: HostAddr,
        /// A multiple of 64.
        bytes: u64,
        /// How the card address is striped.
        stripe: Stripe,
    },
    /// Zeroes card memory.
    Zero {
        /// Destination, row-aligned.
        to: CardAddr,
        /// A multiple of 64.
        bytes: u64,
        /// How the card address is striped.
        stripe: Stripe,
    },
    /// Writes a page-table entry.
    Install {
        /// Address space.
        asid: Asid,
        /// Page-aligned.
        address: VirtAddr,
        /// The entry.
        entry: PageEntry,
    },
    /// Removes a page-table entry; the completion reports accessed and dirty.
    Invalidate {
        /// Address space.
        asid: Asid,
        /// Page-aligned.
        address: VirtAddr,
        /// Size of the page.
        size: PageSize,
    },
    /// Clears W and dirty of an entry; the completion reports accessed and dirty.
    Protect {
        /// Address space.
        asid: Asid,
        /// Page-aligned.
        address: VirtAddr,
        /// Size of the page.
        size: PageSize,
    },
    /// Reports accessed and dirty; clears accessed.
    ReadClear {
        /// Address space.
        asid: Asid,
        /// Page-aligned.
        address: VirtAddr,
        /// Size of the page.
        size: PageSize,
    },
    /// Moves the page table to one with twice as many sets. Accesses of the space wait meanwhile;
    /// afterwards the old table's memory is free.
    Grow {
        /// Address space.
        asid: Asid,
        /// The new table: need not be zeroed, and does not overlap the old one.
        table: TableGeometry,
    },
    /// Lets a parked burst go on with a translation, or fails it (`None`).
    FaultReply {
        /// Which burst.
        token: FaultToken,
        /// The translation of its page.
        entry: Option<PageEntry>,
    },
}

impl Operation {
    /// The space whose table the operation is about.
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

    /// How the card address of a copy or a zeroing is striped.
    pub const fn stripe(&self) -> Stripe {
        match self {
            Self::CopyIn { stripe, .. }
            | Self::CopyOut { stripe, .. }
            | Self::Zero { stripe, .. } => *stripe,
            _ => Stripe::NONE,
        }
    }

    /// The same, with the card address of a copy or a zeroing striped like that.
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

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandStatus {
    /// Done.
    Ok,
    /// A table command found no such entry.
    Absent,
    /// An install found no free way in the set.
    SetFull,
    /// Malformed: misaligned, empty, unknown, or a space that is not enabled.
    Refused,
    /// The memory or the host answered with an error.
    BusError,
}
