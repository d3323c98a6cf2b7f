//! Is the library a guest in the process that it lives in? Signals stay the program's, whatever thread is alive; what
//! is closed leaves nothing behind; and nothing breaks when a thread, or the process, ends.

#[allow(
    dead_code,
    reason = "not every test is between a card and its owner in every way"
)]
#[path = "../common/mod.rs"]
mod common;

mod closing;
mod ending;
mod masks;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

fn kernel(name: &str) -> PathBuf {
    simcard::home().join("kernels").join(name)
}

/// These tests look at all threads and descriptors of the process: one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Skips a test that this machine cannot run, and prints the reason.
fn skip(test: &str, reason: &str) {
    use std::io::Write;
    let line = format!("skipped: {test}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
