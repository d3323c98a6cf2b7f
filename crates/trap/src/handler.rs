//! The handlers of SIGSEGV (protected pages) and SIGBUS (missing pages of userfaultfd that are served in their own
//! thread), and the table of views.
//!
//! The handler of SIGBUS takes a lock, on the states of one block's pages ([`Guarded::settle`]). That is sound because
//! all signals are blocked while it is held, and because no holder touches a view: so no thread can enter the handler
//! while it holds the lock itself, and each holder releases it after a few system calls. It is a futex word: locking
//! and unlocking allocate nothing. Before the handler sleeps for the card it releases the lock and unblocks signals.

use super::records;
use super::source;
use super::userfault::Guarded;
use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Maximum number of views in a process.
const VIEWS: usize = 1024;

struct RangeSlot {
    /// Start address; 0: the slot is free, 1: it is being claimed.
    start: AtomicUsize,
    end: AtomicUsize,
    queue: AtomicUsize,
    /// Signal that a waiting access raises.
    signal: AtomicI32,
    /// Guard whose pages a thread may map without the trap queue, if there is one.
    guarded: AtomicPtr<Guarded>,
    /// Number of handlers that use this slot now.
    users: AtomicUsize,
}

static RANGE_SLOTS: [RangeSlot; VIEWS] = [const {
    RangeSlot {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        queue: AtomicUsize::new(0),
        signal: AtomicI32::new(0),
        guarded: AtomicPtr::new(null_mut()),
        users: AtomicUsize::new(0),
    }
}; VIEWS];

/// Number of watches that have ended in this process.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Accesses that were retried once because a watch may have ended over them, by thread number: see [`is_late`].
static LATE: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// Process that owns the trap queues: a forked child has none.
static PROCESS: AtomicI32 = AtomicI32::new(0);

struct Previous(UnsafeCell<MaybeUninit<libc::sigaction>>);

// SAFETY: written once, under the lock of `install`, before the handler that reads it exists.
unsafe impl Sync for Previous {}

/// A signal that trapped accesses raise, and its previous action.
struct Hook {
    signal: libc::c_int,
    previous: Previous,
    installed: Mutex<bool>,
}

impl Hook {
    const fn new(signal: libc::c_int) -> Self {
        Self {
            signal,
            previous: Previous(UnsafeCell::new(MaybeUninit::uninit())),
            installed: Mutex::new(false),
        }
    }
}

static PROTECTED: Hook = Hook::new(libc::SIGSEGV);
static MISSING: Hook = Hook::new(libc::SIGBUS);

/// Installs the handler of a signal, once per process.
fn install(hook: &Hook) -> io::Result<()> {
    let mut installed = hook
        .installed
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    // SAFETY: has no arguments.
    PROCESS.store(unsafe { libc::getpid() }, Ordering::Release);
    if *installed {
        return Ok(());
    }
    // SAFETY: `sigaction` reads and writes the structs that it is given; the previous action is complete
    // before the handler that reads it is installed.
    unsafe {
        let previous = (*hook.previous.0.get()).as_mut_ptr();
        if libc::sigaction(hook.signal, std::ptr::null(), previous) != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        // On the alternate stack of the thread, if it has one.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        if hook.signal == libc::SIGBUS {
            // Blocked until the handler unblocks them: a thread that holds a lock is not interrupted.
            libc::sigfillset(&mut action.sa_mask);
        } else {
            // Not blocked meanwhile: a handler of another signal that interrupts this one may access shared memory too.
            action.sa_flags |= libc::SA_NODEFER;
            libc::sigemptyset(&mut action.sa_mask);
        }
        if libc::sigaction(hook.signal, &action, null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    *installed = true;
    Ok(())
}

/// A range with a trap queue.
#[derive(Debug)]
pub(super) struct Watched {
    index: usize,
    /// Kept while handlers may use it.
    _guarded: Option<Arc<Guarded>>,
}

impl Watched {
    /// Watches protected pages, or missing ones, which threads map themselves if they may.
    pub(super) fn new(
        start: usize,
        bytes: usize,
        queue: usize,
        guarded: Option<Arc<Guarded>>,
    ) -> io::Result<Self> {
        let hook = match guarded {
            Some(_) => &MISSING,
            None => &PROTECTED,
        };
        install(hook)?;
        let free = |slot: &RangeSlot| {
            slot.start
                .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        };
        let Some(index) = RANGE_SLOTS.iter().position(free) else {
            return Err(io::Error::other(
                "a process has at most 1024 blocks of shared memory; free some",
            ));
        };
        let slot = &RANGE_SLOTS[index];
        slot.end.store(start + bytes, Ordering::Relaxed);
        slot.queue.store(queue, Ordering::Relaxed);
        slot.signal.store(hook.signal, Ordering::Relaxed);
        let pointer = guarded
            .as_ref()
            .map_or(null_mut(), |guarded| Arc::as_ptr(guarded).cast_mut());
        slot.guarded.store(pointer, Ordering::SeqCst);
        slot.start.store(start, Ordering::Release);
        Ok(Self {
            index,
            _guarded: guarded,
        })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let slot = &RANGE_SLOTS[self.index];
        // Before the slot is cleared: a handler that finds it empty sees that a watch has ended.
        ENDED.fetch_add(1, Ordering::SeqCst);
        slot.end.store(0, Ordering::SeqCst);
        slot.guarded.store(null_mut(), Ordering::SeqCst);
        // A handler counts itself before it looks, so one that is not counted now sees an empty slot.
        while slot.users.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
        slot.start.store(0, Ordering::Release);
    }
}

impl RangeSlot {
    fn holds(&self, address: usize) -> bool {
        let start = self.start.load(Ordering::Acquire);
        start > 1 && start <= address && address < self.end.load(Ordering::SeqCst)
    }

    /// In the handler: calls `act` on this slot, if it still watches the address; the slot may have been reused since
    /// it was found. The watch does not end meanwhile, so `act` must not wait.
    fn with(&self, address: usize, act: impl FnOnce(&Self) -> bool) -> bool {
        self.users.fetch_add(1, Ordering::SeqCst);
        let done = self.holds(address) && act(self);
        self.users.fetch_sub(1, Ordering::SeqCst);
        done
    }

    /// In the handler: the thread maps its page, if the program may access it in this way.
    fn settle(&self, address: usize, write: bool) -> bool {
        self.with(address, |slot| {
            let guarded = slot.guarded.load(Ordering::SeqCst);
            // SAFETY: null, or of a `Watched` that has it until its users have gone, of whom this is one.
            let guarded = unsafe { guarded.as_ref() };
            guarded.is_some_and(|guarded| guarded.settle(address, write))
        })
    }

    /// In the handler: the thread waits for the owner's reply. Returns false if the access is to fail, or if the watch
    /// has ended.
    fn trap(&self, address: usize, write: bool, code: usize) -> bool {
        // Before the slot is used, because waiting for a record may take a while.
        let record = records::claim();
        let post = |slot: &Self| {
            record.post(slot.queue.load(Ordering::Acquire), address, write, code);
            true
        };
        match self.with(address, post) {
            true => record.wait(),
            false => {
                record.give_back();
                false
            }
        }
    }
}

/// The slot that watches an access.
fn slot_of(address: usize, signal: libc::c_int) -> Option<&'static RangeSlot> {
    let is_it =
        |slot: &&RangeSlot| slot.holds(address) && slot.signal.load(Ordering::Relaxed) == signal;
    RANGE_SLOTS.iter().find(is_it)
}

/// Restores the signal mask of the interrupted code.
fn unblock(context: *mut libc::c_void) {
    // SAFETY: the third argument of a SA_SIGINFO handler is a ucontext_t; the system's mask has 8 bytes.
    unsafe {
        let context = context.cast::<libc::ucontext_t>();
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const (*context).uc_sigmask,
            null_mut::<libc::sigset_t>(),
            8usize,
        );
    }
}

/// A thread may have been trapped before a watch ended and enter the handler long after, when other watches have come
/// and gone in the same place: its access is valid now. Therefore each access without a watch is retried once. If the
/// thread returns with it, and no other watch has ended meanwhile, it was an access outside shared memory.
fn is_late(address: usize) -> bool {
    let ended = ENDED.load(Ordering::SeqCst);
    let thread = records::this_thread().unsigned_abs();
    // Pages have 35 bits, threads 22. The multiplication by an odd number keeps them distinct.
    let access =
        ((address as u64 >> 12) << 22 | u64::from(thread)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let late = &LATE[thread as usize % LATE.len()];
    ended != 0 && late.swap(access ^ ended, Ordering::AcqRel) != access ^ ended
}

/// Whether the access was a write. An unknown access counts as one: the page is returned with all rights.
#[cfg(target_arch = "x86_64")]
fn is_write(context: *mut libc::c_void) -> bool {
    // SAFETY: the third argument of a SA_SIGINFO handler is a ucontext_t.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    // Bit 1 of the page fault's error code.
    context.uc_mcontext.gregs[libc::REG_ERR as usize] & 2 != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn is_write(_context: *mut libc::c_void) -> bool {
    true
}

extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel gives a valid siginfo_t; errno is the thread's own.
    let (code, address, errno) = unsafe {
        let errno = libc::__errno_location();
        ((*info).si_code, (*info).si_addr() as usize, errno)
    };
    // SAFETY: as above.
    let saved = unsafe { *errno };
    // Codes from 1 on are the kernel's; kill and raise have others. A child has no trap queue.
    // SAFETY: has no arguments.
    let ours = code > 0 && unsafe { libc::getpid() } == PROCESS.load(Ordering::Acquire);
    // A page of broken or poisoned memory raises SIGBUS too, with another code.
    let ours = ours && (signal != libc::SIGBUS || code == libc::BUS_ADRERR);
    let slot = slot_of(address, signal).filter(|_| ours);
    let mut served = slot.is_some_and(|slot| slot.settle(address, is_write(context)));
    if !served {
        if signal == libc::SIGBUS {
            unblock(context);
        }
        let write = is_write(context);
        served = slot.is_some_and(|slot| slot.trap(address, write, source::of_context(context)))
            || (ours && is_late(address));
    }
    // SAFETY: as above.
    unsafe { *errno = saved };
    if !served {
        // Its card has been closed as the process ends. That is no error of the thread, which stops here.
        while slot.is_some() && threads::process_ends() {
            // SAFETY: has no arguments, and may be called in a handler.
            unsafe { libc::pause() };
        }
        go_on(signal, info, context);
    }
}

/// Continues as without this handler.
fn go_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: written before this handler was installed, and never again.
    let previous = unsafe {
        let hook = match signal {
            libc::SIGBUS => &MISSING,
            _ => &PROTECTED,
        };
        (*hook.previous.0.get()).assume_init_ref()
    };
    match previous.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: the default action; the access is repeated and ends the process, as does a signal
            // that was sent and comes again.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
        }
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: an address that `sigaction` said is a handler of this kind.
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: as above.
            let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses without a mapping.
    const NOWHERE: usize = 0x3200_0000_0000;

    #[test]
    fn who_is_late_is_known_behind_other_watches_once() {
        // The second one replaces the first.
        for start in [NOWHERE, NOWHERE + (1 << 20)] {
            drop(Watched::new(start, 4096, 0, None).unwrap());
        }
        assert!(slot_of(NOWHERE, libc::SIGSEGV).is_none());
        assert!(is_late(NOWHERE));
        // Again, unless concurrent tests have ended a watch.
        assert!((0..1000).any(|_| !is_late(NOWHERE)));
        drop(Watched::new(NOWHERE, 4096, 0, None).unwrap());
        assert!(is_late(NOWHERE));
    }
}
