//! Addresses and identifiers of address spaces.

use crate::page_size::PageSize;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A virtual address of a kernel: 48 bits.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "u64", into = "u64")]
pub struct VirtAddr(u64);

impl VirtAddr {
    /// Bits of a virtual address.
    pub const BITS: u32 = 48;

    /// `None` if it exceeds 48 bits.
    pub const fn new(address: u64) -> Option<Self> {
        if address >> Self::BITS == 0 {
            Some(Self(address))
        } else {
            None
        }
    }

    /// The low 48 bits of `address`, as the shell takes them from a kernel.
    pub const fn truncated(address: u64) -> Self {
        Self(address & ((1 << Self::BITS) - 1))
    }

    /// The address as a number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// First byte of the page that holds the address.
    pub const fn page_base(self, size: PageSize) -> Self {
        Self(self.0 & !(size.bytes() - 1))
    }

    /// Offset within the page.
    pub const fn page_offset(self, size: PageSize) -> u64 {
        self.0 & (size.bytes() - 1)
    }

    /// `self + bytes`; `None` beyond 48 bits.
    pub const fn checked_add(self, bytes: u64) -> Option<Self> {
        match self.0.checked_add(bytes) {
            Some(sum) => Self::new(sum),
            None => None,
        }
    }
}

impl fmt::Display for VirtAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:012x}", self.0)
    }
}

/// An address in card memory: 37 bits, channel above offset.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CardAddr(u64);

impl CardAddr {
    /// Bits of a card address.
    pub const BITS: u32 = 37;

    /// `None` if it exceeds 37 bits.
    pub const fn new(address: u64) -> Option<Self> {
        if address >> Self::BITS == 0 {
            Some(Self(address))
        } else {
            None
        }
    }

    /// The address as a number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CardAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "card:0x{:010x}", self.0)
    }
}

/// A frame of card or host memory, counted in 4 KiB: 25 bits.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FrameNumber(u32);

impl FrameNumber {
    /// Bits of a frame number.
    pub const BITS: u32 = 25;

    /// `None` if it exceeds 25 bits.
    pub const fn new(number: u32) -> Option<Self> {
        if number >> Self::BITS == 0 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// The frame that starts at a card address; `None` if it is not 4 KiB aligned.
    pub const fn at(address: CardAddr) -> Option<Self> {
        if address.get() & 0xfff != 0 {
            return None;
        }
        Self::new((address.get() >> 12) as u32)
    }

    /// The value as an integer.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Card address of its first byte.
    pub const fn card_address(self) -> CardAddr {
        CardAddr((self.0 as u64) << 12)
    }
}

/// An address that the card uses to reach host memory (an IOVA).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct HostAddr(u64);

impl HostAddr {
    /// From a number.
    pub const fn new(address: u64) -> Self {
        Self(address)
    }

    /// The address as a number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `self + bytes`; never wraps, because IOVAs stay far below 2^64.
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

/// Identifier of an address space in the shell (ASID).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "u8", into = "u8")]
pub struct Asid(u8);

impl Asid {
    /// Bits of an ASID.
    pub const BITS: u32 = 4;

    /// `None` if it exceeds 4 bits.
    pub const fn new(number: u8) -> Option<Self> {
        if number >> Self::BITS == 0 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// The value as an integer.
    pub const fn get(self) -> u8 {
        self.0
    }
}
