//! Schedules of slots: their shares of card memory.

use crate::report::SlotShare;
use card::{Card, Statistics};
use error::Error;
use std::collections::{BTreeMap, BTreeSet};
use units::{CardDescription, Priority, SlotId, SlotSchedule, ROW_BYTES};

/// Schedules of slots.
#[derive(Debug, Default)]
pub(super) struct Schedules {
    /// Slots with a schedule other than the reset default.
    changed: BTreeSet<SlotId>,
    /// The last schedule of each slot, for the report.
    last: BTreeMap<SlotId, SlotSchedule>,
}

impl Schedules {
    /// Gives a slot its schedule.
    pub(super) fn give(
        &mut self,
        card: &mut dyn Card,
        slot: SlotId,
        schedule: SlotSchedule,
    ) -> Result<(), Error> {
        card.schedule_slot(slot, schedule)?;
        self.last.insert(slot, schedule);
        match schedule == SlotSchedule::default() {
            true => self.changed.remove(&slot),
            false => self.changed.insert(slot),
        };
        Ok(())
    }

    /// Removes the schedule of a slot, together with its kernel.
    pub(super) fn take(&mut self, card: &mut dyn Card, slot: SlotId) -> Result<(), Error> {
        if self.changed.remove(&slot) {
            card.schedule_slot(slot, SlotSchedule::default())?;
        }
        Ok(())
    }

    /// Whether a slot has a priority other than the default.
    pub(super) fn has_priorities(&self) -> bool {
        let mut changed = self.changed.iter();
        changed.any(|slot| self.priority(*slot) != Priority::default())
    }

    /// Priority of a slot.
    pub(super) fn priority(&self, slot: SlotId) -> Priority {
        let schedule = self
            .last
            .get(&slot)
            .filter(|_| self.changed.contains(&slot));
        schedule.copied().unwrap_or_default().priority
    }

    /// Schedule and bytes of each slot of a card; empty without any schedule.
    pub(super) fn shares(&self, card: &CardDescription, statistics: &Statistics) -> Vec<SlotShare> {
        if self.last.is_empty() {
            return Vec::new();
        }
        let requesters = 2 * usize::from(card.ports_per_slot).max(1);
        let slots = statistics.requesters.chunks(requesters).zip(0..);
        slots
            .map(|(requesters, slot)| {
                let rows = |writes: usize| -> u64 {
                    let own = requesters.iter().skip(writes).step_by(2);
                    own.map(|requester| requester.rows).sum()
                };
                SlotShare {
                    slot,
                    schedule: self.last.get(&SlotId(slot)).copied().unwrap_or_default(),
                    bytes_read: rows(0) * ROW_BYTES,
                    bytes_written: rows(1) * ROW_BYTES,
                }
            })
            .collect()
    }
}
