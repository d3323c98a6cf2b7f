//! What each client has done with the card, for reports of its own.

use crate::message::ClientId;
use crate::report::RunReport;
use card::{CardError, RequesterStatistics, Statistics};
use error::Error;
use std::collections::{BTreeMap, BTreeSet};
use units::{PageSize, Picoseconds, SlotId};

/// Names of files that are kept of a client.
const LABELS: usize = 64;

/// What all clients have done.
#[derive(Debug, Default)]
pub(super) struct Clients {
    /// In order of their ends, of whom.
    runs: Vec<(Option<ClientId>, RunReport)>,
    /// Of those that want reports of their own.
    apart: BTreeMap<ClientId, Apart>,
}

/// What a card had counted at a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Moment {
    /// Virtual time.
    pub now: Picoseconds,
    /// Virtual time with an access waiting for the host.
    pub fault_time: Picoseconds,
    /// The card's counts.
    pub counted: Statistics,
}

/// What is kept of a client that wants a report of its own.
#[derive(Debug, Default)]
struct Apart {
    /// When the client came.
    came: Moment,
    /// What the ports of its slots had counted when it got them.
    slots: BTreeMap<SlotId, Vec<RequesterStatistics>>,
    /// Names of its files.
    labels: BTreeSet<String>,
    /// Page sizes that its mappings asked for.
    page_sizes: BTreeSet<PageSize>,
}

impl Clients {
    /// A client wants reports of its own.
    pub(super) fn keep_apart(&mut self, client: ClientId, came: Moment) {
        let apart = Apart {
            came,
            ..Apart::default()
        };
        self.apart.insert(client, apart);
    }

    /// Nobody asks any more for what a client did that wanted reports of its own; names of its files.
    pub(super) fn forget(&mut self, client: ClientId) -> BTreeSet<String> {
        self.runs.retain(|(of, _)| *of != Some(client));
        let apart = self.apart.remove(&client);
        apart.map_or_else(BTreeSet::new, |apart| apart.labels)
    }

    /// A kernel of a client is done.
    pub(super) fn ran(&mut self, client: Option<ClientId>, run: RunReport) {
        self.runs.push((client, run));
    }

    /// A client has got a slot. Counting costs time of the card, so it is for those whose report needs it.
    pub(super) fn loaded(
        &mut self,
        client: ClientId,
        slot: SlotId,
        count: impl FnOnce() -> Result<Statistics, CardError>,
    ) -> Result<(), Error> {
        if let Some(apart) = self.apart.get_mut(&client) {
            apart.slots.insert(slot, count()?.requesters);
        }
        Ok(())
    }

    /// A client has mapped a file, with pages of a size if it asked for one.
    pub(super) fn mapped(&mut self, client: ClientId, label: &str, asked: Option<PageSize>) {
        if let Some(apart) = self.apart.get_mut(&client) {
            apart.page_sizes.extend(asked);
            if apart.labels.len() < LABELS {
                apart.labels.insert(label.to_owned());
            }
        }
    }

    /// All runs.
    pub(super) fn runs(&self) -> Vec<RunReport> {
        self.runs.iter().map(|(_, run)| run.clone()).collect()
    }

    /// Those of a client.
    pub(super) fn runs_of(&self, client: ClientId) -> Vec<RunReport> {
        let own = self.runs.iter().filter(|(of, _)| *of == Some(client));
        own.map(|(_, run)| run.clone()).collect()
    }

    /// Whether a client has mapped a file of that name.
    pub(super) fn knows(&self, client: ClientId, label: &str) -> bool {
        let apart = self.apart.get(&client);
        apart.is_some_and(|apart| apart.labels.contains(label))
    }

    /// Whether a client has asked for pages of a size.
    pub(super) fn asked_for(&self, client: ClientId, size: PageSize) -> bool {
        let apart = self.apart.get(&client);
        apart.is_some_and(|apart| apart.page_sizes.contains(&size))
    }

    /// Of what the card has counted until a moment: what its ports did for the client, and what the rest of it did since
    /// the client came.
    pub(super) fn part_of(&self, client: ClientId, all: Moment, ports_per_slot: usize) -> Moment {
        let Some(Apart { came, slots, .. }) = self.apart.get(&client) else {
            return all;
        };
        let of_slot = 2 * ports_per_slot.max(1);
        let zero = RequesterStatistics::default();
        let mut counted = all.counted.since(&came.counted);
        for (number, requester) in counted.requesters.iter_mut().enumerate() {
            let now = &all.counted.requesters[number];
            *requester = match slots.get(&SlotId((number / of_slot) as u8)) {
                None => zero.clone(),
                Some(before) => now.since(before.get(number).unwrap_or(&zero)),
            };
        }
        Moment {
            now: all.now - came.now,
            fault_time: all.fault_time - came.fault_time,
            counted,
        }
    }
}
