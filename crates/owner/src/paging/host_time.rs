//! Work of the host, as far as it costs time, and what follows it.
//!
//! Where the card is a model, a model of the host says when the work is over. On any other card it takes the time
//! that it takes, before or after: it is over as soon as it is begun.

use super::service::Batch;
use super::transfers::Pending;
use card::event::Event;
use card::{Card, HostWork, WorkId};
use pager::{IoError, IoId};
use std::collections::BTreeMap;
use units::SlotId;

/// What follows when work of the host is over.
#[derive(Debug)]
pub(super) enum Work {
    /// The service thread looks at events.
    Service(Batch),
    /// The model's time of a file transfer; its bytes are waited for when the time is over.
    Transfer(Pending),
    /// The operating system reads a file ahead.
    ReadAhead(pager::ObjectId),
    /// A slot gets another kernel.
    Reconfiguration(SlotId),
    /// Programs have lost or got a right on some pages, which the pager is told of when the time is over.
    Protection(Vec<IoId>, Result<u64, IoError>),
    /// A trapped access reaches the thread that serves it.
    Trap,
}

/// Work under way.
#[derive(Debug, Default)]
pub(super) struct HostTime {
    under_way: BTreeMap<WorkId, Work>,
    /// How much was begun that no model prices.
    unpriced: u64,
    /// Of that, what nobody has been told of.
    over: Vec<WorkId>,
}

impl HostTime {
    /// Starts work of the host, and says what follows.
    pub(super) fn begin(&mut self, card: &mut dyn Card, work: HostWork, then: Work) -> WorkId {
        let id = match card.simulation() {
            Some(card) => card.host_work(work),
            None => {
                let id = WorkId(self.unpriced);
                self.unpriced += 1;
                self.over.push(id);
                id
            }
        };
        self.under_way.insert(id, then);
        id
    }

    /// What is over that no model prices, in the order in which it was begun.
    pub(super) fn take_over(&mut self) -> Vec<Event> {
        let over = std::mem::take(&mut self.over);
        over.into_iter().map(Event::HostWorkDone).collect()
    }

    /// What follows some work that is over.
    pub(super) fn end(&mut self, id: WorkId) -> Option<Work> {
        self.under_way.remove(&id)
    }

    pub(super) fn get(&self, id: WorkId) -> Option<&Work> {
        self.under_way.get(&id)
    }

    /// Whether that work is over, and what follows it is done.
    pub(super) fn is_over(&self, id: WorkId) -> bool {
        !self.under_way.contains_key(&id)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }
}
