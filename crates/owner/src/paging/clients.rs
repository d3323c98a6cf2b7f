//! Paging of each client since it joined: that of its spaces, and of those that have ended.

use crate::message::ClientId;
use pager::SpaceStatistics;
use std::collections::{BTreeMap, BTreeSet};
use units::Asid;

/// The client of each space until the last page of the space has left, and the counts of spaces that have ended: the pager
/// keeps those of a space only until its number is reused.
#[derive(Debug, Default)]
pub(super) struct PagingByClient {
    clients: BTreeMap<Asid, ClientId>,
    ended: BTreeMap<ClientId, SpaceStatistics>,
    /// Bytes preloaded for each client.
    made_hot: BTreeMap<ClientId, u64>,
}

impl PagingByClient {
    /// Counts a new space for a client.
    pub(super) fn begin(&mut self, space: Asid, client: ClientId) {
        self.clients.insert(space, client);
    }

    /// Keeps the counts of a space whose last page has left.
    pub(super) fn end(&mut self, space: Asid, counted: &SpaceStatistics) {
        if let Some(client) = self.clients.remove(&space) {
            *self.ended.entry(client).or_default() += *counted;
        }
    }

    /// Drops the counts of a client that has gone.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.clients.retain(|_, of| *of != client);
        self.ended.remove(&client);
        self.made_hot.remove(&client);
    }

    /// Counts bytes that were preloaded for a client.
    pub(super) fn add_made_hot(&mut self, client: ClientId, bytes: u64) {
        *self.made_hot.entry(client).or_default() += bytes;
    }

    /// Bytes preloaded for a client.
    pub(super) fn made_hot(&self, client: ClientId) -> u64 {
        self.made_hot.get(&client).copied().unwrap_or_default()
    }

    /// Clients with a space, now or earlier.
    pub(super) fn clients(&self) -> BTreeSet<ClientId> {
        let live = self.clients.values();
        live.chain(self.ended.keys()).copied().collect()
    }

    /// The paging of a client, with the pager's counts of all spaces.
    pub(super) fn of(
        &self,
        client: ClientId,
        spaces: impl Iterator<Item = (Asid, SpaceStatistics)>,
    ) -> SpaceStatistics {
        let mut paging = self.ended.get(&client).copied().unwrap_or_default();
        for (_, counted) in spaces.filter(|(space, _)| self.clients.get(space) == Some(&client)) {
            paging += counted;
        }
        paging
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ClientId = ClientId(1);
    const OTHER: ClientId = ClientId(2);

    fn space(number: u8) -> Asid {
        Asid::new(number).unwrap()
    }

    fn counted(faults: u64) -> SpaceStatistics {
        SpaceStatistics {
            faults,
            bytes_read: 10 * faults,
            bytes_written: 100 * faults,
            ..SpaceStatistics::default()
        }
    }

    #[test]
    fn a_space_that_has_ended_counts_once_for_its_client_alone() {
        let mut paging = PagingByClient::default();
        paging.begin(space(1), ONE);
        paging.begin(space(2), ONE);
        paging.begin(space(3), OTHER);
        let of = |paging: &PagingByClient, client| {
            // The pager lists a space that has ended until its number is reused.
            let spaces = [(space(1), counted(1)), (space(2), counted(2))];
            paging.of(client, spaces.into_iter().chain([(space(3), counted(4))]))
        };
        assert_eq!(
            (of(&paging, ONE), of(&paging, OTHER)),
            (counted(3), counted(4))
        );
        for _ in 0..2 {
            paging.end(space(1), &counted(1));
            assert_eq!(
                (of(&paging, ONE), of(&paging, OTHER)),
                (counted(3), counted(4))
            );
        }
        // Its number is that of another client's space now.
        paging.begin(space(1), OTHER);
        assert_eq!(
            (of(&paging, ONE), of(&paging, OTHER)),
            (counted(3), counted(5))
        );
        assert_eq!(paging.clients(), BTreeSet::from([ONE, OTHER]));
        paging.forget(ONE);
        paging.end(space(2), &counted(2));
        assert_eq!(
            (of(&paging, ONE), paging.clients()),
            (counted(0), BTreeSet::from([OTHER]))
        );
    }
}
