//! Work of the host, as far as it costs time.
//!
//! Where the card is a model, a model of the host says when the work is over. On any other card it takes the time
//! that it takes, before or after: it is over as soon as it is begun.

use super::Owner;
use card::{HostWork, WorkId};

/// Work that no model prices.
#[derive(Debug, Default)]
pub(super) struct HostTime {
    begun: u64,
    /// Of that, what nobody has been told of.
    over: Vec<WorkId>,
}

impl HostTime {
    /// The work that is over, in the order in which it was begun.
    pub(super) fn take_over(&mut self) -> std::vec::IntoIter<WorkId> {
        std::mem::take(&mut self.over).into_iter()
    }

    fn begin(&mut self) -> WorkId {
        let id = WorkId(self.begun);
        self.begun += 1;
        self.over.push(id);
        id
    }
}

impl Owner {
    /// Starts work of the host.
    pub(super) fn host_work(&mut self, work: HostWork) -> WorkId {
        match self.card.simulation() {
            Some(card) => card.host_work(work),
            None => self.host_time.begin(),
        }
    }

    /// Whether the card knows that nothing can happen any more unless the host does something.
    pub(super) fn card_is_quiescent(&mut self) -> bool {
        let card = self.card.simulation();
        card.is_some_and(|card| card.is_quiescent())
    }
}
