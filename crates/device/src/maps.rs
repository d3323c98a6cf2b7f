//! Host memory that the function may access: the ranges that the client of the socket has mapped.

use card::memory::HostMemory;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Maximum number of maps: each is a mapping of this process, of which Linux allows some 65,000.
const MOST: usize = 1 << 15;
const PAGE: u64 = 4096;

/// A range of bus addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// First address.
    pub start: u64,
    /// Size in bytes.
    pub bytes: u64,
}

impl Range {
    /// Last address, inclusive, since a range may end at the top of the address space; `None` if it is empty or
    /// overflows.
    fn last(self) -> Option<u64> {
        self.start.checked_add(self.bytes.checked_sub(1)?)
    }
}

/// Why a map or unmap was refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MapError {
    /// Misaligned, empty, or beyond the end of the address space.
    #[error("0x{:x}..+0x{:x}, offset 0x{offset:x}: not whole pages, or beyond the end of addresses", .range.start, .range.bytes)]
    Malformed {
        /// The range, as requested.
        range: Range,
        /// Offset in the file, in bytes.
        offset: u64,
    },
    /// The range overlaps an existing map.
    #[error("0x{:x}..+0x{:x} overlaps what is mapped at 0x{other:x}", .range.start, .range.bytes)]
    Overlap {
        /// The range, as requested.
        range: Range,
        /// Start of the existing map.
        other: u64,
    },
    /// An unmap that would split a map.
    #[error("0x{:x}..+0x{:x} ends inside what is mapped at 0x{other:x}", .range.start, .range.bytes)]
    Cut {
        /// The range, as requested.
        range: Range,
        /// Start of the map.
        other: u64,
    },
    /// More than the maximum number of maps.
    #[error("more than {MOST} maps; use larger pages in the guest")]
    TooMany,
    /// The file could shrink, and an access would then kill this process.
    #[error("the memory's file is not sealed against shrinking: use memory-backend-memfd with share=on,seal=on")]
    NotSealed,
    /// Error of the operating system.
    #[error("cannot be mapped: {0}")]
    System(#[from] std::io::Error),
}

/// Address after the end of a map; cannot overflow, since no memory fills the address space.
fn end_of(start: u64, memory: &HostMemory) -> u64 {
    start.saturating_add(memory.len() as u64)
}

/// The current maps, by start address.
#[derive(Default)]
pub(crate) struct Maps {
    maps: BTreeMap<u64, Arc<HostMemory>>,
}

impl Maps {
    /// Maps part of a file.
    ///
    /// # Errors
    /// [`MapError`]; nothing has changed.
    pub fn map(
        &mut self,
        range: Range,
        file: &File,
        offset: u64,
    ) -> Result<Arc<HostMemory>, MapError> {
        let whole = |number: u64| number % PAGE == 0;
        let (Some(last), Ok(bytes)) = (range.last(), usize::try_from(range.bytes)) else {
            return Err(MapError::Malformed { range, offset });
        };
        if !whole(range.start) || !whole(range.bytes) || !whole(offset) {
            return Err(MapError::Malformed { range, offset });
        }
        if let Some((&other, memory)) = self.maps.range(..=last).next_back() {
            if end_of(other, memory) > range.start {
                return Err(MapError::Overlap { range, other });
            }
        }
        if self.maps.len() >= MOST {
            return Err(MapError::TooMany);
        }
        if !HostMemory::is_sealed(file.as_fd())? {
            return Err(MapError::NotSealed);
        }
        let memory = Arc::new(HostMemory::of_file_at(file.as_fd(), offset, bytes)?);
        self.maps.insert(range.start, memory.clone());
        Ok(memory)
    }

    /// Removes the maps in a range; returns their start addresses.
    ///
    /// # Errors
    /// [`MapError::Malformed`], [`MapError::Cut`]; nothing has changed.
    pub fn unmap(&mut self, range: Range) -> Result<Vec<u64>, MapError> {
        let Some(last) = range.last() else {
            return Err(MapError::Malformed { range, offset: 0 });
        };
        let before = self.maps.range(..range.start).next_back();
        let inside = self.maps.range(range.start..=last);
        for (&other, memory) in before.into_iter().chain(inside.clone().next_back()) {
            let end = end_of(other, memory);
            if end - 1 > last || (other < range.start && end > range.start) {
                return Err(MapError::Cut { range, other });
            }
        }
        let starts: Vec<u64> = inside.map(|(&at, _)| at).collect();
        for start in &starts {
            self.maps.remove(start);
        }
        Ok(starts)
    }

    /// Removes every map; returns their start addresses.
    pub fn clear(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.maps).into_keys().collect()
    }

    /// All maps, in ascending order of address.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Arc<HostMemory>)> {
        self.maps.iter().map(|(&start, memory)| (start, memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{fcntl_add_seals, ftruncate, memfd_create, MemfdFlags, SealFlags};

    fn memory(bytes: u64, sealed: bool) -> File {
        let file = memfd_create("guest", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&file, bytes).unwrap();
        if sealed {
            fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
        }
        File::from(file)
    }

    fn range(start: u64, bytes: u64) -> Range {
        Range { start, bytes }
    }

    #[test]
    fn maps_lie_apart_and_end_whole() {
        let (file, mut maps) = (memory(1 << 20, true), Maps::default());
        maps.map(range(0x10000, 0x2000), &file, 0x3000).unwrap();
        maps.map(range(0x12000, 0x1000), &file, 0).unwrap();
        for bad in [
            range(0x11000, 0x1000),
            range(0xf000, 0x2000),
            range(0, 1 << 20),
            range(0x12000, 0x1000),
        ] {
            assert!(
                matches!(maps.map(bad, &file, 0), Err(MapError::Overlap { .. })),
                "{bad:?}"
            );
        }
        for cut in [
            range(0x10000, 0x1000),
            range(0x11000, 0x4000),
            range(0, 0x11000),
        ] {
            assert!(
                matches!(maps.unmap(cut), Err(MapError::Cut { .. })),
                "{cut:?}"
            );
        }
        assert_eq!(maps.unmap(range(0, 1 << 40)).unwrap(), [0x10000, 0x12000]);
        assert!(maps.unmap(range(0, 1 << 40)).unwrap().is_empty());
        let last = u64::MAX - 4095;
        maps.map(range(last, 4096), &file, 0).unwrap();
        assert!(maps.map(range(last - 4096, 8192), &file, 0).is_err());
        assert_eq!(
            maps.unmap(range(1 << 40, u64::MAX - (1 << 40) + 1))
                .unwrap(),
            [last]
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let (file, mut maps) = (memory(1 << 20, true), Maps::default());
        for bad in [
            range(0, 0),
            range(1, 4096),
            range(0, 100),
            range(u64::MAX - 4095, 8192),
        ] {
            assert!(
                matches!(maps.map(bad, &file, 0), Err(MapError::Malformed { .. })),
                "{bad:?}"
            );
        }
        assert!(maps.map(range(0, 4096), &file, 1).is_err());
        // Beyond the end of its file: an access would kill the process.
        assert!(maps.map(range(0, 8192), &file, (1 << 20) - 4096).is_err());
        assert!(maps.map(range(0, 4096), &file, u64::MAX - 4095).is_err());
        assert!(matches!(
            maps.map(range(0, 4096), &memory(4096, false), 0),
            Err(MapError::NotSealed)
        ));
        assert!(maps.unmap(range(u64::MAX, 2)).is_err());
    }
}
