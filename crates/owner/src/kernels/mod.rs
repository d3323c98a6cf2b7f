//! The card and the kernels in its slots: their registers, streams, cache lines and schedules.
//!
//! Independent of pages, files and clients' handles: their state is passed as an argument.

mod guard;
mod lifecycle;
mod lines;
mod schedules;
mod slots;
mod streams;

use crate::report::SlotShare;
use crate::trace::Trace;
use card::{Card, CardError, Statistics};
use error::Error;
pub(crate) use lines::HomeRange;
use lines::{LineControl, Lines};
use schedules::Schedules;
pub(crate) use slots::{Announced, AnyLook, RunLook, SignalLook, SlotControl};
use std::collections::BTreeMap;
pub(crate) use streams::{Place, StreamLook};
use streams::{StreamControl, Streams};
use units::{Asid, CardDescription, Picoseconds, Priority, SlotId, SlotSchedule};

/// See the module.
pub(crate) struct Kernels {
    slots: SlotControl,
    streams: Streams,
    lines: Lines,
    schedules: Schedules,
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
            in_real_time: card.simulation().is_none(),
            slots: SlotControl::new(card, trace),
            streams: Streams::default(),
            lines: Lines::new(home, host_line_bytes),
            schedules: Schedules::default(),
        }
    }

    /// The slots, and what concerns one kernel alone.
    pub(crate) fn slots(&self) -> &SlotControl {
        &self.slots
    }

    /// The same, to change it.
    pub(crate) fn slots_mut(&mut self) -> &mut SlotControl {
        &mut self.slots
    }

    /// The streams of the kernels.
    pub(crate) fn streams(&mut self) -> StreamControl<'_> {
        StreamControl::new(&mut self.streams, &mut self.slots)
    }

    /// The cache lines of kernels and CPU.
    pub(crate) fn lines(&mut self) -> LineControl<'_> {
        LineControl::new(&mut self.lines, &mut self.slots)
    }

    /// The card, for operations that concern no slot.
    pub(crate) fn card(&mut self) -> &mut dyn Card {
        self.slots.card()
    }

    /// Whether the card runs in real time: it has no bell, and only its registers count.
    pub(crate) fn is_in_real_time(&self) -> bool {
        self.in_real_time
    }

    /// The card's description.
    pub(crate) fn description(&self) -> &CardDescription {
        self.slots.description()
    }

    /// The card's time.
    pub(crate) fn now(&self) -> Picoseconds {
        self.slots.now()
    }

    /// The card's counters. Reading them takes time.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn statistics(&mut self) -> Result<Statistics, CardError> {
        self.slots.card().statistics()
    }

    /// Has the card's work interrupted at a virtual time.
    pub(crate) fn ring_at(&mut self, at: Option<Picoseconds>) {
        if let Some(card) = self.slots.card().simulation() {
            card.ring_at(at);
        }
    }

    /// Whether the card's last work was interrupted by a message.
    pub(crate) fn was_rung(&mut self) -> bool {
        let card = self.slots.card().simulation();
        card.is_some_and(|card| card.was_rung())
    }

    /// Whether the card knows that nothing can happen any more unless the host does something.
    pub(crate) fn card_is_quiescent(&mut self) -> bool {
        let card = self.slots.card().simulation();
        card.is_some_and(|card| card.is_quiescent())
    }

    /// Gives a slot its schedule.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn schedule(&mut self, slot: SlotId, schedule: SlotSchedule) -> Result<(), Error> {
        self.schedules.give(self.slots.card(), slot, schedule)
    }

    /// Highest priority of the kernels of each space; empty if no slot has a priority other than the default.
    pub(crate) fn priorities(&mut self) -> BTreeMap<Asid, Priority> {
        let mut highest: BTreeMap<Asid, Priority> = BTreeMap::new();
        if !self.schedules.has_priorities() {
            return highest;
        }
        for slot in (0..self.slots.description().slots).map(SlotId) {
            // A slot without a kernel has no space.
            if let Ok(asid) = self.slots.space_of(slot) {
                let priority = self.schedules.priority(slot);
                let of_space = highest.entry(asid).or_insert(priority);
                *of_space = priority.max(*of_space);
            }
        }
        highest
    }

    /// Schedule and bytes of each slot; empty without any schedule.
    pub(crate) fn shares(&self, statistics: &Statistics) -> Vec<SlotShare> {
        self.schedules.shares(self.slots.description(), statistics)
    }
}
