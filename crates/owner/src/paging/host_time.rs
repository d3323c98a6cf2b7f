//! Host work, as far as it costs time, and its continuations.
//!
//! If the card is a model, a model of the host determines the end of the work. On any other card the work takes
//! real time before or after, and counts as complete as soon as it is begun.

use super::service::Batch;
use super::transfers::Pending;
use card::event::Event;
use card::{Card, HostWork, WorkId};
use pager::{IoError, IoId};
use std::collections::BTreeMap;
use units::SlotId;

/// The continuation of host work.
#[derive(Debug)]
pub(super) enum Work {
    /// The service thread processes events.
    Service(Batch),
    /// The modelled time of a file transfer; afterwards its bytes are awaited.
    Transfer(Pending),
    /// The operating system reads a file ahead.
    ReadAhead(pager::ObjectId),
    /// A slot gets another kernel.
    Reconfiguration(SlotId),
    /// A change of the programs' rights on some pages, which is reported to the pager when the time is over.
    Protection(Vec<IoId>, Result<u64, IoError>),
    /// A trapped access reaches the thread that serves it.
    Trap,
}

/// Work under way.
#[derive(Debug, Default)]
pub(super) struct HostTime {
    under_way: BTreeMap<WorkId, Work>,
    /// Number of work items begun that no model prices.
    unpriced: u64,
    /// Those of them that are not reported as complete yet.
    over: Vec<WorkId>,
}

impl HostTime {
    /// Starts host work, with its continuation.
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

    /// Takes the ends of work that no model prices, in the order in which it was begun.
    pub(super) fn take_over(&mut self) -> Vec<Event> {
        let over = std::mem::take(&mut self.over);
        over.into_iter().map(Event::HostWorkDone).collect()
    }

    /// Takes the continuation of work that is over.
    pub(super) fn end(&mut self, id: WorkId) -> Option<Work> {
        self.under_way.remove(&id)
    }

    pub(super) fn get(&self, id: WorkId) -> Option<&Work> {
        self.under_way.get(&id)
    }

    /// Whether the work and its continuation are over.
    pub(super) fn is_over(&self, id: WorkId) -> bool {
        !self.under_way.contains_key(&id)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }
}
