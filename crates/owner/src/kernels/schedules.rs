//! What slots get of card memory.

use super::Kernels;
use crate::report::SlotShare;
use card::Statistics;
use error::Error;
use std::collections::{BTreeMap, BTreeSet};
use units::{SlotId, SlotSchedule, ROW_BYTES};

/// What the owner knows of schedules.
#[derive(Debug, Default)]
pub(super) struct Schedules {
    /// Slots that differ from an untouched one now.
    changed: BTreeSet<SlotId>,
    /// What each slot was last given, for the report.
    last: BTreeMap<SlotId, SlotSchedule>,
}

impl Kernels {
    /// Gives a slot its schedule.
    pub(crate) fn schedule(&mut self, slot: SlotId, schedule: SlotSchedule) -> Result<(), Error> {
        self.card.schedule_slot(slot, schedule)?;
        self.schedules.last.insert(slot, schedule);
        match schedule == SlotSchedule::default() {
            true => self.schedules.changed.remove(&slot),
            false => self.schedules.changed.insert(slot),
        };
        Ok(())
    }

    /// The kernel leaves the slot, and its schedule with it.
    pub(super) fn unschedule(&mut self, slot: SlotId) -> Result<(), Error> {
        if self.schedules.changed.remove(&slot) {
            self.card.schedule_slot(slot, SlotSchedule::default())?;
        }
        Ok(())
    }

    /// What each slot was given and got; nothing if no slot was given anything.
    pub(crate) fn shares(&self, statistics: &Statistics) -> Vec<SlotShare> {
        if self.schedules.last.is_empty() {
            return Vec::new();
        }
        let card = self.card.description();
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
                    schedule: self
                        .schedules
                        .last
                        .get(&SlotId(slot))
                        .copied()
                        .unwrap_or_default(),
                    bytes_read: rows(0) * ROW_BYTES,
                    bytes_written: rows(1) * ROW_BYTES,
                }
            })
            .collect()
    }
}
