//! Posted writes: accepted by a port and not answered yet.

use super::access::PARK_DEPTH;
use std::collections::VecDeque;

/// A posted write in the queue.
#[derive(Clone, Debug)]
pub(super) struct PostedWrite {
    pub(super) address: u64,
    pub(super) bytes: Vec<u8>,
}

/// Posted writes of one port, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Posted {
    waiting: VecDeque<PostedWrite>,
    taken: u64,
    /// Number of writes accepted at the host's last query, and at the rise of the interrupt.
    marked: u64,
    announced: u64,
    /// The oldest waits for the host.
    pub(super) blocked: bool,
}

impl Posted {
    /// Accepts a write; false if there is no room.
    pub(super) fn take(&mut self, address: u64, from: &[u8]) -> bool {
        let room = self.waiting.len() < PARK_DEPTH;
        if room {
            let bytes = from.to_vec();
            self.waiting.push_back(PostedWrite { address, bytes });
            self.taken += 1;
        }
        room
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn is_runnable(&self) -> bool {
        self.is_waiting() && !self.blocked
    }

    /// Removes the oldest; the caller puts it back if it is not done.
    pub(super) fn pop(&mut self) -> Option<PostedWrite> {
        self.waiting.pop_front()
    }

    pub(super) fn put_back(&mut self, write: PostedWrite) {
        self.waiting.push_front(write);
        self.blocked = true;
    }

    /// Number of writes without an answer.
    pub(super) fn outstanding(&self) -> u32 {
        self.waiting.len() as u32
    }

    fn answered(&self) -> u64 {
        self.taken - self.waiting.len() as u64
    }

    /// Makes [`is_owed`](Self::is_owed) cover the writes accepted so far.
    pub(super) fn mark(&mut self) {
        self.marked = self.taken;
    }

    /// Makes [`holds_interrupt`](Self::holds_interrupt) cover the writes accepted so far.
    pub(super) fn announce(&mut self) {
        self.announced = self.taken;
    }

    pub(super) fn is_owed(&self) -> bool {
        self.answered() < self.marked
    }

    pub(super) fn holds_interrupt(&self) -> bool {
        self.answered() < self.announced
    }
}
