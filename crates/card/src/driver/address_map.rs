//! Address map of the host memory that a card reaches.

use crate::memory::HostMemory;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use units::HostAddr;

/// The first address given out; nothing is mapped below it.
const FIRST: u64 = 1 << 28;
/// End of all addresses. Host frames have 25 bits (docs/architecture.md), so pages in the host can be mapped too.
const END: u64 = 1 << 37;
/// Alignment of regions and gap between them, in bytes, so that an access past an end faults.
const GRANULE: u64 = 2 << 20;

/// The regions of a card, by first address, and the free addresses.
#[derive(Debug)]
pub struct AddressMap {
    /// Free ranges, ascending and disjoint.
    free: Vec<Range<u64>>,
    regions: BTreeMap<u64, Arc<HostMemory>>,
}

impl Default for AddressMap {
    fn default() -> Self {
        Self::within(std::slice::from_ref(&(FIRST..END)))
    }
}

impl AddressMap {
    /// Creates a map of these ascending address ranges, as far as a page table entry can name them.
    pub fn within(ranges: &[Range<u64>]) -> Self {
        let usable = |range: &Range<u64>| {
            let start = range.start.max(FIRST).next_multiple_of(GRANULE);
            let end = range.end.min(END);
            (start < end).then_some(start..end)
        };
        Self {
            free: ranges.iter().filter_map(usable).collect(),
            regions: BTreeMap::new(),
        }
    }

    /// Maps a region to the first free range; `None` if there is none.
    pub fn map(&mut self, memory: Arc<HostMemory>) -> Option<HostAddr> {
        let bytes = (memory.len() as u64).next_multiple_of(GRANULE) + GRANULE;
        let start = self
            .free
            .iter()
            .find_map(|range| self.first_free(range, bytes))?;
        self.regions.insert(start, memory);
        Some(HostAddr::new(start))
    }

    /// The first address in a range that is followed by `bytes` free bytes.
    fn first_free(&self, range: &Range<u64>, bytes: u64) -> Option<u64> {
        let mut start = range.start;
        for (&next, region) in self.regions.range(range.clone()) {
            if start + bytes <= next {
                break;
            }
            start = (next + region.len() as u64).next_multiple_of(GRANULE) + GRANULE;
        }
        (start + bytes <= range.end).then_some(start)
    }

    /// Maps a region at a given address, such as one required by the other end of an IOMMU; false if the range overlaps
    /// a mapped one or exceeds the end of all addresses.
    pub fn map_at(&mut self, address: HostAddr, memory: Arc<HostMemory>) -> bool {
        let Some(end) = address.get().checked_add(memory.len() as u64) else {
            return false;
        };
        let before = self.regions.range(..end).next_back();
        let taken = before.is_some_and(|(&at, region)| at + region.len() as u64 > address.get());
        if !taken {
            self.regions.insert(address.get(), memory);
        }
        !taken
    }

    /// Unmaps the region that starts here.
    pub fn unmap(&mut self, address: HostAddr) -> Option<Arc<HostMemory>> {
        self.regions.remove(&address.get())
    }

    /// The region that contains a whole range, and the range's offset in it.
    #[inline]
    pub fn find(&self, address: u64, bytes: u64) -> Option<(&Arc<HostMemory>, usize)> {
        let (&start, region) = self.regions.range(..=address).next_back()?;
        let offset = address - start;
        let end = offset.checked_add(bytes)?;
        (end <= region.len() as u64).then_some((region, offset as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_found_whole_or_not_at_all() {
        let mut map = AddressMap::default();
        let memory = || Arc::new(HostMemory::allocate(8192).unwrap());
        let first = map.map(memory()).unwrap().get();
        let second = map.map(memory()).unwrap().get();
        assert!(second >= first + 8192);
        assert_eq!(map.find(first + 4096, 4096).unwrap().1, 4096);
        assert!(map.find(first + 4096, 4097).is_none());
        assert!(map.find(first - 1, 1).is_none());
        assert!(map.find(u64::MAX, 2).is_none());
        assert!(map.unmap(HostAddr::new(first)).is_some());
        assert!(map.find(first, 1).is_none());
        assert!(map.unmap(HostAddr::new(first)).is_none());
        assert_eq!(map.map(memory()).unwrap().get(), first);
    }

    #[test]
    fn ranges_that_are_not_offered_are_left_out() {
        let memory = || Arc::new(HostMemory::allocate(4096).unwrap());
        let mut map = AddressMap::within(&[0..FIRST + 3 * GRANULE, 1 << 32..END + GRANULE]);
        assert_eq!(map.map(memory()).unwrap().get(), FIRST);
        assert_eq!(map.map(memory()).unwrap().get(), 1 << 32);
        assert!(AddressMap::within(&[0..FIRST, END..END + FIRST])
            .map(memory())
            .is_none());
    }

    #[test]
    fn a_place_that_is_asked_for_is_given_or_refused() {
        let memory = || Arc::new(HostMemory::allocate(8192).unwrap());
        let mut map = AddressMap::default();
        assert!(map.map_at(HostAddr::new(0x4000), memory()));
        for taken in [0x3000, 0x4000, 0x5000] {
            assert!(!map.map_at(HostAddr::new(taken), memory()));
        }
        assert!(map.map_at(HostAddr::new(0x6000), memory()));
        assert!(!map.map_at(HostAddr::new(u64::MAX - 8191 + 4096), memory()));
        assert_eq!(map.find(0x5000, 4096).unwrap().1, 4096);
    }
}
