//! A buddy allocator: free blocks of card memory in powers of two.

use crate::config::ChannelMemory;
use std::collections::BTreeSet;

/// Largest block: 2^18 units of 4 KiB, 1 GiB.
const MAX_ORDER: u8 = 18;
/// log2 of a unit's bytes.
pub(crate) const UNIT_BITS: u8 = 12;

/// Free blocks of a range. A block of order `k` is `2^k` units of 4 KiB, aligned to its size. Allocation takes the
/// lowest block that fits, so that equal histories give equal frames.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Buddy {
    /// Free blocks by order.
    free: Vec<BTreeSet<u32>>,
}

impl Buddy {
    /// An allocator without free blocks; blocks merge up to `max_order`.
    pub(crate) fn empty(max_order: u8) -> Self {
        Self {
            free: vec![BTreeSet::new(); usize::from(max_order) + 1],
        }
    }

    pub(crate) fn new(memory: ChannelMemory) -> Self {
        let mut buddy = Self::empty(MAX_ORDER);
        let mut unit = (memory.base.get() >> UNIT_BITS) as u32;
        let mut left = (memory.bytes >> UNIT_BITS) as u32;
        while left > 0 {
            let fits = 31 - left.leading_zeros();
            let order = unit.trailing_zeros().min(fits).min(u32::from(MAX_ORDER));
            buddy.free[order as usize].insert(unit);
            unit += 1 << order;
            left -= 1 << order;
        }
        buddy
    }

    pub(crate) fn max_order(&self) -> u8 {
        self.free.len() as u8 - 1
    }

    pub(crate) fn has(&self, order: u8) -> bool {
        self.free
            .iter()
            .skip(order.into())
            .any(|set| !set.is_empty())
    }

    pub(crate) fn allocate(&mut self, order: u8) -> Option<u32> {
        let lowest = |k: &u8| !self.free[usize::from(*k)].is_empty();
        let found = (order..=self.max_order()).find(lowest)?;
        let unit = self.free[usize::from(found)].pop_first()?;
        for k in order..found {
            self.free[usize::from(k)].insert(unit + (1 << k));
        }
        Some(unit)
    }

    /// Order of the free block that contains this block, if it is free as a whole.
    pub(crate) fn holder(&self, unit: u32, order: u8) -> Option<u8> {
        let holds = |k: &u8| self.free[usize::from(*k)].contains(&(unit >> k << k));
        (order..=self.max_order()).find(holds)
    }

    /// Takes this block if it is free.
    pub(crate) fn take(&mut self, unit: u32, order: u8) -> bool {
        let Some(found) = self.holder(unit, order) else {
            return false;
        };
        self.free[usize::from(found)].remove(&(unit >> found << found));
        for k in order..found {
            self.free[usize::from(k)].insert((unit >> k ^ 1) << k);
        }
        true
    }

    pub(crate) fn release(&mut self, mut unit: u32, mut order: u8) {
        while order < self.max_order()
            && self.free[usize::from(order)].remove(&(unit ^ (1 << order)))
        {
            unit &= !(1 << order);
            order += 1;
        }
        let new = self.free[usize::from(order)].insert(unit);
        debug_assert!(new, "unit {unit} freed twice");
    }

    /// Number of blocks of `order` that could be allocated now.
    pub(crate) fn count(&self, order: u8) -> u64 {
        (order..=self.max_order())
            .map(|k| (self.free[usize::from(k)].len() as u64) << (k - order))
            .sum()
    }

    /// Free aligned blocks of `order`, lowest first within each larger block.
    pub(crate) fn blocks(&self, order: u8) -> impl Iterator<Item = u32> + '_ {
        (order..=self.max_order()).flat_map(move |k| {
            self.free[usize::from(k)]
                .iter()
                .flat_map(move |&unit| (0..1u32 << (k - order)).map(move |n| unit + (n << order)))
        })
    }

    /// Number of free units within a block.
    pub(crate) fn free_in(&self, unit: u32, order: u8) -> u64 {
        if self.holder(unit, order).is_some() {
            return 1 << order;
        }
        (0..order)
            .map(|k| {
                let within = self.free[usize::from(k)].range(unit..unit + (1 << order));
                (within.count() as u64) << k
            })
            .sum()
    }
}
