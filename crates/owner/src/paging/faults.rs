//! Faults that wait for the host, and the time with at least one of them.

use std::collections::BTreeSet;
use units::{FaultToken, Picoseconds};

/// Unanswered faults.
#[derive(Debug, Default)]
pub(super) struct Faults {
    waiting: BTreeSet<FaultToken>,
    /// Arrival of the first fault in the present busy period.
    since: Picoseconds,
    /// Time with a waiting fault before the present busy period.
    time: Picoseconds,
}

impl Faults {
    pub(super) fn arrived(&mut self, token: FaultToken, now: Picoseconds) {
        if self.waiting.is_empty() {
            self.since = now;
        }
        self.waiting.insert(token);
    }

    pub(super) fn answered(&mut self, answered: impl Fn(FaultToken) -> bool, now: Picoseconds) {
        let waited = !self.waiting.is_empty();
        self.waiting.retain(|token| !answered(*token));
        if waited && self.waiting.is_empty() {
            self.time += now - self.since;
        }
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = &FaultToken> {
        self.waiting.iter()
    }

    /// Virtual time with at least one fault waiting.
    pub(super) fn time(&self) -> Picoseconds {
        self.time
    }
}
