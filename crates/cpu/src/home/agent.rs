//! The CPU's own agent: its cores, which use the lines too.

use protocol::tables::mesi::{home_step, HomeEvent, HomeOutcome};

use super::{Home, Work};
use units::line::{merge_parts, write_bytes, Data, FoldedLine, PlainLine, WORDS};

/// Access of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeAccess {
    /// Read the line.
    Load,
    /// Write these parts without keeping a copy.
    Write {
        /// Mask, one bit per part.
        parts: u8,
        /// Line with the bytes to write.
        data: Data,
    },
    /// Write these bytes of its own copy.
    Store {
        /// Mask, one bit per byte.
        mask: u128,
        /// Line with the bytes to write.
        data: Data,
    },
    /// Add to a word and write bytes, atomically.
    Add {
        /// Index of the word in the line.
        word: usize,
        /// Number to add.
        value: u64,
        /// Mask, one bit per byte.
        mask: u128,
        /// Line with the bytes to write.
        data: Data,
    },
    /// Write a word if it has the expected value.
    CompareExchange {
        /// Index of the word in the line.
        word: usize,
        /// Expected value.
        expected: u64,
        /// New value.
        new: u64,
    },
    /// The card keeps at most a shared copy.
    Clean,
    /// The card keeps nothing.
    CleanInvalidate,
}

impl HomeAccess {
    /// Whether it needs an exclusive copy.
    fn is_exclusive(self) -> bool {
        matches!(
            self,
            Self::Store { .. } | Self::Add { .. } | Self::CompareExchange { .. }
        )
    }
}

/// Completion of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeDone {
    /// Token of the caller.
    pub token: u64,
    /// The line as the access saw or left it; for an addition or an exchange, the line before it.
    pub data: Box<Data>,
}

/// The agent's copy.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) exclusive: bool,
    pub(super) data: Box<Data>,
}

impl Home {
    /// Starts an access; it may complete immediately. `token` is returned in [`Home::done`].
    pub fn access(&mut self, line: PlainLine, access: HomeAccess, token: u64) {
        let line = line.fold().0;
        let entry = self.line(line);
        if let Some(copy) = &mut entry.copy {
            if copy.exclusive || access == HomeAccess::Load {
                let data = perform(&mut copy.data, access);
                self.done.push(HomeDone { token, data });
                return;
            }
        }
        let event = match access {
            HomeAccess::Load => HomeEvent::OpRead,
            HomeAccess::Write { .. } => HomeEvent::OpWrite,
            HomeAccess::Store { .. }
            | HomeAccess::Add { .. }
            | HomeAccess::CompareExchange { .. } => HomeEvent::OpLock,
            HomeAccess::Clean => HomeEvent::OpClean,
            HomeAccess::CleanInvalidate => HomeEvent::OpCleanInvalidate,
        };
        let work = Work::Operation(event, token, access);
        entry.waiting.push_back(work);
        self.waiting += 1;
        self.work(line);
    }

    /// Writes the agent's exclusive copy back, if it has one.
    pub fn give_up(&mut self, line: PlainLine) {
        let line = line.fold().0;
        self.wanted.remove(&line);
        let entry = self.line(line);
        if entry.unlocking {
            return;
        }
        match &entry.copy {
            Some(copy) if copy.exclusive => {}
            _ => {
                entry.copy = None;
                return;
            }
        }
        if let Some(copy) = entry.copy.take() {
            self.memory.insert(line, copy.data);
        }
        self.unlock(line);
    }

    pub(super) fn unlock(&mut self, line: u64) {
        let entry = self.line(line);
        let state = entry.state;
        let HomeOutcome::Go(step) = home_step(state, HomeEvent::OpUnlock) else {
            // The table stalls the unlock: it is tried again with the next step.
            entry.unlocking = true;
            return;
        };
        entry.unlocking = false;
        entry.state = step.next;
        self.work(line);
    }

    pub(super) fn operation_done(&mut self, line: u64) {
        let memory = self.memory.get(&line).cloned();
        let mut data = memory.unwrap_or_else(|| Box::new([0; WORDS]));
        let entry = self.line(line);
        let Some((token, access)) = entry.operation.take() else {
            return;
        };
        let exclusive = access.is_exclusive();
        let seen = if exclusive {
            perform(&mut data, access)
        } else {
            data.clone()
        };
        if exclusive || access == HomeAccess::Load {
            entry.copy = Some(Copy { exclusive, data });
        }
        self.done.push(HomeDone { token, data: seen });
    }

    /// Lines that the agent holds exclusively although the card requested them.
    #[must_use]
    pub fn wanted(&self) -> Vec<PlainLine> {
        let wanted = self.wanted.iter();
        let mut lines: Vec<_> = wanted.map(|line| FoldedLine(*line).unfold()).collect();
        lines.sort();
        lines
    }
}

/// Performs an access on a copy; returns the caller's data.
pub(super) fn perform(data: &mut Box<Data>, access: HomeAccess) -> Box<Data> {
    match access {
        HomeAccess::Load | HomeAccess::Clean | HomeAccess::CleanInvalidate => data.clone(),
        HomeAccess::Write {
            parts,
            data: written,
        } => {
            merge_parts(data, parts, &written);
            data.clone()
        }
        HomeAccess::Store {
            mask,
            data: written,
        } => {
            write_bytes(data, mask, &written);
            data.clone()
        }
        HomeAccess::Add {
            word,
            value,
            mask,
            data: written,
        } => {
            let before = data.clone();
            data[word % WORDS] = data[word % WORDS].wrapping_add(value);
            write_bytes(data, mask, &written);
            before
        }
        HomeAccess::CompareExchange {
            word,
            expected,
            new,
        } => {
            let before = data.clone();
            if before[word % WORDS] == expected {
                data[word % WORDS] = new;
            }
            before
        }
    }
}
