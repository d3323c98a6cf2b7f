//! The shell's configuration of an address space.

use units::{Stripe, TableGeometry};

/// Location and format of a space's page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceTable {
    /// The table in card memory, initially all zeroes.
    pub geometry: TableGeometry,
    /// Mask of its page sizes (bit k: size class k).
    pub size_classes: u32,
    /// Striping of frames over channels: it applies to card addresses in the table's entries, and copies to and from
    /// its frames must request it (word 4 of the command).
    pub stripe: Stripe,
}

/// A change of an address space in the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceControl {
    /// Disables the space: it has no table, and every access fails.
    Off,
    /// Sets the table. No slot may run in the space.
    On(SpaceTable),
    /// Sets the page sizes of an enabled space. Sizes may be added at any time; pages of a size that is not in the mask
    /// are not found.
    PageSizes(u32),
}

impl SpaceControl {
    /// Sets the table, with frames that are not striped.
    pub fn table(geometry: TableGeometry, size_classes: u32) -> Self {
        let stripe = Stripe::NONE;
        Self::On(SpaceTable {
            geometry,
            size_classes,
            stripe,
        })
    }
}
