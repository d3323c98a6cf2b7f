//! Which memory of a program can be shared in place: the mappings in `/proc/self/maps`, and rules.
//!
//! Only whole pages can be protected, and any access to a byte of such a page may be trapped. So a range must be whole
//! pages, or a block of `malloc` with pages of its own; and no thread may need the memory to serve a trap: stacks and
//! the headers of heaps are refused.

use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

/// Page size of the system, the unit of protection, in bytes.
pub(super) const SYSTEM_PAGE: usize = 4096;
/// Alignment of the heaps that `malloc` makes for threads.
const HEAP_STEP: usize = 64 << 20;

/// Reason why memory of a program cannot be shared in place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    /// The range is empty, or exceeds the address space.
    #[error("give 1 byte to 2^46, within the address space")]
    Empty,
    /// Nothing is mapped there.
    #[error("nothing is mapped at 0x{at:x}")]
    NotMapped {
        /// Address of the first such byte.
        at: usize,
    },
    /// The program itself has no read and write access.
    #[error("the program may not read and write it at 0x{at:x} (rights `{rights}`)")]
    NotWritable {
        /// Address of the first byte of those pages.
        at: usize,
        /// Access rights as in `/proc/self/maps`.
        rights: String,
    },
    /// The memory is shared with a file, another process or a device.
    #[error(
        "`{with}` is mapped at 0x{at:x}, which others have too; only private memory can be taken"
    )]
    NotPrivate {
        /// Address of the first byte of those pages.
        at: usize,
        /// Name of the mapping.
        with: String,
    },
    /// A thread's stack, which it needs to serve a trap.
    #[error("it is the stack of a thread at 0x{at:x}; use memory of the heap")]
    Stack {
        /// Address of the first such byte.
        at: usize,
    },
    /// The allocator's own header.
    #[error(
        "the allocator's own header is at 0x{at:x}; register what it gave you, not what it keeps"
    )]
    HeapHeader {
        /// Address of that header.
        at: usize,
    },
    /// The range shares its first or last page with other bytes.
    #[error(
        "the page of 0x{at:x} holds bytes that are not in the range; begin and end at multiples of 4096 \
         (posix_memalign, mmap, #[repr(align(4096))]), or give a block that malloc has mapped by itself (large \
         ones are, usually from 128 KiB on), from its first byte"
    )]
    OtherBytes {
        /// First or last byte of the range.
        at: usize,
    },
    /// The range is already shared, wholly or in part.
    #[error("0x{start:x}..0x{end:x} is shared already; free that first")]
    Overlaps {
        /// Address of the other block.
        start: usize,
        /// End of the other block, exclusive.
        end: usize,
    },
    /// The system refused.
    #[error("{what}: {source}")]
    System {
        /// Operation that failed.
        what: &'static str,
        /// Cause, from the operating system.
        source: io::Error,
    },
}

impl RangeError {
    /// A failure of a system call.
    pub(super) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

/// Identity of a file, as in the lines of its mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MappedFile {
    major: u64,
    minor: u64,
    /// Inode number on that device.
    inode: u64,
}

/// A line of `/proc/self/maps`.
#[derive(Clone, Debug)]
struct Segment {
    range: Range<usize>,
    rights: String,
    /// `None`: memory without a file.
    file: Option<MappedFile>,
    name: String,
}

impl Segment {
    fn is_file(&self) -> bool {
        self.file.is_some()
    }
}

/// Identity of a file, as the lines of its mappings will show it.
pub(super) fn file_of(file: &std::fs::File) -> io::Result<MappedFile> {
    let metadata = file.metadata()?;
    let device = metadata.dev();
    Ok(MappedFile {
        major: libc::major(device).into(),
        minor: libc::minor(device).into(),
        inode: metadata.ino(),
    })
}

/// The parts of a range in which a file is mapped, by address.
pub(super) fn parts_with(file: MappedFile, range: &Range<usize>) -> io::Result<Vec<Range<usize>>> {
    let ours = segments()?.into_iter().filter(|one| one.file == Some(file));
    let parts = ours.map(|one| one.range.start.max(range.start)..one.range.end.min(range.end));
    Ok(parts.filter(|part| part.start < part.end).collect())
}

/// Mappings of the process, by address.
fn segments() -> io::Result<Vec<Segment>> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let parsed = maps.lines().map(|line| segment(line).ok_or(line));
    let parsed: Result<Vec<Segment>, &str> = parsed.collect();
    parsed.map_err(|line| io::Error::other(format!("/proc/self/maps has the line `{line}`")))
}

fn segment(line: &str) -> Option<Segment> {
    let hex = |text: &str| usize::from_str_radix(text, 16).ok();
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let range = hex(start)?..hex(end)?;
    let rights = words.next()?.to_owned();
    let (major, minor) = words.nth(1)?.split_once(':')?;
    let file = MappedFile {
        major: hex(major)? as u64,
        minor: hex(minor)? as u64,
        inode: words.next()?.parse().ok()?,
    };
    let none = MappedFile {
        major: 0,
        minor: 0,
        inode: 0,
    };
    let name = words.collect::<Vec<_>>().join(" ");
    Some(Segment {
        range,
        rights,
        file: Some(file).filter(|file| *file != none),
        name,
    })
}

/// Checks that a range of the program's memory consists of whole pages of its own, and returns them.
///
/// # Safety
/// The bytes before `start` on its page can be read if the page is mapped readable.
pub(super) unsafe fn whole_pages(start: usize, bytes: usize) -> Result<Range<usize>, RangeError> {
    let end = start.checked_add(bytes).filter(|&end| end <= 1 << 47);
    let end = end
        .filter(|_| bytes > 0 && bytes <= 1 << 46 && start >= SYSTEM_PAGE)
        .ok_or(RangeError::Empty)?;
    let pages = start / SYSTEM_PAGE * SYSTEM_PAGE..end.next_multiple_of(SYSTEM_PAGE);
    let all = segments().map_err(RangeError::system("reading /proc/self/maps"))?;
    let mut at = pages.start;
    let mut is_file = false;
    // One range, or several: parts that were shared before, or advised on, are ranges of their own.
    let heap = all.iter().find(|segment| segment.name == "[heap]");
    if let Some(at) = heap
        .map(|heap| heap.range.start)
        .filter(|at| pages.contains(at))
    {
        return Err(RangeError::HeapHeader { at });
    }
    for segment in &all {
        if segment.range.end <= at || at >= pages.end {
            continue;
        }
        if segment.range.start > at {
            break;
        }
        may_take(segment, at, &pages)?;
        is_file |= segment.is_file() && segment.range.contains(&pages.start);
        at = segment.range.end;
    }
    if at < pages.end {
        return Err(RangeError::NotMapped { at });
    }
    if let Some(at) = stack_in(&pages) {
        return Err(RangeError::Stack { at });
    }
    let own = match is_file {
        true => None,
        // SAFETY: as for this function; the first page is mapped readable, which has just been seen.
        false => unsafe { block_of_malloc(start, bytes) },
    };
    let ours = |page: usize| own.as_ref().is_some_and(|own| own.contains(&page));
    if start != pages.start && !ours(pages.start) {
        return Err(RangeError::OtherBytes { at: start });
    }
    if end != pages.end && !ours(pages.end - 1) {
        return Err(RangeError::OtherBytes { at: end - 1 });
    }
    Ok(pages)
}

fn may_take(segment: &Segment, from: usize, pages: &Range<usize>) -> Result<(), RangeError> {
    let at = from;
    if segment.name == "[stack]" {
        return Err(RangeError::Stack { at });
    }
    if !segment.rights.starts_with("rw") {
        let rights = segment.rights.clone();
        return Err(RangeError::NotWritable { at, rights });
    }
    let special = segment.name.starts_with("/dev/") || segment.name.starts_with("/anon_hugepage");
    if !segment.rights.ends_with('p') || special {
        let with = match segment.name.as_str() {
            "" => "memory shared with other processes".to_owned(),
            name => name.to_owned(),
        };
        return Err(RangeError::NotPrivate { at, with });
    }
    if segment.is_file() {
        // No heap, and behind the end of the file it could not be read.
        return Ok(());
    }
    let part = from..segment.range.end.min(pages.end);
    let heaps = (part.start.next_multiple_of(HEAP_STEP)..part.end).step_by(HEAP_STEP);
    for at in heaps {
        // SAFETY: in a mapping that is readable, and aligned. A heap of a thread begins with the address of
        // its arena, the first of which lies right behind it.
        let first = unsafe { (at as *const usize).read_volatile() };
        if (at..at + SYSTEM_PAGE).contains(&first) {
            return Err(RangeError::HeapHeader { at });
        }
    }
    Ok(())
}

/// The first byte of a stack in a range: of this thread, or the stack pointer of another that sleeps.
fn stack_in(pages: &Range<usize>) -> Option<usize> {
    if let Some(stack) = own_stack() {
        if stack.start < pages.end && pages.start < stack.end {
            return Some(stack.start.max(pages.start));
        }
    }
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    tasks.flatten().find_map(|task| {
        // NUMBER SIX-ARGUMENTS STACK-POINTER PROGRAM-COUNTER, or `running`.
        let call = std::fs::read_to_string(task.path().join("syscall")).ok()?;
        let pointer = call.split_ascii_whitespace().rev().nth(1)?;
        let pointer = usize::from_str_radix(pointer.strip_prefix("0x")?, 16).ok()?;
        pages.contains(&pointer).then_some(pointer)
    })
}

fn own_stack() -> Option<Range<usize>> {
    // SAFETY: the attributes are written by the first call, read by the second, and given back.
    unsafe {
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let (mut start, mut bytes) = (std::ptr::null_mut(), 0);
        let got = libc::pthread_attr_getstack(attributes.as_ptr(), &mut start, &mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (got == 0).then(|| start as usize..(start as usize).saturating_add(bytes))
    }
}

/// The pages of a block that `malloc` has mapped separately, if the range begins with one and lies in it: no other
/// bytes are on them, and the block's header is read when it is freed.
///
/// # Safety
/// The page of the first byte is mapped readable.
unsafe fn block_of_malloc(start: usize, bytes: usize) -> Option<Range<usize>> {
    const WORD: usize = size_of::<usize>();
    // glibc: the two words before a block are the distance to its mapping's start and its size. The low bits of the
    // size are flags; 2 alone: mapped separately.
    let header = start.checked_sub(2 * WORD)?;
    if !cfg!(target_env = "gnu")
        || start % (2 * WORD) != 0
        || header / SYSTEM_PAGE != start / SYSTEM_PAGE
    {
        return None;
    }
    // SAFETY: aligned words on the page of the first byte.
    let (before, size) = unsafe {
        let header = header as *const usize;
        (header.read_volatile(), header.add(1).read_volatile())
    };
    let first = header.checked_sub(before)?;
    let behind = header.checked_add(size & !7)?;
    let is_one = size & 7 == 2
        && first % SYSTEM_PAGE == 0
        && behind % SYSTEM_PAGE == 0
        && start + bytes <= behind;
    is_one.then_some(first..behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_understood() {
        let line = "7f00-7f10 rw-p 00001000 fe:01 77   /usr/lib/a file (deleted)";
        let segment = segment(line).unwrap();
        assert_eq!(segment.range, 0x7f00..0x7f10);
        let file = MappedFile {
            major: 0xfe,
            minor: 1,
            inode: 77,
        };
        assert_eq!(segment.file, Some(file));
        assert_eq!(segment.name, "/usr/lib/a file (deleted)");
        assert!(segments().unwrap().len() > 10);
    }

    fn look(start: usize, bytes: usize) -> Result<Range<usize>, RangeError> {
        // SAFETY: tests look at memory of their own.
        unsafe { whole_pages(start, bytes) }
    }

    #[test]
    fn a_large_block_has_its_pages_for_itself_and_a_small_one_has_not() {
        // Larger than any thread's heap, whatever other tests have freed. Not accessed.
        let large = vec![0u8; 4 * HEAP_STEP];
        let start = large.as_ptr() as usize;
        let pages = look(start, large.len()).unwrap();
        assert!(pages.start <= start && start + large.len() <= pages.end);
        // From its first byte on, because its header is searched there.
        let inner = look(start + 64, 4096).unwrap_err();
        assert!(matches!(inner, RangeError::OtherBytes { at } if at == start + 64));
        let small = vec![1u8; 5000];
        let refused = look(small.as_ptr() as usize, small.len()).unwrap_err();
        assert!(matches!(
            refused,
            RangeError::OtherBytes { .. } | RangeError::HeapHeader { .. }
        ));
    }

    #[test]
    fn what_cannot_be_taken_is_named() {
        let here = 0u64;
        let stack = &raw const here as usize;
        assert!(matches!(look(stack, 8), Err(RangeError::Stack { .. })));
        let code = look as *const () as usize;
        assert!(matches!(look(code, 8), Err(RangeError::NotWritable { .. })));
        assert!(matches!(look(stack, 0), Err(RangeError::Empty)));
        assert!(matches!(look(0, 8), Err(RangeError::Empty)));
        assert!(matches!(look(usize::MAX - 4, 8), Err(RangeError::Empty)));
        assert!(matches!(
            look(0x1000_0000_0000, 8),
            Err(RangeError::NotMapped { .. })
        ));
    }
}
