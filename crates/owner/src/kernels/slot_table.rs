//! The slots of the card, and what outlasts the kernel of one.

use super::slots::SlotState;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use units::{Asid, FaultToken, Picoseconds, SlotId};

/// All slots.
#[derive(Debug)]
pub(super) struct Slots {
    states: Vec<SlotState>,
    /// Those that are being reconfigured.
    reconfiguring: BTreeSet<SlotId>,
    /// Those that are being stopped, with the requesters of which something may be on its way.
    draining: BTreeMap<SlotId, RangeInclusive<u8>>,
    /// How long kernels have run in each space, until its number is used again.
    run_times: BTreeMap<Asid, Picoseconds>,
    /// What ports of the card are called, by their number, since kernels have used them.
    port_names: BTreeMap<usize, String>,
}

impl Slots {
    /// So many, and all empty.
    pub(super) fn new(count: u8) -> Self {
        Self {
            states: (0..count).map(|_| SlotState::default()).collect(),
            reconfiguring: BTreeSet::new(),
            draining: BTreeMap::new(),
            run_times: BTreeMap::new(),
            port_names: BTreeMap::new(),
        }
    }

    pub(super) fn count(&self) -> u8 {
        self.states.len() as u8
    }

    /// Their names.
    pub(super) fn ids(&self) -> impl Iterator<Item = SlotId> {
        (0..self.count()).map(SlotId)
    }

    pub(super) fn get(&self, slot: SlotId) -> Option<&SlotState> {
        self.states.get(usize::from(slot.0))
    }

    pub(super) fn get_mut(&mut self, slot: SlotId) -> Option<&mut SlotState> {
        self.states.get_mut(usize::from(slot.0))
    }

    /// The first one like this.
    pub(super) fn find(&self, like: impl Fn(SlotId, &SlotState) -> bool) -> Option<SlotId> {
        let mut all = self.ids().zip(&self.states);
        all.find(|(slot, state)| like(*slot, state))
            .map(|(slot, _)| slot)
    }

    /// Another kernel comes into the slot, which takes its time.
    pub(super) fn reconfigure(&mut self, slot: SlotId) {
        self.reconfiguring.insert(slot);
    }

    pub(super) fn reconfigured(&mut self, slot: SlotId) {
        self.reconfiguring.remove(&slot);
    }

    pub(super) fn is_reconfiguring(&self, slot: SlotId) -> bool {
        self.reconfiguring.contains(&slot)
    }

    /// The slot was put in reset; what its requesters have sent is on its way until [`drained`](Self::drained).
    pub(super) fn drain(&mut self, slot: SlotId, requesters: RangeInclusive<u8>) {
        self.draining.insert(slot, requesters);
    }

    /// Nothing of the slot is on its way any more. Returns its requesters, the first time.
    pub(super) fn drained(&mut self, slot: SlotId) -> Option<RangeInclusive<u8>> {
        self.draining.remove(&slot)
    }

    pub(super) fn is_draining(&self, slot: SlotId) -> bool {
        self.draining.contains_key(&slot)
    }

    /// Whether a fault is of a slot that was stopped meanwhile.
    pub(super) fn is_gone(&self, token: FaultToken) -> bool {
        let mut draining = self.draining.values();
        draining.any(|requesters| requesters.contains(&token.requester))
    }

    /// A kernel has run in a space for so long.
    pub(super) fn ran(&mut self, space: Asid, time: Picoseconds) {
        *self.run_times.entry(space).or_default() += time;
    }

    pub(super) fn run_time(&self, space: Asid) -> Picoseconds {
        self.run_times.get(&space).copied().unwrap_or_default()
    }

    /// The number of a space is used again.
    pub(super) fn forget_run_time(&mut self, space: Asid) {
        self.run_times.remove(&space);
    }

    /// What a port of the card is called from now on.
    pub(super) fn name_port(&mut self, port: usize, name: String) {
        self.port_names.insert(port, name);
    }

    pub(super) fn port_name(&self, port: usize) -> Option<&str> {
        self.port_names.get(&port).map(String::as_str)
    }
}
