//! Which host memory the card reaches at which address (an IOMMU).

use card::memory::HostMemory;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::HostAddr;

/// The first address given out; below it nothing is ever mapped.
const FIRST: u64 = 1 << 28;
/// Host frames have 25 bits (docs/architecture.md), so that pages in the host can be mapped too.
const END: u64 = 1 << 37;
/// Regions start at a multiple of this and are this far apart, so that running over an end faults.
const GRANULE: u64 = 2 << 20;

/// Regions by their first address.
#[derive(Debug, Default)]
pub(crate) struct AddressMap {
    regions: BTreeMap<u64, Arc<HostMemory>>,
}

impl AddressMap {
    /// Gives a region the first free range; `None` when there is none.
    pub(crate) fn map(&mut self, memory: Arc<HostMemory>) -> Option<HostAddr> {
        let bytes = (memory.len() as u64).next_multiple_of(GRANULE) + GRANULE;
        let mut start = FIRST;
        for (&next, region) in &self.regions {
            if start + bytes <= next {
                break;
            }
            start = (next + region.len() as u64).next_multiple_of(GRANULE) + GRANULE;
        }
        if start + bytes > END {
            return None;
        }
        self.regions.insert(start, memory);
        Some(HostAddr::new(start))
    }

    /// Forgets the region that starts here.
    pub(crate) fn unmap(&mut self, address: HostAddr) -> Option<Arc<HostMemory>> {
        self.regions.remove(&address.get())
    }

    /// The region that holds all of a range, and the range's offset in it.
    pub(crate) fn find(&self, address: u64, bytes: u64) -> Option<(&Arc<HostMemory>, usize)> {
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
}
