//! Outstanding accesses of a core.

use crate::link::Link;
use error::Error;
use owner::message::EndAccess;
use units::access::{AccessId, LineBytes, LINE_BYTES};
use units::Picoseconds;

/// An outstanding access. If dropped, the access runs to completion and its result is discarded.
#[derive(Debug)]
#[must_use = "the access ends, but what became of it is known only to who waits"]
pub struct PendingLine {
    link: Link,
    id: AccessId,
    deadline: Picoseconds,
    waited: bool,
}

impl PendingLine {
    pub(super) fn new(link: Link, id: AccessId, deadline: Picoseconds) -> Self {
        Self {
            link,
            id,
            deadline,
            waited: false,
        }
    }

    /// Waits until the access is complete. Returns the line as the access saw or left it.
    ///
    /// # Errors
    /// The kernel broke a protocol rule ([`Error::Home`]) or does not answer ([`Error::LineLate`]).
    pub fn wait(mut self) -> Result<[u8; LINE_BYTES], Error> {
        self.waited = true;
        self.end(self.deadline).map(|line| *line)
    }

    fn end(&self, deadline: Picoseconds) -> Result<Box<LineBytes>, Error> {
        let (id, deadline) = (self.id, Some(deadline));
        self.link.call(EndAccess { id, deadline })
    }
}

impl Drop for PendingLine {
    fn drop(&mut self) {
        if !self.waited {
            // The owner discards the access, whatever its result.
            drop(self.end(Picoseconds::ZERO));
        }
    }
}
