//! Faults that wait for the host, and how long there was any.

use std::collections::BTreeSet;
use units::{FaultToken, Picoseconds};

/// Faults without an answer.
#[derive(Debug, Default)]
pub(super) struct Faults {
    waiting: BTreeSet<FaultToken>,
    /// When the first of them came.
    since: Picoseconds,
    /// Time in which one waited, before that.
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

    /// For how long a fault waited, whichever.
    pub(super) fn time(&self) -> Picoseconds {
        self.time
    }
}
