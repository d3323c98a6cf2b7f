//! Shared memory: a memory file, the program's view of it, and our alias.

use super::handler::Watched;
use super::Desk;
use card::memory::HostMemory;
use pager::HostAccess;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use units::{PageSize, VirtAddr};

/// Pages of all views: each may need a range of the process's memory map of its own.
static PAGES: AtomicUsize = AtomicUsize::new(0);
/// Ranges that are left to everybody else.
const OTHER_RANGES: usize = 8192;

/// A block of shared memory.
#[derive(Debug)]
pub struct View {
    start: NonNull<u8>,
    bytes: usize,
    page: PageSize,
    alias: Arc<HostMemory>,
    _watched: Watched,
    _desk: Arc<Desk>,
}

// SAFETY: the range is the view's own until it is dropped; it is only handed out as a pointer, or as types
// that may be shared.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

/// A mapping that ends when it is dropped.
struct Mapped(NonNull<u8>, usize);

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by whoever made this, and is nobody else's.
        unsafe { libc::munmap(self.0.as_ptr().cast(), self.1) };
    }
}

impl View {
    /// Whole pages of zeroes, aligned to pages.
    ///
    /// # Errors
    /// No memory, no addresses, or so many pages that the process could not protect each by itself.
    pub(crate) fn new(bytes: usize, page: PageSize, desk: Arc<Desk>) -> io::Result<Self> {
        let page_bytes = page.bytes() as usize;
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        let bytes = bytes
            .checked_next_multiple_of(page_bytes)
            .filter(|&bytes| bytes > 0 && bytes < 1 << 46)
            .ok_or_else(|| invalid(format!("{bytes} bytes cannot be shared: give 1 to 2^46")))?;
        let pages = bytes / page_bytes;
        let most = most_ranges().saturating_sub(OTHER_RANGES);
        let before = PAGES.fetch_add(pages, Ordering::Relaxed);
        let counted = Counted(pages);
        if before + pages > most {
            return Err(invalid(format!(
                "{pages} more pages of shared memory would be {}; a process can protect {most} of them each \
                 by itself (vm.max_map_count): use larger pages",
                before + pages
            )));
        }
        let file = memory_file(bytes)?;
        let alias = HostMemory::of_file(file.as_fd(), bytes)?;
        let view = reserve(bytes, page_bytes)?;
        // SAFETY: replaces a part of the range that was just reserved.
        let mapped = unsafe {
            libc::mmap(
                view.0.as_ptr().cast(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED,
                file.as_raw_fd(),
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A forked child has no desk: it gets a segmentation fault and not another's half-moved pages.
        // SAFETY: the range is the mapping just made.
        if unsafe { libc::madvise(mapped, bytes, libc::MADV_DONTFORK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let watched = Watched::new(view.0.as_ptr() as usize, bytes, desk.index())?;
        let start = view.0;
        std::mem::forget((view, counted));
        Ok(Self {
            start,
            bytes,
            page,
            alias: Arc::new(alias),
            _watched: watched,
            _desk: desk,
        })
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Where it is, for kernels too.
    pub(crate) fn address(&self) -> VirtAddr {
        VirtAddr::truncated(self.start.as_ptr() as u64)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn page(&self) -> PageSize {
        self.page
    }

    /// The same memory, never protected.
    pub(crate) fn alias(&self) -> &Arc<HostMemory> {
        &self.alias
    }

    /// Changes what programs may do with a range. When it returns, no thread can do more.
    pub(crate) fn protect(&self, offset: u64, bytes: u64, access: HostAccess) -> io::Result<()> {
        let end = offset.checked_add(bytes);
        if end.is_none_or(|end| end > self.bytes as u64) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let rights = match access {
            HostAccess::None => libc::PROT_NONE,
            HostAccess::Read => libc::PROT_READ,
            HostAccess::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        };
        // SAFETY: the range lies in the view. What changes is what an access does: it is trapped, and
        // repeated when it is allowed.
        let result = unsafe {
            let at = self.start.as_ptr().add(offset as usize);
            libc::mprotect(at.cast(), bytes as usize, rights)
        };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        drop(Mapped(self.start, self.bytes));
        drop(Counted(self.bytes / self.page.bytes() as usize));
    }
}

/// Pages that count until it is dropped.
struct Counted(usize);

impl Drop for Counted {
    fn drop(&mut self) {
        PAGES.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Ranges that the memory map of a process may have.
fn most_ranges() -> usize {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count");
    let limit = limit.ok().and_then(|text| text.trim().parse().ok());
    limit.unwrap_or(65_530)
}

fn memory_file(bytes: usize) -> io::Result<File> {
    // SAFETY: a name that ends with 0; the new descriptor is nobody else's.
    let file = unsafe {
        let descriptor = libc::memfd_create(c"tombolo".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor)
    };
    file.set_len(bytes as u64)?;
    Ok(file)
}

/// Addresses that nobody else gets, aligned.
fn reserve(bytes: usize, align: usize) -> io::Result<Mapped> {
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
    // SAFETY: parts of the mapping just made, before and behind what is kept.
    unsafe {
        if aligned > first {
            libc::munmap(start, aligned - first);
        }
        if end > behind {
            libc::munmap(behind as *mut libc::c_void, end - behind);
        }
    }
    let kept = NonNull::new(aligned as *mut u8).map(|kept| Mapped(kept, bytes));
    kept.ok_or_else(|| io::Error::other("mmap gave address zero"))
}
