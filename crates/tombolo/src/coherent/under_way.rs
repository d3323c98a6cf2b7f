//! Outstanding accesses of a core, oldest first: its loads, or its write buffer.

use super::PendingLine;
use error::Error;
use std::collections::VecDeque;
use units::access::LINE_BYTES;

/// Maximum stores merged into one entry: the number of bytes of a line.
const MOST_MERGED: usize = LINE_BYTES;

/// A bounded queue of entries, each an access or the merged stores to one line.
#[derive(Debug)]
pub(super) struct UnderWay {
    most: usize,
    entries: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    offset: u64,
    /// Later stores to the line may merge into it.
    merges: bool,
    first: PendingLine,
    merged: Vec<PendingLine>,
}

impl Entry {
    /// The line as the last access saw or left it. All accesses have ended, even if the first failed.
    fn wait(self) -> Result<[u8; LINE_BYTES], Error> {
        let mut line = self.first.wait();
        for access in self.merged {
            let next = access.wait();
            line = line.and(next);
        }
        line
    }
}

impl UnderWay {
    pub(super) fn new(most: usize) -> Self {
        let entries = VecDeque::with_capacity(most);
        Self { most, entries }
    }

    /// Waits for the oldest entry if the queue is full, and returns its line.
    pub(super) fn make_room(&mut self) -> Result<Option<[u8; LINE_BYTES]>, Error> {
        match self.entries.len() < self.most {
            true => Ok(None),
            false => self.next(),
        }
    }

    /// Appends an access that does not merge.
    pub(super) fn push(&mut self, offset: u64, first: PendingLine) {
        self.add(offset, first, false);
    }

    /// Appends a store that later stores to its line may merge with.
    pub(super) fn push_store(&mut self, offset: u64, first: PendingLine) {
        self.add(offset, first, true);
    }

    fn add(&mut self, offset: u64, first: PendingLine, merges: bool) {
        self.entries.push_back(Entry {
            offset,
            merges,
            first,
            merged: Vec::new(),
        });
    }

    /// Whether a store to the line at `offset` merges with an outstanding one, and so takes no entry.
    pub(super) fn merges(&self, offset: u64) -> bool {
        let youngest = self.entries.iter().rfind(|entry| entry.offset == offset);
        youngest.is_some_and(|entry| entry.merges && entry.merged.len() + 1 < MOST_MERGED)
    }

    /// Adds a store that [`merges`](Self::merges).
    pub(super) fn merge(&mut self, offset: u64, store: PendingLine) {
        let mut youngest_first = self.entries.iter_mut().rev();
        if let Some(entry) = youngest_first.find(|entry| entry.offset == offset) {
            entry.merged.push(store);
        }
    }

    /// Waits for the oldest entry and returns its line.
    pub(super) fn next(&mut self) -> Result<Option<[u8; LINE_BYTES]>, Error> {
        self.entries.pop_front().map(Entry::wait).transpose()
    }

    /// Waits for all entries. Returns the error of the first that failed.
    pub(super) fn wait(&mut self) -> Result<(), Error> {
        let mut first = Ok(());
        for entry in self.entries.drain(..) {
            let ended = entry.wait().map(drop);
            first = first.and(ended);
        }
        first
    }
}
