//! Pages, page-table entries and the table's hash (docs/architecture.md, "Page-table entry").

use crate::address::{CardAddr, FrameNumber, VirtAddr};
use crate::page_size::PageSize;
use serde::{Deserialize, Serialize};

/// An address divided by its page size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNumber {
    /// Page number: the address divided by the page size.
    pub number: u64,
    /// Page size.
    pub size: PageSize,
}

impl PageNumber {
    /// The page of `size` that contains `address`.
    pub const fn containing(address: VirtAddr, size: PageSize) -> Self {
        Self {
            number: address.get() >> size.bits(),
            size,
        }
    }

    /// First address of the page.
    pub const fn base(self) -> VirtAddr {
        VirtAddr::truncated(self.number << self.size.bits())
    }
}

/// Location of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Target {
    /// None yet.
    #[default]
    None = 0,
    /// In a frame of card memory.
    Card = 1,
    /// In a frame of host memory, reached over PCIe.
    Host = 2,
    /// Behind the coherence directory.
    Directory = 3,
    /// On a remote machine.
    Remote = 4,
}

impl Target {
    const fn from_bits(bits: u64) -> Option<Self> {
        Some(match bits {
            0 => Self::None,
            1 => Self::Card,
            2 => Self::Host,
            3 => Self::Directory,
            4 => Self::Remote,
            _ => return None,
        })
    }
}

/// A page-table entry, without its tag (which follows from the page and the geometry).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageEntry {
    /// First frame of the page.
    pub frame: FrameNumber,
    /// Page size.
    pub size: PageSize,
    /// Location of the frame.
    pub target: Target,
    /// Whether reads are allowed.
    pub read: bool,
    /// Whether writes are allowed.
    pub write: bool,
    /// Whether the page was accessed since the bit was cleared.
    pub accessed: bool,
    /// Whether the page was written since the bit was cleared.
    pub dirty: bool,
}

impl PageEntry {
    /// The 64-bit word of a valid entry, with a tag.
    pub const fn encode(self, tag: u64) -> u64 {
        (tag << 38)
            | ((self.frame.get() as u64) << 13)
            | ((self.size.class() as u64) << 8)
            | ((self.target as u64) << 5)
            | ((self.dirty as u64) << 4)
            | ((self.accessed as u64) << 3)
            | ((self.write as u64) << 2)
            | ((self.read as u64) << 1)
            | 1
    }

    /// Tag and entry of a word; `None` if it is not valid or malformed.
    pub const fn decode(word: u64) -> Option<(u64, Self)> {
        if word & 1 == 0 {
            return None;
        }
        let (Some(size), Some(target), Some(frame)) = (
            PageSize::from_class(((word >> 8) & 0x1f) as u8),
            Target::from_bits((word >> 5) & 7),
            FrameNumber::new(((word >> 13) & 0x1ff_ffff) as u32),
        ) else {
            return None;
        };
        let entry = Self {
            frame,
            size,
            target,
            read: word & 2 != 0,
            write: word & 4 != 0,
            accessed: word & 8 != 0,
            dirty: word & 16 != 0,
        };
        Some((word >> 38, entry))
    }
}

/// Address and size of a page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TableGeometry {
    base: CardAddr,
    sets_log2: u8,
}

impl TableGeometry {
    /// The smallest table: 2^10 sets.
    pub const MIN_SETS_LOG2: u8 = 10;
    /// Number of entries of a set.
    pub const WAYS: usize = 8;

    /// `None` if the table is too small or its base is not aligned to its size.
    pub const fn new(base: CardAddr, sets_log2: u8) -> Option<Self> {
        if sets_log2 < Self::MIN_SETS_LOG2 || sets_log2 > 30 {
            return None;
        }
        if base.get() & ((64u64 << sets_log2) - 1) != 0 {
            return None;
        }
        Some(Self { base, sets_log2 })
    }

    /// Card address of set 0.
    pub const fn base(self) -> CardAddr {
        self.base
    }

    /// log2 of the number of sets.
    pub const fn sets_log2(self) -> u8 {
        self.sets_log2
    }

    /// Size of the table in bytes.
    pub const fn bytes(self) -> u64 {
        64 << self.sets_log2
    }

    /// The set of a page: the low bits of a hash that does not depend on the table's size, so that a set of a table
    /// corresponds to two sets of one twice as large.
    pub const fn set(self, page: PageNumber) -> u64 {
        let n = page.number;
        (n ^ (n >> 10) ^ (n >> 20) ^ (n >> 30)) & ((1 << self.sets_log2) - 1)
    }

    /// The tag of a page.
    pub const fn tag(self, page: PageNumber) -> u64 {
        page.number >> self.sets_log2
    }

    /// The page identified by set and tag: the inverse of [`set`](Self::set) and [`tag`](Self::tag).
    pub const fn page(self, set: u64, tag: u64, size: PageSize) -> PageNumber {
        // From the top down: each bit of the index mixes in bits that are known already.
        let mut number = tag << self.sets_log2;
        let mut bit = self.sets_log2;
        while bit > 0 {
            bit -= 1;
            let above = (number >> 10) ^ (number >> 20) ^ (number >> 30);
            number |= (set ^ above) & (1 << bit);
        }
        PageNumber { number, size }
    }

    /// The table of twice as many sets at `base`; `None` as [`new`](Self::new).
    pub const fn doubled(self, base: CardAddr) -> Option<Self> {
        Self::new(base, self.sets_log2 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_the_round_trip() {
        let entry = PageEntry {
            frame: FrameNumber::new(0x1ab_cdef).unwrap(),
            size: PageSize::MIB_2,
            target: Target::Card,
            read: true,
            write: false,
            accessed: true,
            dirty: false,
        };
        assert_eq!(
            PageEntry::decode(entry.encode(0x3ff_1234)),
            Some((0x3ff_1234, entry))
        );
        assert_eq!(PageEntry::decode(entry.encode(0) & !1), None);
    }

    #[test]
    fn fold_is_invertible() {
        let base = CardAddr::new(0).unwrap();
        for sets_log2 in 10..=24 {
            let table = TableGeometry::new(base, sets_log2).unwrap();
            for class in [0, 4, 9, 18] {
                let size = PageSize::from_class(class).unwrap();
                for seed in 0..2000u64 {
                    let address = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
                    let page = PageNumber::containing(VirtAddr::new(address).unwrap(), size);
                    assert_eq!(table.page(table.set(page), table.tag(page), size), page);
                }
            }
        }
    }

    #[test]
    fn a_set_of_a_table_is_two_sets_of_its_double() {
        let table = TableGeometry::new(CardAddr::new(0).unwrap(), 12).unwrap();
        let double = table.doubled(CardAddr::new(1 << 30).unwrap()).unwrap();
        for seed in 0..2000u64 {
            let number = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 28;
            let size = PageSize::KIB_4;
            let page = PageNumber { number, size };
            // The new bit of the index follows from the old tag alone: the shell relies on it.
            let tag = table.tag(page);
            let upper = (tag ^ (tag >> 10) ^ (tag >> 20)) & 1;
            assert_eq!(double.set(page), table.set(page) | upper << 12);
            assert_eq!(double.tag(page), tag >> 1);
        }
    }
}
