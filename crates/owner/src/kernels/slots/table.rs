//! The slots of the card, and the state that outlives a slot's kernel.

use super::SlotState;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use units::{Asid, FaultToken, Picoseconds, SlotId};

/// All slots.
#[derive(Debug)]
pub(super) struct SlotTable {
    states: Vec<SlotState>,
    /// Those that are being reconfigured.
    reconfiguring: BTreeSet<SlotId>,
    /// Slots that are being stopped, with the requesters whose accesses may be in flight.
    draining: BTreeMap<SlotId, RangeInclusive<u8>>,
    /// Total run time of kernels in each space, until its number is reused.
    run_times: BTreeMap<Asid, Picoseconds>,
    /// Names of the card's ports that kernels have used, by port number.
    port_names: BTreeMap<usize, String>,
}

impl SlotTable {
    /// Creates `count` empty slots.
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

    /// Identifiers of all slots.
    pub(super) fn ids(&self) -> impl Iterator<Item = SlotId> {
        (0..self.count()).map(SlotId)
    }

    pub(super) fn get(&self, slot: SlotId) -> Option<&SlotState> {
        self.states.get(usize::from(slot.0))
    }

    pub(super) fn get_mut(&mut self, slot: SlotId) -> Option<&mut SlotState> {
        self.states.get_mut(usize::from(slot.0))
    }

    /// The first slot that satisfies a condition.
    pub(super) fn find(&self, like: impl Fn(SlotId, &SlotState) -> bool) -> Option<SlotId> {
        let mut all = self.ids().zip(&self.states);
        all.find(|(slot, state)| like(*slot, state))
            .map(|(slot, _)| slot)
    }

    /// Begins the reconfiguration of a slot, which takes time.
    pub(super) fn reconfigure(&mut self, slot: SlotId) {
        self.reconfiguring.insert(slot);
    }

    pub(super) fn reconfigured(&mut self, slot: SlotId) {
        self.reconfiguring.remove(&slot);
    }

    pub(super) fn is_reconfiguring(&self, slot: SlotId) -> bool {
        self.reconfiguring.contains(&slot)
    }

    /// Starts draining a slot that was put in reset; accesses of its requesters are in flight until
    /// [`drained`](Self::drained).
    pub(super) fn drain(&mut self, slot: SlotId, requesters: RangeInclusive<u8>) {
        self.draining.insert(slot, requesters);
    }

    /// Marks a slot as drained: nothing of it is in flight. Returns its requesters, the first time.
    pub(super) fn drained(&mut self, slot: SlotId) -> Option<RangeInclusive<u8>> {
        self.draining.remove(&slot)
    }

    pub(super) fn is_draining(&self, slot: SlotId) -> bool {
        self.draining.contains_key(&slot)
    }

    /// Whether a fault belongs to a slot that was stopped meanwhile.
    pub(super) fn is_gone(&self, token: FaultToken) -> bool {
        let mut draining = self.draining.values();
        draining.any(|requesters| requesters.contains(&token.requester))
    }

    /// Adds the duration of a run to the run time of its space.
    pub(super) fn ran(&mut self, space: Asid, time: Picoseconds) {
        *self.run_times.entry(space).or_default() += time;
    }

    pub(super) fn run_time(&self, space: Asid) -> Picoseconds {
        self.run_times.get(&space).copied().unwrap_or_default()
    }

    /// Clears the run time of a space, whose number is reused.
    pub(super) fn forget_run_time(&mut self, space: Asid) {
        self.run_times.remove(&space);
    }

    /// Sets the name of a port of the card.
    pub(super) fn name_port(&mut self, port: usize, name: String) {
        self.port_names.insert(port, name);
    }

    pub(super) fn port_name(&self, port: usize) -> Option<&str> {
        self.port_names.get(&port).map(String::as_str)
    }
}
