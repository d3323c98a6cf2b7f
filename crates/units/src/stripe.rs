//! Striping of card addresses over memory channels.

use crate::address::CardAddr;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// How the card addresses of a space are spread over channels (docs/architecture.md, "Striping"): over
/// a group of neighbouring channels, a granule on each in turn.
///
/// ```
/// use tombolo_units::{CardAddr, Stripe};
///
/// let stripe = Stripe::new(4096, 4).unwrap();
/// let at = |address| stripe.place(CardAddr::new(address).unwrap(), 34).get();
/// assert_eq!(at(0x1000), 1 << 34); // the second granule is the first of channel 1
/// assert_eq!(at(0x4010), 0x1010);
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "crate::checked::WrittenStripe")]
pub struct Stripe {
    channels_log2: u8,
    granule_log2: u8,
}

impl Stripe {
    /// Not striped: addresses are unchanged.
    pub const NONE: Self = Self {
        channels_log2: 0,
        granule_log2: 0,
    };
    /// log2 of the smallest granule: a row.
    pub const MIN_GRANULE_LOG2: u8 = 6;
    /// log2 of the largest granule: 1 GiB.
    pub const MAX_GRANULE_LOG2: u8 = 30;
    /// log2 of the maximum number of channels.
    pub const MAX_CHANNELS_LOG2: u8 = 5;

    /// Over `channels` channels, `granule` bytes on each: powers of two, 64 B to 1 GiB and 1 to 32.
    /// One channel is the same as [`NONE`](Self::NONE).
    pub const fn new(granule: u64, channels: u64) -> Option<Self> {
        let possible = granule.is_power_of_two()
            && channels.is_power_of_two()
            && granule >> Self::MIN_GRANULE_LOG2 != 0
            && granule >> Self::MAX_GRANULE_LOG2 <= 1
            && channels >> Self::MAX_CHANNELS_LOG2 <= 1;
        match (possible, channels) {
            (false, _) => None,
            (true, 1) => Some(Self::NONE),
            (true, _) => Some(Self {
                channels_log2: channels.ilog2() as u8,
                granule_log2: granule.ilog2() as u8,
            }),
        }
    }

    /// log2 of the number of channels; 0 if not striped.
    pub const fn channels_log2(self) -> u8 {
        self.channels_log2
    }

    /// log2 of the granule's bytes; meaningless if not striped.
    pub const fn granule_log2(self) -> u8 {
        self.granule_log2
    }

    /// Whether the stripe fits a card with `channels` channels of `2^channel_bytes_log2` bytes.
    pub const fn fits(self, channels: u8, channel_bytes_log2: u8) -> bool {
        self.channels_log2 == 0
            || (1 << self.channels_log2 <= channels as u32
                && self.granule_log2 <= channel_bytes_log2)
    }

    /// Location of the byte at `address`: `{channel, offset}`.
    pub const fn place(self, address: CardAddr, channel_bytes_log2: u8) -> CardAddr {
        self.rotate(address, channel_bytes_log2, self.channels_log2)
    }

    /// Address of the byte at a location: the inverse of [`place`](Self::place).
    pub const fn address_of(self, place: CardAddr, channel_bytes_log2: u8) -> CardAddr {
        let above = channel_bytes_log2 - self.granule_log2_or(channel_bytes_log2);
        self.rotate(place, channel_bytes_log2, above)
    }

    const fn granule_log2_or(self, other: u8) -> u8 {
        match self.channels_log2 {
            0 => other,
            _ => self.granule_log2,
        }
    }

    /// Rotates the bits from the granule up to the group's channels right by `by`.
    const fn rotate(self, address: CardAddr, channel_bytes_log2: u8, by: u8) -> CardAddr {
        if self.channels_log2 == 0 || by == 0 {
            return address;
        }
        let low = self.granule_log2;
        let width = channel_bytes_log2 + self.channels_log2 - low;
        let mask = ((1u64 << width) - 1) << low;
        let field = (address.get() & mask) >> low;
        let rotated = field >> by | (field << (width - by)) & ((1 << width) - 1);
        match CardAddr::new(address.get() & !mask | rotated << low) {
            Some(place) => place,
            // The bits moved within the original ones.
            None => address,
        }
    }

    /// The contiguous pieces of a range, in order: location, and byte range.
    pub fn pieces(
        self,
        address: CardAddr,
        bytes: u64,
        channel_bytes_log2: u8,
    ) -> impl Iterator<Item = (CardAddr, Range<u64>)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            let start = address.get() + done;
            let left = bytes.checked_sub(done).filter(|&left| left > 0)?;
            let granule = 1u64 << self.granule_log2;
            let piece = match self.channels_log2 {
                0 => left,
                _ => left.min(granule - start % granule),
            };
            let place = self.place(CardAddr::new(start)?, channel_bytes_log2);
            done += piece;
            Some((place, done - piece..done))
        })
    }
}

impl fmt::Display for Stripe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.channels_log2 {
            0 => f.write_str("not striped"),
            channels => write!(
                f,
                "{} bytes on each of {} channels",
                1u64 << self.granule_log2,
                1u32 << channels
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: u64) -> CardAddr {
        CardAddr::new(address).unwrap()
    }

    #[test]
    fn only_what_exists_can_be_made() {
        for (granule, channels) in [
            (32, 2),
            (96, 2),
            (4096, 3),
            (4096, 64),
            (2 << 30, 2),
            (64, 0),
        ] {
            assert_eq!(Stripe::new(granule, channels), None, "{granule} {channels}");
        }
        assert_eq!(Stripe::new(64, 1), Some(Stripe::NONE));
        assert!(Stripe::new(64, 32).unwrap().fits(32, 28));
        assert!(!Stripe::new(64, 4).unwrap().fits(2, 28));
        assert!(!Stripe::new(1 << 30, 2).unwrap().fits(2, 28));
    }

    /// Every granule and group, on small channels: granules are distributed in turn, and no two bytes share a location.
    #[test]
    fn granules_are_dealt_out_in_turn() {
        const LOG2: u8 = 9;
        for granule in 6..=LOG2 {
            for group in 1..=3u8 {
                let stripe = Stripe::new(1 << granule, 1 << group).unwrap();
                let mut seen = vec![false; 8 << LOG2];
                for address in 0..8u64 << LOG2 {
                    let base = address >> (LOG2 + group) << (LOG2 + group);
                    let number = (address - base) >> granule;
                    let channel = number % (1 << group);
                    let offset = ((number / (1 << group)) << granule) + address % (1 << granule);
                    let place = stripe.place(at(address), LOG2);
                    assert_eq!(place.get(), base + (channel << LOG2) + offset, "{stripe}");
                    assert_eq!(stripe.address_of(place, LOG2).get(), address, "{stripe}");
                    assert!(!std::mem::replace(&mut seen[place.get() as usize], true));
                }
            }
        }
    }

    #[test]
    fn ranges_are_cut_at_granules() {
        let stripe = Stripe::new(64, 2).unwrap();
        let pieces: Vec<_> = stripe.pieces(at(0x20), 0x80, 20).collect();
        let expected = [(0x20, 0..0x20), (1 << 20, 0x20..0x60), (0x40, 0x60..0x80)];
        assert_eq!(pieces, expected.map(|(place, range)| (at(place), range)));
        let whole: Vec<_> = Stripe::NONE.pieces(at(0x20), 1 << 21, 20).collect();
        assert_eq!(whole, [(at(0x20), 0..1 << 21)]);
    }
}
