//! Threads and child processes of a library that is a guest in somebody else's process.
//!
//! Signals are the program's. Its handlers run on its own threads, and what it blocks in order to wait for it
//! (`sigwait`, `signalfd`) reaches nobody else: the system gives a signal of the process to any thread that does not
//! block it, and one of ours would be such a thread. A handler that touches shared memory there could wait for the
//! very thread that it runs on. So every thread of the library is made here, with all signals blocked except those
//! that an instruction raises by itself ([`SYNCHRONOUS`]): blocked, these would end the process without a word, and
//! trapped memory lives on them.
//!
//! A child process inherits the mask of the thread that starts it. One that is started by a thread of ours gets the
//! mask of the program back ([`child`]): a compiler that cannot be interrupted is nobody's wish.
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

/// Signals that an instruction of a thread raises, and that threads of the library therefore take.
pub const SYNCHRONOUS: [c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Signals of Linux are numbered up to this one.
const LAST_SIGNAL: c_int = 64;

/// Signals that a thread blocks.
#[derive(Clone, Copy)]
struct Mask(libc::sigset_t);

thread_local! {
    /// On a thread of the library: what the program blocks, as far as the library knows. It has no destructor, so it
    /// is there as long as its thread.
    static PROGRAM: Cell<Option<Mask>> = const { Cell::new(None) };
    /// On a thread of the program: its own mask, while it is in [`as_guest`].
    static OUTSIDE: Cell<Option<Mask>> = const { Cell::new(None) };
}

impl Mask {
    /// What threads of the library block.
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

    /// What this thread blocks.
    fn here() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: changes nothing and fills the set in.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, null(), set.as_mut_ptr());
            Self(set.assume_init())
        }
    }

    /// What the program blocks: who asks is a thread of its, or has been told by who made it.
    fn of_the_program() -> Self {
        let known = PROGRAM.get().or_else(|| OUTSIDE.get());
        known.unwrap_or_else(Self::here)
    }

    /// This thread blocks these from now on; what it blocked before.
    fn take(&self) -> Self {
        let mut before = MaybeUninit::uninit();
        // SAFETY: a set that is filled in, this thread's own mask, and a place that is filled in.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

/// Does something with the mask that threads of the library have, which what it starts inherits: also threads of
/// other libraries.
pub fn as_guest<T>(act: impl FnOnce() -> T) -> T {
    let outside = OUTSIDE.get();
    let before = Mask::of_the_library().take();
    let _back = Back(before, outside);
    if PROGRAM.get().is_none() && outside.is_none() {
        OUTSIDE.set(Some(before));
    }
    act()
}

/// Gives a thread its mask of before back, and what is remembered of that outside.
struct Back(Mask, Option<Mask>);

impl Drop for Back {
    fn drop(&mut self) {
        OUTSIDE.set(self.1);
        self.0.take();
    }
}

/// Within [`as_guest`], on a thread of the program: lets its signals in for a while, as its own mask says. A thread of the
/// library has no other mask.
pub fn as_program<T>(act: impl FnOnce() -> T) -> T {
    let Some(outside) = OUTSIDE.get() else {
        return act();
    };
    OUTSIDE.set(None);
    let _back = Back(outside.take(), Some(outside));
    act()
}

/// Sleeps while a word has a value, until [`wake`], a signal, or for so long. Holds nothing, allocates nothing.
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

/// Wakes who sleeps at a word.
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

/// Does something that may make a file longer, on a thread of the program. Where that is more than `ulimit -f` allows, the
/// system sends the thread a signal that ends the process; it comes to nothing here, and the call fails with `EFBIG`.
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
            // The system sends it to the thread that wrote, so what waits now is what we caused.
            let at_once: libc::timespec = std::mem::zeroed();
            if matches!(&result, Err(error) if error.raw_os_error() == Some(libc::EFBIG)) {
                libc::sigtimedwait(&only, std::ptr::null_mut(), &at_once);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        }
    }
    result
}

/// Work for a thread of the library.
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
/// The system has no thread to give.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let work = told(work);
    as_guest(|| Builder::new().name(name.to_owned()).spawn(work))
}

/// Where threads of the library may borrow: see [`scope`].
#[derive(Clone, Copy, Debug)]
pub struct Scope<'scope, 'env: 'scope>(&'scope std::thread::Scope<'scope, 'env>);

/// As [`std::thread::scope`]: threads that are started in it have ended when it returns.
pub fn scope<'env, T>(act: impl for<'scope> FnOnce(Scope<'scope, 'env>) -> T) -> T {
    std::thread::scope(|scope| act(Scope(scope)))
}

impl<'scope> Scope<'scope, '_> {
    /// Does something on a thread of the library that may borrow; here and now, where the system has none to give.
    pub fn run<T: Send + 'scope, W: FnOnce() -> T + Send + 'scope>(
        self,
        name: &str,
        work: W,
    ) -> Running<'scope, T> {
        // Who begins takes it out.
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

/// Work of [`Scope::run`]: on a thread, or done.
#[derive(Debug)]
pub struct Running<'scope, T>(Result<ScopedJoinHandle<'scope, Option<T>>, Option<T>>);

impl<T> Running<'_, T> {
    /// What came of it, when it is over. A panic of it goes on here.
    pub fn join(self) -> T {
        let done = match self.0 {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(done) => done,
        };
        // Only one of the two takes it, and the other is not there.
        done.unwrap_or_else(|| unreachable!("work that nobody began"))
    }
}

/// To be called on a command just before it is run: on a thread of the library its process gets the mask of the
/// program back. On one of the program's it has that anyway.
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

/// In a child: no handler of the program runs between here and exec, which would end them anyway.
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
