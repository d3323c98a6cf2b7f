//! Preloading: data on the card before kernels start, at zero cost in virtual time, to measure what a kernel does
//! with resident data rather than the cost of loading it.
//!
//! The pager brings the pages as usual. Meanwhile, and while no kernel runs, file reads take no time and copies to
//! the card bypass the shell ([`Card::place`](card::Card::place)); the shell installs the table entries.

use super::pump::BARRIERS;
use crate::kernels::Kernels;
use card::command::Command;
use error::Error;
use pager::Event;
use std::collections::{BTreeSet, VecDeque};
use units::{Asid, CommandId, CommandStatus, Operation};

/// State of preloading, and the amount preloaded.
#[derive(Debug, Default)]
pub(crate) struct Hot {
    /// Requests under way.
    requests: u32,
    /// Completed copies that are to be reported to the pager.
    done: VecDeque<CommandId>,
    /// Commands whose completion marks the last table entries.
    barriers: BTreeSet<CommandId>,
    /// Total bytes preloaded.
    bytes: u64,
}

/// The command that waits for the table entries of a space; its identifiers lie below those of commands that stop
/// slots.
fn barrier(space: Asid) -> CommandId {
    CommandId(BARRIERS - 1 - u32::from(space.get()))
}

impl Hot {
    /// Preloads data until [`end`](Self::end); returns the number of bytes preloaded so far.
    pub(crate) fn begin(&mut self) -> u64 {
        self.requests += 1;
        self.bytes
    }

    pub(crate) fn end(&mut self) {
        self.requests -= 1;
    }

    /// Number of bytes preloaded so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a command that waits for the table entries of a space is in flight.
    pub(crate) fn awaits_entries(&self, space: Asid) -> bool {
        self.barriers.contains(&barrier(space))
    }

    /// Records that the card is to report when it has executed everything now in the space's queue; returns the command
    /// for that.
    pub(super) fn await_entries(&mut self, space: Asid) -> CommandId {
        let barrier = barrier(space);
        self.barriers.insert(barrier);
        barrier
    }

    /// Handles a completion; returns whether it was a command that waits for table entries.
    pub(super) fn entries_are_there(&mut self, id: CommandId) -> bool {
        self.barriers.remove(&id)
    }

    /// Whether loading is free of cost now.
    pub(super) fn is_on(&self, kernels: &Kernels) -> bool {
        self.requests > 0 && kernels.slots().busy_slot().is_none()
    }

    /// Executes a copy at zero cost, if preloading is active.
    pub(super) fn place(
        &mut self,
        kernels: &mut Kernels,
        command: &Command,
    ) -> Result<bool, Error> {
        if command.fence || !self.is_on(kernels) {
            return Ok(false);
        }
        let Some(card) = kernels.card().simulation() else {
            return Ok(false);
        };
        if !card.place(command)? {
            return Ok(false);
        }
        if let Operation::CopyIn { bytes, .. } | Operation::Zero { bytes, .. } = command.operation {
            self.bytes += bytes;
        }
        if command.notify {
            self.done.push_back(command.id);
        }
        Ok(true)
    }

    /// The completion of the next such copy, for the pager.
    pub(super) fn placed(&mut self) -> Option<Event> {
        let id = self.done.pop_front()?;
        Some(Event::OperationDone {
            id,
            status: CommandStatus::Ok,
            accessed: false,
            dirty: false,
        })
    }
}
