//! Writes that a port has taken and not answered yet.

use super::access::PARK_DEPTH;
use std::collections::VecDeque;

/// A write that waits for its turn.
#[derive(Clone, Debug)]
pub(super) struct PostedWrite {
    pub(super) address: u64,
    pub(super) bytes: Vec<u8>,
}

/// The writes of one port that its kernel does not wait for, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Posted {
    waiting: VecDeque<PostedWrite>,
    taken: u64,
    /// Writes taken when the host last asked, and when the interrupt rose.
    marked: u64,
    announced: u64,
    /// The oldest waits for the host.
    pub(super) blocked: bool,
}

impl Posted {
    /// Takes a write; false if there is no room.
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

    /// The oldest, which is put back if it is not done.
    pub(super) fn pop(&mut self) -> Option<PostedWrite> {
        self.waiting.pop_front()
    }

    pub(super) fn put_back(&mut self, write: PostedWrite) {
        self.waiting.push_front(write);
        self.blocked = true;
    }

    /// Writes without their answer.
    pub(super) fn outstanding(&self) -> u32 {
        self.waiting.len() as u32
    }

    fn answered(&self) -> u64 {
        self.taken - self.waiting.len() as u64
    }

    /// What has been taken so far counts for [`is_owed`](Self::is_owed).
    pub(super) fn mark(&mut self) {
        self.marked = self.taken;
    }

    /// What has been taken so far counts for [`holds_interrupt`](Self::holds_interrupt).
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
