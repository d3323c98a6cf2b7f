//! Data that is on the card before kernels start, at no virtual time: for those who ask what a kernel does with data
//! that is there, and not what loading it costs.
//!
//! The pager brings the pages as ever. While they come, and no kernel runs, reading a file takes no time and copies
//! to the card go past the shell ([`Card::place`](card::Card::place)); table entries are installed by the shell.

use super::pump::BARRIERS;
use crate::kernels::Kernels;
use crate::message::{ClientId, MakeHot};
use crate::owner_ref::OwnerRef;
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

/// While it lives, data is made hot.
struct MakesHot<'a>(&'a OwnerRef);

impl Drop for MakesHot<'_> {
    fn drop(&mut self) {
        self.0.paging(|paging| paging.hot.requests -= 1);
    }
}

impl OwnerRef {
    /// Brings the pages of a mapping to the card, as far as there is room; gives the bytes that came at no time.
    pub(crate) async fn make_mapping_hot(
        &self,
        client: ClientId,
        request: MakeHot,
    ) -> Result<u64, Error> {
        let range = self.range_of(client, request.mapping)?;
        let before = self.paging_with(|paging, kernels| {
            if let Some(slot) = kernels.busy_slot() {
                let rule = "is running; make data hot before a kernel starts";
                return Err(Error::SlotState {
                    slot,
                    rule: rule.into(),
                });
            }
            paging.hot.requests += 1;
            Ok(paging.hot.bytes)
        })?;
        let _hot = MakesHot(self);
        self.paging_with(|paging, kernels| {
            paging.tell(
                kernels,
                Event::Prefetch {
                    asid: range.asid,
                    address: range.address,
                    bytes: range.bytes,
                },
            )
        })?;
        self.card(|| {
            self.paging_with(|paging, kernels| {
                let over = paging.pager.is_idle() || kernels.busy_slot().is_some();
                Ok(over.then_some(()))
            })
        })
        .await?;
        // Nobody waits for the end of an install: a kernel that starts at once would find no entry.
        let barrier = barrier(range.asid);
        let over =
            || self.paging(|paging| Ok((!paging.hot.barriers.contains(&barrier)).then_some(())));
        // One of another request for the space is not behind these.
        self.card(over).await?;
        // Has the card say when it has carried out what the space's queue has now.
        self.paging_with(|paging, kernels| {
            paging.hot.wait_for(barrier);
            paging.send_barrier(kernels, barrier, range.asid)
        })?;
        self.card(over).await?;
        Ok(self.paging(|paging| paging.hot.bytes - before))
    }
}

impl Hot {
    /// A command is on its way that waits for the last table entries.
    fn wait_for(&mut self, barrier: CommandId) {
        self.barriers.insert(barrier);
    }

    /// Whether a command is one of those, and is over with that.
    pub(super) fn entries_are_there(&mut self, id: CommandId) -> bool {
        self.barriers.remove(&id)
    }

    /// Bytes that were put on the card at no time.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
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
