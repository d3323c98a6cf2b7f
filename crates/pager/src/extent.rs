//! Sets of pages kept as ranges.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of page numbers, stored as disjoint, non-adjacent ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ExtentSet {
    /// Start of each range, with its end.
    ranges: BTreeMap<u64, u64>,
}

impl ExtentSet {
    #[cfg(test)]
    pub(crate) fn contains(&self, page: u64) -> bool {
        self.ranges
            .range(..=page)
            .next_back()
            .is_some_and(|(_, &end)| page < end)
    }

    /// Whether all pages of a range are in the set.
    pub(crate) fn covers(&self, range: Range<u64>) -> bool {
        let before = self.ranges.range(..=range.start).next_back();
        range.is_empty() || before.is_some_and(|(_, &end)| range.end <= end)
    }

    /// Changes the unit of page numbers: 2^bits new pages are one old page.
    pub(crate) fn refine(&mut self, bits: u32) {
        let finer = |(start, end): (u64, u64)| (start << bits, end << bits);
        self.ranges = std::mem::take(&mut self.ranges)
            .into_iter()
            .map(finer)
            .collect();
    }

    /// Adds a range; adjacent ranges merge.
    pub(crate) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = range;
        while let Some((&left, &right)) = self.ranges.range(..=end).next_back() {
            if right < start {
                break;
            }
            self.ranges.remove(&left);
            start = start.min(left);
            end = end.max(right);
        }
        self.ranges.insert(start, end);
    }

    /// Removes a range.
    pub(crate) fn remove_range(&mut self, range: Range<u64>) {
        let Range { start, end } = range;
        let overlapping = self.ranges.range(..end).rev();
        let overlapping = overlapping.take_while(|&(_, &right)| start < right);
        let found: Vec<(u64, u64)> = overlapping.map(|(&left, &right)| (left, right)).collect();
        for (left, right) in found {
            self.ranges.remove(&left);
            if left < start {
                self.ranges.insert(left, start);
            }
            if end < right {
                self.ranges.insert(end, right);
            }
        }
    }

    /// Removes one page.
    #[cfg(test)]
    pub(crate) fn remove(&mut self, page: u64) {
        self.remove_range(page..page + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_a_plain_set() {
        let mut extents = ExtentSet::default();
        let mut plain = BTreeSet::new();
        let mut state = 1u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (start, length) = (state >> 40 & 63, state >> 50 & 7);
            if state >> 60 & 1 == 0 {
                extents.insert(start..start + length);
                plain.extend(start..start + length);
            } else {
                extents.remove(start);
                plain.remove(&start);
            }
            assert!((0..72).all(|page| extents.contains(page) == plain.contains(&page)));
            let ends: Vec<_> = extents.ranges.iter().collect();
            assert!(ends.windows(2).all(|w| w[0].1 < w[1].0), "{ends:?}");
        }
    }
}
