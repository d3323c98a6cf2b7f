//! The simulated card: a command ring with the weakest order that docs/architecture.md allows, page
//! tables with dirty bits, parked accesses, and accesses under way that an invalidation drains.

use super::host::{Host, POISON};
use super::rng::Rng;
use super::world::CHANNEL_BYTES_LOG2;
use super::{Verdict, ROW};
use crate::action::Action;
use crate::config::ChannelMemory;
use crate::event::Event;
use crate::ids::ObjectPage;
use std::collections::{BTreeMap, VecDeque};
use units::{
    Asid, CardAddr, CommandId, CommandStatus, Fault, FaultCause, FaultToken, FrameNumber,
    Operation, PageEntry, PageNumber, PageSize, Stripe, TableGeometry, Target, VirtAddr,
};

/// A command in the ring.
#[derive(Clone, Debug)]
struct Queued {
    id: CommandId,
    operation: Operation,
    fence: bool,
    notify: bool,
    /// Page that the entry refers to, for installs and replies.
    shows: Option<ObjectPage>,
}

/// A copy or zeroing under way.
#[derive(Debug)]
struct Running {
    command: Queued,
    card: u64,
    rows: usize,
    done: usize,
}

/// An entry of a page table.
#[derive(Clone, Copy, Debug)]
struct Present {
    address: VirtAddr,
    entry: PageEntry,
    shows: ObjectPage,
}

#[derive(Debug)]
struct Table {
    geometry: TableGeometry,
    sets: BTreeMap<u64, Vec<Present>>,
}

/// An access that was issued to memory: it is performed even if its entry changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) asid: Asid,
    pub(super) address: VirtAddr,
    pub(super) write: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Needs a translation.
    Parked,
    /// Waits for the host.
    Faulted(FaultToken),
    /// Has a translation, was not issued to memory.
    Ready(u64, ObjectPage),
}

#[derive(Clone, Copy, Debug)]
struct Parked {
    access: Access,
    phase: Phase,
}

/// An access under way to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub(super) access: Access,
    pub(super) card: u64,
    pub(super) shows: ObjectPage,
    ticket: u64,
}

/// One read or write side of a port.
#[derive(Debug)]
pub(super) struct Requester {
    pub(super) asid: Asid,
    parked: VecDeque<Parked>,
    next_index: u8,
    /// Held in reset until the commands issued before the reset are complete.
    pub(super) held: bool,
}

/// An invalidation that waits for accesses under way.
#[derive(Debug)]
struct Draining {
    command: Queued,
    accessed: bool,
    dirty: bool,
    /// Accesses with lower tickets must complete first.
    ticket: u64,
}

/// The simulated card.
#[derive(Debug)]
pub(super) struct Card {
    /// Sizes that pages have.
    sizes: Vec<PageSize>,
    /// Size classes enabled in the shell.
    classes: BTreeMap<Asid, u32>,
    channels: Vec<ChannelMemory>,
    memory: Vec<Vec<u64>>,
    /// One queue per space (by ASID, after the one of no space), or one for all.
    rings: Vec<VecDeque<Queued>>,
    copies: Vec<Running>,
    table_queue: VecDeque<Queued>,
    draining: Option<Draining>,
    tables: BTreeMap<Asid, Table>,
    stripes: BTreeMap<Asid, Stripe>,
    pub(super) requesters: Vec<Requester>,
    leaving: Vec<Leaving>,
    next_ticket: u64,
    pub(super) events: VecDeque<Event>,
    /// Percentage of copies that fail, among those whose failure the pager can wait for.
    pub(super) bus_failures: usize,
    /// Whether a copy has failed.
    pub(super) has_failed: bool,
    /// Pages of which an access may have become dirty since the last write-back.
    pub(super) touched: std::collections::BTreeSet<ObjectPage>,
    /// The smallest pages of objects that have several sizes.
    pub(super) units: std::collections::BTreeMap<crate::ids::ObjectId, PageSize>,
}

/// Accesses of host memory have addresses from here on.
pub(super) const HOST_WINDOW: u64 = 1 << 40;
const REQUESTER_DEPTH: usize = 4;

impl Card {
    pub(super) fn new(
        channels: &[ChannelMemory],
        sizes: &[PageSize],
        requesters: Vec<Asid>,
        queues: usize,
    ) -> Self {
        let rows = |channel: &ChannelMemory| vec![POISON; (channel.bytes / ROW) as usize];
        Self {
            sizes: sizes.to_vec(),
            classes: BTreeMap::new(),
            channels: channels.to_vec(),
            memory: channels.iter().map(rows).collect(),
            rings: vec![VecDeque::new(); queues],
            copies: Vec::new(),
            table_queue: VecDeque::new(),
            draining: None,
            tables: BTreeMap::new(),
            stripes: BTreeMap::new(),
            requesters: requesters
                .into_iter()
                .map(|asid| Requester {
                    asid,
                    parked: VecDeque::new(),
                    next_index: 0,
                    held: false,
                })
                .collect(),
            leaving: Vec::new(),
            next_ticket: 0,
            events: VecDeque::new(),
            bus_failures: 0,
            has_failed: false,
            touched: std::collections::BTreeSet::new(),
            units: std::collections::BTreeMap::new(),
        }
    }

    pub(super) fn channels(&self) -> &[ChannelMemory] {
        &self.channels
    }

    /// Rows of memory.
    pub(super) fn rows(&mut self, card: u64, rows: usize) -> Verdict<&mut [u64]> {
        let channel = self
            .channels
            .iter()
            .position(|c| (c.base.get()..c.base.get() + c.bytes).contains(&card));
        channel
            .and_then(|index| {
                let first = ((card - self.channels[index].base.get()) / ROW) as usize;
                self.memory[index].get_mut(first..first + rows)
            })
            .ok_or_else(|| format!("no memory for {rows} rows at 0x{card:x}"))
    }

    /// The operation with physical places instead of addresses. Striped pages are of one granule, so they are
    /// contiguous.
    fn as_it_lies(&self, mut operation: Operation) -> Operation {
        let placed = |address: CardAddr, stripe: Stripe| stripe.place(address, CHANNEL_BYTES_LOG2);
        let place_frame = |entry: &mut PageEntry, asid: Asid| {
            if entry.target == Target::Host {
                return;
            }
            let stripe = self.stripes.get(&asid).copied().unwrap_or_default();
            let place = placed(entry.frame.card_address(), stripe);
            entry.frame = FrameNumber::at(place).unwrap_or(entry.frame);
        };
        match &mut operation {
            Operation::CopyIn { to, stripe, .. } | Operation::Zero { to, stripe, .. } => {
                *to = placed(*to, *stripe);
            }
            Operation::CopyOut { from, stripe, .. } => *from = placed(*from, *stripe),
            Operation::Install { asid, entry, .. } => place_frame(entry, *asid),
            Operation::FaultReply {
                token,
                entry: Some(entry),
            } => place_frame(entry, self.requesters[usize::from(token.requester)].asid),
            _ => {}
        }
        operation
    }

    /// Takes a command into the ring.
    pub(super) fn submit(&mut self, action: &Action, shows: Option<ObjectPage>) {
        if let Action::Command {
            id,
            operation,
            space,
            fence,
            notify,
        } = *action
        {
            let queue = self.queue_of(space);
            let command = Queued {
                id,
                operation: self.as_it_lies(operation),
                fence,
                notify,
                shows,
            };
            self.rings[queue].push_back(command);
        }
    }

    pub(super) fn enable(
        &mut self,
        asid: Asid,
        geometry: TableGeometry,
        (stripe, classes): (Stripe, u32),
    ) -> Verdict<()> {
        self.stripes.insert(asid, stripe);
        self.classes.insert(asid, classes);
        let rows = (geometry.bytes() / ROW) as usize;
        if self
            .rows(geometry.base().get(), rows)?
            .iter()
            .any(|&row| row != 0)
        {
            return Err(format!("the table of {asid:?} is not zero"));
        }
        let table = Table {
            geometry,
            sets: BTreeMap::new(),
        };
        match self.tables.insert(asid, table) {
            None => Ok(()),
            Some(_) => Err(format!("{asid:?} enabled twice")),
        }
    }

    /// Pages of other sizes, too.
    pub(super) fn use_sizes(&mut self, asid: Asid, classes: u32) {
        self.classes.insert(asid, classes);
    }

    pub(super) fn disable(&mut self, asid: Asid) -> Verdict<()> {
        let empty = self
            .tables
            .remove(&asid)
            .is_some_and(|table| table.sets.values().all(Vec::is_empty));
        let quiet = !self
            .leaving
            .iter()
            .any(|leaving| leaving.access.asid == asid);
        if empty && quiet {
            Ok(())
        } else {
            Err(format!("{asid:?} disabled while in use"))
        }
    }

    /// Whether every command of the ring is complete.
    pub(super) fn ring_is_empty(&self) -> bool {
        self.rings.iter().all(VecDeque::is_empty)
            && self.copies.is_empty()
            && self.table_queue.is_empty()
            && self.draining.is_none()
    }

    /// Whether an incomplete copy to the card reads these bytes of a buffer.
    pub(super) fn reads_buffer(&self, start: u64, bytes: u64) -> bool {
        let running = self.copies.iter().map(|copy| &copy.command);
        self.rings.iter().flatten().chain(running).any(|command| {
            matches!(command.operation, Operation::CopyIn { from, bytes: length, .. }
                if from.get() < start + bytes && start < from.get() + length)
        })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.ring_is_empty()
            && self.events.is_empty()
            && self.leaving.is_empty()
            && self
                .requesters
                .iter()
                .all(|requester| requester.parked.is_empty())
    }

    fn complete(&mut self, command: &Queued, status: CommandStatus, bits: (bool, bool)) {
        if command.notify || status != CommandStatus::Ok {
            self.events.push_back(Event::OperationDone {
                id: command.id,
                status,
                accessed: bits.0,
                dirty: bits.1,
            });
        }
    }

    /// Starts the next command of a queue, if allowed. Only one queue has fences.
    pub(super) fn start_next(&mut self, rng: &mut Rng) -> Verdict<bool> {
        let idle = self.copies.is_empty() && self.table_queue.is_empty() && self.draining.is_none();
        let waiting: Vec<usize> = (0..self.rings.len())
            .filter(|&queue| !self.rings[queue].is_empty())
            .collect();
        if waiting.is_empty() {
            return Ok(false);
        }
        let ring = rng.pick(&waiting);
        match self.rings[ring].front() {
            None => return Ok(false),
            Some(next) if next.fence && !idle => return Ok(false),
            Some(_) => {}
        }
        let Some(command) = self.rings[ring].pop_front() else {
            return Ok(false);
        };
        match command.operation {
            Operation::CopyIn { to, bytes, .. } | Operation::Zero { to, bytes, .. } => {
                self.start_copy(command, to, bytes, true)?;
            }
            Operation::CopyOut { from, bytes, .. } => {
                self.start_copy(command, from, bytes, false)?;
            }
            _ => self.table_queue.push_back(command),
        }
        Ok(true)
    }

    fn start_copy(
        &mut self,
        command: Queued,
        card: CardAddr,
        bytes: u64,
        writes: bool,
    ) -> Verdict<()> {
        let (card, rows) = (card.get(), (bytes / ROW) as usize);
        if bytes == 0 || bytes % ROW != 0 || card % ROW != 0 {
            return Err(format!("malformed: {command:?}"));
        }
        if writes {
            self.nobody_uses(card, bytes, &command)?;
            self.rows(card, rows)?.fill(POISON);
        }
        self.copies.push(Running {
            command,
            card,
            rows,
            done: 0,
        });
        Ok(())
    }

    /// Checks that memory about to be overwritten is not in use.
    fn nobody_uses(&self, card: u64, bytes: u64, command: &Queued) -> Verdict<()> {
        let overlaps = |start: u64, length: u64| start < card + bytes && card < start + length;
        for table in self.tables.values() {
            let geometry = table.geometry;
            if overlaps(geometry.base().get(), geometry.bytes()) {
                return Err(format!("{command:?} overwrites a page table"));
            }
            for present in table.sets.values().flatten() {
                let page = present.entry.size.bytes();
                if overlaps(present.entry.frame.card_address().get(), page) {
                    return Err(format!("{command:?} overwrites {present:?}"));
                }
            }
        }
        if let Some(leaving) = self.leaving.iter().find(|l| overlaps(l.card, ROW)) {
            return Err(format!("{command:?} overwrites a frame under {leaving:?}"));
        }
        let parked = self
            .requesters
            .iter()
            .flat_map(|requester| &requester.parked);
        for parked in parked {
            if matches!(parked.phase, Phase::Ready(at, _) if overlaps(at, ROW)) {
                return Err(format!("{command:?} overwrites a frame under {parked:?}"));
            }
        }
        let clash = |copy: &&Running| overlaps(copy.card, copy.rows as u64 * ROW);
        match self.copies.iter().find(clash) {
            Some(copy) => Err(format!("{command:?} overwrites a frame under {copy:?}")),
            None => Ok(()),
        }
    }

    /// Moves some rows of any copy that is under way.
    pub(super) fn step_copy(&mut self, host: &mut Host, rng: &mut Rng) -> Verdict<bool> {
        if self.copies.is_empty() {
            return Ok(false);
        }
        let index = rng.below(self.copies.len());
        let Running {
            ref command,
            card,
            rows,
            done,
        } = self.copies[index];
        let operation = command.operation;
        let count = (rows - done).min(1 + rng.below(2 * rows));
        let at = card + done as u64 * ROW;
        let skip = done as u64 * ROW;
        match operation {
            Operation::CopyIn { from, .. } => {
                let source = host.rows_at(from.offset(skip), count)?;
                self.rows(at, count)?.copy_from_slice(source);
            }
            Operation::CopyOut { to, .. } => {
                let target = host.rows_at(to.offset(skip), count)?;
                target.copy_from_slice(self.rows(at, count)?);
            }
            _ => self.rows(at, count)?.fill(0),
        }
        self.copies[index].done += count;
        if self.copies[index].done == rows {
            let copy = self.copies.swap_remove(index);
            let status = if copy.command.notify && rng.percent(self.bus_failures) {
                self.has_failed = true;
                match operation {
                    Operation::CopyOut { to, .. } => host.rows_at(to, rows)?.fill(POISON),
                    _ => self.rows(card, rows)?.fill(POISON),
                }
                CommandStatus::BusError
            } else {
                CommandStatus::Ok
            };
            self.complete(&copy.command, status, (false, false));
        }
        Ok(true)
    }

    /// Advances the table engine.
    pub(super) fn step_table(&mut self) -> Verdict<bool> {
        if let Some(draining) = self.draining.take() {
            if self
                .leaving
                .iter()
                .any(|leaving| leaving.ticket < draining.ticket)
            {
                self.draining = Some(draining);
                return Ok(false);
            }
            let bits = (draining.accessed, draining.dirty);
            self.complete(&draining.command, CommandStatus::Ok, bits);
            return Ok(true);
        }
        let Some(command) = self.table_queue.pop_front() else {
            return Ok(false);
        };
        match command.operation {
            Operation::Install {
                asid,
                address,
                entry,
            } => self.install(&command, asid, address, entry)?,
            Operation::Invalidate {
                asid,
                address,
                size,
            } => self.begin_invalidation(command, asid, (address, size), true)?,
            Operation::Protect {
                asid,
                address,
                size,
            } => self.begin_invalidation(command, asid, (address, size), false)?,
            Operation::Grow { asid, table } => self.grow(&command, asid, table)?,
            Operation::ReadClear {
                asid,
                address,
                size,
            } => {
                let found = self.find(asid, address, size);
                let entry = found.ok_or_else(|| format!("absent: {command:?}"))?;
                let bits = (entry.entry.accessed, entry.entry.dirty);
                entry.entry.accessed = false;
                self.complete(&command, CommandStatus::Ok, bits);
            }
            Operation::FaultReply { token, entry } => self.reply(&command, token, entry)?,
            _ => return Err(format!("not a table command: {command:?}")),
        }
        Ok(true)
    }

    fn set(&mut self, asid: Asid, address: VirtAddr, size: PageSize) -> Option<&mut Vec<Present>> {
        let table = self.tables.get_mut(&asid)?;
        let page = PageNumber::containing(address, size);
        Some(table.sets.entry(table.geometry.set(page)).or_default())
    }

    /// The entry of a page.
    fn find(&mut self, asid: Asid, address: VirtAddr, size: PageSize) -> Option<&mut Present> {
        let base = address.page_base(size);
        self.set(asid, base, size)?
            .iter_mut()
            .find(|present| (present.address, present.entry.size) == (base, size))
    }

    /// The entry that translates an address, of any size.
    fn look_up(&mut self, asid: Asid, address: VirtAddr) -> Option<&mut Present> {
        let classes = self.classes.get(&asid).copied().unwrap_or_default();
        let mut used = self.sizes.clone();
        used.retain(|size| classes >> size.class() & 1 != 0);
        let size = used
            .into_iter()
            .find(|&size| self.find(asid, address, size).is_some())?;
        self.find(asid, address, size)
    }

    fn install(
        &mut self,
        command: &Queued,
        asid: Asid,
        address: VirtAddr,
        entry: PageEntry,
    ) -> Verdict<()> {
        let shows = command
            .shows
            .ok_or_else(|| format!("nothing is mapped for {command:?}"))?;
        let mut present = self
            .tables
            .values()
            .flat_map(|table| table.sets.values().flatten());
        let stranger = present.find(|p| p.entry.frame == entry.frame && p.shows != shows);
        if let Some(stranger) = stranger {
            return Err(format!("{command:?} shares the frame of {stranger:?}"));
        }
        let new = Present {
            address,
            entry,
            shows,
        };
        let classes = self.classes.get(&asid).copied().unwrap_or_default();
        if classes >> entry.size.class() & 1 == 0 || address.page_offset(entry.size) != 0 {
            return Err(format!("the shell would refuse {command:?}"));
        }
        let range =
            |address: VirtAddr, size: PageSize| (address.get(), address.get() + size.bytes());
        let (start, end) = range(address, entry.size);
        let table = self.tables.get(&asid);
        let mut present = table.iter().flat_map(|table| table.sets.values().flatten());
        let overlapped = present.find(|present| {
            let (from, to) = range(present.address, present.entry.size);
            from < end && start < to
        });
        if let Some(present) = overlapped {
            return Err(format!("{command:?} overlaps {present:?}"));
        }
        let set = self
            .set(asid, address, entry.size)
            .ok_or_else(|| format!("space is disabled: {command:?}"))?;
        if set.len() == TableGeometry::WAYS {
            self.complete(command, CommandStatus::SetFull, (false, false));
            return Ok(());
        }
        set.push(new);
        if entry.dirty {
            self.touched.insert(shows);
        }
        self.complete(command, CommandStatus::Ok, (false, false));
        Ok(())
    }

    /// Moves a table: its old memory is not in use from now on.
    fn grow(&mut self, command: &Queued, asid: Asid, to: TableGeometry) -> Verdict<()> {
        self.nobody_uses(to.base().get(), to.bytes(), command)?;
        let table = self.tables.get_mut(&asid);
        let table = table.ok_or_else(|| format!("space is disabled: {command:?}"))?;
        if to.sets_log2() != table.geometry.sets_log2() + 1 {
            return Err(format!("not twice as large: {command:?}"));
        }
        table.geometry = to;
        for present in std::mem::take(&mut table.sets).into_values().flatten() {
            let page = PageNumber::containing(present.address, present.entry.size);
            table.sets.entry(to.set(page)).or_default().push(present);
        }
        self.complete(command, CommandStatus::Ok, (false, false));
        Ok(())
    }

    fn begin_invalidation(
        &mut self,
        command: Queued,
        asid: Asid,
        (address, size): (VirtAddr, PageSize),
        remove: bool,
    ) -> Verdict<()> {
        let present = self.find(asid, address, size);
        let present = present.ok_or_else(|| format!("absent: {command:?}"))?;
        let (accessed, dirty) = (present.entry.accessed, present.entry.dirty);
        present.entry.write = false;
        present.entry.dirty = false;
        if remove {
            if let Some(set) = self.set(asid, address, size) {
                set.retain(|present| (present.address, present.entry.size) != (address, size));
            }
        }
        for parked in self
            .requesters
            .iter_mut()
            .flat_map(|requester| &mut requester.parked)
        {
            if matches!(parked.phase, Phase::Ready(..)) {
                parked.phase = Phase::Parked;
            }
        }
        self.draining = Some(Draining {
            command,
            accessed,
            dirty,
            ticket: self.next_ticket,
        });
        Ok(())
    }

    fn reply(
        &mut self,
        command: &Queued,
        token: FaultToken,
        entry: Option<PageEntry>,
    ) -> Verdict<()> {
        self.complete(command, CommandStatus::Ok, (false, false));
        let requester = &mut self.requesters[usize::from(token.requester)];
        let place = requester
            .parked
            .iter()
            .position(|parked| parked.phase == Phase::Faulted(token));
        let Some(place) = place else {
            // The slot was stopped after the reply had been issued.
            let held = requester.held;
            return if held {
                Ok(())
            } else {
                Err(format!("nobody waits for {command:?}"))
            };
        };
        let Some(entry) = entry else {
            requester.parked.remove(place);
            return Ok(());
        };
        let parked = &mut requester.parked[place];
        let shows = command
            .shows
            .ok_or_else(|| format!("nothing is mapped for {command:?}"))?;
        let allowed = if parked.access.write {
            entry.write
        } else {
            entry.read
        };
        if !allowed {
            return Err(format!("{command:?} does not allow {parked:?}"));
        }
        // The dirty bit of the table is deliberately unchanged: the pager has to know from its own state.
        parked.phase = Phase::Ready(physical(entry, parked.access.address), shows);
        Ok(())
    }

    /// A kernel issues an access. Returns false if its requester is full or held.
    pub(super) fn issue(&mut self, requester: usize, access: Access) -> bool {
        let requester = &mut self.requesters[requester];
        let room = !requester.held && requester.parked.len() < REQUESTER_DEPTH;
        if room {
            requester.parked.push_back(Parked {
                access,
                phase: Phase::Parked,
            });
        }
        room
    }

    /// Looks up a parked access: it becomes ready, or a fault is reported.
    pub(super) fn translate(&mut self, rng: &mut Rng) -> Verdict<bool> {
        let requester = rng.below(self.requesters.len());
        let parked = &self.requesters[requester].parked;
        if parked.is_empty() {
            return Ok(false);
        }
        let place = rng.below(parked.len());
        let Parked { access, phase } = parked[place];
        if phase != Phase::Parked {
            return Ok(false);
        }
        let write = access.write;
        let cause = match self.look_up(access.asid, access.address) {
            None => FaultCause::Absent,
            Some(present) if write && !present.entry.write => FaultCause::Permission,
            Some(present) if !write && !present.entry.read => FaultCause::Permission,
            Some(present) => {
                present.entry.accessed = true;
                present.entry.dirty |= write;
                let (entry, mut shows) = (present.entry, present.shows);
                let offset = access.address.get() - present.address.get();
                if let Some(unit) = self.units.get(&shows.object) {
                    // Pages of several sizes are counted in the smallest.
                    shows.index += offset >> unit.bits();
                }
                if write {
                    self.touched.insert(shows);
                }
                let card = physical(entry, access.address);
                self.requesters[requester].parked[place].phase = Phase::Ready(card, shows);
                return Ok(true);
            }
        };
        let state = &mut self.requesters[requester];
        let used = |index: u8| {
            let token = FaultToken {
                requester: requester as u8,
                index,
            };
            state
                .parked
                .iter()
                .any(|p| p.phase == Phase::Faulted(token))
        };
        let mut index = state.next_index;
        while used(index % 64) {
            index += 1;
        }
        state.next_index = (index + 1) % 64;
        let token = FaultToken {
            requester: requester as u8,
            index: index % 64,
        };
        state.parked[place].phase = Phase::Faulted(token);
        self.events.push_back(Event::Fault(Fault {
            token,
            asid: access.asid,
            address: access.address,
            write,
            ahead: place > 0,
            cause,
        }));
        Ok(true)
    }

    /// The access that a token names.
    pub(super) fn faulted(&self, token: FaultToken) -> Option<Access> {
        self.requesters[usize::from(token.requester)]
            .parked
            .iter()
            .find(|parked| parked.phase == Phase::Faulted(token))
            .map(|parked| parked.access)
    }

    /// Issues the oldest access of some requester to memory, if it is ready.
    pub(super) fn leave(&mut self, rng: &mut Rng) -> bool {
        let requester = rng.below(self.requesters.len());
        let parked = &mut self.requesters[requester].parked;
        let Some(Parked {
            access,
            phase: Phase::Ready(card, shows),
        }) = parked.front().copied()
        else {
            return false;
        };
        parked.pop_front();
        self.leaving.push(Leaving {
            access,
            card,
            shows,
            ticket: self.next_ticket,
        });
        self.next_ticket += 1;
        true
    }

    /// Performs any access under way.
    pub(super) fn arrive(&mut self, rng: &mut Rng) -> Option<Leaving> {
        if self.leaving.is_empty() {
            return None;
        }
        let index = rng.below(self.leaving.len());
        Some(self.leaving.swap_remove(index))
    }

    /// Puts the slots of a space into reset; returns their requesters.
    pub(super) fn stop(&mut self, asid: Asid) -> Vec<u8> {
        let mut stopped = Vec::new();
        for (index, requester) in self.requesters.iter_mut().enumerate() {
            if requester.asid == asid {
                requester.parked.clear();
                requester.held = true;
                stopped.push(index as u8);
            }
        }
        self.events.retain(
            |event| !matches!(event, Event::Fault(fault) if stopped.contains(&fault.token.requester)),
        );
        stopped
    }

    /// Lets stopped slots run again once no old reply can reach them: those were in their space's queue.
    pub(super) fn release_requesters(&mut self) {
        if !self.table_queue.is_empty() || self.draining.is_some() {
            return;
        }
        for index in 0..self.requesters.len() {
            let queue = self.queue_of(Some(self.requesters[index].asid));
            if self.rings[queue].is_empty() {
                self.requesters[index].held = false;
            }
        }
    }

    fn queue_of(&self, space: Option<Asid>) -> usize {
        space.map_or(0, |asid| 1 + usize::from(asid.get())) % self.rings.len()
    }
}

fn physical(entry: PageEntry, address: VirtAddr) -> u64 {
    let window = if entry.target == Target::Host {
        HOST_WINDOW
    } else {
        0
    };
    window + entry.frame.card_address().get() + address.page_offset(entry.size)
}
