//! Sizes of pages.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A page size: a power of two from 4 KiB to 1 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct PageSize(u8);

impl PageSize {
    /// 4 KiB.
    pub const KIB_4: Self = Self(0);
    /// 2 MiB.
    pub const MIB_2: Self = Self(9);
    /// 1 GiB.
    pub const GIB_1: Self = Self(18);

    /// From a size class, log2(bytes) − 12; `None` above 1 GiB.
    pub const fn from_class(class: u8) -> Option<Self> {
        if class <= Self::GIB_1.0 {
            Some(Self(class))
        } else {
            None
        }
    }

    /// From a number of bytes; `None` if it is no power of two from 4 KiB to 1 GiB.
    pub const fn from_bytes(bytes: u64) -> Option<Self> {
        if bytes.is_power_of_two() && bytes >= 4096 {
            Self::from_class((bytes.trailing_zeros() - 12) as u8)
        } else {
            None
        }
    }

    /// The size class, log2(bytes) − 12.
    pub const fn class(self) -> u8 {
        self.0
    }

    /// log2(bytes).
    pub const fn bits(self) -> u32 {
        self.0 as u32 + 12
    }

    /// Size of a page in bytes.
    pub const fn bytes(self) -> u64 {
        1 << self.bits()
    }
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits() {
            bits @ 30.. => write!(f, "{} GiB", 1u64 << (bits - 30)),
            bits @ 20..=29 => write!(f, "{} MiB", 1u64 << (bits - 20)),
            bits => write!(f, "{} KiB", 1u64 << (bits - 10)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_sizes_have_bounds() {
        assert_eq!(PageSize::from_bytes(2 << 20), Some(PageSize::MIB_2));
        assert_eq!(PageSize::from_bytes(2 << 30), None);
        assert_eq!(PageSize::from_bytes(3 << 12), None);
        assert_eq!(PageSize::MIB_2.to_string(), "2 MiB");
    }
}
