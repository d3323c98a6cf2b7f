//! Existing memory of a program, shared in place: its pages are copied into a memory file, which is mapped over them;
//! and given back in the same way.
//!
//! No store is lost in either direction, whatever other threads do meanwhile: during the copy the pages are read-only,
//! a writer is trapped and retries, and pages are exchanged in one system call.

use super::handler::Watched;
use super::range::{file_of, parts_with, whole_pages, MappedFile, RangeError};
use card::memory::HostMemory;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

/// Start and end of each shared range.
static TAKEN: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// Whole pages of the program, claimed until drop.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) pages: Range<usize>,
}

impl Claim {
    /// # Safety
    /// The bytes before `start` on its page can be read if the page is mapped readable.
    pub(super) unsafe fn new(start: usize, bytes: usize) -> Result<Self, RangeError> {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let end = start.saturating_add(bytes);
        // Before the maps are read, in which a shared block looks like a file of the library.
        if let Some((start, end)) = overlap(&taken, &(start..end)) {
            return Err(RangeError::Overlaps { start, end });
        }
        // SAFETY: as for this function.
        let pages = unsafe { whole_pages(start, bytes) }?;
        taken.insert(pages.start, pages.end);
        Ok(Self { pages })
    }
}

fn overlap(taken: &BTreeMap<usize, usize>, range: &Range<usize>) -> Option<(usize, usize)> {
    let before = taken.range(..range.end).next_back();
    before
        .filter(|(_, behind)| **behind > range.start)
        .map(|(start, end)| (*start, *end))
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(&self.pages.start);
    }
}

/// Pages that map a memory file instead of the program's own memory.
#[derive(Debug)]
pub(super) struct Taken {
    claim: Claim,
    /// Device and inode of the memory file.
    file: MappedFile,
    /// Watch until they are given back.
    watched: Option<Watched>,
}

impl Taken {
    /// Copies the pages into the file, and maps it over them.
    pub(super) fn new(
        claim: Claim,
        file: &File,
        alias: &HostMemory,
        queue: usize,
    ) -> Result<Self, RangeError> {
        let bytes = claim.pages.len();
        let at = claim.pages.start as *mut libc::c_void;
        let file_number = file_of(file).map_err(RangeError::system("looking at a memory file"))?;
        // From now on, a writer waits.
        let watched = Watched::new(claim.pages.start, bytes, queue, None)
            .map_err(RangeError::system("watching the memory"))?;
        let undo = |what, source| {
            // SAFETY: the rights that `whole_pages` has seen.
            unsafe { libc::mprotect(at, bytes, libc::PROT_READ | libc::PROT_WRITE) };
            Err(RangeError::System { what, source })
        };
        // SAFETY: whole pages, which the caller of `View::register` hands over; readable all the time.
        if unsafe { libc::mprotect(at, bytes, libc::PROT_READ) } != 0 {
            return undo("protecting the memory", io::Error::last_os_error());
        }
        // By the system, which reports a page that cannot be read: of a file behind its end.
        // SAFETY: mapped, all of it, and no thread writes it.
        let from = unsafe { std::slice::from_raw_parts(at.cast_const().cast(), bytes) };
        if let Err(source) = file.write_all_at(from, 0) {
            return undo(
                "copying the memory (a file that is mapped may be shorter than its mapping)",
                source,
            );
        }
        // SAFETY: replaces those pages by their copy.
        let mapped = unsafe {
            libc::mmap(
                at,
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED,
                file.as_raw_fd(),
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return undo(
                "mapping the copy over the memory",
                io::Error::last_os_error(),
            );
        }
        // From here on dropping it gives the pages back.
        let taken = Self {
            claim,
            file: file_number,
            watched: Some(watched),
        };
        // SAFETY: the range is the mapping just made.
        if unsafe { libc::madvise(at, bytes, libc::MADV_DONTFORK) } != 0 {
            let source = io::Error::last_os_error();
            taken.give_back(alias);
            return Err(RangeError::System {
                what: "keeping the memory from forked children",
                source,
            });
        }
        Ok(taken)
    }

    /// Turns the pages into private memory again, with their current content. Pages that the program has unmapped, or
    /// mapped over, are unchanged.
    pub(super) fn give_back(mut self, alias: &HostMemory) {
        let pages = self.claim.pages.clone();
        let parts = match parts_with(self.file, &pages) {
            Ok(parts) => parts,
            Err(error) => {
                // They stay as they are: usable memory, but absent in a forked child.
                tracing::error!(%error, "memory that was shared stays a memory file");
                return;
            }
        };
        let mut given = 0;
        for part in parts {
            given += part.len();
            if let Err(error) = self.give_part(&part, alias) {
                tracing::error!(%error, "memory that was shared stays a memory file");
                // SAFETY: pages that map the file of this block, and have no other owner.
                unsafe {
                    let at = part.start as *mut libc::c_void;
                    libc::mprotect(at, part.len(), libc::PROT_READ | libc::PROT_WRITE);
                    libc::madvise(at, part.len(), libc::MADV_DOFORK);
                }
            }
        }
        if given < pages.len() {
            let lost = pages.len() - given;
            tracing::warn!(
                lost,
                "bytes of registered memory were unmapped before it was freed"
            );
        }
        // A fault there is the program's own from now on.
        self.watched = None;
    }

    fn give_part(&self, part: &Range<usize>, alias: &HostMemory) -> io::Result<()> {
        let at = part.start as *mut libc::c_void;
        let bytes = part.len();
        let from = alias
            .pointer(part.start - self.claim.pages.start, bytes)
            .map_err(io::Error::other)?;
        // SAFETY: a new mapping, a copy into it, and its move over pages of the library, which end with it.
        unsafe {
            let fresh = libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if fresh == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let moved = libc::mprotect(at, bytes, libc::PROT_READ) == 0 && {
                std::ptr::copy_nonoverlapping(from.cast_const(), fresh.cast(), bytes);
                let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                libc::mremap(fresh, bytes, bytes, how, at) != libc::MAP_FAILED
            };
            if !moved {
                let error = io::Error::last_os_error();
                libc::munmap(fresh, bytes);
                return Err(error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_found() {
        let taken = BTreeMap::from([(0x20_0000, 0x40_0000)]);
        assert_eq!(overlap(&taken, &(0x1f_f000..0x20_0000)), None);
        assert_eq!(overlap(&taken, &(0x40_0000..0x40_1000)), None);
        let found = Some((0x20_0000, 0x40_0000));
        assert_eq!(overlap(&taken, &(0x3f_ffff..0x50_0000)), found);
        assert_eq!(overlap(&taken, &(0x1f_f000..0x20_0001)), found);
        assert_eq!(overlap(&taken, &(0x10_0000..0x60_0000)), found);
    }
}
