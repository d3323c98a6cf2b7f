//! The owner's part of a timeline: runs of kernels, evictions, and ownership of shared memory. The card writes the
//! rest.

use timeline::{Timeline, Value};
use units::HostAccess;
use units::{Picoseconds, SlotId};

/// The timeline, if there is one.
#[derive(Clone)]
pub(super) struct Trace(Option<Timeline>);

impl Trace {
    /// Writes to this timeline.
    pub(super) fn new(timeline: Option<Timeline>) -> Self {
        Self(timeline)
    }

    /// Adds a finished run.
    pub(super) fn run(&self, slot: SlotId, name: &str, since: Picoseconds, done: Picoseconds) {
        if let Some(timeline) = &self.0 {
            let group = timeline.group(&format!("slot {}", slot.0), None);
            let runs = timeline.lanes("runs", Some(group));
            timeline.slice(runs, name, since, done, &[]);
        }
    }

    /// Adds the eviction of a number of pages at one time.
    pub(super) fn evictions(&self, now: Picoseconds, pages: u64) {
        if let Some(timeline) = self.0.as_ref().filter(|_| pages > 0) {
            let host = timeline.group("host", None);
            let evictions = timeline.lanes("evictions", Some(host));
            let values = [("pages", pages.into())];
            timeline.instant(evictions, "evict", now, &values);
        }
    }

    /// Adds a change of the program's rights on shared memory: its new owner.
    pub(super) fn owner(&self, now: Picoseconds, address: u64, bytes: u64, access: HostAccess) {
        let name = match access {
            HostAccess::ReadWrite => "the program's",
            HostAccess::Read => "shared",
            HostAccess::None => "the card's",
        };
        self.memory(now, name, address, &[("bytes", bytes.into())]);
    }

    /// Adds a wait of the program for shared memory.
    pub(super) fn trap(&self, now: Picoseconds, address: u64, write: bool) {
        let name = if write { "write waits" } else { "read waits" };
        self.memory(now, name, address, &[]);
    }

    fn memory(&self, now: Picoseconds, name: &str, address: u64, values: &[(&str, Value)]) {
        if let Some(timeline) = &self.0 {
            let host = timeline.group("host", None);
            let memory = timeline.lanes("shared memory", Some(host));
            let mut all = vec![("address", Value::Address(address))];
            all.extend_from_slice(values);
            timeline.instant(memory, name, now, &all);
        }
    }
}
