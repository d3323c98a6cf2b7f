//! The event loop: events of card and I/O in, actions of the pager out.

use super::host_time::Work;
use super::memory::Asked;
use super::service::Thread;
use super::stray::Stray;
use super::transfers::{Part, Place};
use crate::kernels::Kernels;
use crate::paging::Paging;
use crate::tasks::Tasks;
use crate::{Aside, ClockMode};
use card::command::Command;
use card::event::Event as CardEvent;
use card::{HostWork, SpaceControl, SpaceTable, WorkId};
use error::Error;
use file_io::Direction;
use pager::{Action, Event};
use std::ops::RangeInclusive;
use units::{Asid, CommandId, FaultToken, Operation, Picoseconds, SlotId};

/// First identifier of the owner's own commands, one per slot; the pager counts its identifiers up from
/// zero.
pub(super) const BARRIERS: u32 = u32::MAX - u8::MAX as u32;

fn barrier(slot: SlotId) -> CommandId {
    CommandId(BARRIERS + u32::from(slot.0))
}

fn barrier_of(id: CommandId) -> Option<SlotId> {
    let slot = id.0.checked_sub(BARRIERS)?;
    u8::try_from(slot).ok().map(SlotId)
}

impl Paging {
    /// Gives the pager an event and executes its actions.
    pub(crate) fn tell(&mut self, kernels: &mut Kernels, event: Event) -> Result<(), Error> {
        self.stirred = true;
        let mut next = Some(event);
        while let Some(event) = next {
            let mut actions = Vec::new();
            let evictions = self.pager.statistics().spaces.evictions;
            self.pager.handle(event, &mut actions);
            let now = kernels.now();
            self.trace
                .evictions(now, self.pager.statistics().spaces.evictions - evictions);
            for action in actions {
                self.perform(kernels, action)?;
            }
            self.protect_asked(kernels);
            let protected = self.memories.protected.pop_front();
            next = protected
                .map(|(id, result)| Event::IoDone { id, result })
                .or_else(|| self.hot.placed());
        }
        self.send_commands(kernels)
    }

    /// Lets the card work until it reports events, at most until `deadline`.
    pub(crate) fn turn(
        &mut self,
        kernels: &mut Kernels,
        deadline: Option<Picoseconds>,
    ) -> Result<(), Error> {
        let over = self.host_time.take_over();
        let events = match over.is_empty() {
            true => kernels.card().wait(deadline)?,
            false => {
                let now = kernels.now();
                kernels.card().wait(Some(now))?
            }
        };
        self.service.tell(over);
        // Also without events: the deadline of a task may have been reached.
        self.stirred = true;
        self.service.tell(events);
        self.handle_events(kernels)?;
        kernels.notice_refused_writes()
    }

    /// Processes events, in order. Returns false if the clock waits for the bytes of a file that are due
    /// and missing.
    pub(crate) fn handle_events(&mut self, kernels: &mut Kernels) -> Result<bool, Error> {
        while let Some(event) = self.service.next_told() {
            if let CardEvent::HostWorkDone(id) = event {
                if self.stands_for(id) {
                    self.service.put_back(event);
                    return Ok(false);
                }
            }
            self.stirred = true;
            self.handle_event(kernels, event)?;
        }
        self.serve_next(kernels);
        self.send_commands(kernels)?;
        Ok(true)
    }

    /// Whether the clock waits for the bytes of a transfer.
    fn stands_for(&mut self, work: WorkId) -> bool {
        match self.host_time.get(work) {
            Some(Work::Transfer(pending)) if self.transfers.lacks(pending) => {
                let id = pending.id();
                self.options.clock == ClockMode::Lockstep
                    && !self.patience.lacks(id, || pending.awaited())
            }
            _ => false,
        }
    }

    fn handle_event(&mut self, kernels: &mut Kernels, event: CardEvent) -> Result<(), Error> {
        match event {
            CardEvent::HostWorkDone(id) => match self.host_time.end(id) {
                Some(Work::Service(batch)) => {
                    self.service.looked(batch.thread);
                    self.serve(kernels, batch.events)?;
                    // Registers may have been read meanwhile.
                    self.service.served(batch.thread, kernels.now());
                }
                Some(Work::Transfer(pending)) => self.transfer_timed(kernels, pending)?,
                Some(Work::ReadAhead(object)) => self.read_ahead(kernels, object),
                Some(Work::Reconfiguration(slot)) => kernels.reconfigured(slot),
                Some(Work::Protection(ids, result)) => {
                    for id in ids {
                        self.tell(kernels, Event::IoDone { id, result })?;
                    }
                }
                // The waiting task polls.
                Some(Work::Trap) => {}
                None => return Err(Error::Internal(format!("unknown host work {}", id.0))),
            },
            CardEvent::KernelFailed { slot, reason } => kernels.kernel_ended(slot, reason),
            CardEvent::AccessDone { id, line } => kernels.access_done(id, line),
            CardEvent::Fault(fault) => {
                self.service.fault_arrived(fault.token, kernels.now());
                self.service.push(CardEvent::Fault(fault));
            }
            event @ CardEvent::Completed { id, .. } => {
                self.service.push(event);
                if self.commands.completed(id) {
                    // The card itself continues without the host's service.
                    self.send_commands(kernels)?;
                }
            }
            event @ (CardEvent::TransferDone { .. }
            | CardEvent::Interrupt(_)
            | CardEvent::SlotClosed(_)
            | CardEvent::DirectoryTrouble) => self.service.push(event),
        }
        Ok(())
    }

    /// Handles the end of work on another thread.
    pub(crate) fn aside_done(
        &mut self,
        kernels: &mut Kernels,
        tasks: &mut Tasks,
        aside: Aside,
    ) -> Result<(), Error> {
        self.stirred = true;
        match aside {
            Aside::Moved(id, result) => {
                if self.transfer_moved(kernels, id, result)? {
                    self.serve_next(kernels);
                    self.send_commands(kernels)?;
                }
            }
            Aside::Durable(id, result) => {
                self.patience.heard(id);
                let result = result.map_err(|source| Error::File {
                    path: std::path::PathBuf::new(),
                    what: "putting it on storage",
                    source,
                });
                tasks.aside_over(id, result);
            }
            Aside::Worked(id, result) => {
                self.patience.heard(id);
                tasks.aside_over(id, result);
            }
        }
        Ok(())
    }

    /// Gives each idle service thread its next batch.
    fn serve_next(&mut self, kernels: &mut Kernels) {
        for batch in self.service.begin(kernels.now()) {
            let count = batch.events.len() as u32;
            let work = match batch.along {
                true => HostWork::HandOn(count),
                false => serving(batch.thread, count),
            };
            self.host_time
                .begin(kernels.card(), work, Work::Service(batch));
        }
    }

    fn serve(&mut self, kernels: &mut Kernels, events: Vec<CardEvent>) -> Result<(), Error> {
        let mut drained = Vec::new();
        for event in events {
            match event {
                // Earlier events are in this batch or still queued.
                CardEvent::Completed { id, .. } if barrier_of(id).is_some() => {
                    drained.extend(barrier_of(id));
                }
                CardEvent::Fault(fault) if kernels.is_gone(fault.token) => {}
                CardEvent::Completed { id, .. } if self.hot.entries_are_there(id) => {}
                CardEvent::Completed {
                    id,
                    status,
                    accessed,
                    dirty,
                } => {
                    self.tell(
                        kernels,
                        Event::OperationDone {
                            id,
                            status,
                            accessed,
                            dirty,
                        },
                    )?;
                }
                CardEvent::Fault(fault)
                    if self.service.pressure.holds_back(&self.files, &fault) => {}
                CardEvent::Fault(fault) => self.tell(kernels, Event::Fault(fault))?,
                CardEvent::Interrupt(slot) => kernels.interrupted(slot)?,
                CardEvent::SlotClosed(slot) => kernels.slot_closed(slot)?,
                CardEvent::TransferDone { mover, end } => kernels.transfer_done(mover, end)?,
                CardEvent::DirectoryTrouble => {
                    kernels.log_line_errors()?;
                }
                CardEvent::HostWorkDone(_)
                | CardEvent::KernelFailed { .. }
                | CardEvent::AccessDone { .. } => {}
            }
        }
        for slot in drained {
            if let Some(requesters) = kernels.drained(slot) {
                self.service.forget(&requesters);
                self.service.pressure.forget(&requesters);
            }
        }
        Ok(())
    }

    /// Whether no further event can occur unless a client acts.
    pub(crate) fn is_quiet(&mut self, kernels: &mut Kernels) -> bool {
        self.host_time.is_idle()
            && self.commands.is_empty()
            && !self.transfers.any_late()
            && self.service.pressure.is_idle()
            && !self.service.is_told()
            && kernels.card_is_quiescent()
    }

    pub(crate) fn faults_answered(
        &mut self,
        kernels: &mut Kernels,
        answered: impl Fn(FaultToken) -> bool,
    ) {
        self.service.answered(answered, kernels.now());
    }

    /// After a slot was put in reset: drops its faults in flight, and lets every reply that was sent reach
    /// the shell, so that none can meet an access of the slot's next run.
    ///
    /// A no-op behind a fence achieves this: events come in order, and its completion is the last. It is
    /// placed in the queue of the slot's space, which holds all replies to the slot, and waits for no other
    /// queue. The slot is draining until it completes.
    pub(crate) fn drain(
        &mut self,
        kernels: &mut Kernels,
        slot: SlotId,
        space: Asid,
        requesters: RangeInclusive<u8>,
    ) -> Result<(), Error> {
        kernels.drain(slot, requesters);
        self.send_barrier(kernels, barrier(slot), space)
    }

    /// A no-op behind a fence, in the queue of a space.
    pub(super) fn send_barrier(
        &mut self,
        kernels: &mut Kernels,
        id: CommandId,
        space: Asid,
    ) -> Result<(), Error> {
        let queue = self.commands.queue_of(Some(space));
        self.service.remember(id, Some(space));
        self.commands.push(Command {
            id,
            queue,
            operation: Operation::Nop,
            fence: true,
            notify: true,
        });
        self.send_commands(kernels)
    }

    fn perform(&mut self, kernels: &mut Kernels, action: Action) -> Result<(), Error> {
        match action {
            Action::Command {
                id,
                operation,
                space,
                fence,
                notify,
            } => {
                if let units::Operation::FaultReply { token, .. } = operation {
                    self.faults_answered(kernels, |waiting| waiting == token);
                }
                let queue = self.commands.queue_of(space);
                let command = Command {
                    id,
                    queue,
                    operation,
                    fence,
                    notify,
                };
                if self.hot.place(kernels, &command)? {
                    return Ok(());
                }
                self.service.remember(command.id, space.filter(|_| notify));
                self.commands.push(command);
            }
            Action::ReadObject {
                io,
                object,
                offset,
                bytes,
                buffer,
                buffer_offset,
            } => {
                let place = self.transfers.place_in(buffer, buffer_offset);
                let part = Part {
                    io,
                    object,
                    offset,
                    bytes,
                };
                self.start_transfer(kernels, Direction::Read, part, place)?;
            }
            Action::WriteObject {
                io,
                object,
                offset,
                bytes,
                buffer,
                buffer_offset,
                around,
            } => {
                let place = self.transfers.place_in(buffer, buffer_offset);
                let part = Part {
                    io,
                    object,
                    offset,
                    bytes,
                };
                self.files
                    .strayed(part.object, Stray::around(part, &place, around));
                self.start_transfer(kernels, Direction::Write, part, place)?;
            }
            Action::FillDirect {
                io,
                object,
                offset,
                bytes,
                at,
                around,
            } => {
                let place = Place {
                    around: Some(around),
                    ..self.files.direct_place(object, at)?
                };
                let part = Part {
                    io,
                    object,
                    offset,
                    bytes,
                };
                self.start_transfer(kernels, Direction::Read, part, place)?;
            }
            Action::SaveDirect {
                io,
                object,
                offset,
                bytes,
                at,
                around,
            } => {
                let place = self.files.direct_place(object, at)?;
                let part = Part {
                    io,
                    object,
                    offset,
                    bytes,
                };
                self.files
                    .strayed(part.object, Stray::around(part, &place, around));
                self.start_transfer(kernels, Direction::Write, part, place)?;
            }
            Action::ProtectHost {
                io,
                object,
                offset,
                bytes,
                access,
            } => {
                self.memories.asked.push(Asked {
                    ios: vec![io],
                    object,
                    range: offset..offset + bytes,
                    access,
                });
            }
            Action::EnableSpace {
                asid,
                table,
                size_classes,
                stripe,
            } => {
                let table = SpaceTable {
                    geometry: table,
                    size_classes,
                    stripe,
                };
                kernels
                    .card()
                    .control_space(asid, SpaceControl::On(table))?;
            }
            Action::UsePageSizes { asid, size_classes } => {
                let sizes = SpaceControl::PageSizes(size_classes);
                kernels.card().control_space(asid, sizes)?;
            }
            Action::DisableSpace { asid } => {
                kernels.card().control_space(asid, SpaceControl::Off)?
            }
            Action::Complete { request, result } => {
                self.memories.answered(request, result.is_ok());
                self.answers.give(request, result);
            }
            Action::AccessFailed {
                token,
                address,
                write,
                reason,
                nearest,
                asid,
            } => {
                let nearest = nearest.map(|near| (self.label_in(asid, near), near));
                let lost = self.files.lost(&reason);
                kernels.access_failed(token, address, write, &reason, lost, nearest)?;
            }
            Action::WriteBackFailed { error } => {
                tracing::warn!(%error, "a page could not be written back and stays on the card");
            }
            Action::CardFailed { id, status } => {
                let what = format!("the card failed command {} with {status:?}", id.0);
                for slot in kernels.ids() {
                    kernels.kernel_failed(slot, what.clone());
                }
            }
        }
        Ok(())
    }

    /// Sends commands to the card as far as its rings have room.
    fn send_commands(&mut self, kernels: &mut Kernels) -> Result<(), Error> {
        Ok(self.commands.send(kernels.card())?)
    }
}

/// The work of a thread that begins with this number of events.
fn serving(thread: Thread, events: u32) -> HostWork {
    match thread {
        None => HostWork::ServeEvents(events),
        Some(space) => HostWork::ServeEventsOf {
            thread: 1 + space.get(),
            events,
        },
    }
}
