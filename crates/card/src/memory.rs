//! Host memory that a card may read and write. One of the two rooms where `unsafe` is allowed.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Page-aligned, zeroed memory shared between the host program and a card.
///
/// Both sides may access it concurrently, so it is never borrowed as a slice: bytes are copied in and out, and words of
/// a protocol (ring phases) are accessed as atomics.
#[derive(Debug)]
pub struct HostMemory {
    start: NonNull<u8>,
    bytes: usize,
    huge: bool,
}

// SAFETY: the memory is owned by this value until drop, and every access goes through raw copies or
// atomics, which do not assume exclusive access.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

/// An access outside the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bytes {offset}..+{bytes} lie outside host memory of {size} bytes")]
pub struct OutOfBounds {
    /// Offset of the first requested byte.
    pub offset: usize,
    /// Number of requested bytes.
    pub bytes: usize,
    /// Size of the memory, in bytes.
    pub size: usize,
}

const HUGE_PAGE: usize = 2 << 20;
const SMALL_PAGE: usize = 4096;
/// Size of a row, in bytes.
const ROW: usize = 64;
const WORD: usize = 8;

impl HostMemory {
    /// Allocates at least `bytes` of zeroed memory: explicit huge pages if the system has any free, else ordinary pages
    /// with a hint for transparent ones.
    ///
    /// # Errors
    /// Errors of `mmap`; `InvalidInput` for zero bytes.
    pub fn allocate(bytes: usize) -> io::Result<Self> {
        if bytes == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "zero bytes of host memory",
            ));
        }
        let rounded_huge = bytes.next_multiple_of(HUGE_PAGE);
        if bytes >= HUGE_PAGE {
            // Reserved at once: without a reservation, a page that is not there kills the program.
            // Without MAP_NORESERVE, so that it fails now, not at a touch, when none is free.
            if let Ok(start) = map_anonymous(rounded_huge, libc::MAP_HUGETLB) {
                return Ok(Self {
                    start,
                    bytes: rounded_huge,
                    huge: true,
                });
            }
        }
        Self::sparse(bytes)
    }

    /// As [`allocate`](Self::allocate), but the system allocates pages only on first access: ordinary pages with a hint
    /// for transparent huge ones.
    ///
    /// # Errors
    /// Errors of `mmap`, also for zero bytes.
    pub fn sparse(bytes: usize) -> io::Result<Self> {
        let rounded = bytes.next_multiple_of(SMALL_PAGE);
        let start = map_anonymous(rounded, libc::MAP_NORESERVE)?;
        // SAFETY: the range is the mapping just made. The advice may fail without harm.
        unsafe { libc::madvise(start.as_ptr().cast(), rounded, libc::MADV_HUGEPAGE) };
        Ok(Self {
            start,
            bytes: rounded,
            huge: false,
        })
    }

    /// Maps the first `bytes` of a file, shared with all other mappings of it: the view stays readable and writable
    /// here whatever others do with theirs.
    ///
    /// # Errors
    /// Errors of `mmap`; `InvalidInput` for zero bytes, or if the file is shorter.
    pub fn of_file(file: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        Self::of_file_at(file, 0, bytes)
    }

    /// As [`of_file`](Self::of_file), from an offset, a multiple of 4096.
    ///
    /// # Errors
    /// As [`of_file`](Self::of_file).
    pub fn of_file_at(file: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<Self> {
        let length = std::fs::File::from(file.try_clone_to_owned()?)
            .metadata()?
            .len();
        let end = offset.checked_add(bytes as u64);
        let place = libc::off_t::try_from(offset);
        let (true, Ok(place)) = (bytes > 0 && end.is_some_and(|end| end <= length), place) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the file does not hold that many bytes",
            ));
        };
        let rounded = bytes.next_multiple_of(SMALL_PAGE);
        // SAFETY: a new mapping; no existing memory is touched.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                rounded,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                place,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start =
            NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap gave address zero"))?;
        Ok(Self {
            start,
            bytes: rounded,
            huge: false,
        })
    }

    /// Cuts the memory off from other mappings of it: from now on they and it are different memory, and its content is
    /// lost. Accesses under way go to one or the other.
    ///
    /// # Errors
    /// Errors of `mmap`; nothing has changed then.
    pub fn cut_off(&self) -> io::Result<()> {
        // SAFETY: replaces this mapping at once by one of the same size and rights, which ends with `self` too.
        let start = unsafe {
            libc::mmap(
                self.start.as_ptr().cast(),
                self.bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        match start {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Whether the size of a file is sealed, so that it can never shrink. An access to memory of another file ends the
    /// process once the file has been truncated below it.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn is_sealed(file: BorrowedFd<'_>) -> io::Result<bool> {
        // SAFETY: asks for flags of an open file.
        let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
        match (seals, io::Error::last_os_error().raw_os_error()) {
            (-1, Some(libc::EINVAL)) => Ok(false), // A file that cannot be sealed.
            (-1, _) => Err(io::Error::last_os_error()),
            (seals, _) => Ok(seals & libc::F_SEAL_SHRINK != 0),
        }
    }

    /// Size of the memory, in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Always false: there is at least one page.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Whether explicit huge pages back it.
    pub fn is_huge(&self) -> bool {
        self.huge
    }

    /// Address of a byte, for the kernel's I/O calls, which copy without assuming exclusiveness.
    ///
    /// # Errors
    /// [`OutOfBounds`] unless `bytes` bytes from `offset` lie inside.
    pub fn pointer(&self, offset: usize, bytes: usize) -> Result<*mut u8, OutOfBounds> {
        match offset.checked_add(bytes) {
            // SAFETY: offset is at most the size of the mapping.
            Some(end) if end <= self.bytes => Ok(unsafe { self.start.as_ptr().add(offset) }),
            _ => Err(OutOfBounds {
                offset,
                bytes,
                size: self.bytes,
            }),
        }
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// [`OutOfBounds`].
    pub fn read(&self, offset: usize, to: &mut [u8]) -> Result<(), OutOfBounds> {
        let from = self.pointer(offset, to.len())?;
        // SAFETY: `from` is valid for `to.len()` bytes; `to` is an exclusive borrow elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    /// Copies bytes in.
    ///
    /// # Errors
    /// [`OutOfBounds`].
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<(), OutOfBounds> {
        let to = self.pointer(offset, from.len())?;
        // SAFETY: `to` is valid for `from.len()` bytes, and does not overlap a Rust slice.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        Ok(())
    }

    /// Copies a row in, at a multiple of 64. Its last word becomes visible after all others: a reader that
    /// [`load`](Self::load)s it and finds it new finds the rest new too.
    ///
    /// # Errors
    /// [`OutOfBounds`], also for a misaligned offset.
    pub fn write_row(&self, offset: usize, row: &[u8; ROW]) -> Result<(), OutOfBounds> {
        let (first, last) = row.split_at(ROW - WORD);
        let place = self.word(offset + first.len())?;
        self.write(offset, first)?;
        let mut word = [0; WORD];
        word.copy_from_slice(last);
        place.store(u64::from_ne_bytes(word), Ordering::Release);
        Ok(())
    }

    /// Zeroes bytes.
    ///
    /// # Errors
    /// [`OutOfBounds`].
    pub fn zero(&self, offset: usize, bytes: usize) -> Result<(), OutOfBounds> {
        let to = self.pointer(offset, bytes)?;
        // SAFETY: `to` is valid for `bytes` bytes.
        unsafe { std::ptr::write_bytes(to, 0, bytes) };
        Ok(())
    }

    /// Copies bytes to other memory, or to a possibly overlapping place of this one.
    ///
    /// # Errors
    /// [`OutOfBounds`].
    pub fn copy_to(
        &self,
        offset: usize,
        to: &Self,
        place: usize,
        bytes: usize,
    ) -> Result<(), OutOfBounds> {
        let from = self.pointer(offset, bytes)?;
        let to = to.pointer(place, bytes)?;
        // SAFETY: both are valid for `bytes` bytes; `copy` allows that they overlap.
        unsafe { std::ptr::copy(from, to, bytes) };
        Ok(())
    }

    /// Zeroes bytes, and releases whole pages of them to the system until the next access. Anonymous memory only: a
    /// file's bytes would not be zeroed.
    ///
    /// # Errors
    /// [`OutOfBounds`].
    pub fn discard(&self, offset: usize, bytes: usize) -> Result<(), OutOfBounds> {
        let whole = offset.next_multiple_of(SMALL_PAGE)..(offset + bytes) / SMALL_PAGE * SMALL_PAGE;
        if whole.is_empty() {
            return self.zero(offset, bytes);
        }
        let at = self.pointer(whole.start, whole.len())?;
        // SAFETY: whole pages of the mapping, which nothing borrows; they read as zeroes afterwards.
        let given = unsafe { libc::madvise(at.cast(), whole.len(), libc::MADV_DONTNEED) } == 0;
        if !given {
            return self.zero(offset, bytes);
        }
        self.zero(offset, whole.start - offset)?;
        self.zero(whole.end, offset + bytes - whole.end)
    }

    /// A word of a protocol between host and card (8-byte aligned offset).
    ///
    /// # Errors
    /// [`OutOfBounds`], also for a misaligned offset.
    pub fn word(&self, offset: usize) -> Result<&AtomicU64, OutOfBounds> {
        if offset % 8 != 0 {
            return Err(OutOfBounds {
                offset,
                bytes: 8,
                size: self.bytes,
            });
        }
        let at = self.pointer(offset, 8)?;
        // SAFETY: aligned (the mapping is page-aligned, the offset a multiple of 8), in bounds, and
        // alive as long as `self`.
        Ok(unsafe { AtomicU64::from_ptr(at.cast()) })
    }

    /// Loads a word with acquire ordering.
    ///
    /// # Errors
    /// As [`word`](Self::word).
    pub fn load(&self, offset: usize) -> Result<u64, OutOfBounds> {
        Ok(self.word(offset)?.load(Ordering::Acquire))
    }

    /// Stores a word with release ordering.
    ///
    /// # Errors
    /// As [`word`](Self::word).
    pub fn store(&self, offset: usize, value: u64) -> Result<(), OutOfBounds> {
        self.word(offset)?.store(value, Ordering::Release);
        Ok(())
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `allocate` with this size, and nothing borrows it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

fn map_anonymous(bytes: usize, flags: libc::c_int) -> io::Result<NonNull<u8>> {
    // SAFETY: a new anonymous mapping; no existing memory is touched.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap gave address zero"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{AsFd, FromRawFd};
    use std::os::unix::fs::FileExt;

    #[test]
    fn large_memory_can_be_touched_with_or_without_huge_pages() {
        let memory = HostMemory::allocate(5 << 20).unwrap();
        memory.write(memory.len() - 1, &[9]).unwrap();
    }

    #[test]
    fn rows_are_written_whole_and_in_place() {
        let memory = HostMemory::allocate(4096).unwrap();
        let row: [u8; ROW] = std::array::from_fn(|at| at as u8 + 1);
        memory.write_row(4032, &row).unwrap();
        let mut back = [0; ROW];
        memory.read(4032, &mut back).unwrap();
        assert_eq!(back, row);
        for bad in [4033, 4040, usize::MAX - 63] {
            assert!(memory.write_row(bad, &row).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_piece_of_a_file_is_mapped_if_the_file_has_it() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 << 12).unwrap();
        let memory = HostMemory::of_file_at(file.as_fd(), 1 << 12, 2 << 12).unwrap();
        memory.write(0, b"here").unwrap();
        let mut bytes = [0; 4];
        file.read_exact_at(&mut bytes, 1 << 12).unwrap();
        assert_eq!(&bytes, b"here");
        for (offset, bytes) in [(1 << 12, 3 << 12), (3 << 12, 1), (u64::MAX, 1), (0, 0)] {
            assert!(HostMemory::of_file_at(file.as_fd(), offset, bytes).is_err());
        }
        assert!(!HostMemory::is_sealed(file.as_fd()).unwrap());
    }

    #[test]
    fn memory_that_was_cut_off_changes_nothing_for_others() {
        // SAFETY: a name that ends with 0; the new descriptor has no other owner.
        let file = unsafe {
            let descriptor = libc::memfd_create(c"test".as_ptr(), libc::MFD_CLOEXEC);
            std::fs::File::from_raw_fd(descriptor)
        };
        file.set_len(8192).unwrap();
        let [one, other] = [(); 2].map(|()| HostMemory::of_file(file.as_fd(), 8192).unwrap());
        one.write(4090, &[7; 12]).unwrap();
        one.cut_off().unwrap();
        one.write(4096, &[9; 12]).unwrap();
        let mut bytes = [0; 12];
        other.read(4090, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 12]);
        drop(one);
        other.read(4090, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 12]);
    }

    #[test]
    fn bytes_and_words_stay_in_bounds() {
        let memory = HostMemory::allocate(100).unwrap();
        assert_eq!(memory.len(), 4096);
        memory.write(4090, &[1, 2, 3, 4, 5, 6]).unwrap();
        assert!(memory.write(4091, &[0; 6]).is_err());
        let mut back = [0; 2];
        memory.read(4094, &mut back).unwrap();
        assert_eq!(back, [5, 6]);
        assert!(memory.word(4).is_err());
        memory.store(8, 42).unwrap();
        assert_eq!(memory.load(8), Ok(42));
        assert!(memory.pointer(usize::MAX, 2).is_err());
    }
}
