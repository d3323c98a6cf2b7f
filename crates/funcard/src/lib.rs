//! The functional card: no RTL, no time; for tests of everything above the card.
//!
//! It behaves like the shell as far as a host can observe without a clock: commands with their order and fences, page
//! tables in card memory, faults with look-ahead, slots with ap_ctrl_hs registers. Its kernels are [models in
//! Rust](FunctionalKernel), found by the name in `kernel.toml`.
//!
//! [`Card::now`](card::Card::now) counts the card's steps, one microsecond each, so that deadlines expire.
//!
//! ```
//! use card::command::Command;
//! use card::memory::HostMemory;
//! use card::{event::Event, Card};
//! use funcard::{FunctionalCard, FunctionalConfig};
//! use std::sync::Arc;
//! use units::{CommandId, Operation, Stripe};
//!
//! let mut card = FunctionalCard::new(FunctionalConfig::default());
//! let host = Arc::new(HostMemory::allocate(4096)?);
//! host.write(0, b"hello")?;
//! let from = card.map_host(host)?;
//! let to = Default::default();
//! let operation = Operation::CopyIn { from, to, bytes: 4096, stripe: Stripe::NONE };
//! card.submit(Command { id: CommandId(7), operation, fence: false, notify: true, ..Command::default() })?;
//! let events = card.wait(None)?;
//! assert!(matches!(events[..], [Event::Completed { id: CommandId(7), .. }]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod bar;
mod commands;
mod config;
mod contract;
mod control;
mod host;
mod kernel;
mod l1;
mod memory;
mod models;
mod mover;
mod posted;
mod schedule;
mod slot;
mod switch;
mod table;

pub use config::FunctionalConfig;
pub use kernel::{Access, Arguments, FunctionalKernel, KernelModel, Registry, Step, VirtualMemory};

use access::PortMemory;
use card::event::Event;
use card::registers;
use card::schedule::{CheckedSchedule, SlotSchedule};
use card::{
    CardDescription, CardError, ChannelStatistics, CheckedDescription, SlotId, SpaceTable,
    Statistics, WorkId,
};
use commands::{CommandQueue, Head};
use host::HostMap;
use l1::HostFilledL1;
use memory::CardMemory;
use posted::Posted;
use schedule::Schedule;
use slot::Slot;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use switch::Switch;
use table::{Answer, Space};
use units::{Asid, CommandStatus, FaultToken, Operation, PageSizes, Picoseconds, TableGeometry};

/// A card without RTL and without time.
pub struct FunctionalCard {
    description: CardDescription,
    queue_limit: usize,
    kernels: Registry,
    schedule: Schedule,
    memory: CardMemory,
    host: HostMap,
    host_channel: bool,
    spaces: Vec<Option<Space>>,
    /// The mode register of each space.
    modes: Vec<u32>,
    l1s: Vec<HostFilledL1>,
    slots: Vec<Slot>,
    switch: Switch,
    /// Values written to the schedule registers.
    schedules: BTreeMap<u32, u32>,
    /// The next slot in turn, if everything happens in order.
    next_slot: usize,
    /// One per queue.
    commands: Vec<CommandQueue>,
    work: VecDeque<WorkId>,
    next_work: u64,
    events: Vec<Event>,
    now: Picoseconds,
    statistics: Statistics,
    bell: Option<Arc<AtomicBool>>,
    /// Time at which waits end as if the bell rang.
    rings_at: Option<Picoseconds>,
    /// The last wait ended because the bell rang.
    rung: bool,
}

/// A possible next step.
#[derive(Clone, Copy)]
enum Move {
    /// The transfer at the head of a queue begins.
    StartTransfer(usize),
    /// The command at the head of a queue is executed.
    Immediate(usize),
    /// A transfer of a queue makes progress.
    Transfer(usize, usize),
    HostWork(usize),
    /// A mover of a slot moves a burst.
    Mover(usize, usize),
    /// A port of a slot answers a posted write.
    Posted(usize, usize),
    /// Bytes sent by a kernel pass to the incoming port of a pair.
    Switch(usize),
    Kernel(usize),
}

/// Maximum kernel steps while the host queries the bytes sent.
const SETTLING_STEPS: u32 = 10_000;

impl FunctionalCard {
    /// Duration of one step of the card.
    const STEP: Picoseconds = Picoseconds::from_micros(1);

    /// A card of that shape; its memory is zero.
    pub fn new(config: FunctionalConfig) -> Self {
        let ports = usize::from(config.ports_per_slot);
        let requesters = 2 * ports * usize::from(config.slots);
        let channels = usize::from(config.channels);
        let pairs = usize::from(config.streams_per_slot).min(ports);
        Self {
            description: CardDescription {
                name: "functional".to_owned(),
                slots: config.slots,
                ports_per_slot: config.ports_per_slot,
                streams_per_slot: config.streams_per_slot.min(config.ports_per_slot),
                network_pairs: 0,
                // Its kernels are models, whose streams have bytes and packets only.
                tid_width: 0,
                tdest_width: 0,
                channels: config.channels,
                channel_bytes_log2: config.channel_bytes_log2,
                channel_bytes: config.channel_bytes,
                memories: Vec::new(),
                spaces: config.spaces,
                queues: config.queues,
                translated: config.translated,
                page_sizes: config.page_sizes,
                l1_sizes: PageSizes::default(),
                l1_reach: config.l1_reach,
                table_walks: true,
                clock_period: Picoseconds::ZERO,
                host_channel: config.host_channel,
            },
            queue_limit: config.queue,
            kernels: config.kernels,
            schedule: Schedule::new(config.seed),
            memory: CardMemory::new(
                config.channels,
                config.channel_bytes_log2,
                config.channel_bytes,
            ),
            host: HostMap::new(),
            host_channel: config.host_channel,
            spaces: vec![None; usize::from(config.spaces)],
            modes: vec![0; usize::from(config.spaces)],
            l1s: vec![HostFilledL1::default(); usize::from(config.spaces)],
            slots: (0..config.slots).map(|_| Slot::new(ports, pairs)).collect(),
            switch: Switch::new(config.slots.into(), pairs),
            schedules: (0..config.slots)
                .flat_map(|slot| SlotSchedule::default().registers(SlotId(slot), Picoseconds::ZERO))
                .collect(),
            next_slot: 0,
            commands: (0..config.queues)
                .map(|_| CommandQueue::default())
                .collect(),
            work: VecDeque::new(),
            next_work: 0,
            events: Vec::new(),
            now: Picoseconds::ZERO,
            bell: None,
            rings_at: None,
            rung: false,
            statistics: Statistics {
                requesters: vec![Default::default(); requesters],
                channels: vec![ChannelStatistics::default(); channels],
                ..Statistics::default()
            },
        }
    }

    fn slot(&mut self, slot: SlotId) -> Result<&mut Slot, CardError> {
        let error = CardError::NoSuchSlot {
            slot,
            card: self.description.name.clone(),
            last: self.description.slots.saturating_sub(1),
        };
        self.slots.get_mut(usize::from(slot.0)).ok_or(error)
    }

    fn check_space(&self, asid: Asid) -> Result<usize, CardError> {
        let index = usize::from(asid.get());
        if index < self.spaces.len() {
            Ok(index)
        } else {
            Err(CardError::NoSuchSpace {
                asid: asid.get(),
                spaces: self.description.spaces,
            })
        }
    }

    fn read_shell(&self, offset: u32) -> Result<u32, CardError> {
        if let Some(slot) = bar::status_of_slot(offset) {
            let slot = self.slots.get(slot);
            return Ok(slot.map_or(0, |slot| slot.notes().status()));
        }
        if let Some(space) = bar::mode_of_space(offset) {
            return Ok(self.modes.get(space).copied().unwrap_or(0));
        }
        match self.schedules.get(&offset) {
            Some(&value) => Ok(value),
            None => bar::read_shell(&self.description, offset),
        }
    }

    /// Checks that the page table of a space can be placed as requested.
    fn check_table(&self, asid: Asid, table: SpaceTable) -> Result<SpaceTable, CardError> {
        self.description.check_stripe(table.stripe)?;
        if self
            .memory
            .contains(table.geometry.base(), table.geometry.bytes())
        {
            return Ok(table);
        }
        let address = registers::SPACE.at(u32::from(asid.get()));
        let what = "the page table lies outside card memory";
        Err(bar::error(address, what))
    }

    /// All possible next steps. Without a seed the first one is taken: commands before host work before movers before
    /// kernels, which take turns.
    fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        for (queue, commands) in self.commands.iter().enumerate() {
            match commands.head() {
                Head::Idle => {}
                Head::Transfer => moves.push(Move::StartTransfer(queue)),
                Head::Immediate => moves.push(Move::Immediate(queue)),
            }
        }
        for (queue, commands) in self.commands.iter().enumerate() {
            moves.extend((0..commands.running()).map(|index| Move::Transfer(queue, index)));
        }
        moves.extend((0..self.work.len()).map(Move::HostWork));
        for (number, slot) in self.slots.iter().enumerate() {
            let movers = slot.movers.iter().enumerate();
            let ready = movers.filter(|(_, mover)| slot.may_move() && mover.is_runnable());
            moves.extend(ready.map(|(index, _)| Move::Mover(number, index)));
            let posted = slot.posted_runnable();
            moves.extend(posted.map(|port| Move::Posted(number, port)));
        }
        moves.extend(self.switch.runnable(&self.slots).map(Move::Switch));
        let turns = (0..self.slots.len()).map(|i| (self.next_slot + i) % self.slots.len());
        moves.extend(
            turns
                .filter(|&slot| self.slots[slot].is_runnable())
                .map(Move::Kernel),
        );
        moves
    }

    /// Makes one step; false if there is nothing to do.
    fn advance(&mut self) -> bool {
        let moves = self.moves();
        if moves.is_empty() {
            return false;
        }
        self.now += Self::STEP;
        match moves[self.schedule.pick(moves.len())] {
            Move::StartTransfer(queue) => {
                self.commands[queue].start_transfer(&self.memory, &mut self.events);
            }
            Move::Immediate(queue) => self.do_immediate(queue),
            Move::Transfer(queue, index) => self.commands[queue].move_bytes(
                index,
                &mut self.memory,
                &self.host,
                &mut self.statistics.link,
                &mut self.schedule,
                &mut self.events,
            ),
            Move::HostWork(index) => {
                self.events
                    .extend(self.work.remove(index).map(Event::HostWorkDone));
            }
            Move::Mover(slot, mover) => self.step_mover(slot, mover),
            Move::Posted(slot, port) => self.step_posted(slot, port),
            Move::Switch(pair) => self.switch.step(&mut self.slots, pair),
            Move::Kernel(slot) => self.step_kernel(slot),
        }
        self.switch.settle(&mut self.slots);
        true
    }

    fn do_immediate(&mut self, queue: usize) {
        let Some(command) = self.commands[queue].take_head() else {
            return;
        };
        let answer = match command.operation {
            Operation::Nop => Answer::bare(CommandStatus::Ok),
            Operation::FaultReply { token, entry } => Answer::bare(self.reply(token, entry)),
            Operation::Install { asid, .. }
            | Operation::Invalidate { asid, .. }
            | Operation::Protect { asid, .. }
            | Operation::ReadClear { asid, .. } => self.do_table_command(asid, &command.operation),
            Operation::Grow { asid, table } => Answer::bare(self.grow(asid, table)),
            _ => Answer::bare(CommandStatus::Refused),
        };
        commands::complete(&command, answer, &mut self.events);
    }

    fn do_table_command(&mut self, asid: Asid, operation: &Operation) -> Answer {
        let Some(Some(space)) = self.spaces.get(usize::from(asid.get())) else {
            return Answer::bare(CommandStatus::Refused);
        };
        let answer = space.execute(&mut self.memory, operation);
        self.l1s[usize::from(asid.get())].outdate(operation);
        if let Operation::Invalidate { .. } | Operation::Protect { .. } = operation {
            for slot in &mut self.slots {
                let mut again = false;
                for requester in &mut slot.requesters {
                    again |= requester.translate_again();
                }
                if again {
                    slot.unblock();
                }
            }
        }
        answer
    }

    fn grow(&mut self, asid: Asid, to: TableGeometry) -> CommandStatus {
        let Some(Some(space)) = self.spaces.get_mut(usize::from(asid.get())) else {
            return CommandStatus::Refused;
        };
        match space.grow(&mut self.memory, to) {
            None => CommandStatus::Refused,
            Some(grown) => {
                *space = grown;
                CommandStatus::Ok
            }
        }
    }

    /// A reply to a burst that the shell dropped on a reset of its slot is no error.
    fn reply(&mut self, token: FaultToken, entry: Option<units::PageEntry>) -> CommandStatus {
        let requesters_per_slot = 2 * usize::from(self.description.ports_per_slot);
        let requester = usize::from(token.requester);
        let Some(slot) = self.slots.get_mut(requester / requesters_per_slot.max(1)) else {
            return CommandStatus::Refused;
        };
        if usize::from(token.index) >= access::PARK_DEPTH {
            return CommandStatus::Refused;
        }
        let l1 = self.l1s.get_mut(usize::from(slot.asid.get()));
        match slot.requesters[requester % requesters_per_slot].reply(token.index, entry) {
            None => tracing::debug!(?token, "reply to a burst that does not wait"),
            Some(address) => {
                slot.unblock();
                if let (Some(l1), Some(entry)) = (l1, entry) {
                    l1.fill(address, entry);
                }
            }
        }
        CommandStatus::Ok
    }

    fn step_kernel(&mut self, number: usize) {
        self.next_slot = (number + 1) % self.slots.len();
        let slot = &mut self.slots[number];
        let Some(loaded) = &mut slot.kernel else {
            return;
        };
        let id = SlotId(number as u8);
        let first_requester = number * slot.requesters.len();
        let first_mover = number * slot.movers.len();
        loaded.registers.begin();
        let mut ports = PortMemory {
            memory: &mut self.memory,
            host: self.host_channel.then_some(&self.host),
            events: &mut self.events,
            channels: &mut self.statistics.channels,
            schedule: &mut self.schedule,
            requesters: &mut slot.requesters,
            posted: &mut slot.posted,
            movers: &mut slot.movers,
            first_mover: first_mover as u8,
            first_requester: first_requester as u8,
            asid: slot.asid,
            space: self
                .spaces
                .get(usize::from(slot.asid.get()))
                .copied()
                .flatten(),
            l1: self.l1s.get(usize::from(slot.asid.get())),
            translated: self.description.translated,
            broken_rule: None,
            violation: None,
        };
        let arguments = Arguments {
            manifest: &loaded.manifest,
            registers: &loaded.registers,
        };
        let step = loaded.kernel.step(&arguments, &mut ports);
        if let Some(reason) = ports.broken_rule {
            slot.failed = true;
            self.events.push(Event::KernelFailed { slot: id, reason });
            return;
        }
        if let Some(violation) = ports.violation {
            slot.violation = Some(violation);
            self.events.push(Event::SlotClosed(id));
            return;
        }
        match step {
            Step::Working => {}
            Step::Blocked => slot.blocked = true,
            Step::Done => {
                let before = loaded.registers.interrupt();
                loaded.registers.finish();
                let rises = loaded.registers.interrupt() && !before;
                self.interrupt(id, rises);
            }
        }
    }

    /// A mover moves a burst, which may unblock its kernel.
    fn step_mover(&mut self, number: usize, index: usize) {
        let slot = &mut self.slots[number];
        let pairs = slot.movers.len() / 2;
        let port = slot.requesters.len() / 2 - pairs + index / 2;
        let mover_number = (number * slot.movers.len() + index) as u8;
        let first_requester = (number * slot.requesters.len()) as u8;
        let space = usize::from(slot.asid.get());
        let mut memory = PortMemory {
            memory: &mut self.memory,
            host: self.host_channel.then_some(&self.host),
            events: &mut self.events,
            channels: &mut self.statistics.channels,
            schedule: &mut self.schedule,
            requesters: &mut slot.requesters,
            posted: &mut [],
            movers: &mut [],
            first_mover: 0,
            first_requester,
            asid: slot.asid,
            space: self.spaces.get(space).copied().flatten(),
            l1: self.l1s.get(space),
            translated: self.description.translated,
            broken_rule: None,
            violation: None,
        };
        let end = slot.movers[index].step(port, &mut memory);
        if let Some(end) = end {
            let mover = mover_number;
            self.events.push(Event::TransferDone { mover, end });
        }
        slot.blocked = false;
    }

    /// A port executes its oldest posted write, if it may proceed, which may unblock its kernel.
    fn step_posted(&mut self, number: usize, port: usize) {
        let slot = &mut self.slots[number];
        let Some(write) = slot.posted[port].pop() else {
            return;
        };
        let space = usize::from(slot.asid.get());
        let first_requester = (number * slot.requesters.len()) as u8;
        let mut memory = PortMemory {
            memory: &mut self.memory,
            host: self.host_channel.then_some(&self.host),
            events: &mut self.events,
            channels: &mut self.statistics.channels,
            schedule: &mut self.schedule,
            requesters: &mut slot.requesters,
            posted: &mut [],
            movers: &mut [],
            first_mover: 0,
            first_requester,
            asid: slot.asid,
            space: self.spaces.get(space).copied().flatten(),
            l1: self.l1s.get(space),
            translated: self.description.translated,
            broken_rule: None,
            violation: None,
        };
        let access = memory.write(port, write.address, &write.bytes);
        let id = SlotId(number as u8);
        if let Some(reason) = memory.broken_rule {
            slot.failed = true;
            self.events.push(Event::KernelFailed { slot: id, reason });
        } else if let Some(violation) = memory.violation {
            slot.violation = Some(violation);
            self.events.push(Event::SlotClosed(id));
        }
        if access == Access::Blocked {
            return slot.posted[port].put_back(write);
        }
        slot.blocked = false;
        self.announce(id);
    }

    /// Reports an interrupt if the line rises, once the writes before it are answered.
    fn interrupt(&mut self, slot: SlotId, rises: bool) {
        if rises {
            let state = &mut self.slots[usize::from(slot.0)];
            state.posted.iter_mut().for_each(Posted::announce);
            state.announces = true;
            self.announce(slot);
        }
    }

    fn announce(&mut self, slot: SlotId) {
        let state = &mut self.slots[usize::from(slot.0)];
        if state.announces && !state.posted.iter().any(Posted::holds_interrupt) {
            state.announces = false;
            self.statistics.host.interrupts += 1;
            self.events.push(Event::Interrupt(slot));
        }
    }

    /// Whether the bell rings now.
    fn rings(&self) -> bool {
        let rung = |bell: &Arc<AtomicBool>| bell.load(Ordering::Relaxed);
        self.bell.as_ref().is_some_and(rung) || self.rings_at.is_some_and(|at| self.now >= at)
    }

    /// The pending events, or the older ones of them if a seed decides.
    fn deliver(&mut self) -> Vec<Event> {
        match self.events.len() {
            0 => Vec::new(),
            all => {
                let count = self.schedule.portion(all as u64) as usize;
                self.events.drain(..count).collect()
            }
        }
    }
}
