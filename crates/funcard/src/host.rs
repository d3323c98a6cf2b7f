//! Host memory that the card reaches.

use card::memory::HostMemory;
use card::CardError;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::HostAddr;

/// IOVAs are assigned in ascending order, with a gap after each region, so an access beyond the end or after the end of
/// a mapping is an error and does not reach other memory. They are reused only when all that page tables can hold
/// ([`REACH`]) have been assigned.
#[derive(Debug)]
pub(super) struct HostMap {
    regions: BTreeMap<u64, Arc<HostMemory>>,
    next: u64,
}

const FIRST: u64 = 1 << 32;
const END: u64 = 1 << 56;
/// Upper bound of the addresses of pages in host memory.
const REACH: u64 = 1 << 36;
const ALIGN: u64 = 2 << 20;

impl HostMap {
    pub(super) fn new() -> Self {
        Self {
            regions: BTreeMap::new(),
            next: FIRST,
        }
    }

    pub(super) fn map(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError> {
        let bytes = (memory.len() as u64 + ALIGN).next_multiple_of(ALIGN);
        let next = self.next + bytes;
        let gap = if next > REACH { self.gap(bytes) } else { None };
        let address = match gap {
            Some(gap) => gap,
            None if next > END => {
                return Err(CardError::HostMemory("no address range is left".to_owned()));
            }
            None => std::mem::replace(&mut self.next, next),
        };
        self.regions.insert(address, memory);
        Ok(HostAddr::new(address))
    }

    /// The first free range that page tables can hold.
    fn gap(&self, bytes: u64) -> Option<u64> {
        let mut start = FIRST;
        for (&next, region) in &self.regions {
            if start + bytes <= next {
                break;
            }
            start = next + (region.len() as u64 + ALIGN).next_multiple_of(ALIGN);
        }
        (start + bytes <= REACH).then_some(start)
    }

    pub(super) fn unmap(&mut self, address: HostAddr) -> Result<(), CardError> {
        match self.regions.remove(&address.get()) {
            Some(_) => Ok(()),
            None => Err(CardError::HostMemory(format!(
                "nothing is mapped at 0x{:x}",
                address.get()
            ))),
        }
    }

    /// Reads host memory; `None` if the range is not mapped as a whole.
    pub(super) fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        let (memory, offset) = self.find(address)?;
        memory.read(offset, to).ok()
    }

    /// Writes host memory; `None` if the range is not mapped as a whole.
    pub(super) fn write(&self, address: u64, from: &[u8]) -> Option<()> {
        let (memory, offset) = self.find(address)?;
        memory.write(offset, from).ok()
    }

    /// The location of a range; `None` if it is not mapped as a whole.
    pub(super) fn range(&self, address: u64, bytes: u64) -> Option<(&HostMemory, usize)> {
        let (memory, offset) = self.find(address)?;
        memory.pointer(offset, bytes as usize).ok()?;
        Some((memory, offset))
    }

    fn find(&self, address: u64) -> Option<(&HostMemory, usize)> {
        let (&start, memory) = self.regions.range(..=address).next_back()?;
        Some((memory, (address - start) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_mapped_is_reached() {
        let mut map = HostMap::new();
        let memory = Arc::new(HostMemory::allocate(4096).unwrap());
        let first = map.map(memory.clone()).unwrap().get();
        let second = map.map(memory).unwrap().get();
        assert!(first + 4096 < second);
        assert!(map.write(first + 4090, &[1; 6]).is_some());
        assert!(map.write(first + 4090, &[1; 7]).is_none());
        assert!(map.read(first - 1, &mut [0]).is_none());
        map.unmap(HostAddr::new(first)).unwrap();
        assert!(map.unmap(HostAddr::new(first)).is_err());
        assert!(map.read(first, &mut [0]).is_none());
        let mut byte = [0];
        map.read(second + 4095, &mut byte).unwrap();
        assert_eq!(byte, [1]);
    }

    #[test]
    fn ranges_that_page_tables_hold_are_used_again_at_last() {
        let mut map = HostMap::new();
        // It is never touched, so it takes no memory.
        let large = || Arc::new(HostMemory::allocate(16 << 30).unwrap());
        let kept = map.map(large()).unwrap().get();
        for _ in 0..20 {
            let other = map.map(large()).unwrap();
            assert!(other.get() >= kept + (16 << 30));
            assert!(other.get() + (16 << 30) <= REACH, "{:x}", other.get());
            map.unmap(other).unwrap();
        }
        let rest = [large(), large(), large()].map(|memory| map.map(memory).unwrap().get());
        let reached = rest.map(|address| address + (16 << 30) <= REACH);
        assert_eq!(reached, [true, true, false], "{rest:x?}");
    }
}
