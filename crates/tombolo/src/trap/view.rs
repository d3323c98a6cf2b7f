//! Shared memory: a memory file, the program's view of it, and our alias.

use super::handler::Watched;
use super::places::Reserved;
use super::Desk;
use card::memory::HostMemory;
use pager::HostAccess;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
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
    bytes: usize,
    page: PageSize,
    alias: Arc<HostMemory>,
    // In this order: nobody watches addresses that are somebody else's.
    _watched: Watched,
    place: Reserved,
    _counted: Counted,
    _desk: Arc<Desk>,
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
        let place = Reserved::new(bytes, page_bytes)?;
        // SAFETY: replaces a part of the range that was just reserved.
        let mapped = unsafe {
            libc::mmap(
                place.start().as_ptr().cast(),
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
        let watched = Watched::new(place.start().as_ptr() as usize, bytes, desk.index())?;
        Ok(Self {
            bytes,
            page,
            alias: Arc::new(alias),
            _watched: watched,
            place,
            _counted: counted,
            _desk: desk,
        })
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.place.start().as_ptr()
    }

    /// Where it is, for kernels too.
    pub(crate) fn address(&self) -> VirtAddr {
        VirtAddr::truncated(self.start() as u64)
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
            let at = self.start().add(offset as usize);
            libc::mprotect(at.cast(), bytes as usize, rights)
        };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Pages that count until it is dropped.
#[derive(Debug)]
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
