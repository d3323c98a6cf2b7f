//! Addresses of shared-memory blocks, equal in each run.
//!
//! Kernels see these addresses, and the position of an entry in a page table depends on them, so the system's address
//! randomisation would make runs differ. Blocks are placed one behind the other, first fit, in a part of the address
//! space that systems leave free; if a mapping is in the way, anywhere.

use super::range::{parts_with, MappedFile};
use std::collections::BTreeMap;
use std::io;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// Far from the usual addresses of programs, heaps, stacks and libraries in Linux, and from the shadows of sanitizers.
const FIRST: usize = 0x2000_0000_0000;
const END: usize = 0x3000_0000_0000;
/// Gap between two blocks: an access that runs out of one does not run into the next.
const GAP: usize = 1 << 16;
/// Maximum number of attempts.
const TRIES: usize = 64;

/// Start and end of each range that this process has taken, or found to be taken.
static TAKEN: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// Addresses reserved until drop.
#[derive(Debug)]
pub(super) struct Reserved {
    start: NonNull<u8>,
    bytes: usize,
    /// File mapped there, initially over all of it.
    file: Option<MappedFile>,
}

// SAFETY: only an address and a number; the memory there is used through the view that owns it.
unsafe impl Send for Reserved {}
// SAFETY: as above.
unsafe impl Sync for Reserved {}

impl Reserved {
    /// # Errors
    /// No such range is free.
    pub(super) fn new(bytes: usize, align: usize) -> io::Result<Self> {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut from = FIRST;
        for _ in 0..TRIES {
            let Some(place) = first_fit(&taken, from, bytes, align) else {
                break;
            };
            if let Some(start) = map_at(place, bytes) {
                taken.insert(place, place + bytes);
                return Ok(Self {
                    start,
                    bytes,
                    file: None,
                });
            }
            // Mapped by other code.
            from = place + bytes.max(1 << 30);
        }
        drop(taken);
        map_anywhere(bytes, align)
    }

    /// Records that a file is mapped there: parts that the program unmaps, or maps over, are no longer owned.
    pub(super) fn holds(&mut self, file: MappedFile) {
        self.file = Some(file);
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let start = self.start.as_ptr() as usize;
        let all = start..start + self.bytes;
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = match self.file.map(|file| parts_with(file, &all)) {
            None => vec![all],
            Some(Ok(parts)) => parts,
            Some(Err(error)) => {
                tracing::error!(%error, "addresses of shared memory stay taken");
                return;
            }
        };
        for part in parts {
            // SAFETY: the range was mapped by `new`, and has no other owner.
            unsafe { libc::munmap(part.start as *mut libc::c_void, part.len()) };
        }
        taken.remove(&start);
    }
}

/// The first address from a start on with room between taken ranges.
fn first_fit(
    taken: &BTreeMap<usize, usize>,
    from: usize,
    bytes: usize,
    align: usize,
) -> Option<usize> {
    let mut place = from.next_multiple_of(align);
    for (&start, &end) in taken {
        if place + bytes + GAP <= start {
            break;
        }
        if place < end + GAP {
            place = (end + GAP).next_multiple_of(align);
        }
    }
    (place.checked_add(bytes)? <= END).then_some(place)
}

/// Reserves a range without access rights, if nothing is mapped there.
fn map_at(place: usize, bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: a new mapping without rights; NOREPLACE touches no existing memory, nor does a kernel that does
    // not know it and takes the address as a hint.
    let start = unsafe {
        libc::mmap(
            place as *mut libc::c_void,
            bytes,
            libc::PROT_NONE,
            libc::MAP_PRIVATE
                | libc::MAP_ANONYMOUS
                | libc::MAP_NORESERVE
                | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    if start as usize != place {
        // SAFETY: the mapping just made.
        unsafe { libc::munmap(start, bytes) };
        return None;
    }
    NonNull::new(start.cast())
}

fn map_anywhere(bytes: usize, align: usize) -> io::Result<Reserved> {
    let whole = bytes + align;
    // SAFETY: a new mapping without rights; no existing memory is touched.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            whole,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let first = start as usize;
    let aligned = first.next_multiple_of(align);
    let end = first + whole;
    let behind = aligned + bytes;
    // SAFETY: parts of the mapping just made, before and behind the part to keep.
    unsafe {
        if aligned > first {
            libc::munmap(start, aligned - first);
        }
        if end > behind {
            libc::munmap(behind as *mut libc::c_void, end - behind);
        }
    }
    let start = NonNull::new(aligned as *mut u8);
    let start = start.ok_or_else(|| io::Error::other("mmap gave address zero"))?;
    Ok(Reserved {
        start,
        bytes,
        file: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_used_again_and_nothing_overlaps() {
        let mut taken = BTreeMap::new();
        let mut put = |bytes, align| {
            let place = first_fit(&taken, FIRST, bytes, align).unwrap();
            assert_eq!(place % align, 0);
            let apart = |(&start, &end): (&usize, &usize)| {
                place >= end + GAP || place + bytes + GAP <= start
            };
            assert!(taken.iter().all(apart));
            taken.insert(place, place + bytes);
            place
        };
        let first = put(4096, 4096);
        let second = put(1 << 21, 1 << 21);
        let third = put(4096, 4096);
        assert_eq!(first, FIRST);
        assert!(
            first < third && third < second,
            "before the large one is room"
        );
        taken.remove(&first);
        assert_eq!(first_fit(&taken, FIRST, 4096, 4096), Some(first));
        assert_eq!(first_fit(&taken, FIRST, END - FIRST, 4096), None);
    }

    #[test]
    fn ranges_are_given_back() {
        let one = Reserved::new(1 << 16, 1 << 16).unwrap();
        let place = one.start();
        drop(one);
        assert_eq!(Reserved::new(1 << 16, 1 << 16).unwrap().start(), place);
    }
}
