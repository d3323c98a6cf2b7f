//! Memory that two processes share: numbers of 64 bits, which either may change at any time.

use super::layout::word;
use std::hint::spin_loop;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::{null, null_mut, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Number of polls before a thread sleeps, about a hundred microseconds.
const POLLS: u32 = 6000;
/// Most waits in succession that are not polled.
const MOST_SKIPPED: u32 = 1024;

/// Polls a word before its process sleeps: an evaluation and a cycle of the shell take less than waking a thread. Where both
/// processes share a core, a poll only delays what it waits for; so the more polls fail in succession, the fewer are made.
#[derive(Debug, Default)]
pub(super) struct Poller {
    /// Waits that are not polled.
    skipped: u32,
    /// Those after the next poll that fails.
    next: u32,
}

impl Poller {
    /// Polls until the word `suits`; returns whether it does.
    #[inline]
    pub(super) fn poll(&mut self, word: &AtomicU64, suits: impl Fn(u64) -> bool) -> bool {
        if self.skipped > 0 {
            self.skipped -= 1;
            return suits(word.load(Ordering::Acquire));
        }
        for _ in 0..POLLS {
            if suits(word.load(Ordering::Acquire)) {
                self.next = 0;
                return true;
            }
            spin_loop();
        }
        self.skipped = self.next;
        self.next = (2 * self.next + 1).min(MOST_SKIPPED);
        false
    }
}

/// Mapped shared memory.
pub(super) struct Area {
    words: NonNull<AtomicU64>,
    count: usize,
}

impl Area {
    /// Memory of a sealed size, and its descriptor.
    pub(super) fn create(words: usize) -> io::Result<(Self, OwnedFd)> {
        // SAFETY: the name is a C string; the descriptor is new.
        let file = unsafe {
            let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
            let file = result(libc::memfd_create(c"tombolo-kernel".as_ptr(), flags))?;
            OwnedFd::from_raw_fd(file)
        };
        let bytes = words * size_of::<u64>();
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: calls on an open descriptor.
        unsafe {
            result(libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t))?;
            result(libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals))?;
        }
        Ok((Self::map(&file, words)?, file))
    }

    /// The memory behind a descriptor.
    pub(super) fn open(file: BorrowedFd<'_>) -> io::Result<Self> {
        // SAFETY: zero is a valid value of all fields.
        let mut status = unsafe { std::mem::zeroed::<libc::stat>() };
        // SAFETY: fills the structure in.
        result(unsafe { libc::fstat(file.as_raw_fd(), &mut status) })?;
        Self::map(&file, status.st_size as usize / size_of::<u64>())
    }

    fn map(file: &impl AsRawFd, count: usize) -> io::Result<Self> {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let bytes = count * size_of::<u64>();
        // SAFETY: a new mapping of a file with this size, which its seals keep.
        let start = unsafe {
            libc::mmap(
                null_mut(),
                bytes,
                rights,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let words = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("no memory"))?;
        Ok(Self { words, count })
    }

    /// Sleeps until a word, a counter that one process waits for, is no longer `seen`, for `most` at most; may return early.
    pub(super) fn sleep(&self, index: usize, seen: u64, most: Option<Duration>) {
        let most = most.map(|most| libc::timespec {
            tv_sec: most.as_secs() as libc::time_t,
            tv_nsec: most.subsec_nanos().into(),
        });
        let most = most.as_ref().map_or(null(), |most| most as *const _);
        // Sequentially consistent with `post`: either this reads the new value, or that finds a sleeper.
        self[word::SLEEPS[index]].store(1, Ordering::SeqCst);
        if self[index].load(Ordering::SeqCst) == seen {
            // SAFETY: the address is that of a mapped word, whose first half is the low one; the time is a local.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self[index].as_ptr(),
                    libc::FUTEX_WAIT,
                    seen as u32,
                    most,
                );
            }
        }
        self[word::SLEEPS[index]].store(0, Ordering::Relaxed);
    }

    /// Stores a counter, and wakes the process that sleeps for it.
    pub(super) fn post(&self, index: usize, value: u64) {
        self[index].store(value, Ordering::SeqCst);
        if self[word::SLEEPS[index]].load(Ordering::SeqCst) != 0 {
            // SAFETY: as in `sleep`.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self[index].as_ptr(),
                    libc::FUTEX_WAKE,
                    1_u32,
                );
            }
        }
    }

    /// Copies bytes into words; the rest of the last word is zero.
    pub(super) fn put(&self, at: std::ops::Range<usize>, bytes: &[u8]) {
        for (word, bytes) in self[at].iter().zip(bytes.chunks(size_of::<u64>())) {
            let mut value = [0; size_of::<u64>()];
            value[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(value), Ordering::Relaxed);
        }
    }

    /// Copies words out, as bytes: `bytes` of them, or all.
    pub(super) fn take(&self, at: std::ops::Range<usize>, bytes: usize) -> Vec<u8> {
        let words = self[at].iter();
        let all = words.flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
        all.take(bytes).collect()
    }
}

impl Deref for Area {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: mapped, aligned to a page, and alive as long as `self`; only atomic accesses are made.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: the mapping is this object's own.
        unsafe { libc::munmap(self.words.as_ptr().cast(), self.count * size_of::<u64>()) };
    }
}

fn result(value: libc::c_int) -> io::Result<libc::c_int> {
    match value {
        ..0 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}
