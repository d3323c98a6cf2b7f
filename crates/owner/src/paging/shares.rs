//! Shares: attribution of work to clients, where several clients wait for one resource of the host.
//!
//! The clients of a tenant have one share together; a client without a tenant has its own. While all spaces on a card
//! belong to one share, nothing here limits or reorders anything.

use crate::message::ClientId;
use crate::tenants::Tenants;
use std::collections::{BTreeMap, VecDeque};
use units::Asid;

/// A share: the unit that takes turns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ServiceShare {
    /// A client without a tenant.
    Client(ClientId),
    /// All clients of the tenant with this name.
    Tenant(String),
}

/// The share of each space, from its creation until its last page has left.
#[derive(Debug, Default)]
pub(super) struct Shares {
    of: BTreeMap<Asid, ServiceShare>,
    several: bool,
    /// Shares with spaces, and the numbers by which the pager knows them.
    numbers: BTreeMap<ServiceShare, u64>,
    last: u64,
}

impl Shares {
    /// Adds a space. Returns the number of its share, from 1.
    pub(super) fn add(&mut self, space: Asid, share: ServiceShare) -> u64 {
        let number = *self.numbers.entry(share.clone()).or_insert_with(|| {
            self.last += 1;
            self.last
        });
        self.of.insert(space, share);
        self.count();
        number
    }

    pub(super) fn remove(&mut self, space: Asid) {
        self.of.remove(&space);
        let of = &self.of;
        self.numbers
            .retain(|share, _| of.values().any(|other| other == share));
        self.count();
    }

    fn count(&mut self) {
        let mut all = self.of.values();
        let first = all.next();
        self.several = all.any(|share| Some(share) != first);
    }

    /// Whether there are spaces of more than one share.
    pub(super) const fn are_several(&self) -> bool {
        self.several
    }

    /// The share of a space; `None` for work that belongs to no space.
    pub(super) fn of(&self, space: Option<Asid>) -> Option<ServiceShare> {
        self.of.get(&space?).cloned()
    }
}

impl Tenants {
    /// The share of a client.
    pub(crate) fn share_of(&self, client: ClientId) -> ServiceShare {
        match self.of(client) {
            Some(tenant) => ServiceShare::Tenant(tenant.name.clone()),
            None => ServiceShare::Client(client),
        }
    }
}

/// Transfers of a share that may be under way whatever their size: enough for the host's copying threads.
const TRANSFERS: usize = 4;
/// More transfers may be under way up to this total, in bytes.
const BYTES: u64 = 256 << 10;

/// Transfers of a share: those under way, and those queued.
#[derive(Debug)]
struct Window<T> {
    count: usize,
    bytes: u64,
    waiting: VecDeque<(u64, T)>,
}

impl<T> Default for Window<T> {
    fn default() -> Self {
        Self {
            count: 0,
            bytes: 0,
            waiting: VecDeque::new(),
        }
    }
}

impl<T> Window<T> {
    const fn has_room(&self) -> bool {
        self.count < TRANSFERS || self.bytes < BYTES
    }

    fn begin(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

/// Windows that limit the transfers of each share under way: the resources behind (copying threads, storage, the thread
/// of a mount) are FIFO, so a transfer waits there for the windows of the other shares at most. Each key has its own
/// window, within which transfers keep their order.
#[derive(Debug)]
pub(super) struct Windows<K, Id, T> {
    windows: BTreeMap<K, Window<T>>,
    under_way: BTreeMap<Id, (K, u64)>,
}

impl<K, Id, T> Default for Windows<K, Id, T> {
    fn default() -> Self {
        Self {
            windows: BTreeMap::new(),
            under_way: BTreeMap::new(),
        }
    }
}

impl<K: Clone + Ord, Id: Ord, T> Windows<K, Id, T> {
    /// Begins a transfer, or queues it until there is room. Returns it if it may begin now.
    pub(super) fn begin(&mut self, key: K, id: Id, bytes: u64, transfer: T) -> Option<T> {
        let window = self.windows.entry(key.clone()).or_default();
        if !window.waiting.is_empty() || !window.has_room() {
            window.waiting.push_back((bytes, transfer));
            return None;
        }
        window.begin(bytes);
        self.under_way.insert(id, (key, bytes));
        Some(transfer)
    }

    /// Ends a transfer. Returns those that may begin now; `id_of` identifies them.
    pub(super) fn end(&mut self, id: &Id, id_of: impl Fn(&T) -> Id) -> Vec<T> {
        let mut begin = Vec::new();
        let Some((key, bytes)) = self.under_way.remove(id) else {
            return begin;
        };
        let Some(window) = self.windows.get_mut(&key) else {
            return begin;
        };
        window.count -= 1;
        window.bytes -= bytes;
        while window.has_room() {
            let Some((bytes, transfer)) = window.waiting.pop_front() else {
                break;
            };
            window.begin(bytes);
            let id = id_of(&transfer);
            self.under_way.insert(id, (key.clone(), bytes));
            begin.push(transfer);
        }
        if window.count == 0 {
            self.windows.remove(&key);
        }
        begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(number: u8) -> Asid {
        Asid::new(number).unwrap()
    }

    #[test]
    fn a_tenant_has_one_share() {
        let mut shares = Shares::default();
        let lab = || ServiceShare::Tenant("lab".into());
        shares.add(space(1), lab());
        shares.add(space(2), lab());
        assert!(!shares.are_several());
        assert_eq!(shares.add(space(2), lab()), 1);
        assert_eq!(shares.add(space(3), ServiceShare::Client(ClientId(7))), 2);
        assert!(shares.are_several());
        assert_eq!(shares.of(Some(space(2))), Some(lab()));
        assert_eq!((shares.of(None), shares.of(Some(space(9)))), (None, None));
        shares.remove(space(3));
        assert!(!shares.are_several());
        assert_eq!(shares.add(space(4), ServiceShare::Client(ClientId(7))), 3);
    }

    /// Random transfers of three shares, of any size: none exceeds its window, each begins in its order, none is lost,
    /// and none waits for another share.
    #[test]
    fn a_share_has_a_bounded_amount_under_way() {
        let mut windows: Windows<u8, u64, u64> = Windows::default();
        let mut random = 1u64;
        let (mut under_way, mut begun) = (Vec::new(), [const { Vec::new() }; 3]);
        let mut sizes = Vec::new();
        let share_of = |id: u64| (id % 3) as usize;
        for id in 0..3000u64 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let bytes = 4096 << ((random >> 33) % 8);
            sizes.push(bytes);
            let now = windows.begin(share_of(id) as u8, id, bytes, id);
            under_way.extend(now);
            begun[share_of(id)].extend(now);
            let held = |share: usize| {
                let own = under_way.iter().filter(|&&id| share_of(id) == share);
                own.map(|&id| sizes[id as usize]).collect::<Vec<u64>>()
            };
            for share in 0..3 {
                let held = held(share);
                // The last transfer may exceed the limit.
                let most = BYTES - 1 + (4096 << 7);
                assert!(held.len() <= TRANSFERS || held.iter().sum::<u64>() <= most);
            }
            if now.is_none() {
                assert!(held(share_of(id)).len() >= TRANSFERS, "waits for its own");
            }
            if random >> 62 == 0 && !under_way.is_empty() {
                let ended = under_way.swap_remove((random >> 40) as usize % under_way.len());
                let next = windows.end(&ended, |id| *id);
                for &id in &next {
                    assert_eq!(share_of(id), share_of(ended));
                    begun[share_of(id)].push(id);
                }
                under_way.extend(next);
            }
        }
        while let Some(ended) = under_way.pop() {
            let next = windows.end(&ended, |id| *id);
            next.iter().for_each(|&id| begun[share_of(id)].push(id));
            under_way.extend(next);
        }
        assert!(windows.windows.is_empty() && windows.under_way.is_empty());
        for (share, begun) in (0u64..).zip(begun) {
            let all: Vec<u64> = (share..3000).step_by(3).collect();
            assert_eq!(begun, all);
        }
    }
}
