//! Paging of clients per second, from two statuses of a daemon.

use std::collections::BTreeMap;
use std::time::Instant;
use tombolo::{ClientId, ClientPaging, Status};

/// The counts of the last status, and their change per second since the one before.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    last: Option<(Instant, BTreeMap<ClientId, ClientPaging>)>,
    rates: BTreeMap<ClientId, ClientPaging>,
}

impl Rates {
    /// Takes the status of this moment.
    pub(crate) fn observe(&mut self, status: &Status, now: Instant) {
        let clients = status.owner.clients.iter();
        let counts = clients.filter_map(|one| Some((one.client, one.paging?)));
        let counts: BTreeMap<ClientId, ClientPaging> = counts.collect();
        if let Some((before, last)) = self.last.take() {
            let seconds = (now - before).as_secs_f64();
            let known = counts.iter().filter_map(|(client, count)| {
                let last = last.get(client)?;
                Some((*client, per_second(last, count, seconds)))
            });
            self.rates = known.collect();
        }
        self.last = Some((now, counts));
    }

    /// A client's paging per second; `None` unless it was in the last two statuses.
    pub(crate) fn of(&self, client: ClientId) -> Option<ClientPaging> {
        self.rates.get(&client).copied()
    }
}

fn per_second(before: &ClientPaging, after: &ClientPaging, seconds: f64) -> ClientPaging {
    let rate = |before: u64, after: u64| {
        // The first status may have come at the same moment.
        let seconds = seconds.max(f64::EPSILON);
        (after.saturating_sub(before) as f64 / seconds).round() as u64
    };
    ClientPaging {
        faults: rate(before.faults, after.faults),
        bytes_read: rate(before.bytes_read, after.bytes_read),
        bytes_written: rate(before.bytes_written, after.bytes_written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tombolo::{ClientStatus, DaemonStatus, OwnerStatus, Picoseconds};

    fn status(counts: &[(u64, Option<u64>)]) -> Status {
        let clients = counts.iter().map(|(client, count)| ClientStatus {
            client: ClientId(*client),
            process: None,
            user: None,
            program: String::new(),
            tenant: None,
            slots: Vec::new(),
            spaces: 1,
            mappings: 0,
            mapped_bytes: 0,
            paging: count.map(paging),
            requests: 0,
        });
        Status {
            owner: OwnerStatus {
                card: "functional".to_owned(),
                now: Picoseconds::ZERO,
                slots: Vec::new(),
                spaces: 8,
                clients: clients.collect(),
                tenants: Vec::new(),
            },
            daemon: DaemonStatus::default(),
        }
    }

    fn paging(count: u64) -> ClientPaging {
        ClientPaging {
            faults: count,
            bytes_read: 4096 * count,
            bytes_written: 3 * count,
        }
    }

    #[test]
    fn rates_are_those_between_the_last_two_statuses() {
        let mut rates = Rates::default();
        let begin = Instant::now();
        let at = |half_seconds: u32| begin + Duration::from_millis(500) * half_seconds;
        rates.observe(&status(&[(1, Some(10)), (2, None)]), at(0));
        assert_eq!(rates.of(ClientId(1)), None);
        rates.observe(&status(&[(1, Some(16)), (2, None), (3, Some(9))]), at(1));
        assert_eq!(rates.of(ClientId(1)), Some(paging(12)));
        // One whose daemon does not count, and one that has just come.
        assert_eq!((rates.of(ClientId(2)), rates.of(ClientId(3))), (None, None));
        rates.observe(&status(&[(3, Some(13))]), at(5));
        assert_eq!(rates.of(ClientId(1)), None, "it has gone");
        assert_eq!(rates.of(ClientId(3)), Some(paging(2)));
    }
}
