//! The SIGSEGV handler, and where the views are.

use super::records;
use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::Mutex;

/// Views in a process.
const VIEWS: usize = 1024;

struct Place {
    /// 0: nobody's. 1: about to be somebody's.
    start: AtomicUsize,
    end: AtomicUsize,
    desk: AtomicUsize,
    /// What was watched before.
    ended: [AtomicUsize; 2],
}

static PLACES: [Place; VIEWS] = [const {
    Place {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        desk: AtomicUsize::new(0),
        ended: [const { AtomicUsize::new(0) }; 2],
    }
}; VIEWS];

/// A page and a thread whose access was tried once more because the watch over it had just ended.
static LATE: AtomicU64 = AtomicU64::new(0);

/// The process that has the desks: a forked child has none.
static PROCESS: AtomicI32 = AtomicI32::new(0);

struct Previous(UnsafeCell<MaybeUninit<libc::sigaction>>);

// SAFETY: written once, under the lock of `install`, before the handler that reads it exists.
unsafe impl Sync for Previous {}

static PREVIOUS: Previous = Previous(UnsafeCell::new(MaybeUninit::uninit()));
static INSTALLED: Mutex<bool> = Mutex::new(false);

/// Installs the handler, once in a process.
fn install() -> io::Result<()> {
    let mut installed = INSTALLED
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
        let previous = (*PREVIOUS.0.get()).as_mut_ptr();
        if libc::sigaction(libc::SIGSEGV, std::ptr::null(), previous) != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        // On the alternate stack of the thread, if it has one. Not blocked meanwhile: a handler of another
        // signal that interrupts this one may touch shared memory too.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigemptyset(&mut action.sa_mask);
        if libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    *installed = true;
    Ok(())
}

/// A range whose traps go to a desk.
#[derive(Debug)]
pub(super) struct Watched(usize);

impl Watched {
    pub(super) fn new(start: usize, bytes: usize, desk: usize) -> io::Result<Self> {
        install()?;
        let free = |place: &Place| {
            place
                .start
                .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        };
        let Some(index) = PLACES.iter().position(free) else {
            return Err(io::Error::other(
                "a process has at most 1024 blocks of shared memory; free some",
            ));
        };
        let place = &PLACES[index];
        place.end.store(start + bytes, Ordering::Relaxed);
        place.desk.store(desk, Ordering::Relaxed);
        place.start.store(start, Ordering::Release);
        Ok(Self(index))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let place = &PLACES[self.0];
        let [start, end] = &place.ended;
        start.store(place.start.load(Ordering::Relaxed), Ordering::Relaxed);
        end.store(place.end.load(Ordering::Relaxed), Ordering::Release);
        LATE.store(0, Ordering::Release);
        place.end.store(0, Ordering::Release);
        place.start.store(0, Ordering::Release);
    }
}

fn desk_of(address: usize) -> Option<usize> {
    let holds = |place: &&Place| {
        let start = place.start.load(Ordering::Acquire);
        start > 1 && start <= address && address < place.end.load(Ordering::Acquire)
    };
    let place = PLACES.iter().find(holds)?;
    Some(place.desk.load(Ordering::Acquire))
}

/// A thread may have been trapped before a watch ended, and come here behind that: its access is good now. Once:
/// if it comes again, it was none of ours.
fn is_late(address: usize) -> bool {
    let held = |place: &Place| {
        let [start, end] = &place.ended;
        address < end.load(Ordering::Acquire) && start.load(Ordering::Relaxed) <= address
    };
    // SAFETY: has no arguments, and may be called in a handler.
    let thread = unsafe { libc::gettid() };
    // Pages have 35 bits, threads 22.
    let it = (address as u64 >> 12) << 22 | u64::from(thread.unsigned_abs());
    PLACES.iter().any(held) && LATE.swap(it, Ordering::AcqRel) != it
}

/// Whether the access was a write. Where nobody says, it counts as one: the page comes back whole.
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
    // Codes from 1 on are the kernel's; kill and raise have others. A child has no desk.
    // SAFETY: has no arguments.
    let ours = code > 0 && unsafe { libc::getpid() } == PROCESS.load(Ordering::Acquire);
    let desk = desk_of(address).filter(|_| ours);
    let served = match desk {
        Some(desk) => records::trap(desk, address, is_write(context)),
        None => ours && is_late(address),
    };
    // SAFETY: as above.
    unsafe { *errno = saved };
    if !served {
        go_on(signal, info, context);
    }
}

/// What would have happened without us.
fn go_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: written before this handler was installed, and never again.
    let previous = unsafe { (*PREVIOUS.0.get()).assume_init_ref() };
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
