//! userfaultfd, as FlexiMem uses it: pages write-protected entry by entry, and a thread that polls for traps; the
//! reference for the library's traps. Also pages that are moved out and back (`UFFDIO_MOVE`), which the library does
//! not do.

use crate::bars::Failure;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::{Duration, Instant};

const BYTES: usize = 2 << 20;
const SMALL_PAGE: usize = 4096;
const ROUNDS: usize = 201;

// linux/userfaultfd.h: since 4.11, write-protection since 5.7.
const UFFD_API: u64 = 0xaa;
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const UFFDIO_WRITEPROTECT: libc::c_ulong = 0xc018_aa06;
const FEATURE_PAGEFAULT_FLAG_WP: u64 = 1;
const UFFDIO_MOVE: libc::c_ulong = 0xc028_aa05; // 6.8
const FEATURE_MOVE: u64 = 1 << 16;
const REGISTER_MODE_MISSING: u64 = 1;
const REGISTER_MODE_WP: u64 = 2;
const WRITEPROTECT_MODE_WP: u64 = 1;
const MESSAGE_BYTES: usize = 32;

/// Private memory with trapped writes.
struct Watched {
    start: *mut u8,
    trapped: File,
}

fn call<T>(descriptor: &File, request: libc::c_ulong, argument: &mut T) -> io::Result<()> {
    // SAFETY: the kernel accesses a structure of the size that the request encodes, which is that of T.
    match unsafe {
        libc::ioctl(
            descriptor.as_raw_fd(),
            request,
            std::ptr::from_mut(argument),
        )
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Watched {
    fn new(huge: bool) -> io::Result<Self> {
        let features = FEATURE_PAGEFAULT_FLAG_WP;
        Self::with(BYTES, huge, features, REGISTER_MODE_WP)
    }

    fn with(bytes: usize, huge: bool, features: u64, mode: u64) -> io::Result<Self> {
        // SAFETY: takes no pointers; the new descriptor has no other owner.
        let trapped = unsafe {
            let descriptor = libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(descriptor as i32)
        };
        call(&trapped, UFFDIO_API, &mut [UFFD_API, features, 0])?;
        // SAFETY: a new mapping, twice as large, which contains an aligned range.
        let start = unsafe {
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let all = libc::mmap(std::ptr::null_mut(), bytes + BYTES, rights, how, -1, 0);
            if all == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let start = (all as usize).next_multiple_of(BYTES) as *mut libc::c_void;
            let advice = match huge {
                true => libc::MADV_HUGEPAGE,
                false => libc::MADV_NOHUGEPAGE,
            };
            if libc::madvise(start, bytes, advice) != 0 {
                return Err(io::Error::last_os_error());
            }
            start.cast::<u8>()
        };
        let watched = Self { start, trapped };
        watched.touch();
        let range = [start as u64, bytes as u64, mode, 0];
        call(&watched.trapped, UFFDIO_REGISTER, &mut { range })?;
        Ok(watched)
    }

    /// Writes to every page.
    fn touch(&self) {
        for at in (0..BYTES).step_by(SMALL_PAGE) {
            // SAFETY: inside the mapping, which is never unmapped.
            unsafe { self.start.add(at).write_volatile(1) };
        }
    }

    fn protect(&self, on: bool) -> io::Result<()> {
        let mode = if on { WRITEPROTECT_MODE_WP } else { 0 };
        let range = [self.start as u64, BYTES as u64, mode];
        call(&self.trapped, UFFDIO_WRITEPROTECT, &mut { range })
    }
}

/// Median time in which 2 MiB of huge pages are moved out of the program's view, trapped by a write, and moved back by
/// a polling thread.
pub fn moved() -> Result<Duration, Failure> {
    // The range that the program sees, followed by the range that holds moved pages.
    let watched = Watched::with(2 * BYTES, true, FEATURE_MOVE, REGISTER_MODE_MISSING)
        .map_err(|error| format!("userfaultfd: {error}"))?;
    let view = watched.start as u64;
    let arena = view + BYTES as u64;
    // Only empty ranges can be moved to, and only written pages can be moved.
    let mut messages = watched.trapped.try_clone()?;
    let move_to = |to: u64, from: u64| -> io::Result<()> {
        call(
            &watched.trapped,
            UFFDIO_MOVE,
            &mut [to, from, BYTES as u64, 0, 0],
        )
    };
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let time = std::thread::scope(|scope| {
            let (ready, is_ready) = std::sync::mpsc::channel();
            let (messages, move_to) = (&mut messages, &move_to);
            let poller = scope.spawn(move || {
                let _ = ready.send(());
                let mut message = [0; MESSAGE_BYTES];
                messages.read_exact(&mut message)?;
                move_to(view, arena)
            });
            is_ready.recv()?;
            let begin = Instant::now();
            move_to(arena, view)?;
            // SAFETY: inside the mapping.
            unsafe { watched.start.write_volatile(2) };
            let time = begin.elapsed();
            poller.join().map_err(|_| "the polling thread panicked")??;
            Ok::<Duration, Failure>(time)
        })?;
        times.push(time);
    }
    times.sort();
    Ok(times[times.len() / 2])
}

/// Whether the kernel provides huge pages on request.
pub fn has_huge_pages() -> bool {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let enabled = std::fs::read_to_string(path).unwrap_or_default();
    enabled.contains("[always]") || enabled.contains("[madvise]")
}

/// Median time in which 2 MiB are write-protected, trapped by a write, and made writable by a polling thread.
pub fn write_protected(huge: bool) -> Result<Duration, Failure> {
    let watched = Watched::new(huge).map_err(|error| format!("userfaultfd: {error}"))?;
    let mut messages = watched.trapped.try_clone()?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        watched.touch();
        // The polling thread starts first.
        let time = std::thread::scope(|scope| {
            let (ready, is_ready) = std::sync::mpsc::channel();
            let messages = &mut messages;
            let (start, descriptor) = (watched.start as u64, &watched.trapped);
            let poller = scope.spawn(move || {
                let _ = ready.send(());
                let mut message = [0; MESSAGE_BYTES];
                messages.read_exact(&mut message)?;
                call(
                    descriptor,
                    UFFDIO_WRITEPROTECT,
                    &mut [start, BYTES as u64, 0],
                )
            });
            is_ready.recv()?;
            let begin = Instant::now();
            watched.protect(true)?;
            // SAFETY: inside the mapping.
            unsafe { watched.start.write_volatile(2) };
            let time = begin.elapsed();
            poller.join().map_err(|_| "the polling thread panicked")??;
            Ok::<Duration, Failure>(time)
        })?;
        times.push(time);
    }
    times.sort();
    Ok(times[times.len() / 2])
}
