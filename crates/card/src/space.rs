//! What the shell is told of an address space.

use units::{Stripe, TableGeometry};

/// Where the page table of a space is, and what its entries mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceTable {
    /// The table, all zeroes, in card memory.
    pub geometry: TableGeometry,
    /// Sizes of its pages (bit k: size class k).
    pub size_classes: u32,
    /// How frames are spread over channels: card addresses in its entries are striped like this, and copies to and from
    /// its frames have to say so (word 4 of the command).
    pub stripe: Stripe,
}

/// What becomes of an address space in the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceControl {
    /// It has no table any more; every access fails.
    Off,
    /// It has this table from now on. No slot runs in the space.
    On(SpaceTable),
    /// It is enabled, and has these page sizes from now on. It may get more of them at any time; pages of a
    /// size that is left out are not found.
    PageSizes(u32),
}

impl SpaceControl {
    /// It has this table from now on, in frames that are not striped.
    pub fn table(geometry: TableGeometry, size_classes: u32) -> Self {
        let stripe = Stripe::NONE;
        Self::On(SpaceTable {
            geometry,
            size_classes,
            stripe,
        })
    }
}
