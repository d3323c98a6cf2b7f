//! The loop: events of card and I/O in, actions of the pager out.

use super::memory::Asked;
use super::page_cache::Found;
use super::service::Thread;
use super::{Aside, ClockMode, Owner};
use crate::error::Error;
use crate::io::{is_hole, write_stopped, Direction, Transfer, TransferId};
use crate::message::FileState;
use card::command::{Command, QueueId};
use card::event::Event as CardEvent;
use card::memory::HostMemory;
use card::{HostWork, SpaceControl, SpaceTable, WorkId};
use pager::{Action, Event, IoError, IoId};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use units::{Asid, CommandId, FaultToken, Operation, Picoseconds, SlotId};

/// Bytes of a copy to the card that others should not wait for: some microseconds of a link.
const LONG_COPY: u64 = 64 << 10;
/// Such copies that a queue of the card has at once, at least: one that moves, and one that is next.
const LONG_COPIES: usize = 2;
/// More, if they are no more bytes than this: the link has to do until the next ones come.
const COPYING_BYTES: u64 = 512 << 10;

/// Long copies that a queue of the card has, and their bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Copying(BTreeMap<CommandId, u64>);

impl Copying {
    fn begin(&mut self, command: &Command) {
        let bytes = long_copy(command);
        self.0.extend(bytes.map(|bytes| (command.id, bytes)));
    }

    fn is_enough(&self) -> bool {
        self.0.len() >= LONG_COPIES && self.0.values().sum::<u64>() >= COPYING_BYTES
    }
}

/// The owner's own commands, one a slot; the pager counts its up from zero.
pub(super) const BARRIERS: u32 = u32::MAX - u8::MAX as u32;

fn barrier(slot: SlotId) -> CommandId {
    CommandId(BARRIERS + u32::from(slot.0))
}

fn barrier_of(id: CommandId) -> Option<SlotId> {
    let slot = id.0.checked_sub(BARRIERS)?;
    u8::try_from(slot).ok().map(SlotId)
}

/// Host work under way, and what follows it.
#[derive(Debug)]
pub(super) enum Work {
    /// The service thread looks at events.
    Service(Thread, Vec<CardEvent>),
    /// The model's time of a file transfer; its bytes are waited for when the time is over.
    Transfer(Pending),
    /// The operating system reads a file ahead.
    ReadAhead(pager::ObjectId),
    /// A slot gets another kernel.
    Reconfiguration(SlotId),
    /// Programs have lost or got a right on some pages, which the pager is told of when the time is over.
    Protection(Vec<IoId>, Result<u64, IoError>),
    /// A trapped access reaches the thread that serves it.
    Trap,
}

/// A file transfer, as the pager and messages need it.
#[derive(Debug)]
pub(super) struct Pending {
    io: IoId,
    direction: Direction,
    object: pager::ObjectId,
    label: String,
    offset: u64,
    bytes: u64,
    memory: Arc<HostMemory>,
    memory_offset: usize,
    /// Bytes before these and behind them that are zeroed after a read; `None`: those of the rows at the edges.
    around: Option<(u64, u64)>,
}

impl Owner {
    /// Gives the pager an event and carries out what it says.
    pub(super) fn tell(&mut self, event: Event) -> Result<(), Error> {
        self.stirred = true;
        let mut next = Some(event);
        while let Some(event) = next {
            let mut actions = Vec::new();
            let evictions = self.pager.statistics().evictions;
            self.pager.handle(event, &mut actions);
            self.trace_evictions(self.pager.statistics().evictions - evictions);
            for action in actions {
                self.perform(action)?;
            }
            self.protect_asked();
            let protected = self.memories.protected.pop_front();
            next = protected
                .map(|(id, result)| Event::IoDone { id, result })
                .or_else(|| self.placed());
        }
        self.send_commands()
    }

    /// Lets the card work until it tells something, at most until `deadline`.
    pub(super) fn turn(&mut self, deadline: Option<Picoseconds>) -> Result<(), Error> {
        self.turns += 1;
        let over = self.host_time.take_over();
        let events = match over.as_slice().is_empty() {
            true => self.card.wait(deadline)?,
            false => self.card.wait(Some(self.card.now()))?,
        };
        self.events.extend(over.map(CardEvent::HostWorkDone));
        // Also without events: it may be as late as somebody waits for.
        self.stirred = true;
        self.events.extend(events);
        self.handle_events()?;
        self.notice_refused_writes()
    }

    /// Handles what came, in order. False if a file's bytes are not there yet that should be, and the clock
    /// waits for them.
    pub(super) fn handle_events(&mut self) -> Result<bool, Error> {
        while let Some(event) = self.events.pop_front() {
            if let CardEvent::HostWorkDone(id) = event {
                if self.lacks_bytes(id) && self.options.clock == ClockMode::Lockstep {
                    self.events.push_front(event);
                    return Ok(false);
                }
            }
            self.stirred = true;
            self.handle_event(event)?;
        }
        self.serve_next();
        self.send_commands()?;
        Ok(true)
    }

    fn lacks_bytes(&self, work: WorkId) -> bool {
        match self.work.get(&work) {
            Some(Work::Transfer(pending)) => !self.arrived.contains_key(&TransferId(pending.io.0)),
            _ => false,
        }
    }

    fn handle_event(&mut self, event: CardEvent) -> Result<(), Error> {
        match event {
            CardEvent::HostWorkDone(id) => match self.work.remove(&id) {
                Some(Work::Service(thread, events)) => {
                    self.serving.remove(&thread);
                    self.serve(events)?;
                    // Registers may have been read meanwhile.
                    self.served.insert(thread, self.card.now());
                }
                Some(Work::Transfer(pending)) => {
                    if pending.direction == Direction::Read {
                        for held in self.page_cache.came(pending.object, pending.offset) {
                            let bytes = held.bytes;
                            self.book_time(held, HostWork::PageCacheCopy { bytes });
                        }
                    }
                    let id = TransferId(pending.io.0);
                    match self.arrived.remove(&id) {
                        Some(result) => self.finish_transfer(pending, result)?,
                        None => drop(self.late.insert(id, pending)),
                    }
                }
                Some(Work::ReadAhead(object)) => {
                    for pending in self.page_cache.arrived(object) {
                        let bytes = pending.bytes;
                        self.book_time(pending, HostWork::PageCacheCopy { bytes });
                    }
                }
                Some(Work::Reconfiguration(slot)) => drop(self.reconfiguring.remove(&slot)),
                Some(Work::Protection(ids, result)) => {
                    for id in ids {
                        self.tell(Event::IoDone { id, result })?;
                    }
                }
                // Whoever waits for it looks.
                Some(Work::Trap) => {}
                None => return Err(Error::Internal(format!("unknown host work {}", id.0))),
            },
            CardEvent::KernelFailed { slot, reason } => self.kernel_ended(slot, reason),
            CardEvent::AccessDone { id, line } => self.access_done(id, line),
            CardEvent::Fault(fault) => {
                self.fault_arrived(fault.token);
                self.service.push(CardEvent::Fault(fault), None);
            }
            event @ CardEvent::Completed { id, .. } => {
                let space = self.command_spaces.remove(&id);
                self.service.push(event, space);
                if self
                    .copying
                    .iter_mut()
                    .any(|copying| copying.0.remove(&id).is_some())
                {
                    // The card itself goes on; nobody of the host need have looked.
                    self.send_commands()?;
                }
            }
            event @ (CardEvent::TransferDone { .. }
            | CardEvent::Interrupt(_)
            | CardEvent::SlotClosed(_)
            | CardEvent::DirectoryTrouble) => self.service.push(event, None),
        }
        Ok(())
    }

    /// Work beside this thread is over.
    pub(super) fn aside_done(&mut self, aside: Aside) -> Result<(), Error> {
        self.stirred = true;
        match aside {
            Aside::Moved(id, result) => match self.late.remove(&id) {
                Some(pending) => {
                    self.finish_transfer(pending, result)?;
                    self.serve_next();
                    self.send_commands()?;
                }
                None => drop(self.arrived.insert(id, result)),
            },
            Aside::Durable(id, result) => {
                let result = result.map_err(|source| Error::File {
                    path: std::path::PathBuf::new(),
                    what: "putting it on storage",
                    source,
                });
                self.aside_over(id, result);
            }
            Aside::Worked(id, result) => self.aside_over(id, result),
        }
        Ok(())
    }

    /// Gives each service thread that is free its next batch.
    fn serve_next(&mut self) {
        for thread in self.service.waiting() {
            if self.serving.contains(&thread) {
                continue;
            }
            // A thread that is still at it takes ends of transfers along.
            let is_there = self.served.get(&thread) == Some(&self.card.now());
            let ends = match is_there {
                true => self.service.ends(thread),
                false => Vec::new(),
            };
            let (work, batch) = match ends.is_empty() {
                false => (HostWork::HandOn(ends.len() as u32), ends),
                true => {
                    let batch = self.service.batch(thread);
                    (serving(thread, batch.len() as u32), batch)
                }
            };
            let id = self.host_work(work);
            self.work.insert(id, Work::Service(thread, batch));
            self.serving.insert(thread);
        }
    }

    /// The completion of a command is for the thread of its space.
    fn remember_space(&mut self, id: CommandId, space: Option<Asid>) {
        if self.options.service_threads.are_of_spaces() {
            if let Some(space) = space {
                self.command_spaces.insert(id, space);
            }
        }
    }

    fn serve(&mut self, events: Vec<CardEvent>) -> Result<(), Error> {
        let mut drained = Vec::new();
        for event in events {
            match event {
                // What was reported before it is in this batch or still queued.
                CardEvent::Completed { id, .. } if barrier_of(id).is_some() => {
                    drained.extend(barrier_of(id));
                }
                CardEvent::Fault(fault) if self.is_gone(fault.token) => {}
                CardEvent::Completed { id, .. } if self.entries_are_there(id) => {}
                CardEvent::Completed {
                    id,
                    status,
                    accessed,
                    dirty,
                } => {
                    self.tell(Event::OperationDone {
                        id,
                        status,
                        accessed,
                        dirty,
                    })?;
                }
                CardEvent::Fault(fault) if self.holds_back(&fault) => {}
                CardEvent::Fault(fault) => self.tell(Event::Fault(fault))?,
                CardEvent::Interrupt(slot) => self.interrupted(slot)?,
                CardEvent::SlotClosed(slot) => self.slot_closed(slot)?,
                CardEvent::TransferDone { mover, end } => self.transfer_done(mover, end)?,
                CardEvent::DirectoryTrouble => {
                    self.directory_trouble()?;
                    self.host_lines_trouble()?;
                }
                CardEvent::HostWorkDone(_)
                | CardEvent::KernelFailed { .. }
                | CardEvent::AccessDone { .. } => {}
            }
        }
        for slot in drained {
            if let Some(requesters) = self.draining.remove(&slot) {
                self.service.forget(&requesters);
                self.pressure.forget(&requesters);
            }
        }
        Ok(())
    }

    fn fault_arrived(&mut self, token: FaultToken) {
        if self.faults_waiting.is_empty() {
            self.fault_since = self.card.now();
        }
        self.faults_waiting.insert(token);
    }

    pub(super) fn faults_answered(&mut self, answered: impl Fn(FaultToken) -> bool) {
        self.service.answered(&answered);
        let waited = !self.faults_waiting.is_empty();
        self.faults_waiting.retain(|token| !answered(*token));
        if waited && self.faults_waiting.is_empty() {
            self.fault_time += self.card.now() - self.fault_since;
        }
    }

    /// After a slot was put in reset: drops its faults that are still on their way, and lets every
    /// reply that was sent reach the shell, so that none can meet an access of the slot's next run.
    ///
    /// A no-op behind a fence does it: events come in order, and its own is the last. It goes into the
    /// queue of the slot's space, where all replies to the slot are, and waits for no other queue. The slot
    /// is in `draining` until it is over.
    pub(super) fn drain(
        &mut self,
        slot: SlotId,
        space: Asid,
        requesters: RangeInclusive<u8>,
    ) -> Result<(), Error> {
        self.draining.insert(slot, requesters);
        self.send_barrier(barrier(slot), space)
    }

    /// A no-op behind a fence, in the queue of a space.
    pub(super) fn send_barrier(&mut self, id: CommandId, space: Asid) -> Result<(), Error> {
        let queue = self.queue_of(Some(space));
        self.remember_space(id, Some(space));
        self.outgoing[usize::from(queue.0)].push_back(Command {
            id,
            queue,
            operation: Operation::Nop,
            fence: true,
            notify: true,
        });
        self.send_commands()
    }

    /// Whether a fault is of a slot that was stopped meanwhile.
    fn is_gone(&self, token: FaultToken) -> bool {
        let mut draining = self.draining.values();
        draining.any(|requesters| requesters.contains(&token.requester))
    }

    /// A queue a space, as far as the card has them; queue 0 for what belongs to no space.
    fn queue_of(&self, space: Option<Asid>) -> QueueId {
        let queues = self.outgoing.len() as u8;
        match space {
            Some(asid) if queues > 1 => QueueId(1 + asid.get() % (queues - 1)),
            _ => QueueId(0),
        }
    }

    fn perform(&mut self, action: Action) -> Result<(), Error> {
        match action {
            Action::Command {
                id,
                operation,
                space,
                fence,
                notify,
            } => {
                if let units::Operation::FaultReply { token, .. } = operation {
                    self.faults_answered(|waiting| waiting == token);
                }
                let queue = self.queue_of(space);
                let command = Command {
                    id,
                    queue,
                    operation,
                    fence,
                    notify,
                };
                if self.place(&command)? {
                    return Ok(());
                }
                self.remember_space(command.id, space.filter(|_| notify));
                self.outgoing[usize::from(queue.0)].push_back(command);
            }
            Action::ReadObject {
                io,
                object,
                offset,
                bytes,
                buffer,
                buffer_offset,
            } => {
                let at = u64::from(buffer.0) * self.buffer_bytes + buffer_offset;
                let place = (self.buffers.clone(), at, None);
                self.start_transfer(Direction::Read, (io, object), (offset, bytes), place)?;
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
                let at = u64::from(buffer.0) * self.buffer_bytes + buffer_offset;
                let buffers = self.buffers.clone();
                self.look_around(object, (offset, bytes), (&buffers, at), around);
                let place = (buffers, at, None);
                self.start_transfer(Direction::Write, (io, object), (offset, bytes), place)?;
            }
            Action::FillDirect {
                io,
                object,
                offset,
                bytes,
                at,
                around,
            } => {
                let (memory, first) = self.files.direct_memory(object)?;
                let place = (memory, first + at, Some(around));
                self.start_transfer(Direction::Read, (io, object), (offset, bytes), place)?;
            }
            Action::SaveDirect {
                io,
                object,
                offset,
                bytes,
                at,
                around,
            } => {
                let (memory, first) = self.files.direct_memory(object)?;
                self.look_around(object, (offset, bytes), (&memory, first + at), around);
                let place = (memory, first + at, None);
                self.start_transfer(Direction::Write, (io, object), (offset, bytes), place)?;
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
                self.card.control_space(asid, SpaceControl::On(table))?;
            }
            Action::UsePageSizes { asid, size_classes } => {
                let sizes = SpaceControl::PageSizes(size_classes);
                self.card.control_space(asid, sizes)?;
            }
            Action::DisableSpace { asid } => self.card.control_space(asid, SpaceControl::Off)?,
            Action::Complete { request, result } => {
                self.memories.answered(request, result.is_ok());
                self.completed.insert(request, result);
            }
            Action::AccessFailed {
                token,
                address,
                write,
                reason,
                nearest,
                ..
            } => {
                self.access_failed(token, address, write, &reason, nearest)?;
            }
            Action::WriteBackFailed { error } => {
                tracing::warn!(%error, "a page could not be written back and stays on the card");
            }
            Action::CardFailed { id, status } => {
                let what = format!("the card failed command {} with {status:?}", id.0);
                for number in 0..self.slots.len() {
                    self.kernel_failed(SlotId(number as u8), what.clone());
                }
            }
        }
        Ok(())
    }

    /// Hands commands to the card as far as its ring takes them.
    fn send_commands(&mut self) -> Result<(), Error> {
        for (queue, commands) in (0..).zip(&mut self.outgoing) {
            let copying = &mut self.copying[usize::from(queue)];
            while self.card.queue_room(QueueId(queue)) > 0 {
                let Some(command) = next_command(commands, copying.is_enough()) else {
                    break;
                };
                copying.begin(&command);
                self.card.submit(command)?;
            }
        }
        Ok(())
    }

    fn start_transfer(
        &mut self,
        direction: Direction,
        (io, object): (IoId, pager::ObjectId),
        (offset, bytes): (u64, u64),
        (memory, at, around): (Arc<HostMemory>, u64, Option<(u64, u64)>),
    ) -> Result<(), Error> {
        let Some((file, label, state)) = self.files.of(object, direction) else {
            return Err(Error::Internal(format!("{object} has no file")));
        };
        let size = || file.metadata().map_or(0, |data| data.len());
        let mut along = None;
        let work = match (direction, state.unwrap_or(self.options.file_state)) {
            (Direction::Read, _) if self.makes_hot() => Some(HostWork::Serve(Picoseconds::ZERO)),
            (_, FileState::Warm) => Some(HostWork::PageCacheCopy { bytes }),
            (Direction::Write, FileState::Cold) => {
                self.page_cache.written(object, (offset, bytes), size);
                Some(HostWork::StorageWrite { bytes })
            }
            (Direction::Read, FileState::Cold) if is_hole(&file, offset..offset + bytes) => {
                Some(HostWork::PageCacheCopy { bytes })
            }
            (Direction::Read, FileState::Cold) => {
                match self.page_cache.find(object, (offset, bytes), size) {
                    Found::Storage(bytes) => Some(HostWork::StorageRead { bytes }),
                    Found::Around(bytes, window) => {
                        along = Some(window);
                        Some(HostWork::StorageRead { bytes })
                    }
                    Found::Cached => Some(HostWork::PageCacheCopy { bytes }),
                    Found::Coming => None,
                }
            }
        };
        let memory_offset = at as usize;
        if direction == Direction::Write {
            if let Some(moved) = &mut self.moved {
                let place = (memory_offset, bytes as usize);
                moved.note(direction, offset, &memory, place);
            }
        }
        let transfer = Transfer {
            id: TransferId(io.0),
            direction,
            file,
            file_offset: offset,
            memory: memory.clone(),
            memory_offset,
            bytes: bytes as usize,
            along,
        };
        match self.files.behind(object) {
            Some(behind) => {
                let begun = behind.transfer(transfer);
                begun.map_err(|error| Error::Internal(format!("{label}: {error}")))?;
            }
            None => self.io.start(transfer),
        }
        let pending = Pending {
            io,
            direction,
            object,
            label,
            offset,
            bytes,
            memory,
            memory_offset,
            around,
        };
        match work {
            Some(work) => self.book_time(pending, work),
            None => self.page_cache.hold(object, (offset, bytes), pending),
        }
        if let (Direction::Read, Some(bytes)) = (direction, self.page_cache.ahead(object)) {
            let work = self.host_work(HostWork::StorageRead { bytes });
            self.work.insert(work, Work::ReadAhead(object));
        }
        Ok(())
    }

    /// The time of a transfer begins.
    fn book_time(&mut self, pending: Pending, work: HostWork) {
        let work = self.host_work(work);
        self.work.insert(work, Work::Transfer(pending));
    }

    fn finish_transfer(
        &mut self,
        pending: Pending,
        result: io::Result<usize>,
    ) -> Result<(), Error> {
        let result = result.and_then(|bytes| {
            match pending.direction {
                Direction::Read => {
                    zero_around(&pending, bytes)?;
                    if let Some(moved) = &mut self.moved {
                        let place = (pending.memory_offset, bytes);
                        moved.note(pending.direction, pending.offset, &pending.memory, place);
                    }
                }
                // Whoever does the I/O: bytes that are not in the file are not written back.
                Direction::Write if (bytes as u64) < pending.bytes => return Err(write_stopped()),
                Direction::Write => {}
            }
            Ok(bytes as u64)
        });
        let result = result.map_err(|source| {
            let code = source.raw_os_error().unwrap_or(libc::EIO);
            if pending.direction == Direction::Write {
                let error = Error::Transfer {
                    label: pending.label,
                    direction: "writing back",
                    bytes: pending.bytes,
                    offset: pending.offset,
                    source,
                };
                let place = (pending.object, pending.offset);
                self.write_back_errors.insert(place, error);
            }
            IoError::Os(code)
        });
        self.tell(Event::IoDone {
            id: pending.io,
            result,
        })
    }
}

/// A thread begins with so many events.
fn serving(thread: Thread, events: u32) -> HostWork {
    match thread {
        None => HostWork::ServeEvents(events),
        Some(space) => HostWork::ServeEventsOf {
            thread: 1 + space.get(),
            events,
        },
    }
}

/// What a file did not fill reads as zeroes, from the row that the copy begins with to the one that it
/// ends with; on a page that stays in host memory, all of it.
fn zero_around(pending: &Pending, read: usize) -> io::Result<()> {
    let row = units::ROW_BYTES as usize;
    let start = pending.memory_offset;
    let end = start + pending.bytes as usize;
    let (lead, end) = match pending.around {
        None => (start % row, end.next_multiple_of(row)),
        Some((before, behind)) => (before as usize, end + behind as usize),
    };
    let behind = start + read;
    pending
        .memory
        .zero(start - lead, lead)
        .and_then(|()| pending.memory.zero(behind, end - behind))
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

/// Bytes of a copy to the card behind which a queue's other commands would wait for long: a queue starts them in order.
fn long_copy(command: &Command) -> Option<u64> {
    let bytes = match command.operation {
        Operation::CopyIn { bytes, .. } => bytes,
        _ => 0,
    };
    (bytes >= LONG_COPY && command.notify && !command.fence).then_some(bytes)
}

/// The next command of a queue, whose card may have enough long copies. One more would only wait there, and what comes
/// behind it with it: pages that are there would not be installed until those fetched ahead are. So other commands go
/// first, up to a fence. That is no other order than the card's own: its units work beside each other, and the pager
/// waits for the end of what others depend on.
fn next_command(commands: &mut VecDeque<Command>, enough: bool) -> Option<Command> {
    if !enough {
        return commands.pop_front();
    }
    let place = commands
        .iter()
        .position(|command| long_copy(command).is_none())?;
    match commands[place].fence && place > 0 {
        true => None,
        false => commands.remove(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{CardAddr, HostAddr, Stripe};

    fn command(id: u32, bytes: u64, fence: bool) -> Command {
        let operation = match bytes {
            0 => Operation::Nop,
            bytes => Operation::CopyIn {
                from: HostAddr::default(),
                to: CardAddr::default(),
                bytes,
                stripe: Stripe::NONE,
            },
        };
        Command {
            id: CommandId(id),
            operation,
            fence,
            notify: true,
            ..Command::default()
        }
    }

    /// What leaves a queue, in order, while the card has enough long copies or not.
    fn leaves(commands: &[Command], enough: bool) -> Vec<u32> {
        let mut queue: VecDeque<Command> = commands.iter().cloned().collect();
        let next = || next_command(&mut queue, enough);
        std::iter::from_fn(next)
            .map(|command| command.id.0)
            .collect()
    }

    #[test]
    fn others_go_before_copies_that_would_only_wait() {
        let all = [
            command(0, LONG_COPY, false),
            command(1, 0, false),
            command(2, 2 * LONG_COPY, false),
            command(3, LONG_COPY - 1, false),
            command(4, 0, false),
        ];
        assert_eq!(leaves(&all, false), [0, 1, 2, 3, 4]);
        assert_eq!(leaves(&all, true), [1, 3, 4]);
    }

    #[test]
    fn a_card_has_enough_copies_when_the_link_has_to_do() {
        let enough = |sizes: &[u64]| {
            let mut copying = Copying::default();
            let numbered = sizes.iter().zip(0..);
            numbered.for_each(|(&bytes, id)| copying.begin(&command(id, bytes, false)));
            copying.is_enough()
        };
        assert!(!enough(&[COPYING_BYTES]), "one that is next");
        assert!(enough(&[COPYING_BYTES - LONG_COPY, LONG_COPY]));
        assert!(!enough(&[LONG_COPY; 7]), "small ones, a few more");
        assert!(enough(&[LONG_COPY; 8]));
    }

    #[test]
    fn nothing_passes_a_fence_nor_a_fence_a_copy() {
        let all = [
            command(0, 0, false),
            command(1, LONG_COPY, false),
            command(2, 0, true),
            command(3, 0, false),
        ];
        assert_eq!(leaves(&all, true), [0]);
        assert_eq!(leaves(&all[2..], true), [2, 3]);
        // A copy that waits for others is sent as it is.
        assert_eq!(leaves(&[command(5, LONG_COPY, true)], true), [5]);
    }
}
