//! Virtual time.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A point in virtual time or a span of it, in picoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Picoseconds(u64);

impl Picoseconds {
    /// Start of virtual time, or zero duration.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const MAX: Self = Self(u64::MAX);

    /// From a count of picoseconds.
    pub const fn new(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// From nanoseconds; saturates.
    pub const fn from_nanos(nanoseconds: u64) -> Self {
        Self(nanoseconds.saturating_mul(1_000))
    }

    /// From microseconds; saturates.
    pub const fn from_micros(microseconds: u64) -> Self {
        Self(microseconds.saturating_mul(1_000_000))
    }

    /// From milliseconds; saturates.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds.saturating_mul(1_000_000_000))
    }

    /// Duration of a transfer of `bytes` at `bytes_per_second`, rounded up. `MAX` at a rate of zero.
    pub fn for_bytes(bytes: u64, bytes_per_second: u64) -> Self {
        if bytes_per_second == 0 {
            return Self::MAX;
        }
        let picoseconds =
            (u128::from(bytes) * 1_000_000_000_000).div_ceil(u128::from(bytes_per_second));
        Self(u64::try_from(picoseconds).unwrap_or(u64::MAX))
    }

    /// The count of picoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// In seconds, for display.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self + other`, or `MAX`.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Add for Picoseconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl AddAssign for Picoseconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Picoseconds {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Picoseconds {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl fmt::Display for Picoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..=999 => write!(f, "{} ps", self.0),
            1_000..=999_999 => write!(f, "{:.1} ns", self.0 as f64 * 1e-3),
            1_000_000..=999_999_999 => write!(f, "{:.2} µs", self.0 as f64 * 1e-6),
            1_000_000_000..=999_999_999_999 => write!(f, "{:.3} ms", self.0 as f64 * 1e-9),
            _ => write!(f, "{:.3} s", self.0 as f64 * 1e-12),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_times_round_up() {
        assert_eq!(Picoseconds::for_bytes(64, 16_000_000_000).get(), 4_000);
        assert_eq!(Picoseconds::for_bytes(1, 3_000_000_000_000).get(), 1);
        assert_eq!(Picoseconds::for_bytes(1, 0), Picoseconds::MAX);
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Picoseconds::MAX + Picoseconds::new(1), Picoseconds::MAX);
        assert_eq!(Picoseconds::ZERO - Picoseconds::new(1), Picoseconds::ZERO);
    }

    #[test]
    fn display_picks_the_unit() {
        assert_eq!(Picoseconds::new(4_000).to_string(), "4.0 ns");
        assert_eq!(Picoseconds::from_micros(12).to_string(), "12.00 µs");
    }
}
