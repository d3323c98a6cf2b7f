//! Threads and child processes of a library that runs in a user's process.
//!
//! Signals belong to the program. Its handlers run on its own threads, and a signal that it blocks in order to wait for
//! it (`sigwait`, `signalfd`) must not be taken by another thread: the system delivers a signal of the process to any
//! thread that does not block it, including one of the library's. A handler that accesses shared memory there could
//! wait for the very thread that it runs on. So every thread of the library is created here, with all signals blocked
//! except those that an instruction raises ([`SYNCHRONOUS`]): blocked, these would end the process without a message,
//! and trapped memory depends on them.
//!
//! A child process inherits the mask of the thread that starts it. A child started by a thread of the library gets the
//! program's mask back ([`child`]), so that a compiler can be interrupted, for example.
//!
//! ```
//! let owner = threads::spawn("tombolo-owner", || 6 * 7)?;
//! assert_eq!(owner.join().unwrap(), 42);
//! # Ok::<(), std::io::Error>(())
//! ```

mod end;
pub mod jobs;

pub use end::{at_end_of_process, process_ends};

use std::cell::Cell;
use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::panic::resume_unwind;
use std::process::Command;
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, ScopedJoinHandle};
use std::time::Duration;

/// Signals that an instruction of a thread raises, and that threads of the library therefore do not block.
pub const SYNCHRONOUS: [c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Highest signal number of Linux.
const LAST_SIGNAL: c_int = 64;

/// Set of signals that a thread blocks.
#[derive(Clone, Copy)]
struct Mask(libc::sigset_t);

thread_local! {
    /// On a thread of the library: signals that the program blocks, as far as the library knows. It has no destructor,
    /// so it exists as long as its thread.
    static PROGRAM: Cell<Option<Mask>> = const { Cell::new(None) };
    /// On a thread of the program: its own mask, while it is in [`as_guest`].
    static OUTSIDE: Cell<Option<Mask>> = const { Cell::new(None) };
}

impl Mask {
    /// Mask of the library's threads.
    fn of_the_library() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: fills the set in, and takes signals out of it.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            for signal in SYNCHRONOUS {
                libc::sigdelset(set.as_mut_ptr(), signal);
            }
            Self(set.assume_init())
        }
    }

    /// Mask of this thread.
    fn here() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: changes nothing and fills the set in.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, null(), set.as_mut_ptr());
            Self(set.assume_init())
        }
    }

    /// Mask of the program: the calling thread belongs to the program, or was given the mask by its creator.
    fn of_the_program() -> Self {
        let known = PROGRAM.get().or_else(|| OUTSIDE.get());
        known.unwrap_or_else(Self::here)
    }

    /// Sets this thread's mask; returns the previous one.
    fn take(&self) -> Self {
        let mut before = MaybeUninit::uninit();
        // SAFETY: a set that is filled in, this thread's own mask, and a place that is filled in.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

/// Calls `act` with the mask of the library's threads, which threads started in it inherit, including those of other
/// libraries.
pub fn as_guest<T>(act: impl FnOnce() -> T) -> T {
    let outside = OUTSIDE.get();
    let before = Mask::of_the_library().take();
    let _back = RestoredMask(before, outside);
    if PROGRAM.get().is_none() && outside.is_none() {
        OUTSIDE.set(Some(before));
    }
    act()
}

/// Restores a thread's previous mask, and the record of it outside.
struct RestoredMask(Mask, Option<Mask>);

impl Drop for RestoredMask {
    fn drop(&mut self) {
        OUTSIDE.set(self.1);
        self.0.take();
    }
}

/// Within [`as_guest`], on a thread of the program: restores its own signal mask during the call. A thread of the
/// library has no other mask.
pub fn as_program<T>(act: impl FnOnce() -> T) -> T {
    let Some(outside) = OUTSIDE.get() else {
        return act();
    };
    OUTSIDE.set(None);
    let _back = RestoredMask(outside.take(), Some(outside));
    act()
}

/// Sleeps while a word has a value, until [`wake`], a signal, or the timeout. Takes no lock and allocates nothing.
pub fn sleep_while(word: &AtomicU32, value: u32, at_most: Duration) {
    let time = libc::timespec {
        tv_sec: at_most.as_secs() as libc::time_t,
        tv_nsec: at_most.subsec_nanos().into(),
    };
    // SAFETY: the word and the time live as long as the call, which looks at both.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            value,
            &time,
        );
    }
}

/// Wakes the threads that sleep on a word.
pub fn wake(word: &AtomicU32) {
    // SAFETY: the word lives as long as the call, which takes nothing but its address.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            i32::MAX,
        );
    }
}

/// Calls a function that may extend a file, on a thread of the program. Beyond the limit of `ulimit -f`, the system
/// sends the thread a signal that ends the process; here the signal is suppressed, and the call fails with `EFBIG`.
pub fn without_size_signal<T>(what: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    // SAFETY: sets of signals on the stack, and this thread's own mask. A set of zeroes is one; `sigemptyset` makes it
    // the empty one.
    let (only, before) = unsafe {
        let mut only: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, libc::SIGXFSZ);
        let failed = libc::pthread_sigmask(libc::SIG_BLOCK, &only, &mut before);
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        (only, before)
    };
    let result = what();
    // SAFETY: as above.
    unsafe {
        if libc::sigismember(&before, libc::SIGXFSZ) == 0 {
            // The system sends it to the thread that wrote, so a pending signal is caused by this call.
            let at_once: libc::timespec = std::mem::zeroed();
            if matches!(&result, Err(error) if error.raw_os_error() == Some(libc::EFBIG)) {
                libc::sigtimedwait(&only, std::ptr::null_mut(), &at_once);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        }
    }
    result
}

/// Wraps work for a thread of the library, with the program's mask.
fn told<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let program = Mask::of_the_program();
    move || {
        PROGRAM.set(Some(program));
        work()
    }
}

/// Starts a thread of the library. Tools show the first 15 bytes of its name.
///
/// # Errors
/// The system cannot create a thread.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let work = told(work);
    as_guest(|| Builder::new().name(name.to_owned()).spawn(work))
}

/// Scope in which threads of the library may borrow: see [`scope`].
#[derive(Clone, Copy, Debug)]
pub struct Scope<'scope, 'env: 'scope>(&'scope std::thread::Scope<'scope, 'env>);

/// Like [`std::thread::scope`]: threads started in it have ended when it returns.
pub fn scope<'env, T>(act: impl for<'scope> FnOnce(Scope<'scope, 'env>) -> T) -> T {
    std::thread::scope(|scope| act(Scope(scope)))
}

impl<'scope> Scope<'scope, '_> {
    /// Runs work on a thread of the library that may borrow; on the calling thread if the system cannot create one.
    pub fn run<T: Send + 'scope, W: FnOnce() -> T + Send + 'scope>(
        self,
        name: &str,
        work: W,
    ) -> Running<'scope, T> {
        // The side that starts the work takes it out.
        let place = Arc::new(Mutex::new(Some(work)));
        let take = |place: &Mutex<Option<W>>| {
            let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
            place.take()
        };
        let there = place.clone();
        let begin = told(move || take(&there).map(|work| work()));
        let started = as_guest(|| {
            let builder = Builder::new().name(name.to_owned());
            builder.spawn_scoped(self.0, begin)
        });
        Running(match started {
            Ok(thread) => Ok(thread),
            Err(_) => Err(take(&place).map(|work| work())),
        })
    }
}

/// Work of [`Scope::run`]: on a thread, or complete.
#[derive(Debug)]
pub struct Running<'scope, T>(Result<ScopedJoinHandle<'scope, Option<T>>, Option<T>>);

impl<T> Running<'_, T> {
    /// Waits for the result. A panic of the work is resumed here.
    pub fn join(self) -> T {
        let done = match self.0 {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(done) => done,
        };
        // Only one of the two takes it, and the other does not exist.
        done.unwrap_or_else(|| unreachable!("work that nobody began"))
    }
}

/// Prepares a command that is about to run: from a thread of the library, its process gets the program's mask back.
/// From a thread of the program it has that mask anyway.
pub fn child(command: &mut Command) -> &mut Command {
    let Some(mask) = PROGRAM.get().or_else(|| OUTSIDE.get()) else {
        return command;
    };
    let give_back = move || {
        default_handlers();
        mask.take();
        Ok(())
    };
    // SAFETY: it runs in the child between fork and exec, and does nothing but calls of the system that may be made there.
    unsafe { command.pre_exec(give_back) }
}

/// In a child: prevents handlers of the program from running between here and exec, which resets them anyway.
fn default_handlers() {
    for signal in 1..=LAST_SIGNAL {
        let mut action = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: the old action is filled in if the call succeeds, and the new one is whole. Some signals cannot be
        // asked for, and then nothing is done.
        unsafe {
            if libc::sigaction(signal, null(), action.as_mut_ptr()) != 0 {
                continue;
            }
            let mut action = action.assume_init();
            if ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction) {
                action.sa_sigaction = libc::SIG_DFL;
                action.sa_flags = 0;
                libc::sigaction(signal, &action, null_mut());
            }
        }
    }
}
