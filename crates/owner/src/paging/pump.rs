//! The event loop: events of card and I/O in, actions of the pager out.
//!
//! The files are an argument: the pump executes what the pager decides about them.

use super::answers::Answers;
use super::commands::Commands;
use super::files::Files;
use super::host_time::{HostTime, Work};
use super::hot::Hot;
use super::lanes::Lanes;
use super::memory::{Memories, ProgramAccess, RightsChange};
use super::out_of_range::OutOfRange;
use super::programs::{AccessElsewhere, TrapElsewhere};
use super::service::Service;
use super::shares::ServiceShare;
use super::transfers::{HostPlace, Move, Part, Route, Transfers};
use crate::kernels::Kernels;
use crate::message::ServeTrap;
use crate::participants::Guest;
use crate::tasks::Tasks;
use crate::trace::Trace;
use crate::Aside;
use card::command::Command;
use card::event::Event as CardEvent;
use card::{CardError, HostWork, SpaceControl, SpaceTable, WorkId};
use error::Error;
use file_io::Direction;
use pager::{
    Action, Around, DirectTransfer, Event, IoId, MappingInfo, ObjectId, Pager, RequestId, Success,
};
use std::ops::RangeInclusive;
use trap::Ticket;
use units::{Asid, CommandId, Fault, FaultToken, Operation, Picoseconds, SlotId};

/// First identifier of the owner's own commands, one per slot; the pager counts its identifiers up from
/// zero.
pub(super) const BARRIERS: u32 = u32::MAX - u8::MAX as u32;

/// Time in which the card executes some of the commands that fill a queue.
const ROOM: Picoseconds = Picoseconds::from_micros(1);

fn barrier(slot: SlotId) -> CommandId {
    CommandId(BARRIERS + u32::from(slot.0))
}

fn barrier_of(id: CommandId) -> Option<SlotId> {
    let slot = id.0.checked_sub(BARRIERS)?;
    u8::try_from(slot).ok().map(SlotId)
}

/// The pager, and the rooms that execute its actions.
pub(super) struct Pump {
    pager: Pager,
    answers: Answers,
    commands: Commands,
    host_time: HostTime,
    service: Service,
    transfers: Transfers,
    memories: Memories,
    /// State of preloading.
    hot: Hot,
    trace: Trace,
    /// An event may have ended the wait of a task.
    woken: bool,
    /// Dropped last: files are closed in them.
    lanes: Lanes,
}

/// The parts of a pump that depend on the card and the options.
pub(super) struct Parts {
    pub(super) pager: Pager,
    pub(super) commands: Commands,
    pub(super) service: Service,
    pub(super) transfers: Transfers,
    pub(super) memories: Memories,
    pub(super) trace: Trace,
    pub(super) lanes: Lanes,
}

impl Pump {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts {
            pager,
            commands,
            service,
            transfers,
            memories,
            trace,
            lanes,
        } = parts;
        Self {
            pager,
            answers: Answers::default(),
            commands,
            host_time: HostTime::default(),
            service,
            transfers,
            memories,
            hot: Hot::default(),
            trace,
            woken: false,
            lanes,
        }
    }

    pub(super) fn pager(&self) -> &Pager {
        &self.pager
    }

    pub(super) fn service(&self) -> &Service {
        &self.service
    }

    pub(super) fn service_mut(&mut self) -> &mut Service {
        &mut self.service
    }

    pub(super) fn transfers(&self) -> &Transfers {
        &self.transfers
    }

    pub(super) fn transfers_mut(&mut self) -> &mut Transfers {
        &mut self.transfers
    }

    pub(super) fn memories(&self) -> &Memories {
        &self.memories
    }

    pub(super) fn memories_mut(&mut self) -> &mut Memories {
        &mut self.memories
    }

    pub(super) fn hot(&self) -> &Hot {
        &self.hot
    }

    pub(super) fn hot_mut(&mut self) -> &mut Hot {
        &mut self.hot
    }

    pub(super) fn lanes(&mut self) -> &mut Lanes {
        &mut self.lanes
    }

    /// Sends the pager an event that it answers later; returns the request.
    ///
    /// # Errors
    /// The card's.
    pub(super) fn ask(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        event: impl FnOnce(RequestId) -> Event,
    ) -> Result<RequestId, Error> {
        let request = self.answers.ask();
        self.tell(files, kernels, event(request)).map(|()| request)
    }

    /// Asks the pager what it answers at once.
    pub(super) fn ask_now(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        event: impl FnOnce(RequestId) -> Event,
    ) -> Result<Success, Error> {
        let request = self.ask(files, kernels, event)?;
        let answer = self.answers.take(request);
        answer.ok_or_else(|| Error::Internal("the pager did not answer at once".into()))?
    }

    /// The pager's answer to a request, if it has one.
    pub(super) fn take_answer(&mut self, request: RequestId) -> Option<Result<Success, Error>> {
        self.answers.take(request)
    }

    /// Whether an event since the last call may have ended the wait of a task.
    pub(super) fn take_woken(&mut self) -> bool {
        std::mem::take(&mut self.woken)
    }

    /// Starts the time of a slot's reconfiguration.
    pub(super) fn begin_reconfiguration(&mut self, kernels: &mut Kernels, slot: SlotId) {
        let then = Work::Reconfiguration(slot);
        self.host_time
            .begin(kernels.card(), HostWork::Reconfigure, then);
    }

    /// Starts the latency from an access to its service thread, if there is any.
    pub(super) fn begin_trap_time(&mut self, kernels: &mut Kernels) -> Option<WorkId> {
        self.memories
            .begin_trap_time(&mut self.host_time, kernels.card())
    }

    /// Whether work of the host is over.
    pub(super) fn is_over(&self, work: WorkId) -> bool {
        self.host_time.is_over(work)
    }

    /// Serves a trapped access. Returns the request to wait for, the block, and an immediate error. `None`: the sharing
    /// has just ended, and the memory is open.
    pub(super) fn trapped(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        access: ProgramAccess,
        ticket: Ticket,
        guest: Option<Guest>,
    ) -> Option<(RequestId, ObjectId, Result<(), Error>)> {
        let answers = &mut self.answers;
        let (request, object, event) = self.memories.admit(access, ticket, guest, answers)?;
        let ProgramAccess { address, write } = access;
        self.trace.trap(kernels.now(), address as u64, write);
        let sent = self.tell(files, kernels, event);
        Some((request, object, sent))
    }

    /// Serves a trapped access of a program in another process. `None`: no block in these spaces has that byte.
    pub(super) fn trapped_elsewhere(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        spaces: &[Asid],
        trap: &ServeTrap,
    ) -> Result<Option<TrapElsewhere>, Error> {
        let Some(access) = self.memories.find_elsewhere(spaces, trap) else {
            return Ok(None);
        };
        let request = self.answers.ask();
        self.trace.trap(kernels.now(), access.address, trap.write);
        let AccessElsewhere {
            program,
            object,
            offset,
            ..
        } = access;
        let write = trap.write;
        let event = Event::HostTrap {
            request,
            object,
            offset,
            write,
        };
        self.tell(files, kernels, event)?;
        Ok(Some(TrapElsewhere {
            program,
            request,
            object,
        }))
    }

    /// Ends the share of a space; false if pages of the space are still there.
    pub(super) fn end_share(&mut self, asid: Asid) -> bool {
        let ended = !self.pager.has_space(asid);
        if ended {
            self.service.shares.remove(asid);
            let mut spaces = self.pager.spaces();
            if let Some((_, counted, _)) = spaces.find(|(space, ..)| *space == asid) {
                self.service.clients.end(asid, &counted);
            }
        }
        ended
    }

    /// Adds a space to a share.
    pub(super) fn join_share(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        share: ServiceShare,
        asid: Asid,
    ) -> Result<(), Error> {
        let share = self.service.shares.add(asid, share);
        self.tell(files, kernels, Event::ShareSpace { asid, share })
    }

    /// Asks the card to report when it has executed everything now in the space's queue.
    pub(super) fn await_entries(
        &mut self,
        kernels: &mut Kernels,
        space: Asid,
    ) -> Result<(), Error> {
        let barrier = self.hot.await_entries(space);
        self.send_barrier(kernels, barrier, space)
    }

    /// Fails the waits for abandoned transfers.
    pub(super) fn fail_abandoned(&mut self, kernels: &mut Kernels, tasks: &mut Tasks) {
        let answers = &mut self.answers;
        let timeouts = self.lanes.timeouts();
        timeouts.fail_abandoned(&self.pager, kernels, answers, tasks);
    }

    /// The transfers, and the rooms that they use.
    fn transferring<'a>(
        &'a mut self,
        files: &'a mut Files,
        kernels: &'a mut Kernels,
    ) -> (&'a mut Transfers, Route<'a>) {
        let route = Route {
            files,
            lanes: &mut self.lanes,
            host_time: &mut self.host_time,
            answers: &mut self.answers,
            hot: &self.hot,
            kernels,
        };
        (&mut self.transfers, route)
    }

    /// Gives the pager an event and executes its actions.
    pub(super) fn tell(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        event: Event,
    ) -> Result<(), Error> {
        self.woken = true;
        let mut next = Some(event);
        while let Some(event) = next {
            let mut actions = Vec::new();
            let evictions = self.pager.statistics().spaces.evictions;
            self.pager.handle(event, &mut actions);
            let now = kernels.now();
            self.trace
                .evictions(now, self.pager.statistics().spaces.evictions - evictions);
            for action in actions {
                self.perform(files, kernels, action)?;
            }
            self.memories
                .protect_asked(&mut self.host_time, kernels, &self.trace);
            let protected = self.memories.take_protected();
            next = protected.or_else(|| self.hot.placed());
        }
        self.send_commands(kernels)
    }

    /// Lets the card work until it reports events, at most until `deadline`.
    pub(super) fn turn(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        deadline: Option<Picoseconds>,
    ) -> Result<(), Error> {
        let over = self.host_time.take_over();
        let events = match over.is_empty() {
            true => self.wait_for_card(kernels, deadline)?,
            false => {
                let now = kernels.now();
                kernels.card().wait(Some(now))?
            }
        };
        self.service.report(over);
        // Also without events: the deadline of a task may have been reached.
        self.woken = true;
        self.service.report(events);
        self.handle_events(files, kernels)?;
        kernels.notice_refused_writes()
    }

    /// The card's next events. Table entries report nothing: while they fill a queue of the card, no event can come, and
    /// time makes room for the commands behind them.
    fn wait_for_card(
        &self,
        kernels: &mut Kernels,
        deadline: Option<Picoseconds>,
    ) -> Result<Vec<CardEvent>, CardError> {
        match kernels.card().wait(deadline) {
            Err(CardError::NothingToWaitFor) if !self.commands.is_empty() => {
                let room = kernels.now() + ROOM;
                kernels.card().wait(Some(room))
            }
            events => events,
        }
    }

    /// Processes events, in order. Returns false if the clock waits for the bytes of a file that are due
    /// and missing.
    pub(super) fn handle_events(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
    ) -> Result<bool, Error> {
        while let Some(event) = self.service.next_reported() {
            if let CardEvent::HostWorkDone(id) = event {
                if self.clock_stops_for(id) {
                    self.service.put_back(event);
                    return Ok(false);
                }
            }
            self.woken = true;
            self.handle_event(files, kernels, event)?;
        }
        self.serve_next(kernels);
        self.send_commands(kernels)?;
        Ok(true)
    }

    /// Whether the clock waits for the bytes of a transfer.
    fn clock_stops_for(&mut self, work: WorkId) -> bool {
        match self.host_time.get(work) {
            Some(Work::Transfer(pending)) if self.transfers.lacks(pending) => {
                let timeouts = self.lanes.timeouts();
                timeouts.stops_for(pending.id(), || pending.wait())
            }
            _ => false,
        }
    }

    fn handle_event(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        event: CardEvent,
    ) -> Result<(), Error> {
        match event {
            CardEvent::HostWorkDone(id) => match self.host_time.end(id) {
                Some(Work::Service(batch)) => {
                    self.service.looked(batch.thread);
                    self.serve(files, kernels, batch.events)?;
                }
                Some(Work::Transfer(pending)) => {
                    let (transfers, mut route) = self.transferring(files, kernels);
                    if let Some(event) = transfers.timed(&mut route, pending)? {
                        self.tell(files, kernels, event)?;
                    }
                }
                Some(Work::ReadAhead(object)) => {
                    let (transfers, mut route) = self.transferring(files, kernels);
                    transfers.read_ahead(&mut route, object);
                }
                Some(Work::Reconfiguration(slot)) => kernels.slots_mut().reconfigured(slot),
                Some(Work::Protection(ids, result)) => {
                    for id in ids {
                        self.tell(files, kernels, Event::IoDone { id, result })?;
                    }
                }
                // The waiting task polls.
                Some(Work::Trap) => {}
                None => return Err(Error::Internal(format!("unknown host work {}", id.0))),
            },
            CardEvent::KernelFailed { slot, reason } => {
                kernels.slots_mut().kernel_ended(slot, reason)
            }
            CardEvent::AccessDone { id, line } => kernels.lines().access_done(id, line),
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
    pub(super) fn aside_done(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        tasks: &mut Tasks,
        aside: Aside,
    ) -> Result<(), Error> {
        self.woken = true;
        match aside {
            Aside::Moved(id, result) => {
                let (transfers, mut route) = self.transferring(files, kernels);
                if let Some(event) = transfers.moved(&mut route, id, result)? {
                    self.tell(files, kernels, event)?;
                    self.serve_next(kernels);
                    self.send_commands(kernels)?;
                }
            }
            Aside::Durable(id, result) => {
                self.lanes.timeouts().heard(id);
                let result = result.map_err(|source| Error::File {
                    path: std::path::PathBuf::new(),
                    what: "putting it on storage",
                    source,
                });
                tasks.aside_over(id, result);
            }
            Aside::Worked(id, result) => {
                self.lanes.timeouts().heard(id);
                tasks.aside_over(id, result);
            }
        }
        Ok(())
    }

    /// Gives each idle service thread its next batch.
    fn serve_next(&mut self, kernels: &mut Kernels) {
        self.service.prioritize(kernels.priorities());
        for batch in self.service.begin() {
            let work = batch.work();
            self.host_time
                .begin(kernels.card(), work, Work::Service(batch));
        }
    }

    fn serve(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        events: Vec<CardEvent>,
    ) -> Result<(), Error> {
        let mut drained = Vec::new();
        for event in events {
            match event {
                // Earlier events are in this batch or still queued.
                CardEvent::Completed { id, .. } if barrier_of(id).is_some() => {
                    drained.extend(barrier_of(id));
                }
                CardEvent::Fault(fault) if kernels.slots().is_gone(fault.token) => {}
                CardEvent::Completed { id, .. } if self.hot.entries_are_there(id) => {}
                CardEvent::Completed {
                    id,
                    status,
                    accessed,
                    dirty,
                } => {
                    self.tell(
                        files,
                        kernels,
                        Event::OperationDone {
                            id,
                            status,
                            accessed,
                            dirty,
                        },
                    )?;
                }
                CardEvent::Fault(fault) if self.holds_back(files, &fault) => {}
                CardEvent::Fault(fault) => self.tell(files, kernels, Event::Fault(fault))?,
                CardEvent::Interrupt(slot) => kernels.interrupted(slot)?,
                CardEvent::SlotClosed(slot) => kernels.slot_closed(slot)?,
                CardEvent::TransferDone { mover, end } => {
                    kernels.streams().transfer_done(mover, end)?
                }
                CardEvent::DirectoryTrouble => {
                    kernels.log_line_errors()?;
                }
                CardEvent::HostWorkDone(_)
                | CardEvent::KernelFailed { .. }
                | CardEvent::AccessDone { .. } => {}
            }
        }
        for slot in drained {
            if let Some(requesters) = kernels.slots_mut().drained(slot) {
                self.service.forget(&requesters);
                self.service.pressure.forget(&requesters);
            }
        }
        Ok(())
    }

    /// Whether no further event can occur unless a client acts.
    pub(super) fn is_quiet(&mut self, kernels: &mut Kernels) -> bool {
        self.host_time.is_idle()
            && self.commands.is_empty()
            && !self.transfers.any_late()
            && self.service.pressure.is_idle()
            && !self.service.has_reported()
            && kernels.card_is_quiescent()
    }

    pub(super) fn faults_answered(
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
    pub(super) fn drain(
        &mut self,
        kernels: &mut Kernels,
        slot: SlotId,
        space: Asid,
        requesters: RangeInclusive<u8>,
    ) -> Result<(), Error> {
        kernels.slots_mut().drain(slot, requesters);
        self.send_barrier(kernels, barrier(slot), space)
    }

    /// A no-op behind a fence, in the queue of a space.
    fn send_barrier(
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

    fn perform(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        action: Action,
    ) -> Result<(), Error> {
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
                let part = Part::new(io, object, offset, bytes);
                self.start_read(files, kernels, part, place)?;
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
                let part = Part::new(io, object, offset, bytes);
                self.start_write(files, kernels, part, place, around)?;
            }
            Action::FillDirect { io, transfer } => {
                let (part, place) = direct(files, io, &transfer)?;
                let place = HostPlace {
                    around: Some(transfer.around),
                    ..place
                };
                self.start_read(files, kernels, part, place)?;
            }
            Action::SaveDirect { io, transfer } => {
                let (part, place) = direct(files, io, &transfer)?;
                self.start_write(files, kernels, part, place, transfer.around)?;
            }
            Action::ProtectHost {
                io,
                object,
                offset,
                bytes,
                access,
            } => {
                self.memories.request_rights(RightsChange {
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
                let nearest = nearest.map(|near| (self.label_in(files, asid, near), near));
                let lost = files.lost(&reason);
                kernels.access_failed(token, address, write, &reason, lost, nearest)?;
            }
            Action::WriteBackFailed { error } => {
                tracing::warn!(%error, "a page could not be written back and stays on the card");
            }
            Action::CardFailed { id, status } => {
                let what = format!("the card failed command {} with {status:?}", id.0);
                for slot in kernels.slots().ids() {
                    kernels.slots_mut().kernel_failed(slot, what.clone());
                }
            }
        }
        Ok(())
    }

    /// Reads a part of an object into host memory.
    fn start_read(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        part: Part,
        place: HostPlace,
    ) -> Result<(), Error> {
        let wanted = Move {
            direction: Direction::Read,
            part,
            place,
        };
        self.start_transfer(files, kernels, wanted)
    }

    /// Writes a part of an object back from host memory, and checks the bytes around it.
    fn start_write(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        part: Part,
        place: HostPlace,
        around: Around,
    ) -> Result<(), Error> {
        files.wrote_outside(part.object, OutOfRange::around(part, &place, around));
        let wanted = Move {
            direction: Direction::Write,
            part,
            place,
        };
        self.start_transfer(files, kernels, wanted)
    }

    fn start_transfer(
        &mut self,
        files: &mut Files,
        kernels: &mut Kernels,
        wanted: Move,
    ) -> Result<(), Error> {
        let shares = &self.service.shares;
        let space = || self.pager.space_of(wanted.part.io);
        let share = shares.are_several().then(|| shares.of(space()));
        let (transfers, mut route) = self.transferring(files, kernels);
        transfers.start(&mut route, wanted, share)
    }

    /// Whether a write waits for the device of its stream.
    fn holds_back(&mut self, files: &Files, fault: &Fault) -> bool {
        let written = files.written_stream(fault.asid, fault.address);
        self.service.pressure.holds_back(written, fault)
    }

    /// The name that the client of a space uses for a mapping, for messages.
    fn label_in(&self, files: &Files, space: Asid, near: MappingInfo) -> String {
        if self.memories.holds(near.object) {
            return "shared memory".to_owned();
        }
        let label = files.label_at(space, near.address);
        label.map_or_else(|| near.object.to_string(), str::to_owned)
    }

    /// Sends commands to the card as far as its rings have room.
    fn send_commands(&mut self, kernels: &mut Kernels) -> Result<(), Error> {
        Ok(self.commands.send(kernels.card())?)
    }
}

/// The part of an object that moves between its file and host memory, and its place there.
fn direct(files: &Files, io: IoId, transfer: &DirectTransfer) -> Result<(Part, HostPlace), Error> {
    let &DirectTransfer {
        object,
        offset,
        bytes,
        at,
        ..
    } = transfer;
    let part = Part::new(io, object, offset, bytes);
    Ok((part, files.direct_place(object, at)?))
}
