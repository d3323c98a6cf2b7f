//! Replies of a replay, compared with the recorded ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Client and number of a request.
type Key = (u64, u64);

#[derive(Debug, Default)]
struct State {
    recorded: BTreeMap<Key, String>,
    /// With the name of the request.
    given: BTreeMap<Key, (&'static str, String)>,
    compared: u64,
    /// Later replies do not count.
    ended: bool,
    /// The first difference, by the place of the record.
    different: Option<String>,
}

impl State {
    fn compare(&mut self, key: Key) {
        if !(self.recorded.contains_key(&key) && self.given.contains_key(&key)) {
            return;
        }
        let (Some(recorded), Some((name, given))) =
            (self.recorded.remove(&key), self.given.remove(&key))
        else {
            return;
        };
        self.compared += 1;
        if recorded != given {
            let (client, number) = key;
            self.different.get_or_insert_with(|| {
                format!(
                    "the reply to request {number} of client {client} ({name}) has checksum {given}, and had {recorded}"
                )
            });
        }
    }
}

/// See the module. Clones share the state.
#[derive(Clone, Debug, Default)]
pub(super) struct Replies(Arc<Mutex<State>>);

impl Replies {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn recorded(&self, client: u64, number: u64, sum: String) {
        let mut state = self.state();
        state.recorded.insert((client, number), sum);
        state.compare((client, number));
    }

    pub(super) fn given(&self, client: u64, number: u64, name: &'static str, sum: String) {
        let mut state = self.state();
        if state.ended {
            return;
        }
        state.given.insert((client, number), (name, sum));
        state.compare((client, number));
    }

    /// Ignores the replies from now on. Behind the end of a cut journal, work on other threads ends in any order.
    pub(super) fn end(&self) {
        self.state().ended = true;
    }

    /// Number of compared replies, and the first difference.
    pub(super) fn result(&self) -> (u64, Option<String>) {
        let state = self.state();
        (state.compared, state.different.clone())
    }
}
