//! End of the process: the last function of the library, when the program returns from `main` or calls `exit`.
//!
//! The system runs it after all `atexit` handlers and destructors of static objects, which may use the library until
//! their end; threads of the library still exist. A process that is killed, or calls `_exit`, does not run it.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

/// Whether the end has begun.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Function to run last.
static LAST: OnceLock<fn()> = OnceLock::new();

/// The dynamic linker calls the functions in this section when the process ends, for programs and shared libraries.
#[used]
#[link_section = ".fini_array"]
static AT_END: extern "C" fn() = run;

extern "C" fn run() {
    if let Some(last) = LAST.get() {
        ENDS.store(true, Ordering::Release);
        // A panic must not leave this function, and no code is left to report it.
        let _ = catch_unwind(last);
    }
}

/// Whether the last function has begun. Threads of the program may still run; resources that they request may be gone,
/// and they end with the process. May be called in a signal handler.
pub fn process_ends() -> bool {
    ENDS.load(Ordering::Acquire)
}

/// Registers a function to run when the process ends. Only the first registration counts.
pub fn at_end_of_process(last: fn()) {
    LAST.get_or_init(|| last);
}
