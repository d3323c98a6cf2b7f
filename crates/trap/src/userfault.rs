//! The second trap method: userfaultfd, by raw calls. Unlike for a protected page, system calls also wait for a missing
//! page, so `read(2)` and `write(2)` on shared memory work.
//!
//! The view is registered for write-protection and for minor faults (Linux 6.6: write-protected pages of memory files,
//! continued pages that are write-protected, poisoned pages). A page that the program may not access is removed from
//! its page table (`MADV_DONTNEED`; its bytes are in the file, and in the alias); one that it may read is
//! write-protected. A thread that accesses it sleeps in the kernel, and a message arrives at the library's thread.
//!
//! A page may be missing from the program's page table although the program owns it: the library's thread then maps it
//! without the card. It reads the state of the page and acts under one lock, which is also held for any change of the
//! state, so the mapping never grants more than is allowed at that moment.
//!
//! Without that thread ([`Userfault::open_in_thread`]) a program thread that accesses such a page gets SIGBUS, and does
//! the same in the handler ([`Guarded::settle`]); if the card has the page it posts a record to the trap queue and
//! sleeps, as with protected pages. Only the owner of the card can bring the page: it allocates, takes locks and
//! accesses the card, none of which a handler may do. This needs no privilege, since accesses by the system are not
//! served.
//!
//! `UFFDIO_MOVE` (6.8), which moves pages between addresses, is not used: it moves private anonymous pages only, of
//! which there can be no alias. The pages here are in a file, so they need not move at all: `UFFDIO_CONTINUE` maps the
//! same page, without a copy. `shared.trap.2m.move_us` is the cost of moving.

use super::records::{Ticket, Trapped};
use card::memory::HostMemory;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use units::HostAccess;

const SYSTEM_PAGE: usize = 4096;

// linux/userfaultfd.h, and the version of Linux that has it.
const API: u64 = 0xaa;
const FEATURE_PAGEFAULT_FLAG_WP: u64 = 1 << 0; // 5.7
const FEATURE_SIGBUS: u64 = 1 << 7; // 4.14
const FEATURE_THREAD_ID: u64 = 1 << 8; // 4.14
const FEATURE_MINOR_SHMEM: u64 = 1 << 10; // 5.14
const FEATURE_WP_HUGETLBFS_SHMEM: u64 = 1 << 12; // 5.19
const FEATURE_POISON: u64 = 1 << 14; // 6.6, which has UFFDIO_CONTINUE_MODE_WP (6.4)
const FEATURE_MOVE: u64 = 1 << 16; // 6.8
const FEATURES: u64 =
    FEATURE_PAGEFAULT_FLAG_WP | FEATURE_MINOR_SHMEM | FEATURE_WP_HUGETLBFS_SHMEM | FEATURE_POISON;
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const UFFDIO_UNREGISTER: libc::c_ulong = 0x8010_aa01;
const UFFDIO_WAKE: libc::c_ulong = 0x8010_aa02;
const UFFDIO_WRITEPROTECT: libc::c_ulong = 0xc018_aa06;
const UFFDIO_CONTINUE: libc::c_ulong = 0xc020_aa07;
const UFFDIO_POISON: libc::c_ulong = 0xc020_aa08;
const USERFAULTFD_IOC_NEW: libc::c_ulong = 0xaa00;
/// Only accesses of programs, not of the system for them: needs no privilege. From 5.11.
const USER_MODE_ONLY: libc::c_int = 1;
const REGISTER_WP_AND_MINOR: u64 = 2 | 4;
const WRITEPROTECT_MODE_WP: u64 = 1;
const WRITEPROTECT_MODE_DONTWAKE: u64 = 2;
const CONTINUE_MODE_DONTWAKE: u64 = 1;
const CONTINUE_MODE_WP: u64 = 2;
const EVENT_PAGEFAULT: u8 = 0x12;
const FLAG_WRITE: u64 = 1;
const FLAG_WP: u64 = 2;
const MESSAGE_BYTES: usize = 32;

/// State of a page: the program's rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// All rights; parts of the file may not exist yet.
    New,
    Open,
    Read,
    None,
}

/// A userfaultfd descriptor, with the memory that it guards.
#[derive(Debug)]
pub(super) struct Userfault {
    descriptor: File,
    /// Ends the thread, if there is one.
    bell: Option<File>,
    blocks: Mutex<BTreeMap<usize, Weak<Guarded>>>,
    /// Accesses that were passed to `serve` and are not answered. After a signal, or a wake meant for an earlier sleep,
    /// a thread may sleep on the same access once more, with another message: the single answer wakes it.
    told: Mutex<BTreeSet<Fault>>,
}

/// A thread that waits for a page in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fault {
    pub(super) thread: u64,
    /// Address of the page's first byte.
    page: usize,
}

/// Memory that is guarded until drop.
#[derive(Debug)]
pub(super) struct Guarded {
    userfault: Arc<Userfault>,
    start: usize,
    bytes: usize,
    /// Size in bytes of the pages that change hands.
    page: usize,
    alias: Arc<HostMemory>,
    state: Mutex<Vec<State>>,
    /// The guard has ended, so no page is missing.
    ended: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn call<T>(descriptor: &File, request: libc::c_ulong, argument: &mut T) -> io::Result<()> {
    let number = descriptor.as_raw_fd();
    // SAFETY: the kernel reads and writes a struct of the size that the request encodes, which is T's.
    match unsafe { libc::ioctl(number, request, std::ptr::from_mut(argument)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Opens a descriptor that also serves faults inside system calls.
fn descriptor() -> io::Result<File> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: has no pointers; a new descriptor has no other owner.
    let number = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
    if number >= 0 {
        // SAFETY: just opened.
        return Ok(unsafe { File::from_raw_fd(number as i32) });
    }
    let refused = io::Error::last_os_error();
    let device = OpenOptions::new().read(true).open("/dev/userfaultfd");
    let device = device.map_err(|_| refused)?;
    // SAFETY: the request takes flags and gives a new descriptor.
    let number = unsafe { libc::ioctl(device.as_raw_fd(), USERFAULTFD_IOC_NEW, flags) };
    match number {
        // SAFETY: just opened.
        0.. => Ok(unsafe { File::from_raw_fd(number) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Opens a descriptor for accesses of programs only.
fn user_mode_descriptor() -> io::Result<File> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | USER_MODE_ONLY;
    // SAFETY: has no pointers; a new descriptor has no other owner.
    match unsafe { libc::syscall(libc::SYS_userfaultfd, flags) } {
        // SAFETY: just opened.
        number @ 0.. => Ok(unsafe { File::from_raw_fd(number as i32) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Checks whether the system can move pages between addresses (`UFFDIO_MOVE`).
///
/// # Errors
/// It has no userfaultfd, or not for this program.
pub(super) fn can_move() -> io::Result<bool> {
    let descriptor = user_mode_descriptor().map_err(explained)?;
    // The system fills in its features.
    let mut api = [API, 0, 0];
    call(&descriptor, UFFDIO_API, &mut api).map_err(explained)?;
    Ok(api[1] & FEATURE_MOVE != 0)
}

/// Adds the remedy to an error.
fn explained(error: io::Error) -> io::Error {
    let remedy = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "the system refuses it: `sysctl vm.unprivileged_userfaultfd=1`, read and write access to \
             /dev/userfaultfd, or CAP_SYS_PTRACE lets this program have it; containers also need a seccomp \
             profile with userfaultfd"
        }
        Some(libc::ENOSYS | libc::EINVAL) => "the system has it from Linux 6.6 on, if CONFIG_USERFAULTFD is set",
        _ => "the system refuses it",
    };
    io::Error::new(error.kind(), format!("userfaultfd: {error}; {remedy}"))
}

impl Userfault {
    /// Opens it, with a thread that passes trapped accesses to `serve`.
    ///
    /// # Errors
    /// The system does not have it, or not for this program; the text names the remedy.
    pub(super) fn open(serve: impl Fn(Trapped) + Send + 'static) -> io::Result<Arc<Self>> {
        let descriptor = descriptor().map_err(explained)?;
        call(
            &descriptor,
            UFFDIO_API,
            &mut [API, FEATURES | FEATURE_THREAD_ID, 0],
        )
        .map_err(explained)?;
        // SAFETY: has no pointers; the new descriptor has no other owner.
        let bell = unsafe {
            let number = libc::eventfd(0, libc::EFD_CLOEXEC);
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(number)
        };
        let userfault = Arc::new(Self {
            descriptor,
            bell: Some(bell.try_clone()?),
            blocks: Mutex::default(),
            told: Mutex::default(),
        });
        let here = userfault.clone();
        threads::spawn("tombolo faults", move || here.listen(&bell, &serve))?;
        Ok(userfault)
    }

    /// Opens it without a thread: accesses raise SIGBUS.
    ///
    /// # Errors
    /// The system does not have it; the text names the remedy.
    pub(super) fn open_in_thread() -> io::Result<Arc<Self>> {
        let descriptor = user_mode_descriptor().map_err(explained)?;
        call(
            &descriptor,
            UFFDIO_API,
            &mut [API, FEATURES | FEATURE_SIGBUS, 0],
        )
        .map_err(explained)?;
        Ok(Arc::new(Self {
            descriptor,
            bell: None,
            blocks: Mutex::default(),
            told: Mutex::default(),
        }))
    }

    /// Ends the thread.
    pub(super) fn close(&self) {
        // A counter that cannot overflow by one.
        if let Some(mut bell) = self.bell.as_ref() {
            let _ = bell.write_all(&1u64.to_ne_bytes());
        }
    }

    fn listen(self: &Arc<Self>, bell: &File, serve: &dyn Fn(Trapped)) {
        loop {
            let wait = |file: &File| libc::pollfd {
                fd: file.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            let mut both = [wait(&self.descriptor), wait(bell)];
            // SAFETY: two entries; no time limit.
            unsafe { libc::poll(both.as_mut_ptr(), 2, -1) };
            if both[1].revents != 0 {
                return;
            }
            let mut message = [0; MESSAGE_BYTES];
            // Other threads may have been woken meanwhile, and their messages withdrawn.
            while matches!((&self.descriptor).read(&mut message), Ok(MESSAGE_BYTES)) {
                if message[0] == EVENT_PAGEFAULT {
                    self.fault(&message, serve);
                }
            }
        }
    }

    fn fault(self: &Arc<Self>, message: &[u8; MESSAGE_BYTES], serve: &dyn Fn(Trapped)) {
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|n| message[at + n]));
        let (flags, address) = (word(8), word(16) as usize);
        let write = flags & (FLAG_WRITE | FLAG_WP) != 0;
        let block = {
            let blocks = lock(&self.blocks);
            let before = blocks.range(..=address).next_back();
            before.and_then(|(_, block)| block.upgrade())
        };
        let block = block.filter(|block| address < block.start + block.bytes);
        let fault = Fault {
            thread: word(24) & u64::from(u32::MAX),
            page: address / SYSTEM_PAGE * SYSTEM_PAGE,
        };
        // Before the state is read: an answer changes the state, forgets the fault and wakes, in this order. So a fault
        // that is found here will be woken, and otherwise this thread sees the state that the answer made.
        if !lock(&self.told).insert(fault) {
            return;
        }
        if block.is_none_or(|block| block.resolve(address, write)) {
            return self.let_go(fault);
        }
        serve(Trapped {
            address,
            write,
            thread: fault.thread,
            ticket: Ticket::of_fault(self.clone(), fault),
        });
    }

    /// Lets a thread that was passed to `serve` retry.
    pub(super) fn let_go(&self, fault: Fault) {
        lock(&self.told).remove(&fault);
        self.wake(fault.page);
    }

    /// Lets threads that wait for a page retry.
    fn wake(&self, page: usize) {
        // No thread waits for memory that is no longer registered.
        let range = &mut [page as u64, SYSTEM_PAGE as u64];
        let _ = call(&self.descriptor, UFFDIO_WAKE, range);
    }

    /// Fails accesses to a page with SIGBUS from now on.
    pub(super) fn refuse(&self, fault: Fault) {
        let page = fault.page;
        // SAFETY: a page of a view; its bytes are in the file.
        unsafe { libc::madvise(page as *mut libc::c_void, SYSTEM_PAGE, libc::MADV_DONTNEED) };
        let poison = &mut [page as u64, SYSTEM_PAGE as u64, 0, 0];
        if let Err(error) = call(&self.descriptor, UFFDIO_POISON, poison) {
            tracing::error!(%error, "refusing an access to shared memory");
        }
        self.let_go(fault);
    }

    fn write_protect(&self, at: usize, bytes: usize, mode: u64) -> io::Result<()> {
        let mode =
            mode | (WRITEPROTECT_MODE_DONTWAKE * u64::from(mode & WRITEPROTECT_MODE_WP == 0));
        loop {
            let mut argument = [at as u64, bytes as u64, mode];
            match call(&self.descriptor, UFFDIO_WRITEPROTECT, &mut argument) {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                done => return done,
            }
        }
    }

    /// Maps pages of the file in the program's page table, where none are.
    fn put(&self, at: usize, bytes: usize, mode: u64) -> io::Result<()> {
        let (mut at, end) = (at as u64, (at + bytes) as u64);
        while at < end {
            let mut argument = [at, end - at, mode | CONTINUE_MODE_DONTWAKE, 0];
            let done = call(&self.descriptor, UFFDIO_CONTINUE, &mut argument);
            let put = argument[3] as i64;
            at += u64::try_from(put).unwrap_or(0);
            match done {
                Ok(()) => {}
                // A page is mapped, with the right of its state.
                Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {
                    at += SYSTEM_PAGE as u64
                }
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Guarded {
    /// Guards a mapping of a memory file, which `alias` maps too. The program has all rights at first.
    pub(super) fn new(
        userfault: Arc<Userfault>,
        place: Range<usize>,
        page: usize,
        alias: Arc<HostMemory>,
    ) -> io::Result<Arc<Self>> {
        let (start, bytes) = (place.start, place.len());
        let range = [start as u64, bytes as u64, REGISTER_WP_AND_MINOR, 0];
        call(&userfault.descriptor, UFFDIO_REGISTER, &mut { range }).map_err(explained)?;
        let guarded = Arc::new(Self {
            start,
            bytes,
            page,
            alias,
            state: Mutex::new(vec![State::New; bytes / page]),
            ended: AtomicBool::new(false),
            userfault: userfault.clone(),
        });
        lock(&userfault.blocks).insert(start, Arc::downgrade(&guarded));
        Ok(guarded)
    }

    /// Serves an access to a page of the program: maps the page, or grants the right. Returns false if it must wait.
    fn resolve(&self, address: usize, write: bool) -> bool {
        let given = self.give(address, write);
        if let Some(Err(error)) = &given {
            tracing::error!(%error, "a page of shared memory could not be shown");
        }
        given.is_some()
    }

    /// The same in a handler, which cannot report errors. All signals are blocked. Returns false if the access must
    /// wait.
    pub(super) fn settle(&self, address: usize, write: bool) -> bool {
        matches!(self.give(address, write), Some(Ok(()))) || self.ended.load(Ordering::Acquire)
    }

    /// `None`: the access must wait. Also in handlers: allocates nothing, logs nothing, cannot panic.
    fn give(&self, address: usize, write: bool) -> Option<io::Result<()>> {
        let states = lock(&self.state);
        let page = address / SYSTEM_PAGE * SYSTEM_PAGE;
        let mode = match states.get((address - self.start) / self.page) {
            Some(State::New | State::Open) => 0,
            Some(State::Read) if !write => CONTINUE_MODE_WP,
            _ => return None,
        };
        let mut done = self.userfault.put(page, SYSTEM_PAGE, mode);
        if mode == 0 {
            // It may be mapped, and still write-protected.
            done = done.and(self.userfault.write_protect(page, SYSTEM_PAGE, 0));
        }
        Some(done)
    }

    /// Changes the program's rights to pages.
    pub(super) fn protect(
        &self,
        offset: usize,
        bytes: usize,
        access: HostAccess,
    ) -> io::Result<()> {
        let to = match access {
            HostAccess::None => State::None,
            HostAccess::Read => State::Read,
            HostAccess::ReadWrite => State::Open,
        };
        let mut states = lock(&self.state);
        let pages = offset / self.page..(offset + bytes).div_ceil(self.page);
        let states = states.get_mut(pages.clone());
        let states = states.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        let mut first = 0;
        while first < states.len() {
            // Adjacent pages in the same state change in one call.
            let from = states[first];
            let alike = states[first..].iter().take_while(|state| **state == from);
            let count = alike.count();
            let at = (pages.start + first) * self.page;
            let changed = self.change(at, count * self.page, from, to);
            match changed {
                // The program has unmapped a part; the rest is mapped when it is accessed.
                Err(error) if to == State::Open => {
                    tracing::warn!(%error, "giving back shared memory");
                }
                changed => changed?,
            }
            states[first..first + count].fill(to);
            first += count;
        }
        Ok(())
    }

    fn change(&self, at: usize, bytes: usize, from: State, to: State) -> io::Result<()> {
        let place = self.start + at;
        if from == State::New && to != State::Open {
            // No access can wait for a page that is not in the file.
            let alias = self.alias.pointer(at, bytes).map_err(io::Error::other)?;
            // SAFETY: the range of the alias; its bytes stay as they are.
            let done = unsafe { libc::madvise(alias.cast(), bytes, libc::MADV_POPULATE_WRITE) };
            if done != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        match (from, to) {
            (_, State::None) => {
                // SAFETY: the range of the view; its bytes are in the file.
                let done = unsafe { libc::madvise(place as *mut _, bytes, libc::MADV_DONTNEED) };
                match done {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            }
            (State::None, State::Read) => self.userfault.put(place, bytes, CONTINUE_MODE_WP),
            (State::None, _) => self.userfault.put(place, bytes, 0),
            (State::New | State::Open, State::Read) => {
                self.userfault
                    .write_protect(place, bytes, WRITEPROTECT_MODE_WP)
            }
            (State::Read, State::Open | State::New) => {
                self.userfault.write_protect(place, bytes, 0)
            }
            _ => Ok(()),
        }
    }
}

impl Guarded {
    /// Ends the guard; waiting threads retry, and find the page.
    pub(super) fn end(&self) {
        if self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        lock(&self.userfault.blocks).remove(&self.start);
        let range = &mut [self.start as u64, self.bytes as u64];
        if let Err(error) = call(&self.userfault.descriptor, UFFDIO_UNREGISTER, range) {
            tracing::debug!(%error, "ending the watch over shared memory");
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.end();
    }
}
