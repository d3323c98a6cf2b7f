//! Free card memory: a buddy allocator per channel, and one per striping of spaces.

use crate::buddy::{Buddy, UNIT_BITS};
use crate::config::ChannelMemory;
use std::collections::BTreeMap;
use units::{CardAddr, FrameNumber, SpacePlacement, Stripe};

/// First channel of a group, its striping, and the order of a share.
type PoolKey = (usize, Stripe, u8);

/// Order of the share of each channel for blocks of `order`: it holds whole granules, and all shares together hold a
/// block.
fn share_order(stripe: Stripe, order: u8) -> u8 {
    let granule_order = stripe.granule_log2().saturating_sub(UNIT_BITS);
    granule_order.max(order.saturating_sub(stripe.channels_log2()))
}

/// An offset within a block of frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within {
    /// log2 of the block's units.
    pub(crate) larger: u8,
    /// Offset in units.
    pub(crate) offset: u32,
}

/// Free memory of all channels.
#[derive(Clone, Debug, Hash)]
pub(crate) struct FrameMemory {
    channel_bytes_log2: u8,
    ranges: Vec<ChannelMemory>,
    channels: Vec<Buddy>,
    /// Memory that is striped in one way over one group of channels: blocks at the same offset of every channel of the
    /// group, by their striped frame numbers.
    pools: BTreeMap<PoolKey, Buddy>,
}

impl FrameMemory {
    /// Channel `c` owns the card addresses from `c << channel_bytes_log2` on; striped frames depend on it.
    pub(crate) fn new(ranges: &[ChannelMemory], channel_bytes_log2: u8) -> Self {
        Self {
            channel_bytes_log2,
            ranges: ranges.to_vec(),
            channels: ranges.iter().map(|&range| Buddy::new(range)).collect(),
            pools: BTreeMap::new(),
        }
    }

    /// Whether each channel has a free block.
    pub(crate) fn available(&self, order: u8) -> Vec<bool> {
        self.channels
            .iter()
            .map(|channel| channel.has(order))
            .collect()
    }

    /// Takes a block of `2^order` units from a channel.
    pub(crate) fn allocate(&mut self, channel: usize, order: u8) -> Option<FrameNumber> {
        FrameNumber::new(self.channels.get_mut(channel)?.allocate(order)?)
    }

    /// Takes this block if all of it is free.
    pub(crate) fn take(&mut self, frame: FrameNumber, order: u8) -> bool {
        let channel = self.channel_of(frame);
        self.channels[channel].take(frame.get(), order)
    }

    /// Takes a block of `2^order` units in a larger free block of a channel.
    pub(crate) fn allocate_within(
        &mut self,
        channel: usize,
        order: u8,
        within: Within,
    ) -> Option<FrameNumber> {
        let Within { larger, offset } = within;
        let channel = self.channels.get_mut(channel)?;
        let base = channel.allocate(larger)?;
        channel.release(base, larger);
        let taken = channel.take(base + offset, order);
        debug_assert!(taken, "a part of a free block is free");
        FrameNumber::new(base + offset)
    }

    /// Takes a block of `2^order` units that is striped over the group of channels from `first` on.
    pub(crate) fn allocate_striped(
        &mut self,
        first: usize,
        stripe: Stripe,
        order: u8,
    ) -> Option<FrameNumber> {
        let share_order = share_order(stripe, order);
        let whole = share_order + stripe.channels_log2();
        let key = (first, stripe, share_order);
        if let Some(unit) = self
            .pools
            .get_mut(&key)
            .and_then(|pool| pool.allocate(order))
        {
            return FrameNumber::new(unit);
        }
        let base = self.take_shares(first, stripe, share_order)?;
        let pool = self.pools.entry(key).or_insert_with(|| Buddy::empty(whole));
        pool.release(base, whole);
        FrameNumber::new(pool.allocate(order)?)
    }

    /// Takes a block at the same offset of every channel of a group; returns its striped frame number.
    fn take_shares(&mut self, first: usize, stripe: Stripe, order: u8) -> Option<u32> {
        let group = first..first + (1 << stripe.channels_log2());
        let channel_units_log2 = self.channel_bytes_log2 - UNIT_BITS;
        let members = self.channels.get(group.clone())?;
        let unit = members.first()?.blocks(order).find(|&unit| {
            members.iter().zip(0u32..).all(|(channel, n)| {
                channel
                    .holder(unit + (n << channel_units_log2), order)
                    .is_some()
            })
        })?;
        for (channel, n) in self.channels[group].iter_mut().zip(0u32..) {
            let taken = channel.take(unit + (n << channel_units_log2), order);
            debug_assert!(taken, "a share that was free is not");
        }
        let place = CardAddr::new(u64::from(unit) << UNIT_BITS)?;
        let name = stripe.address_of(place, self.channel_bytes_log2).get();
        Some((name >> UNIT_BITS) as u32)
    }

    /// Frees a block.
    pub(crate) fn release(&mut self, frame: FrameNumber, order: u8, stripe: Stripe) {
        if stripe == Stripe::NONE {
            let channel = self.channel_of(frame);
            return self.channels[channel].release(frame.get(), order);
        }
        let group_log2 = stripe.channels_log2();
        let place = stripe.place(frame.card_address(), self.channel_bytes_log2);
        let first = (place.get() >> self.channel_bytes_log2) as usize >> group_log2 << group_log2;
        let share_order = share_order(stripe, order);
        let Some(pool) = self.pools.get_mut(&(first, stripe, share_order)) else {
            debug_assert!(false, "{frame:?} freed into no pool");
            return;
        };
        pool.release(frame.get(), order);
        // Shares without used blocks return to their channels.
        let whole = share_order + group_log2;
        let base = frame.get() >> whole << whole;
        if pool.take(base, whole) {
            let name = CardAddr::new(u64::from(base) << UNIT_BITS).unwrap_or_default();
            let place = stripe.place(name, self.channel_bytes_log2).get();
            let unit = (place >> UNIT_BITS) as u32;
            let channel_units_log2 = self.channel_bytes_log2 - UNIT_BITS;
            for n in 0..1u32 << group_log2 {
                let channel = &mut self.channels[first + n as usize];
                channel.release(unit + (n << channel_units_log2), share_order);
            }
        }
    }

    /// Channels of a placement's frames; for isolated spaces, the channels that they may use.
    pub(crate) fn channels_of(&self, placement: SpacePlacement) -> std::ops::Range<usize> {
        match placement {
            SpacePlacement::Anywhere | SpacePlacement::Isolated => 0..self.channels.len(),
            SpacePlacement::Channel(channel) => channel..channel + 1,
            SpacePlacement::Interleaved { first, stripe } => {
                first..first + (1 << stripe.channels_log2())
            }
        }
    }

    /// Whether the placement is possible on this card.
    pub(crate) fn has_placement(&self, placement: SpacePlacement) -> bool {
        let channels = self.channels.len();
        match placement {
            SpacePlacement::Anywhere | SpacePlacement::Isolated => true,
            SpacePlacement::Channel(channel) => channel < channels,
            SpacePlacement::Interleaved { first, stripe } => {
                let group = 1 << stripe.channels_log2();
                stripe != Stripe::NONE
                    && stripe.granule_log2() <= self.channel_bytes_log2
                    && first % group == 0
                    && first + group <= channels
                    && (first..first + group).all(|channel| {
                        let base = self.ranges[channel].base.get();
                        base >> self.channel_bytes_log2 == channel as u64
                    })
            }
        }
    }

    /// Whether a frame lies, in part, on one of the channels.
    pub(crate) fn touches(
        &self,
        frame: FrameNumber,
        stripe: Stripe,
        channels: &std::ops::Range<usize>,
    ) -> bool {
        let group_log2 = stripe.channels_log2();
        let place = stripe.place(frame.card_address(), self.channel_bytes_log2);
        if stripe == Stripe::NONE {
            return channels.contains(&self.channel_of(frame));
        }
        let first = (place.get() >> self.channel_bytes_log2) as usize >> group_log2 << group_log2;
        first < channels.end && channels.start < first + (1 << group_log2)
    }

    /// Channel of a frame that is not striped.
    pub(crate) fn channel_of(&self, frame: FrameNumber) -> usize {
        let address = frame.card_address().get();
        self.ranges
            .iter()
            .position(|range| (range.base.get()..range.base.get() + range.bytes).contains(&address))
            .unwrap_or(0)
    }

    /// Card address of a frame's first byte; it is unique among frames in use.
    pub(crate) fn place_of(&self, frame: FrameNumber, stripe: Stripe) -> CardAddr {
        stripe.place(frame.card_address(), self.channel_bytes_log2)
    }

    /// Free units within a block that is not striped.
    pub(crate) fn free_in(&self, frame: FrameNumber, order: u8) -> u64 {
        self.channels[self.channel_of(frame)].free_in(frame.get(), order)
    }

    /// Whether a placement could hold a block of `order` if no memory were in use.
    pub(crate) fn could_hold(&self, placement: SpacePlacement, order: u8) -> bool {
        let holds = |channel: usize, order: u8| {
            let range = self.ranges[channel];
            let bytes = 1 << (order + UNIT_BITS);
            let start = range.base.get().next_multiple_of(bytes);
            start + bytes <= range.base.get() + range.bytes
        };
        match placement {
            SpacePlacement::Anywhere => (0..self.ranges.len()).any(|channel| holds(channel, order)),
            SpacePlacement::Channel(channel) => holds(channel, order),
            // The space may be given a single channel.
            SpacePlacement::Isolated => (0..self.ranges.len()).all(|channel| holds(channel, order)),
            SpacePlacement::Interleaved { stripe, .. } => self
                .channels_of(placement)
                .all(|channel| holds(channel, share_order(stripe, order))),
        }
    }

    /// Number of blocks of `order` that could be allocated now, in channels and pools.
    pub(crate) fn count(&self, order: u8) -> u64 {
        self.channels
            .iter()
            .chain(self.pools.values())
            .map(|buddy| buddy.count(order))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::CardAddr;

    fn memory(base: u64, bytes: u64) -> ChannelMemory {
        ChannelMemory {
            base: CardAddr::new(base).unwrap(),
            bytes,
        }
    }

    #[test]
    fn blocks_split_and_merge() {
        let mut memory = FrameMemory::new(&[memory(0, 1 << 22)], 30);
        assert_eq!(memory.count(9), 2);
        let small = memory.allocate(0, 0).unwrap();
        assert_eq!((small.get(), memory.count(9)), (0, 1));
        let large = memory.allocate(0, 9).unwrap();
        assert_eq!((large.get(), memory.allocate(0, 9)), (512, None));
        memory.release(small, 0, Stripe::NONE);
        memory.release(large, 9, Stripe::NONE);
        assert_eq!(memory.count(10), 1);
    }

    #[test]
    fn odd_ranges_are_used_whole() {
        let mut memory = FrameMemory::new(&[memory(0x3000, 0x5000), memory(1 << 30, 0x1000)], 30);
        assert_eq!(memory.count(0), 6);
        let mut units: Vec<_> = (0..5)
            .map(|_| memory.allocate(0, 0).unwrap().get())
            .collect();
        units.sort_unstable();
        assert_eq!(units, [3, 4, 5, 6, 7]);
        assert_eq!(memory.available(0), [false, true]);
        let other = memory.allocate(1, 0).unwrap();
        assert_eq!(memory.channel_of(other), 1);
    }

    /// Allocates and frees blocks of several orders, with many stripings and none, at random: no two ever share a byte,
    /// and at the end all blocks have merged.
    #[test]
    fn striped_blocks_lie_apart_and_come_back() {
        const LOG2: u8 = 16;
        let ranges: Vec<_> = (0..4).map(|c| memory(c << LOG2, 0xc000)).collect();
        let mut random = 1u64;
        let mut below = |n: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % n
        };
        let mut memory = FrameMemory::new(&ranges, LOG2);
        let all = memory.count(0);
        let mut owners: BTreeMap<u64, u32> = BTreeMap::new();
        let mut taken: Vec<(FrameNumber, u8, Stripe, u32)> = Vec::new();
        let rows = |frame: FrameNumber, order: u8, stripe: Stripe| {
            let step = 64;
            (0..4096u64 << order).step_by(step).map(move |offset| {
                let name = CardAddr::new(frame.card_address().get() + offset).unwrap();
                stripe.place(name, LOG2).get()
            })
        };
        let (mut given, mut refused) = (0, 0);
        for number in 0..4000 {
            if below(2) == 0 && !taken.is_empty() {
                let (frame, order, stripe, owner) =
                    taken.swap_remove(below(taken.len() as u64) as usize);
                for row in rows(frame, order, stripe) {
                    assert_eq!(owners.remove(&row), Some(owner));
                }
                memory.release(frame, order, stripe);
                continue;
            }
            let order = below(3) as u8;
            let (stripe, first, frame) = if below(3) == 0 {
                let channel = below(4) as usize;
                (Stripe::NONE, channel, memory.allocate(channel, order))
            } else {
                let channels = 2 << below(2);
                let stripe = Stripe::new(1 << [6, 9, 12, 13][below(4) as usize], channels).unwrap();
                let first = (below(4) & !(channels - 1)) as usize;
                let placement = SpacePlacement::Interleaved { first, stripe };
                assert!(memory.has_placement(placement));
                (stripe, first, memory.allocate_striped(first, stripe, order))
            };
            let Some(frame) = frame else {
                refused += 1;
                continue;
            };
            given += 1;
            assert!(memory.touches(frame, stripe, &(first..first + 1)));
            for row in rows(frame, order, stripe) {
                assert_eq!(owners.insert(row, number), None, "{stripe} {order}");
                assert!(row % (1 << LOG2) < 0xc000, "beyond the channel's memory");
            }
            taken.push((frame, order, stripe, number));
        }
        assert!(given > 1000 && refused > 100, "{given} {refused}");
        for (frame, order, stripe, _) in taken {
            memory.release(frame, order, stripe);
        }
        assert_eq!(memory.count(0), all);
        assert_eq!(memory.available(3), [true; 4]);
    }
}
