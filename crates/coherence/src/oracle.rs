//! Judges what loads, stores and operations read and wrote: every part of every line must behave as
//! an atomic register.
//!
//! It sees intervals and values only. Every write has a value of its own (a *stamp*), so it is known
//! which write a read saw. A write and its reads are a cluster; with `f` the earliest end and `s` the
//! latest start in it, a cluster with `f < s` needs its value to stand throughout (f, s). A history is
//! linearizable exactly if no two such intervals overlap, no other cluster lies wholly inside one, and
//! no read ends before its write began (Gibbons and Korach, "Testing shared memories", SIAM J.
//! Computing 26(4), 1997).

use std::collections::{BTreeMap, HashMap};

/// A part of a line: (line, part).
pub type Place = (u64, u8);

/// Writes that are kept for each place beyond those under way.
const KEPT: usize = 24;

#[derive(Clone, Copy, Debug)]
struct Cluster {
    stamp: u64,
    write_start: u64,
    write_ended: bool,
    first_end: u64,
    last_start: u64,
}

impl Cluster {
    /// The interval in which the value must stand, if it must.
    fn stands(&self) -> Option<(u64, u64)> {
        (self.first_end < self.last_start).then_some((self.first_end, self.last_start))
    }

    /// Whether two clusters cannot both be explained.
    fn contradicts(&self, other: &Self) -> bool {
        match (self.stands(), other.stands()) {
            (Some(a), Some(b)) => a.0 < b.1 && b.0 < a.1,
            (Some(a), None) => a.0 < other.last_start && other.first_end < a.1,
            (None, Some(b)) => b.0 < self.last_start && self.first_end < b.1,
            (None, None) => false,
        }
    }
}

/// An observation without explanation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A value that was never written, or was overwritten long ago.
    #[error("line {:#x} part {}: a read returned {stamp:#x}, which nobody wrote lately", place.0, place.1)]
    Unknown {
        /// The part read.
        place: Place,
        /// Stamp of the value.
        stamp: u64,
    },
    /// A read that ended before the write of its value began.
    #[error("line {:#x} part {}: a read returned {stamp:#x} before it was written", place.0, place.1)]
    Future {
        /// The part read.
        place: Place,
        /// Stamp of the value.
        stamp: u64,
    },
    /// Two values that would have to stand at the same time.
    #[error("line {:#x} part {}: no order explains the reads of {first:#x} and {second:#x}", place.0, place.1)]
    Order {
        /// The part read.
        place: Place,
        /// Stamp of one value.
        first: u64,
        /// Stamp of the other value.
        second: u64,
    },
}

/// Linearizability checker.
#[derive(Debug, Default)]
pub struct Oracle {
    clock: u64,
    places: HashMap<Place, Vec<Cluster>>,
    active: BTreeMap<u64, u32>,
    violations: u64,
    first: Option<Violation>,
}

impl Oracle {
    /// Nothing has happened; every place holds 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The present moment; every call is later than those before.
    pub fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Something begins that may read or write; returns its start for the calls below.
    pub fn begin(&mut self) -> u64 {
        let now = self.tick();
        *self.active.entry(now).or_default() += 1;
        now
    }

    /// The operation that began at `start` has ended.
    pub fn end(&mut self, start: u64) {
        if let Some(count) = self.active.get_mut(&start) {
            *count -= 1;
            if *count == 0 {
                self.active.remove(&start);
            }
        }
    }

    fn clusters(&mut self, place: Place) -> &mut Vec<Cluster> {
        self.places.entry(place).or_insert_with(|| {
            vec![Cluster {
                stamp: 0,
                write_start: 0,
                write_ended: true,
                first_end: 0,
                last_start: 0,
            }]
        })
    }

    /// A write that began at `start` may take effect from now on.
    pub fn write_begins(&mut self, place: Place, stamp: u64, start: u64) {
        let cluster = Cluster {
            stamp,
            write_start: start,
            write_ended: false,
            first_end: u64::MAX,
            last_start: start,
        };
        self.clusters(place).push(cluster);
    }

    /// The write has taken effect.
    pub fn write_ends(&mut self, place: Place, stamp: u64) {
        let now = self.tick();
        self.update(place, stamp, None, now);
        self.forget(place);
    }

    /// The write did not take place, and will not.
    pub fn write_withdrawn(&mut self, place: Place, stamp: u64) {
        let clusters = self.clusters(place);
        let read = clusters
            .iter()
            .any(|cluster| cluster.stamp == stamp && cluster.first_end != u64::MAX);
        clusters.retain(|cluster| cluster.stamp != stamp);
        if read {
            self.report(Violation::Unknown { place, stamp });
        }
    }

    /// A read that began at `start` returned `stamp` just now.
    pub fn read(&mut self, place: Place, stamp: u64, start: u64) {
        let now = self.tick();
        self.update(place, stamp, Some(start), now);
    }

    fn update(&mut self, place: Place, stamp: u64, read_start: Option<u64>, end: u64) {
        let clusters = self.clusters(place);
        let Some(index) = clusters.iter().position(|cluster| cluster.stamp == stamp) else {
            self.report(Violation::Unknown { place, stamp });
            return;
        };
        let cluster = &mut clusters[index];
        cluster.first_end = cluster.first_end.min(end);
        match read_start {
            Some(start) => cluster.last_start = cluster.last_start.max(start),
            None => cluster.write_ended = true,
        }
        let cluster = *cluster;
        let other = clusters
            .iter()
            .enumerate()
            .find(|(other, cluster_b)| *other != index && cluster.contradicts(cluster_b))
            .map(|(_, other)| other.stamp);
        if cluster.write_start > end {
            self.report(Violation::Future { place, stamp });
        }
        if let Some(second) = other {
            self.report(Violation::Order {
                place,
                first: stamp,
                second,
            });
        }
    }

    /// Drops the oldest writes that nothing under way can still see.
    fn forget(&mut self, place: Place) {
        let oldest = self.active.keys().next().copied().unwrap_or(self.clock);
        let clusters = self.clusters(place);
        while clusters.len() > KEPT {
            let old = clusters[0];
            let later = clusters[1..].iter().any(|cluster| {
                cluster.write_ended
                    && cluster.write_start > old.first_end
                    && cluster.first_end < oldest
            });
            if !old.write_ended || !later {
                return;
            }
            clusters.remove(0);
        }
    }

    fn report(&mut self, violation: Violation) {
        tracing::error!(%violation, "not explained");
        self.violations += 1;
        self.first.get_or_insert(violation);
    }

    /// How many observations have no explanation.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// The first violation.
    #[must_use]
    pub fn first(&self) -> Option<&Violation> {
        self.first.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Place = (7, 1);

    fn write(oracle: &mut Oracle, stamp: u64) {
        let start = oracle.begin();
        oracle.write_begins(HERE, stamp, start);
        oracle.write_ends(HERE, stamp);
        oracle.end(start);
    }

    fn read(oracle: &mut Oracle, stamp: u64) {
        let start = oracle.begin();
        oracle.read(HERE, stamp, start);
        oracle.end(start);
    }

    #[test]
    fn the_latest_write_is_read() {
        let mut oracle = Oracle::new();
        read(&mut oracle, 0);
        for stamp in 1..100 {
            write(&mut oracle, stamp);
            read(&mut oracle, stamp);
            read(&mut oracle, stamp);
        }
        assert_eq!(oracle.first(), None);
    }

    #[test]
    fn a_stale_value_is_found() {
        let mut oracle = Oracle::new();
        write(&mut oracle, 1);
        write(&mut oracle, 2);
        read(&mut oracle, 1);
        assert!(matches!(oracle.first(), Some(Violation::Order { .. })));
    }

    #[test]
    fn a_lost_write_is_found() {
        let mut oracle = Oracle::new();
        write(&mut oracle, 1);
        read(&mut oracle, 0);
        assert!(oracle.violations() > 0);
    }

    #[test]
    fn concurrent_writes_may_end_in_either_order_but_only_one() {
        let mut oracle = Oracle::new();
        let (a, b) = (oracle.begin(), oracle.begin());
        oracle.write_begins(HERE, 1, a);
        oracle.write_begins(HERE, 2, b);
        oracle.write_ends(HERE, 1);
        oracle.write_ends(HERE, 2);
        read(&mut oracle, 1);
        assert_eq!(oracle.first(), None);
        read(&mut oracle, 2);
        assert!(matches!(oracle.first(), Some(Violation::Order { .. })));
    }

    #[test]
    fn a_write_that_did_not_take_place_must_not_be_read() {
        let mut oracle = Oracle::new();
        let start = oracle.begin();
        oracle.write_begins(HERE, 1, start);
        oracle.write_withdrawn(HERE, 1);
        oracle.end(start);
        read(&mut oracle, 0);
        assert_eq!(oracle.first(), None);
        read(&mut oracle, 1);
        assert_eq!(oracle.violations(), 1);
        let start = oracle.begin();
        oracle.write_begins(HERE, 2, start);
        read(&mut oracle, 2);
        oracle.write_withdrawn(HERE, 2);
        assert_eq!(oracle.violations(), 2);
    }

    #[test]
    fn reads_must_not_go_back() {
        let mut oracle = Oracle::new();
        let start = oracle.begin();
        oracle.write_begins(HERE, 1, start);
        read(&mut oracle, 1);
        assert_eq!(oracle.first(), None);
        read(&mut oracle, 0);
        assert!(oracle.violations() > 0);
    }

    #[test]
    fn an_invented_value_is_found() {
        let mut oracle = Oracle::new();
        read(&mut oracle, 5);
        assert_eq!(
            oracle.first(),
            Some(&Violation::Unknown {
                place: HERE,
                stamp: 5
            })
        );
    }

    #[test]
    fn memory_of_the_judge_is_bounded() {
        let mut oracle = Oracle::new();
        for stamp in 1..1000 {
            write(&mut oracle, stamp);
        }
        assert!(oracle.places[&HERE].len() <= KEPT);
        read(&mut oracle, 999);
        assert_eq!(oracle.first(), None);
        read(&mut oracle, 3);
        assert_eq!(oracle.violations(), 1);
    }
}
