//! What the owner adds to a timeline: runs of kernels, and evictions. The card writes the rest.

use super::Owner;
use card::SlotId;
use timeline::Timeline;
use units::Picoseconds;

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
            timeline.instant(evictions, "evict", self.card.now(), &values);
        }
    }
}
