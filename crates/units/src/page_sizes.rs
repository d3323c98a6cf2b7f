//! Sets of page sizes.

use crate::page_size::PageSize;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A set of page sizes: bit k for pages of 4 KiB << k, as in the shell's registers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PageSizes(u32);

impl PageSizes {
    /// Every size, 4 KiB to 1 GiB.
    pub const ALL: Self = Self((1 << (PageSize::GIB_1.class() + 1)) - 1);

    /// One size.
    pub const fn only(size: PageSize) -> Self {
        Self(1 << size.class())
    }

    /// This size and every larger one.
    pub const fn from(smallest: PageSize) -> Self {
        Self(Self::ALL.0 >> smallest.class() << smallest.class())
    }

    /// The set with this size added.
    #[must_use]
    pub const fn with(self, size: PageSize) -> Self {
        Self(self.0 | 1 << size.class())
    }

    /// Whether the set contains a size.
    pub const fn contains(self, size: PageSize) -> bool {
        self.0 >> size.class() & 1 != 0
    }

    /// The sizes, smallest first.
    pub fn iter(self) -> impl Iterator<Item = PageSize> {
        (0..=PageSize::GIB_1.class())
            .filter_map(PageSize::from_class)
            .filter(move |&size| self.contains(size))
    }

    /// Default page size for an object of `bytes` bytes: the smallest size below 2 MiB that holds all of it, else 2
    /// MiB.
    pub fn holding(self, bytes: u64) -> PageSize {
        let smaller = self.iter().take_while(|&size| size < PageSize::MIB_2);
        let mut holding = smaller.filter(|size| size.bytes() >= bytes);
        holding.next().unwrap_or(PageSize::MIB_2)
    }

    /// The bit mask of the shell's registers.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

/// Sizes, with runs of three and more abbreviated: `4 KiB, 2 MiB to 1 GiB`.
impl fmt::Display for PageSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<PageSize> = self.iter().collect();
        let runs = sizes.chunk_by(|a, b| a.class() + 1 == b.class());
        for (number, run) in runs.enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            match run {
                [one] => write!(f, "{comma}{one}")?,
                [one, other] => write!(f, "{comma}{one}, {other}")?,
                [first, .., last] => write!(f, "{comma}{first} to {last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_no_larger_than_what_it_holds() {
        let large = PageSizes::from(PageSize::MIB_2);
        for (bytes, wanted) in [
            (1, 4096),
            (4095, 4096),
            (4096, 4096),
            (4097, 8192),
            (100_000, 128 << 10),
            (1 << 20, 1 << 20),
            ((1 << 20) + 1, 2 << 20),
            ((2 << 20) + 1, 2 << 20),
            (u64::MAX, 2 << 20),
        ] {
            assert_eq!(PageSizes::ALL.holding(bytes).bytes(), wanted, "{bytes}");
            assert_eq!(large.holding(bytes), PageSize::MIB_2);
            let two = large.with(PageSize::KIB_4).holding(bytes);
            assert_eq!(two == PageSize::KIB_4, bytes <= 4096, "{bytes}");
        }
    }

    #[test]
    fn sets_say_what_they_hold() {
        let few = PageSizes::only(PageSize::KIB_4).with(PageSize::MIB_2);
        assert_eq!(
            (few.bits(), few.to_string().as_str()),
            (0x201, "4 KiB, 2 MiB")
        );
        assert!(few.contains(PageSize::MIB_2) && !few.contains(PageSize::GIB_1));
        let large = PageSizes::from(PageSize::MIB_2).with(PageSize::KIB_4);
        assert_eq!(large.to_string(), "4 KiB, 2 MiB to 1 GiB");
        assert_eq!(PageSizes::ALL.to_string(), "4 KiB to 1 GiB");
        assert_eq!(PageSizes::ALL.iter().count(), 19);
        assert_eq!(PageSizes::from(PageSize::KIB_4), PageSizes::ALL);
    }
}
