//! Memory of the host that the function may reach: what the other side of the socket has mapped.

use card::memory::HostMemory;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Maps at most: each is one of this process's, and the system allows some 65,000.
const MOST: usize = 1 << 15;
const PAGE: u64 = 4096;

/// A range of addresses of the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Range {
    /// Its last address: a range may end with the last of all.
    fn last(self) -> Option<u64> {
        self.start.checked_add(self.bytes.checked_sub(1)?)
    }
}

/// Why a map was refused, or an unmap.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MapError {
    /// The numbers make no sense.
    #[error("0x{:x}..+0x{:x}, offset 0x{offset:x}: not whole pages, or beyond the end of addresses", .range.start, .range.bytes)]
    Malformed {
        /// The range.
        range: Range,
        /// Where it lies in its file.
        offset: u64,
    },
    /// Something is mapped there.
    #[error("0x{:x}..+0x{:x} overlaps what is mapped at 0x{other:x}", .range.start, .range.bytes)]
    Overlap {
        /// The range.
        range: Range,
        /// Start of the other.
        other: u64,
    },
    /// It cuts a map.
    #[error("0x{:x}..+0x{:x} ends inside what is mapped at 0x{other:x}", .range.start, .range.bytes)]
    Cut {
        /// The range.
        range: Range,
        /// Start of the map.
        other: u64,
    },
    /// Too many.
    #[error("more than {MOST} maps; use larger pages in the guest")]
    TooMany,
    /// Its file may become shorter, and then an access would end this process.
    #[error("the memory's file is not sealed against shrinking: use memory-backend-memfd with share=on,seal=on")]
    NotSealed,
    /// The system refuses.
    #[error("cannot be mapped: {0}")]
    System(#[from] std::io::Error),
}

/// Behind the last address of a map. No memory is as large as all addresses.
fn end_of(start: u64, memory: &HostMemory) -> u64 {
    start.saturating_add(memory.len() as u64)
}

/// What is mapped, by its first address.
#[derive(Default)]
pub(crate) struct Maps {
    maps: BTreeMap<u64, Arc<HostMemory>>,
}

impl Maps {
    /// Maps a piece of a file.
    ///
    /// # Errors
    /// [`MapError`]; then nothing has changed.
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

    /// Ends the maps that lie in a range; returns where they began.
    ///
    /// # Errors
    /// [`MapError::Malformed`], [`MapError::Cut`]; then nothing has changed.
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

    /// Ends every map; returns where they began.
    pub fn clear(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.maps).into_keys().collect()
    }

    /// Every map, lowest first.
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
        // Behind the end of its file: an access would end the process.
        assert!(maps.map(range(0, 8192), &file, (1 << 20) - 4096).is_err());
        assert!(maps.map(range(0, 4096), &file, u64::MAX - 4095).is_err());
        assert!(matches!(
            maps.map(range(0, 4096), &memory(4096, false), 0),
            Err(MapError::NotSealed)
        ));
        assert!(maps.unmap(range(u64::MAX, 2)).is_err());
    }
}
