//! Free card memory: a buddy allocator for each channel.

use crate::config::ChannelMemory;
use std::collections::BTreeSet;
use units::FrameNumber;

/// Largest block: 2^18 units of 4 KiB, 1 GiB.
const MAX_ORDER: u8 = 18;

/// Free blocks of one channel. A block of order `k` is `2^k` units of 4 KiB, aligned to its size.
/// The lowest block that fits is taken, so that equal histories give equal frames.
#[derive(Debug)]
struct Buddy {
    /// Free blocks by order.
    free: Vec<BTreeSet<u32>>,
}

impl Buddy {
    fn new(memory: ChannelMemory) -> Self {
        let mut buddy = Self {
            free: vec![BTreeSet::new(); usize::from(MAX_ORDER) + 1],
        };
        let mut unit = (memory.base.get() >> 12) as u32;
        let mut left = (memory.bytes >> 12) as u32;
        while left > 0 {
            let fits = 31 - left.leading_zeros();
            let order = unit.trailing_zeros().min(fits).min(u32::from(MAX_ORDER));
            buddy.free[order as usize].insert(unit);
            unit += 1 << order;
            left -= 1 << order;
        }
        buddy
    }

    fn has(&self, order: u8) -> bool {
        self.free[usize::from(order)..]
            .iter()
            .any(|set| !set.is_empty())
    }

    fn allocate(&mut self, order: u8) -> Option<u32> {
        let found = (order..=MAX_ORDER).find(|&k| !self.free[usize::from(k)].is_empty())?;
        let unit = self.free[usize::from(found)].pop_first()?;
        for k in order..found {
            self.free[usize::from(k)].insert(unit + (1 << k));
        }
        Some(unit)
    }

    fn release(&mut self, mut unit: u32, mut order: u8) {
        while order < MAX_ORDER && self.free[usize::from(order)].remove(&(unit ^ (1 << order))) {
            unit &= !(1 << order);
            order += 1;
        }
        let new = self.free[usize::from(order)].insert(unit);
        debug_assert!(new, "unit {unit} freed twice");
    }

    /// Blocks of `order` that could be allocated now.
    fn count(&self, order: u8) -> u64 {
        (order..=MAX_ORDER)
            .map(|k| (self.free[usize::from(k)].len() as u64) << (k - order))
            .sum()
    }
}

/// Free memory of all channels.
#[derive(Debug)]
pub(crate) struct FrameMemory {
    ranges: Vec<ChannelMemory>,
    channels: Vec<Buddy>,
}

impl FrameMemory {
    pub(crate) fn new(ranges: &[ChannelMemory]) -> Self {
        Self {
            ranges: ranges.to_vec(),
            channels: ranges.iter().map(|&range| Buddy::new(range)).collect(),
        }
    }

    /// Which channels have a free block.
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

    /// Gives a block back.
    pub(crate) fn release(&mut self, frame: FrameNumber, order: u8) {
        let channel = self.channel_of(frame);
        self.channels[channel].release(frame.get(), order);
    }

    /// The channel that owns a frame.
    pub(crate) fn channel_of(&self, frame: FrameNumber) -> usize {
        let address = frame.card_address().get();
        self.ranges
            .iter()
            .position(|range| (range.base.get()..range.base.get() + range.bytes).contains(&address))
            .unwrap_or(0)
    }

    /// Blocks of `order` that could be allocated now.
    pub(crate) fn count(&self, order: u8) -> u64 {
        self.channels
            .iter()
            .map(|channel| channel.count(order))
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
        let mut memory = FrameMemory::new(&[memory(0, 1 << 22)]);
        assert_eq!(memory.count(9), 2);
        let small = memory.allocate(0, 0).unwrap();
        assert_eq!((small.get(), memory.count(9)), (0, 1));
        let large = memory.allocate(0, 9).unwrap();
        assert_eq!((large.get(), memory.allocate(0, 9)), (512, None));
        memory.release(small, 0);
        memory.release(large, 9);
        assert_eq!(memory.count(10), 1);
    }

    #[test]
    fn odd_ranges_are_used_whole() {
        let mut memory = FrameMemory::new(&[memory(0x3000, 0x5000), memory(1 << 30, 0x1000)]);
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
}
