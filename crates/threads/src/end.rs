//! The end of the process: what is done last, when the program returns from `main` or calls `exit`.
//!
//! The system runs it behind all `atexit` handlers and destructors of static objects, which may use the library to
//! their end; threads of the library are still there. A process that is killed, or calls `_exit`, does not come here.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

/// It has come to that.
static ENDS: AtomicBool = AtomicBool::new(false);

/// What is done last.
static LAST: OnceLock<fn()> = OnceLock::new();

/// The dynamic linker calls what stands in this section when the process ends, of a program as of a shared library.
#[used]
#[link_section = ".fini_array"]
static AT_END: extern "C" fn() = run;

extern "C" fn run() {
    if let Some(last) = LAST.get() {
        ENDS.store(true, Ordering::Release);
        // Nobody is there to hear of a panic, which must not leave this function.
        let _ = catch_unwind(last);
    }
}

/// Whether what is done last has begun. Threads of the program may still be at work; what they ask for may be gone, and they
/// end with the process. May be asked in a signal handler.
pub fn process_ends() -> bool {
    ENDS.load(Ordering::Acquire)
}

/// Does this when the process ends. What was said first counts.
pub fn at_end_of_process(last: fn()) {
    LAST.get_or_init(|| last);
}
