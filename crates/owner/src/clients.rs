//! Per-client statistics, for reports about one client.

use crate::message::ClientId;
use crate::report::RunReport;
use card::{CardError, RequesterStatistics, Statistics};
use error::Error;
use std::collections::{BTreeMap, BTreeSet};
use units::{PageSize, Picoseconds, SlotId};

/// Maximum number of file names that are kept per client.
const LABELS: usize = 64;

/// Statistics of all clients.
#[derive(Debug, Default)]
pub(super) struct Clients {
    /// Runs and their clients, in the order of their ends.
    runs: Vec<(Option<ClientId>, RunReport)>,
    /// Records of the clients with reports of their own.
    apart: BTreeMap<ClientId, Apart>,
}

/// A snapshot of a card's counters.
#[derive(Clone, Debug, Default)]
pub(super) struct Moment {
    /// Virtual time.
    pub now: Picoseconds,
    /// Virtual time in which at least one access waited for the host.
    pub fault_time: Picoseconds,
    /// The card's counters.
    pub counted: Statistics,
}

/// Records of a client with reports of its own.
#[derive(Debug, Default)]
struct Apart {
    /// Snapshot when the client joined.
    came: Moment,
    /// Counters of its slots' ports when it got each slot.
    slots: BTreeMap<SlotId, Vec<RequesterStatistics>>,
    /// Names of the files it has mapped.
    labels: BTreeSet<String>,
    /// Page sizes that its mappings requested.
    page_sizes: BTreeSet<PageSize>,
}

impl Clients {
    /// Registers a client that wants reports of its own.
    pub(super) fn keep_apart(&mut self, client: ClientId, came: Moment) {
        let apart = Apart {
            came,
            ..Apart::default()
        };
        self.apart.insert(client, apart);
    }

    /// Whether a client has reports of its own, as those of a daemon have.
    pub(super) fn is_apart(&self, client: ClientId) -> bool {
        self.apart.contains_key(&client)
    }

    /// Drops the record of a client with reports of its own; returns the names of its files.
    pub(super) fn forget(&mut self, client: ClientId) -> BTreeSet<String> {
        self.runs.retain(|(of, _)| *of != Some(client));
        let apart = self.apart.remove(&client);
        apart.map_or_else(BTreeSet::new, |apart| apart.labels)
    }

    /// Records a finished run of a client's kernel.
    pub(super) fn ran(&mut self, client: Option<ClientId>, run: RunReport) {
        self.runs.push((client, run));
    }

    /// Records that a client got a slot. Reading the counters costs card time, so it is done only for clients whose
    /// report needs it.
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

    /// Records a client's mapping of a file, and the page size if it requested one.
    pub(super) fn mapped(&mut self, client: ClientId, label: &str, asked: Option<PageSize>) {
        if let Some(apart) = self.apart.get_mut(&client) {
            apart.page_sizes.extend(asked);
            if apart.labels.len() < LABELS {
                apart.labels.insert(label.to_owned());
            }
        }
    }

    /// All runs, of all clients.
    pub(super) fn runs(&self) -> Vec<RunReport> {
        self.runs.iter().map(|(_, run)| run.clone()).collect()
    }

    /// The runs of one client.
    pub(super) fn runs_of(&self, client: ClientId) -> Vec<RunReport> {
        let own = self.runs.iter().filter(|(of, _)| *of == Some(client));
        own.map(|(_, run)| run.clone()).collect()
    }

    /// Whether a client has mapped a file of this name.
    pub(super) fn knows(&self, client: ClientId, label: &str) -> bool {
        let apart = self.apart.get(&client);
        apart.is_some_and(|apart| apart.labels.contains(label))
    }

    /// Whether a client has requested pages of this size.
    pub(super) fn asked_for(&self, client: ClientId, size: PageSize) -> bool {
        let apart = self.apart.get(&client);
        apart.is_some_and(|apart| apart.page_sizes.contains(&size))
    }

    /// A client's part of a snapshot: what the ports of its slots did for it, and what the rest of the card did since
    /// the client joined.
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
