//! Standard streams that were closed when the command was started (`>&-`).
//!
//! Their numbers would go to the next files that are opened, and Rust's runtime opens `/dev/null` there, where all that
//! is written is lost without an error. So before it does, they get a folder, open for reading: writing to it fails, and
//! so does reading.

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

/// A bit for each that was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// The system's loader calls this before the runtime looks at the streams.
#[used]
#[link_section = ".init_array"]
static BEFORE_MAIN: extern "C" fn() = occupy;

extern "C" fn occupy() {
    // The lowest number that is free, until none of the three is.
    while let Ok(folder) = open("/", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
        let number = folder.as_raw_fd();
        if number > Stream::Error as i32 {
            return;
        }
        CLOSED.fetch_or(1 << number, Ordering::Relaxed);
        // It stays open until the process ends.
        let _ = folder.into_raw_fd();
    }
}

/// Whether whoever started the command had closed a stream.
pub fn was_closed(stream: Stream) -> bool {
    CLOSED.load(Ordering::Relaxed) >> stream as u8 & 1 == 1
}
