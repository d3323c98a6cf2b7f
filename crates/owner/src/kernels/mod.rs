//! The card and the kernels in its slots: their registers, streams, cache lines and schedules.
//!
//! Independent of pages, files and clients' handles: their state is passed as an argument.

mod coherent;
mod connections;
mod guard;
mod home_memory;
mod host_lines;
mod managed;
mod network;
mod schedules;
mod settle;
mod slot_table;
mod slots;
mod streams;

use crate::report::SlotShare;
use crate::trace::Trace;
use card::{Card, CardError, Statistics};
use coherent::Coherent;
pub(crate) use connections::Place;
use error::Error;
pub(crate) use home_memory::HomeRange;
pub(crate) use managed::SignalLook;
use schedules::Schedules;
use slot_table::Slots;
pub(crate) use slots::{Announced, AnyLook, RunLook};
use std::ops::RangeInclusive;
pub(crate) use streams::StreamLook;
use streams::Streams;
use units::{Asid, CardDescription, FaultToken, Picoseconds, SlotId, SlotSchedule};

/// See the module.
pub(crate) struct Kernels {
    card: Box<dyn Card>,
    slots: Slots,
    streams: Streams,
    coherent: Coherent,
    schedules: Schedules,
    trace: Trace,
    /// The card runs in real time: it has no bell, and only its registers count.
    in_real_time: bool,
}

impl Kernels {
    /// A card with empty slots. `home` is the range of its memory behind the directory; kernels may use up to
    /// `host_line_bytes` of the CPU's lines.
    pub(crate) fn new(
        mut card: Box<dyn Card>,
        home: Option<HomeRange>,
        host_line_bytes: u64,
        trace: Trace,
    ) -> Self {
        Self {
            slots: Slots::new(card.description().slots),
            streams: Streams::default(),
            coherent: Coherent::new(home, host_line_bytes),
            schedules: Schedules::default(),
            trace,
            in_real_time: card.simulation().is_none(),
            card,
        }
    }

    /// The card, for operations that concern no slot.
    pub(crate) fn card(&mut self) -> &mut dyn Card {
        self.card.as_mut()
    }

    /// Whether the card runs in real time: it has no bell, and only its registers count.
    pub(crate) fn is_in_real_time(&self) -> bool {
        self.in_real_time
    }

    /// The card's description.
    pub(crate) fn description(&self) -> &CardDescription {
        self.card.description()
    }

    /// The card's time.
    pub(crate) fn now(&self) -> Picoseconds {
        self.card.now()
    }

    /// The card's counters. Reading them takes time.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn statistics(&mut self) -> Result<Statistics, CardError> {
        self.card.statistics()
    }

    /// Whether the card knows that nothing can happen any more unless the host does something.
    pub(crate) fn card_is_quiescent(&mut self) -> bool {
        let card = self.card.simulation();
        card.is_some_and(|card| card.is_quiescent())
    }

    /// Bytes of the CPU's memory that kernels may use.
    ///
    /// # Errors
    /// The card has no cache of such lines.
    pub(crate) fn host_line_bytes(&mut self) -> Result<u64, Error> {
        self.coherent.host_lines.bytes(self.card.as_mut())
    }

    /// Sets how long a kernel may hold a line of the CPU, in cycles; 0: without a limit.
    ///
    /// # Errors
    /// The card has no cache of such lines.
    pub(crate) fn set_hold_timeout(&mut self, cycles: u32) -> Result<(), Error> {
        self.coherent
            .host_lines
            .set_timeout(self.card.as_mut(), cycles)
    }

    /// Whether the kernel of a slot uses the CPU's lines.
    pub(crate) fn uses_host_lines(&self, slot: SlotId) -> bool {
        self.coherent.host_lines.are_used_by(slot)
    }

    /// Whether the CPU has its lines back from a kernel in reset.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn host_lines_are_home(&mut self) -> Result<bool, Error> {
        self.coherent.host_lines.are_home(self.card.as_mut())
    }

    /// Logs the errors of the directory and of the cache of the CPU's lines.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn log_line_errors(&mut self) -> Result<(), Error> {
        self.directory_trouble()?;
        self.coherent.host_lines.log_errors(self.card.as_mut())
    }

    /// Gives a slot its schedule.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn schedule(&mut self, slot: SlotId, schedule: SlotSchedule) -> Result<(), Error> {
        self.schedules.give(self.card.as_mut(), slot, schedule)
    }

    /// Schedule and bytes of each slot; empty without any schedule.
    pub(crate) fn shares(&self, statistics: &Statistics) -> Vec<SlotShare> {
        self.schedules.shares(self.card.description(), statistics)
    }

    /// Identifiers of the slots.
    pub(crate) fn ids(&self) -> impl Iterator<Item = SlotId> {
        self.slots.ids()
    }

    /// The first slot with a running kernel.
    pub(crate) fn busy_slot(&self) -> Option<SlotId> {
        self.slots.find(|_, state| state.is_busy())
    }

    /// The slot with a running kernel in a space.
    pub(crate) fn user_of(&self, space: Asid) -> Option<SlotId> {
        self.slots.find(|_, state| state.runs_in(space))
    }

    /// Whether a slot has a kernel that works in a space.
    pub(crate) fn works_in(&self, slot: SlotId, space: Asid) -> bool {
        let state = self.slots.get(slot);
        state.is_some_and(|state| state.loaded_in(space))
    }

    /// Total time that kernels have run in a space.
    pub(crate) fn run_time(&self, space: Asid) -> Picoseconds {
        self.slots.run_time(space)
    }

    /// Clears the run time of a space, whose number is reused.
    pub(crate) fn forget_run_time(&mut self, space: Asid) {
        self.slots.forget_run_time(space);
    }

    /// Whether a slot is being reconfigured.
    pub(crate) fn is_reconfiguring(&self, slot: SlotId) -> bool {
        self.slots.is_reconfiguring(slot)
    }

    /// Whether faults or replies of a slot in reset are still outstanding.
    pub(crate) fn is_draining(&self, slot: SlotId) -> bool {
        self.slots.is_draining(slot)
    }

    /// The reconfiguration of a slot is over.
    pub(crate) fn reconfigured(&mut self, slot: SlotId) {
        self.slots.reconfigured(slot);
    }

    /// Whether a fault belongs to a slot that was stopped meanwhile.
    pub(crate) fn is_gone(&self, token: FaultToken) -> bool {
        self.slots.is_gone(token)
    }

    /// Starts draining a slot that was put in reset; accesses of its requesters are in flight until
    /// [`drained`](Self::drained).
    pub(crate) fn drain(&mut self, slot: SlotId, requesters: RangeInclusive<u8>) {
        self.slots.drain(slot, requesters);
    }

    /// Marks a slot as drained: nothing of it is in flight. Returns its requesters, the first time.
    pub(crate) fn drained(&mut self, slot: SlotId) -> Option<RangeInclusive<u8>> {
        self.slots.drained(slot)
    }

    /// Slot and name of a port of the card, human-readable.
    pub(crate) fn name_of_port(&self, port: usize) -> String {
        let ports = usize::from(self.description().ports_per_slot.max(1));
        let (slot, number) = (port / ports, port % ports);
        match self.slots.port_name(port) {
            Some(name) => format!("slot {slot}, {name}"),
            None => format!("slot {slot}, port {number}"),
        }
    }
}
