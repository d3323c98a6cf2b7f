//! A thread that answers traps: of all shared memory of one card.

use super::records::{self, Trapped};
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// See the module. Its thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Desk {
    index: usize,
}

impl Desk {
    /// `serve` gets each trapped access.
    ///
    /// # Errors
    /// The system has no more threads; too many desks.
    pub(crate) fn open(serve: impl Fn(Trapped) + Send + 'static) -> io::Result<Self> {
        let index = records::open_desk().ok_or_else(|| {
            io::Error::other("a process can share memory with at most 64 cards at once")
        })?;
        let thread = std::thread::Builder::new().name("tombolo traps".to_owned());
        let spawned = thread.spawn(move || {
            while let Some(trapped) = records::next(index) {
                let serve = || serve(trapped);
                if catch_unwind(AssertUnwindSafe(serve)).is_err() {
                    tracing::error!("a trap could not be served; its thread gets the signal");
                }
            }
        });
        // Without a thread nobody else would give the desk back.
        spawned.map(|_| Self { index }).inspect_err(|_| {
            records::close_desk(index);
            let _ = records::next(index);
        })
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        records::close_desk(self.index);
    }
}
