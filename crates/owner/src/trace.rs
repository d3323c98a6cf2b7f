//! What the owner adds to a timeline: runs of kernels, evictions, and whose shared memory is. The card writes the rest.

use super::Owner;
use timeline::{Timeline, Value};
use units::HostAccess;
use units::{Picoseconds, SlotId};

impl Owner {
    fn timeline(&self) -> Option<&Timeline> {
        self.options.timeline.as_ref()
    }

    /// A run that is over.
    pub(super) fn trace_run(
        &self,
        slot: SlotId,
        name: &str,
        since: Picoseconds,
        done: Picoseconds,
    ) {
        if let Some(timeline) = self.timeline() {
            let group = timeline.group(&format!("slot {}", slot.0), None);
            let runs = timeline.lanes("runs", Some(group));
            timeline.slice(runs, name, since, done, &[]);
        }
    }

    /// The pager has evicted so many pages at once.
    pub(super) fn trace_evictions(&self, pages: u64) {
        if let Some(timeline) = self.timeline().filter(|_| pages > 0) {
            let host = timeline.group("host", None);
            let evictions = timeline.lanes("evictions", Some(host));
            let values = [("pages", pages.into())];
            timeline.instant(evictions, "evict", self.kernels.now(), &values);
        }
    }
    /// What the program may do with shared memory has changed: who owns it now.
    pub(super) fn trace_owner(&self, address: u64, bytes: u64, access: HostAccess) {
        let name = match access {
            HostAccess::ReadWrite => "the program's",
            HostAccess::Read => "shared",
            HostAccess::None => "the card's",
        };
        self.trace_memory(name, address, &[("bytes", bytes.into())]);
    }

    /// The program waits for shared memory.
    pub(super) fn trace_trap(&self, address: u64, write: bool) {
        let name = if write { "write waits" } else { "read waits" };
        self.trace_memory(name, address, &[]);
    }

    fn trace_memory(&self, name: &str, address: u64, values: &[(&str, Value)]) {
        if let Some(timeline) = self.timeline() {
            let host = timeline.group("host", None);
            let memory = timeline.lanes("shared memory", Some(host));
            let mut all = vec![("address", Value::Address(address))];
            all.extend_from_slice(values);
            timeline.instant(memory, name, self.kernels.now(), &all);
        }
    }
}
