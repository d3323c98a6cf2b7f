//! The agent of the CPU that uses the lines itself.

use protocol::tables::mesi::{home_step, HomeEvent, HomeOutcome};

use super::{Cpu, LineState, Work};
use crate::line::{write_parts, Data, FoldedLine, PlainLine, WORDS};

/// What the agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuAccess {
    /// Read the line.
    Load,
    /// Write these parts, keeping nothing.
    Write {
        /// One bit a part.
        parts: u8,
        /// The value.
        stamp: u64,
    },
    /// Write these parts of a copy of its own.
    Store {
        /// One bit a part.
        parts: u8,
        /// The value.
        stamp: u64,
    },
    /// Add one to the first word of the line and stamp the rest of its first part, atomically.
    Increment {
        /// The stamp.
        stamp: u64,
    },
    /// The card keeps at most a shared copy.
    Clean,
    /// The card keeps nothing.
    CleanInvalidate,
}

/// The end of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuDone {
    /// What the caller named it.
    pub token: u64,
    /// The line as the access saw or left it; of an increment: as it was before.
    pub data: Box<Data>,
}

/// The agent's copy.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) exclusive: bool,
    pub(super) data: Box<Data>,
}

impl Cpu {
    /// Starts an access; it may end at once. `token` comes back in [`Cpu::done`].
    pub fn access(&mut self, line: PlainLine, access: CpuAccess, token: u64) {
        let line = line.fold().0;
        let entry = self.line(line);
        if let Some(copy) = &mut entry.copy {
            let hit = match access {
                CpuAccess::Load => true,
                CpuAccess::Clean | CpuAccess::CleanInvalidate => copy.exclusive,
                _ => copy.exclusive,
            };
            if hit {
                let data = perform(&mut copy.data, access);
                self.done.push(CpuDone { token, data });
                return;
            }
        }
        let event = match access {
            CpuAccess::Load => HomeEvent::OpRead,
            CpuAccess::Write { .. } => HomeEvent::OpWrite,
            CpuAccess::Store { .. } | CpuAccess::Increment { .. } => HomeEvent::OpLock,
            CpuAccess::Clean => HomeEvent::OpClean,
            CpuAccess::CleanInvalidate => HomeEvent::OpCleanInvalidate,
        };
        entry
            .waiting
            .push_back(Work::Operation(event, token, access));
        self.work(line);
    }

    /// Writes the agent's own copy back, if it has one to itself.
    pub fn give_up(&mut self, line: PlainLine) {
        let line = line.fold().0;
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
            // The table lets an unlock wait: it comes again with the next step.
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
        let exclusive = matches!(
            access,
            CpuAccess::Store { .. } | CpuAccess::Increment { .. }
        );
        let seen = if exclusive {
            perform(&mut data, access)
        } else {
            data.clone()
        };
        if exclusive || access == CpuAccess::Load {
            entry.copy = Some(Copy { exclusive, data });
        }
        self.done.push(CpuDone { token, data: seen });
    }

    /// Lines that the agent has to itself although somebody waits for them.
    #[must_use]
    pub fn wanted(&self) -> Vec<PlainLine> {
        let wanted = |entry: &LineState| {
            entry.copy.as_ref().is_some_and(|copy| copy.exclusive) && !entry.waiting.is_empty()
        };
        let mut lines: Vec<_> = self
            .lines
            .iter()
            .filter(|(_, entry)| wanted(entry))
            .map(|(line, _)| FoldedLine(*line).unfold())
            .collect();
        lines.sort();
        lines
    }
}

/// Does an access to a copy; returns what the caller gets.
pub(super) fn perform(data: &mut Box<Data>, access: CpuAccess) -> Box<Data> {
    match access {
        CpuAccess::Load | CpuAccess::Clean | CpuAccess::CleanInvalidate => data.clone(),
        CpuAccess::Write { parts, stamp } | CpuAccess::Store { parts, stamp } => {
            write_parts(data, parts, stamp);
            data.clone()
        }
        CpuAccess::Increment { stamp } => {
            let before = data.clone();
            data[0] += 1;
            data[1..4].fill(stamp);
            before
        }
    }
}
