//! Standard streams that were closed when the command was started (`>&-`).
//!
//! Files that are opened next would get their numbers, and Rust's runtime opens `/dev/null` there, where output is lost
//! without an error. Before the runtime starts, a folder is opened for reading under each such number: reads and writes
//! of it fail.

use rustix::fs::{open, Mode, OFlags};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::atomic::{AtomicU8, Ordering};

/// A standard stream, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stream {
    Input = 0,
    Output = 1,
    Error = 2,
}

/// Bit n is set if stream n was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// The loader calls this before Rust's runtime opens `/dev/null`.
#[used]
#[link_section = ".init_array"]
static BEFORE_MAIN: extern "C" fn() = occupy;

extern "C" fn occupy() {
    // `open` returns the lowest free number, so this ends when all three are taken.
    while let Ok(folder) = open("/", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
        let number = folder.as_raw_fd();
        if number > Stream::Error as i32 {
            return;
        }
        CLOSED.fetch_or(1 << number, Ordering::Relaxed);
        // Keeps it open until the process ends.
        let _ = folder.into_raw_fd();
    }
}

/// Whether a stream was closed when the command was started.
pub fn was_closed(stream: Stream) -> bool {
    CLOSED.load(Ordering::Relaxed) >> stream as u8 & 1 == 1
}
