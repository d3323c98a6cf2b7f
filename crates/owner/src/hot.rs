//! Data that is on the card before kernels start, at no virtual time: for those who ask what a kernel does with data
//! that is there, and not what loading it costs.
//!
//! The pager brings the pages as ever. While they come, and no kernel runs, reading a file takes no time and copies
//! to the card go past the shell ([`Card::place`](card::Card::place)); table entries are installed by the shell.

use super::owner_ref::OwnerRef;
use super::pump::BARRIERS;
use super::Owner;
use crate::message::{ClientId, MakeHot};
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
    pub(super) bytes: u64,
}

/// The command that waits for the table entries of a space: below those that stop slots.
fn barrier(space: Asid) -> CommandId {
    CommandId(BARRIERS - 1 - u32::from(space.get()))
}

/// While it lives, data is made hot.
struct MakesHot<'a>(&'a OwnerRef);

impl Drop for MakesHot<'_> {
    fn drop(&mut self) {
        self.0.with(|owner| owner.hot.requests -= 1);
    }
}

impl OwnerRef {
    /// Brings the pages of a mapping to the card, as far as there is room; gives the bytes that came at no time.
    pub(super) async fn make_mapping_hot(
        &self,
        client: ClientId,
        request: MakeHot,
    ) -> Result<u64, Error> {
        let range = self.with(|owner| owner.handles.mapping(client, request.mapping))?;
        let before = self.with(|owner| {
            if let Some(slot) = owner.kernels.busy_slot() {
                let rule = "is running; make data hot before a kernel starts";
                return Err(Error::SlotState {
                    slot,
                    rule: rule.into(),
                });
            }
            owner.hot.requests += 1;
            Ok(owner.hot.bytes)
        })?;
        let _hot = MakesHot(self);
        self.with(|owner| {
            owner.tell(Event::Prefetch {
                asid: range.asid,
                address: range.address,
                bytes: range.bytes,
            })
        })?;
        self.card(|owner| {
            let over = owner.pager.is_idle() || owner.kernels.busy_slot().is_some();
            Ok(over.then_some(()))
        })
        .await?;
        // Nobody waits for the end of an install: a kernel that starts at once would find no entry.
        let barrier = barrier(range.asid);
        let over = |owner: &mut Owner| Ok((!owner.hot.barriers.contains(&barrier)).then_some(()));
        // One of another request for the space is not behind these.
        self.card(over).await?;
        self.with(|owner| owner.wait_for_entries(barrier, range.asid))?;
        self.card(over).await?;
        Ok(self.with(|owner| owner.hot.bytes - before))
    }
}

impl Owner {
    /// Has the card say when it has carried out what a space's queue has now.
    fn wait_for_entries(&mut self, id: CommandId, space: Asid) -> Result<(), Error> {
        self.hot.barriers.insert(id);
        self.send_barrier(id, space)
    }

    /// Whether a command was such a one; it is over.
    pub(super) fn entries_are_there(&mut self, id: CommandId) -> bool {
        self.hot.barriers.remove(&id)
    }

    /// Whether loading takes no time now.
    pub(super) fn makes_hot(&self) -> bool {
        self.hot.requests > 0 && self.kernels.busy_slot().is_none()
    }

    /// Carries out a copy at no time, if now is the time for it.
    pub(super) fn place(&mut self, command: &Command) -> Result<bool, Error> {
        if command.fence || !self.makes_hot() {
            return Ok(false);
        }
        let Some(card) = self.kernels.card().simulation() else {
            return Ok(false);
        };
        if !card.place(command)? {
            return Ok(false);
        }
        if let Operation::CopyIn { bytes, .. } | Operation::Zero { bytes, .. } = command.operation {
            self.hot.bytes += bytes;
        }
        if command.notify {
            self.hot.done.push_back(command.id);
        }
        Ok(true)
    }

    /// What the pager is to be told of the next such copy.
    pub(super) fn placed(&mut self) -> Option<Event> {
        let id = self.hot.done.pop_front()?;
        Some(Event::OperationDone {
            id,
            status: CommandStatus::Ok,
            accessed: false,
            dirty: false,
        })
    }
}
