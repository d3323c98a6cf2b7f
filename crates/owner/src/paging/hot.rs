//! Data that is on the card before kernels start, at no virtual time: for those who ask what a kernel does with data
//! that is there, and not what loading it costs.
//!
//! The pager brings the pages as ever. While they come, and no kernel runs, reading a file takes no time and copies
//! to the card go past the shell ([`Card::place`](card::Card::place)); table entries are installed by the shell.

use super::pump::BARRIERS;
use crate::kernels::Kernels;
use crate::paging::Paging;
use card::command::Command;
use error::Error;
use pager::Event;
use std::collections::{BTreeSet, VecDeque};
use units::{Asid, CommandId, CommandStatus, Operation};

/// Data that is being made hot, and was.
#[derive(Debug, Default)]
pub(super) struct Hot {
    /// Requests under way.
    requests: u32,
    /// Copies that are over and that the pager is to be told of.
    done: VecDeque<CommandId>,
    /// Commands that the last table entries are waited for with.
    barriers: BTreeSet<CommandId>,
    /// Bytes that were put on the card at no time.
    bytes: u64,
}

/// The command that waits for the table entries of a space: below those that stop slots.
fn barrier(space: Asid) -> CommandId {
    CommandId(BARRIERS - 1 - u32::from(space.get()))
}

impl Paging {
    /// Data is made hot until [`end_hot`](Self::end_hot); the bytes that were so far.
    pub(crate) fn begin_hot(&mut self) -> u64 {
        self.hot.requests += 1;
        self.hot.bytes
    }

    pub(crate) fn end_hot(&mut self) {
        self.hot.requests -= 1;
    }

    /// Bytes that were put on the card at no time.
    pub(crate) fn hot_bytes(&self) -> u64 {
        self.hot.bytes
    }

    /// Whether a command is on its way that waits for the table entries of a space.
    pub(crate) fn awaits_entries(&self, space: Asid) -> bool {
        self.hot.barriers.contains(&barrier(space))
    }

    /// Has the card say when it has carried out what the space's queue has now.
    pub(crate) fn await_entries(
        &mut self,
        kernels: &mut Kernels,
        space: Asid,
    ) -> Result<(), Error> {
        let barrier = barrier(space);
        self.hot.barriers.insert(barrier);
        self.send_barrier(kernels, barrier, space)
    }
}

impl Hot {
    /// Whether a command waits for table entries, and is over with that.
    pub(super) fn entries_are_there(&mut self, id: CommandId) -> bool {
        self.barriers.remove(&id)
    }

    /// Whether loading takes no time now.
    pub(super) fn is_on(&self, kernels: &Kernels) -> bool {
        self.requests > 0 && kernels.busy_slot().is_none()
    }

    /// Carries out a copy at no time, if now is the time for it.
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

    /// What the pager is to be told of the next such copy.
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
