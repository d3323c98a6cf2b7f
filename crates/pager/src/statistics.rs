//! Counts of the pager, for reports.

use crate::error::Direction;
use std::collections::BTreeMap;
use std::ops::AddAssign;
use units::Asid;

/// Counts since the pager was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The counts that each space has, of all spaces together.
    pub spaces: SpaceStatistics,
    /// Bytes zeroed on the card.
    pub bytes_zeroed: u64,
    /// Pages fetched before any access.
    pub pages_hinted: u64,
    /// Pages cleaned before their eviction.
    pub pages_cleaned_ahead: u64,
    /// Pages cleaned behind a kernel that wrote them in order.
    pub pages_cleaned_behind: u64,
    /// Write-backs that failed.
    pub write_backs_failed: u64,
    /// Page tables that were moved to larger ones.
    pub tables_grown: u64,
    /// Pages that moved in pieces.
    pub pieces: PieceStatistics,
    /// Pages of objects with several sizes.
    pub sizes: SizeStatistics,
}

/// Pages that moved in several concurrent pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PieceStatistics {
    /// Pages that were read.
    pub read: u64,
    /// Of these, pages that were abandoned because a piece failed.
    pub failed: u64,
    /// Pages that were copied out and saved.
    pub saved: u64,
}

/// Pages of objects with several sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeStatistics {
    /// Faults for which a page of the largest size was made.
    pub large: u64,
    /// Faults for which a smaller page was made.
    pub small: u64,
    /// Pages that were requested whole and split into smaller ones.
    pub split: u64,
    /// Larger pages made by joining resident parts.
    pub joined: u64,
}

/// Shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedStatistics {
    /// Trapped accesses of programs.
    pub traps: u64,
    /// Pages upgraded from read-only to writable on the card, without moving data.
    pub upgraded: u64,
    /// Pages, owned by the card, that programs may read again.
    pub shared: u64,
    /// Pages that left the card: programs own them again.
    pub returned: u64,
}

/// Pages that stay in host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectStatistics {
    /// Pages that were read.
    pub pages: u64,
    /// Bytes of these pages.
    pub bytes: u64,
    /// Pages that were written from there.
    pub written: u64,
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
    /// Such pages of shared memory.
    pub shared: SharedStatistics,
    /// Such pages that stay in host memory.
    pub direct: DirectStatistics,
}

/// Adds the counts of structures field by field; a field that is missing here does not compile.
macro_rules! sums {
    ($($name:ident { $($field:ident),* })*) => {
        $(
            impl AddAssign for $name {
                fn add_assign(&mut self, other: Self) {
                    let Self { $($field),* } = other;
                    $(self.$field += $field;)*
                }
            }
        )*
    };
}

sums! {
    SpaceStatistics {
        faults, faults_ahead, faults_joined, faults_resident, accesses_failed, bytes_read, bytes_written, pages_read,
        pages_zeroed, pages_written, evictions, pages_dropped_clean, set_conflicts, shared, direct
    }
    SharedStatistics { traps, upgraded, shared, returned }
    DirectStatistics { pages, bytes, written }
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

    /// Counts an event of a space, also in all spaces together. A space that never existed has no counts.
    pub(crate) fn add_in(&mut self, asid: Option<Asid>, count: impl Fn(&mut SpaceStatistics)) {
        count(&mut self.total.spaces);
        if let Some(statistics) = asid.and_then(|asid| self.spaces.get_mut(&asid)) {
            count(statistics);
        }
    }

    pub(crate) fn page_read(&mut self, asid: Option<Asid>) {
        self.add_in(asid, |counts| counts.pages_read += 1);
    }

    pub(crate) fn page_written(&mut self, asid: Option<Asid>) {
        self.add_in(asid, |counts| counts.pages_written += 1);
    }

    pub(crate) fn dropped_clean(&mut self, asid: Option<Asid>) {
        self.add_in(asid, |counts| counts.pages_dropped_clean += 1);
    }

    /// Bytes moved between a page and its object.
    pub(crate) fn moved(&mut self, asid: Option<Asid>, direction: Direction, bytes: u64) {
        self.add_in(asid, |counts| match direction {
            Direction::Read => counts.bytes_read += bytes,
            Direction::Write => counts.bytes_written += bytes,
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
        let total = counts.total().spaces;
        assert_eq!((total.bytes_read, total.pages_read), (30, 3));
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
