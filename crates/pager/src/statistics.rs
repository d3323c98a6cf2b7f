//! Counts of the pager, for reports.

use crate::error::Direction;
use std::collections::BTreeMap;
use units::Asid;

/// Counts since the pager was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Accesses that waited for the host.
    pub faults: u64,
    /// Of these, faults found by look-ahead.
    pub faults_ahead: u64,
    /// Of these, faults on a page that was already in transit.
    pub faults_joined: u64,
    /// Of these, faults on a page that was already on the card.
    pub faults_resident: u64,
    /// Accesses that failed.
    pub accesses_failed: u64,
    /// Pages read from an object.
    pub pages_read: u64,
    /// Pages read in several concurrent pieces.
    pub pages_in_pieces: u64,
    /// Of these, pages that were abandoned because a piece failed.
    pub pages_in_pieces_failed: u64,
    /// Bytes of objects copied to the card.
    pub bytes_read: u64,
    /// Pages zeroed on the card instead.
    pub pages_zeroed: u64,
    /// Bytes of these pages.
    pub bytes_zeroed: u64,
    /// Pages evicted to make room.
    pub evictions: u64,
    /// Pages written to an object.
    pub pages_written: u64,
    /// Bytes written to objects.
    pub bytes_written: u64,
    /// Clean pages that left the card without a write.
    pub pages_dropped_clean: u64,
    /// Pages cleaned before their eviction.
    pub pages_cleaned_ahead: u64,
    /// Pages cleaned behind a kernel that wrote them in order.
    pub pages_cleaned_behind: u64,
    /// Pages that were copied out and saved in pieces.
    pub pages_saved_in_pieces: u64,
    /// Faults for which a page of the largest size was made, in objects with several sizes.
    pub pages_large: u64,
    /// Such faults for which a smaller page was made.
    pub pages_small: u64,
    /// Pages that were requested whole and split into smaller ones.
    pub pages_split: u64,
    /// Larger pages made by joining resident parts.
    pub pages_joined: u64,
    /// Write-backs that failed.
    pub write_backs_failed: u64,
    /// Entries removed because their set of the page table was full.
    pub set_conflicts: u64,
    /// Page tables that were moved to larger ones.
    pub tables_grown: u64,
    /// Trapped accesses of programs to shared memory.
    pub host_traps: u64,
    /// Pages of shared memory upgraded from read-only to writable on the card, without moving data.
    pub pages_upgraded: u64,
    /// Pages of shared memory, owned by the card, that programs may read again.
    pub pages_shared: u64,
    /// Pages of shared memory that left the card: programs own them again.
    pub pages_returned: u64,
    /// Pages that were read and stayed in host memory.
    pub pages_direct: u64,
    /// Bytes of these pages.
    pub bytes_direct: u64,
    /// Pages that were written from host memory.
    pub pages_direct_written: u64,
    /// Pages fetched before any access.
    pub pages_hinted: u64,
}

/// Waits and transfers of one space, since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceStatistics {
    /// Accesses that waited for the host.
    pub faults: u64,
    /// Of these, faults found by look-ahead.
    pub faults_ahead: u64,
    /// Of these, faults on a page that was already in transit.
    pub faults_joined: u64,
    /// Of these, faults on a page that was already on the card.
    pub faults_resident: u64,
    /// Accesses that failed.
    pub accesses_failed: u64,
    /// Bytes of objects read for pages that this space requested first.
    pub bytes_read: u64,
    /// Bytes of such pages written to objects.
    pub bytes_written: u64,
    /// Such pages that were read from an object.
    pub pages_read: u64,
    /// Such pages that were zeroed on the card instead.
    pub pages_zeroed: u64,
    /// Such pages that were written to an object.
    pub pages_written: u64,
    /// Such pages that were evicted to make room.
    pub evictions: u64,
    /// Such pages that left the card clean, without a write.
    pub pages_dropped_clean: u64,
    /// Entries of its table that were removed because their set was full.
    pub set_conflicts: u64,
}

/// All counts: of the pager, and of each space. Those of an ended space stay until its number is reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    total: Statistics,
    spaces: BTreeMap<Asid, SpaceStatistics>,
}

impl Counts {
    pub(crate) const fn total(&self) -> &Statistics {
        &self.total
    }

    pub(crate) fn spaces(&self) -> impl Iterator<Item = (Asid, SpaceStatistics)> + '_ {
        self.spaces.iter().map(|(&asid, &counts)| (asid, counts))
    }

    /// Starts from zero for a new space.
    pub(crate) fn begin_space(&mut self, asid: Asid) {
        self.spaces.insert(asid, SpaceStatistics::default());
    }

    /// Counts an event that belongs to no space.
    pub(crate) fn add(&mut self, count: impl FnOnce(&mut Statistics)) {
        count(&mut self.total);
    }

    /// Counts an event of a space, if there is one and it ever existed.
    fn add_in(&mut self, asid: Option<Asid>, count: impl FnOnce(&mut SpaceStatistics)) {
        if let Some(statistics) = asid.and_then(|asid| self.spaces.get_mut(&asid)) {
            count(statistics);
        }
    }

    /// An access waits for the host.
    pub(crate) fn fault(&mut self, asid: Asid, ahead: bool) {
        self.total.faults += 1;
        self.total.faults_ahead += u64::from(ahead);
        self.add_in(Some(asid), |space| {
            space.faults += 1;
            space.faults_ahead += u64::from(ahead);
        });
    }

    /// The page of an access is on the card, or in transit.
    pub(crate) fn fault_found(&mut self, asid: Asid, resident: bool) {
        let (there, joined) = (u64::from(resident), u64::from(!resident));
        self.total.faults_resident += there;
        self.total.faults_joined += joined;
        self.add_in(Some(asid), |space| {
            space.faults_resident += there;
            space.faults_joined += joined;
        });
    }

    pub(crate) fn access_failed(&mut self, asid: Asid) {
        self.total.accesses_failed += 1;
        self.add_in(Some(asid), |space| space.accesses_failed += 1);
    }

    pub(crate) fn set_conflict(&mut self, asid: Asid) {
        self.total.set_conflicts += 1;
        self.add_in(Some(asid), |space| space.set_conflicts += 1);
    }

    pub(crate) fn page_read(&mut self, asid: Option<Asid>) {
        self.total.pages_read += 1;
        self.add_in(asid, |space| space.pages_read += 1);
    }

    pub(crate) fn page_zeroed(&mut self, asid: Option<Asid>, bytes: u64) {
        self.total.pages_zeroed += 1;
        self.total.bytes_zeroed += bytes;
        self.add_in(asid, |space| space.pages_zeroed += 1);
    }

    pub(crate) fn page_written(&mut self, asid: Option<Asid>) {
        self.total.pages_written += 1;
        self.add_in(asid, |space| space.pages_written += 1);
    }

    pub(crate) fn dropped_clean(&mut self, asid: Option<Asid>) {
        self.total.pages_dropped_clean += 1;
        self.add_in(asid, |space| space.pages_dropped_clean += 1);
    }

    pub(crate) fn evicted(&mut self, asid: Option<Asid>) {
        self.total.evictions += 1;
        self.add_in(asid, |space| space.evictions += 1);
    }

    /// Bytes moved between a page and its object.
    pub(crate) fn moved(&mut self, asid: Option<Asid>, direction: Direction, bytes: u64) {
        match direction {
            Direction::Read => self.total.bytes_read += bytes,
            Direction::Write => self.total.bytes_written += bytes,
        }
        self.add_in(asid, |space| match direction {
            Direction::Read => space.bytes_read += bytes,
            Direction::Write => space.bytes_written += bytes,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_counted_from_their_creation_and_others_are_not() {
        let (known, other) = (Asid::new(1).unwrap(), Asid::new(2).unwrap());
        let mut counts = Counts::default();
        counts.begin_space(known);
        for asid in [Some(known), Some(other), None] {
            counts.moved(asid, Direction::Read, 10);
            counts.page_read(asid);
        }
        assert_eq!(
            (counts.total().bytes_read, counts.total().pages_read),
            (30, 3)
        );
        let spaces: Vec<_> = counts.spaces().collect();
        assert!(matches!(spaces[..], [(asid, one)] if asid == known
            && (one.bytes_read, one.pages_read, one.bytes_written) == (10, 1, 0)));
        counts.begin_space(known);
        assert_eq!(
            counts.spaces().next().unwrap().1,
            SpaceStatistics::default()
        );
    }
}
