//! Shared memory: a memory file, the program's view of it, and the library's alias.

use super::handler::Watched;
use super::huge::Pieces;
use super::places::Reserved;
use super::programs::{Elsewhere, TrapsElsewhere};
use super::range::{file_of, parts_with, MappedFile, RangeError};
use super::taken::{Claim, Taken};
use super::userfault::Guarded;
use super::TrapQueue;
use card::memory::HostMemory;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::HostAccess;
use units::{PageSize, VirtAddr};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pages of all views: each may need a separate range of the process's memory map.
static PAGES: AtomicUsize = AtomicUsize::new(0);
/// Ranges that are left to the rest of the process.
const OTHER_RANGES: usize = 8192;

/// Upper limit of a block's size in bytes, exclusive.
const LARGEST: usize = 1 << 46;
/// Upper limit of the size of trapped memory of another process, in bytes.
const LARGEST_ELSEWHERE: u64 = 1 << 40;
/// Upper limit of the parts of a block: ends of two page sizes around the largest, and room.
const MOST_PARTS: usize = 8;

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// A block of shared memory.
#[derive(Debug)]
pub struct View {
    start: usize,
    bytes: usize,
    parts: Vec<Part>,
    pieces: Pieces,
    alias: Arc<HostMemory>,
    /// File mapped there.
    file: MappedFile,
    /// Guard by userfaultfd instead of protection. Declared before the addresses: it must end before they are reused.
    guarded: Mutex<Option<Arc<Guarded>>>,
    place: Mutex<ViewLocation>,
    /// Trap method; without one, programs request the ranges that they access.
    way: Option<TrapWay>,
    _counted: Counted,
    /// Trap queue, while it is shared.
    queue: Mutex<Option<Arc<TrapQueue>>>,
}

/// A part of a block with pages of one size, aligned to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Range of offsets in the block.
    pub range: Range<usize>,
    /// Page size.
    pub page: PageSize,
}

/// Size of a part of a block in another process, and its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSize {
    /// Size in bytes, whole pages.
    pub bytes: u64,
    /// Page size.
    pub page: PageSize,
}

/// Trap method: how accesses of a program are intercepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrapWay {
    /// Pages are protected (`mprotect`), and an access raises SIGSEGV, which the library serves. It works on every
    /// system, and large pages cost no more than small ones. System calls on such memory fail with EFAULT.
    #[default]
    Protect,
    /// Pages are missing, and a thread that accesses one waits in the kernel (userfaultfd). It works in system calls
    /// too. It needs Linux 6.6 and the right to use userfaultfd.
    Userfault,
    /// Pages are missing, and an access raises SIGBUS (userfaultfd without a listening thread): a thread maps the
    /// program's own pages itself, and waits for the library only if the card has the page. Any number of pages,
    /// without privileges. It needs Linux 6.6. System calls on such memory fail with EFAULT.
    InThread,
}

impl std::fmt::Display for TrapWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Protect => "mprotect and SIGSEGV",
            Self::Userfault => "userfaultfd",
            Self::InThread => "userfaultfd and SIGBUS",
        })
    }
}

/// Location of a view.
#[derive(Debug)]
enum ViewLocation {
    /// At reserved addresses. In this order: the watch must end before the addresses are freed.
    Reserved {
        watched: Option<Watched>,
        _addresses: Reserved,
    },
    /// Over existing memory of the program.
    Taken(Taken),
    /// In a program of another process, which traps accesses if this is set.
    Elsewhere(Option<Elsewhere>),
    /// It was given back.
    Returned,
}

impl View {
    /// Whole pages of zeroes, aligned to pages, in which a program's accesses are trapped by some method; also returns the
    /// memory as a file of fixed size, for an owner in another process.
    ///
    /// # Errors
    /// No memory or no addresses are available, or there are more pages than the process could protect separately.
    pub fn trapped(
        bytes: usize,
        page: PageSize,
        way: TrapWay,
        queue: Arc<TrapQueue>,
    ) -> io::Result<(Self, File)> {
        Self::new(bytes, page, Some((way, queue)))
    }

    /// The same without traps; also returns the memory as a file of fixed size, for an owner in another process.
    ///
    /// # Errors
    /// No memory or no addresses are available.
    pub fn untrapped(bytes: usize, page: PageSize) -> io::Result<(Self, File)> {
        Self::new(bytes, page, None)
    }

    /// Memory of a program in another process, which has it at an address of its own. It has no traps.
    ///
    /// # Errors
    /// The file is too short or can become shorter; or the address does not fit whole pages of that size.
    pub fn of_another(
        file: &File,
        address: VirtAddr,
        bytes: u64,
        page: PageSize,
    ) -> io::Result<Self> {
        let part = PartSize { bytes, page };
        Self::elsewhere(file, address, &[part], None, |_| {})
    }

    /// The same, in pages of several sizes and with accesses that the program's process traps. `shares` gets the memory
    /// before any right changes.
    ///
    /// # Errors
    /// As [`of_another`](Self::of_another), for each part; more than 1 TiB.
    pub fn trapped_elsewhere(
        file: &File,
        address: VirtAddr,
        parts: &[PartSize],
        traps: TrapsElsewhere,
        shares: impl FnOnce(&Arc<HostMemory>),
    ) -> io::Result<Self> {
        let bytes = parts.iter().map(|part| part.bytes);
        // A piece of 2 MiB is a byte of this process.
        if bytes.fold(0, u64::saturating_add) > LARGEST_ELSEWHERE {
            return Err(invalid("it has more than 1 TiB"));
        }
        Self::elsewhere(file, address, parts, Some(traps), shares)
    }

    fn elsewhere(
        file: &File,
        address: VirtAddr,
        sizes: &[PartSize],
        traps: Option<TrapsElsewhere>,
        shares: impl FnOnce(&Arc<HostMemory>),
    ) -> io::Result<Self> {
        let mut parts = Vec::new();
        let mut end = address.get();
        for PartSize { bytes, page } in sizes.iter().copied() {
            if bytes == 0 || bytes % page.bytes() != 0 || end % page.bytes() != 0 {
                return Err(invalid("it is no range of whole pages"));
            }
            let start = end;
            let behind = end.checked_add(bytes).filter(|end| {
                end - address.get() < LARGEST as u64 && VirtAddr::new(end - 1).is_some()
            });
            end = behind.ok_or_else(|| invalid("it ends beyond the addresses that there are"))?;
            let range = (start - address.get()) as usize..(end - address.get()) as usize;
            parts.push(Part { range, page });
        }
        let bytes = (end - address.get()) as usize;
        if bytes == 0 || parts.len() > MOST_PARTS {
            return Err(invalid("it is no range of whole pages"));
        }
        if !HostMemory::is_sealed(file.as_fd())? {
            return Err(invalid(
                "it is no memory file that is sealed against shrinking (F_SEAL_SHRINK)",
            ));
        }
        let alias = Arc::new(HostMemory::of_file(file.as_fd(), bytes)?);
        shares(&alias);
        let start = address.get() as usize;
        let pieces = traps.as_ref().is_some_and(|traps| traps.pieces);
        let way = traps.as_ref().map(|_| TrapWay::Protect);
        Ok(Self {
            start,
            bytes,
            parts,
            pieces: Pieces::elsewhere(start, if pieces { bytes } else { 0 }),
            alias,
            file: file_of(file)?,
            place: Mutex::new(ViewLocation::Elsewhere(traps.map(Elsewhere::new))),
            way,
            guarded: Mutex::new(None),
            _counted: Counted::new(1)?,
            queue: Mutex::new(None),
        })
    }

    fn new(
        bytes: usize,
        page: PageSize,
        traps: Option<(TrapWay, Arc<TrapQueue>)>,
    ) -> io::Result<(Self, File)> {
        let (way, queue) = traps.unzip();
        let userfault = match (way, &queue) {
            (Some(way), Some(queue)) => queue.userfault(way)?,
            _ => None,
        };
        let page_bytes = page.bytes() as usize;
        let bytes = bytes
            .checked_next_multiple_of(page_bytes)
            .filter(|&bytes| bytes > 0 && bytes < LARGEST)
            .ok_or_else(|| invalid(&format!("{bytes} bytes cannot be shared: give 1 to 2^46")))?;
        // Only protected pages need ranges of the memory map.
        let ranges = match way {
            Some(_) if userfault.is_none() => bytes / page_bytes,
            _ => 1,
        };
        let counted = Counted::new(ranges)?;
        let file = memory_file(bytes)?;
        let alias = HostMemory::of_file(file.as_fd(), bytes)?;
        let file_number = file_of(&file)?;
        let mut place = Reserved::new(bytes, page_bytes)?;
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
        place.holds(file_number);
        // A forked child has no trap queue: it gets a segmentation fault instead of another process's half-moved pages.
        // SAFETY: the range is the mapping just made.
        if unsafe { libc::madvise(mapped, bytes, libc::MADV_DONTFORK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let start = place.start().as_ptr() as usize;
        let alias = Arc::new(alias);
        let protects = way == Some(TrapWay::Protect);
        let guard =
            |userfault| Guarded::new(userfault, start..start + bytes, page_bytes, alias.clone());
        let guarded = userfault.map(guard).transpose()?;
        let watched = match (way, &queue) {
            (Some(TrapWay::Protect), Some(queue)) => {
                Some(Watched::new(start, bytes, queue.index(), None)?)
            }
            (Some(TrapWay::InThread), Some(queue)) => {
                let guarded = guarded.clone();
                Some(Watched::new(start, bytes, queue.index(), guarded)?)
            }
            _ => None,
        };
        let view = Self {
            start,
            bytes,
            parts: vec![Part {
                range: 0..bytes,
                page,
            }],
            pieces: Pieces::new(start, if protects { bytes } else { 0 }),
            alias,
            file: file_number,
            place: Mutex::new(ViewLocation::Reserved {
                watched,
                _addresses: place,
            }),
            way,
            guarded: Mutex::new(guarded),
            _counted: counted,
            queue: Mutex::new(queue),
        };
        Ok((view, file))
    }

    /// Existing memory of the program, in place: its pages map a memory file from now on, with the same bytes. The card
    /// has it in pages of these sizes, the largest first, as far as they are aligned. Also returns that file, of fixed
    /// size, for an owner in another process.
    ///
    /// # Safety
    /// The memory is the caller's. It stays mapped until [`give_back`](Self::give_back), and no code relies on it not
    /// changing from now on.
    pub unsafe fn register(
        start: usize,
        bytes: usize,
        sizes: &[PageSize],
        queue: Arc<TrapQueue>,
    ) -> Result<(Self, File), RangeError> {
        // SAFETY: the page of the first byte is the caller's.
        let claim = unsafe { Claim::new(start, bytes) }?;
        let Range { start, end } = claim.pages;
        let bytes = end - start;
        let parts = parts(start..end, sizes);
        let pages = |part: &Part| part.range.len() / part.page.bytes() as usize;
        let counted = Counted::new(parts.iter().map(pages).sum())
            .map_err(RangeError::system("counting its pages"))?;
        let made = memory_file(bytes).and_then(|file| {
            let alias = HostMemory::of_file(file.as_fd(), bytes)?;
            let number = file_of(&file)?;
            Ok((file, number, alias))
        });
        let (file, number, alias) = made.map_err(RangeError::system("making a memory file"))?;
        let taken = Taken::new(claim, &file, &alias, queue.index())?;
        let view = Self {
            start,
            bytes,
            parts,
            pieces: Pieces::new(start, bytes),
            alias: Arc::new(alias),
            file: number,
            place: Mutex::new(ViewLocation::Taken(taken)),
            way: Some(TrapWay::Protect),
            guarded: Mutex::new(None),
            _counted: counted,
            queue: Mutex::new(Some(queue)),
        };
        Ok((view, file))
    }

    /// Turns existing memory of the program back as before, with its current content. Other memory is unchanged.
    pub fn give_back(&self) {
        let mut place = lock(&self.place);
        if matches!(*place, ViewLocation::Taken(_)) {
            if let ViewLocation::Taken(taken) =
                std::mem::replace(&mut *place, ViewLocation::Returned)
            {
                taken.give_back(&self.alias);
                drop(lock(&self.queue).take());
            }
        }
    }

    /// Ends the sharing and the traps: all rights return to the program. Existing memory of the program is watched
    /// until it is given back.
    pub fn release(&self) {
        let mut place = lock(&self.place);
        let watched = match &mut *place {
            ViewLocation::Reserved { watched, .. } => watched.take(),
            ViewLocation::Elsewhere(program) => {
                let program = program.take();
                drop(place);
                if let Some(program) = program {
                    program.release();
                }
                return;
            }
            _ => return,
        };
        drop(place);
        // Order: no page is missing; then nothing is trapped; the trap queue goes last.
        let guarded = lock(&self.guarded).take();
        if let Some(guarded) = guarded {
            guarded.end();
        }
        drop(watched);
        let queue = lock(&self.queue).take();
        drop(queue);
    }

    fn guarded(&self) -> Option<Arc<Guarded>> {
        lock(&self.guarded).clone()
    }

    /// Whether this process has the memory, and it was not given back.
    pub fn is_there(&self) -> bool {
        let place = lock(&self.place);
        !matches!(*place, ViewLocation::Returned | ViewLocation::Elsewhere(_))
    }

    /// The process that has the memory and traps its accesses, if it is another one.
    pub fn program(&self) -> Option<Elsewhere> {
        match &*lock(&self.place) {
            ViewLocation::Elsewhere(program) => program.clone(),
            _ => None,
        }
    }

    /// Address of its first byte, as programs see it; not this process's memory if they are in another one.
    pub fn start(&self) -> *mut u8 {
        self.start as *mut u8
    }

    /// Parts with pages of one size each, one behind the other.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Its address, in kernels too.
    pub fn address(&self) -> VirtAddr {
        VirtAddr::truncated(self.start as u64)
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether programs are trapped.
    pub fn is_trapped(&self) -> bool {
        self.way.is_some()
    }

    /// Trap method, if they are.
    pub fn trap_way(&self) -> Option<TrapWay> {
        self.way
    }

    /// Size of its largest pages.
    pub fn page(&self) -> PageSize {
        let sizes = self.parts.iter().map(|part| part.page);
        sizes.max().unwrap_or(PageSize::KIB_4)
    }

    /// The view as words, shared by threads. Other changes to them happen only while no thread may access them.
    pub fn words(&self) -> &[AtomicU64] {
        if !self.is_there() {
            return &[];
        }
        let start = self.start as *const AtomicU64;
        // SAFETY: whole pages, mapped as long as `self` lives: nothing gives a view back before, but the memory
        // that a program had, whose bytes stay where they are.
        unsafe { std::slice::from_raw_parts(start, self.bytes / size_of::<AtomicU64>()) }
    }

    /// The same memory, never protected.
    pub fn alias(&self) -> &Arc<HostMemory> {
        &self.alias
    }

    /// Whether a range is a piece of 2 MiB that changes hands in one step.
    pub fn is_whole(&self, range: &Range<u64>) -> bool {
        let piece = range.start as usize..range.end as usize;
        self.way.is_some() && self.pieces.is_whole(&piece)
    }

    /// Whether the system has made pages of 2 MiB wherever requested.
    pub(super) fn has_huge_pages(&self) -> bool {
        self.pieces.are_possible()
    }

    /// Changes the programs' rights to a range. When it returns, no thread has more. Returns the number of bytes in
    /// pieces that change in one step.
    pub fn protect(&self, offset: u64, bytes: u64, access: HostAccess) -> io::Result<u64> {
        let end = offset.checked_add(bytes);
        if end.is_none_or(|end| end > self.bytes as u64) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        if self.way.is_none() {
            return Ok(0);
        }
        if let Some(guarded) = self.guarded() {
            return guarded
                .protect(offset as usize, bytes as usize, access)
                .map(|()| 0);
        }
        let range = offset as usize..(offset + bytes) as usize;
        let whole = self.pieces.change(range) as u64;
        if let Some(program) = self.program() {
            return program
                .change(offset..offset + bytes, access)
                .map(|()| whole);
        }
        if !self.is_there() {
            // Released, or given back.
            return Ok(whole);
        }
        let rights = match access {
            HostAccess::None => libc::PROT_NONE,
            HostAccess::Read => libc::PROT_READ,
            HostAccess::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        };
        // SAFETY: the range lies in the view. Only the effect of an access changes: it is trapped, and repeated when it
        // is allowed.
        let result = unsafe {
            let at = self.start().add(offset as usize);
            libc::mprotect(at.cast(), bytes as usize, rights)
        };
        if result == 0 {
            return Ok(whole);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() == Some(libc::ENOMEM) && access == HostAccess::ReadWrite {
            // The program has unmapped a part, where the call has stopped.
            return self.open(offset, bytes).map(|()| whole);
        }
        Err(error)
    }

    /// Gives programs all rights to the rest of a range; parts that they have unmapped, or mapped over, are no longer
    /// owned.
    pub fn open(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let here = self.way.is_some() && self.is_there();
        if !here || self.guarded().is_some() {
            return self.protect(offset, bytes, HostAccess::ReadWrite).map(drop);
        }
        let start = self.start + offset as usize;
        for part in parts_with(self.file, &(start..start + bytes as usize))? {
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a part of the view, as in `protect`.
            if unsafe { libc::mprotect(part.start as *mut _, part.len(), rights) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Pages that are counted until drop.
#[derive(Debug)]
struct Counted(usize);

/// Divides whole small pages into as few and as large pages as their addresses allow; sizes from large to small, down
/// to [`PageSize::KIB_4`].
fn parts(range: Range<usize>, sizes: &[PageSize]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let fits = |page: &&PageSize| {
            let bytes = page.bytes() as usize;
            at % bytes == 0 && bytes <= range.end - at
        };
        let page = sizes.iter().find(fits).copied().unwrap_or(PageSize::KIB_4);
        let from = at - range.start;
        let to = from + page.bytes() as usize;
        match parts.last_mut().filter(|last| last.page == page) {
            Some(last) => last.range.end = to,
            None => parts.push(Part {
                range: from..to,
                page,
            }),
        }
        at = range.start + to;
    }
    parts
}

impl Counted {
    fn new(pages: usize) -> io::Result<Self> {
        let most = most_ranges().saturating_sub(OTHER_RANGES);
        let before = PAGES.fetch_add(pages, Ordering::Relaxed);
        let counted = Self(pages);
        if before + pages > most {
            let rule = format!(
                "{pages} more pages of shared memory would be {}; a process can protect {most} of them each \
                 by itself (vm.max_map_count): use larger pages",
                before + pages
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
        }
        Ok(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        PAGES.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Maximum number of ranges of a process's memory map.
fn most_ranges() -> usize {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count");
    let limit = limit.ok().and_then(|text| text.trim().parse().ok());
    limit.unwrap_or(65_530)
}

fn memory_file(bytes: usize) -> io::Result<File> {
    // SAFETY: a name that ends with 0; the new descriptor has no other owner.
    let file = unsafe {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        let descriptor = libc::memfd_create(c"tombolo".as_ptr(), flags);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor)
    };
    threads::without_size_signal(|| file.set_len(bytes as u64))?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: takes no pointer, and the descriptor is open.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_where_their_addresses_allow_large_pages() {
        let sizes = [PageSize::MIB_2, PageSize::KIB_4];
        let start = 0x7fff_fffe_f000usize;
        let made = parts(start..start + (5 << 20), &sizes);
        let shape: Vec<(usize, u64)> = made
            .iter()
            .map(|part| (part.range.len(), part.page.bytes()))
            .collect();
        let head = (0x11000, 4096);
        assert_eq!(
            shape,
            [head, (4 << 20, 2 << 20), ((1 << 20) - 0x11000, 4096)]
        );
        assert!(made
            .windows(2)
            .all(|two| two[0].range.end == two[1].range.start));
        assert_eq!(parts(start..start + 4096, &sizes).len(), 1);
    }
}
