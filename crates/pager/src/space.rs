//! Address spaces: mappings, and the image of the page table.

use crate::ids::{ObjectId, ObjectPage, RequestId};
use crate::mapping_info::MappingInfo;
use crate::table::TableImage;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use units::{Advice, FrameNumber, PageSize, PageSizes, SpacePlacement, VirtAddr};

/// Addresses chosen by the pager start here, so that small numbers are never mapped.
const FIRST_CHOICE: u64 = 256 << 20;

/// A requested mapping: object, range and rights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) object: ObjectId,
    /// Offset of the first byte in the object.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// A range of a space that maps a range of an object. Its address is the key it is stored under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mapping {
    pub(crate) pages: u64,
    /// Page size of the object.
    pub(crate) page_size: PageSize,
    /// The object's smallest page size, in which its pages are counted.
    pub(crate) unit: PageSize,
    pub(crate) object: ObjectId,
    /// First page of the object, of `page_size`.
    pub(crate) first: u64,
    pub(crate) read: bool,
    pub(crate) write: bool,
    /// Advice on its use.
    pub(crate) advice: Advice,
}

impl Mapping {
    pub(crate) fn info(&self, address: VirtAddr) -> MappingInfo {
        MappingInfo {
            address,
            bytes: self.bytes(),
            page_size: self.page_size,
            object: self.object,
            offset: self.first << self.page_size.bits(),
            read: self.read,
            write: self.write,
        }
    }

    /// Size in bytes, whole pages.
    pub(crate) fn bytes(&self) -> u64 {
        self.pages << self.page_size.bits()
    }

    /// Pages of the object that it covers.
    pub(crate) fn object_pages(&self) -> Range<u64> {
        let bits = self.page_size.bits() - self.unit.bits();
        self.first << bits..(self.first + self.pages) << bits
    }
}

/// Phase of a space's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// The table is being zeroed.
    Creating,
    /// In use.
    Ready,
    /// All mappings are being removed, for this request.
    Destroying(RequestId),
}

/// A table that is being replaced.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct OldTable {
    pub(crate) frame: FrameNumber,
    pub(crate) sets_log2: u8,
}

/// One address space.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Space {
    pub(crate) phase: Phase,
    /// Share of the space: spaces of one share take turns as one.
    pub(crate) share: u64,
    pub(crate) table: TableImage,
    /// Block of card memory that holds the table.
    pub(crate) table_frame: FrameNumber,
    /// The table that the present one is moved from.
    pub(crate) old_table: Option<OldTable>,
    /// Mappings by first address; they never overlap.
    pub(crate) mappings: BTreeMap<VirtAddr, Mapping>,
    /// Maximum bytes of frames filled on behalf of this space.
    pub(crate) limit: Option<u64>,
    pub(crate) placement: SpacePlacement,
    /// Channels for new frames.
    pub(crate) channels: Range<usize>,
    /// Bytes of the frames that were filled on behalf of this space.
    pub(crate) charged: u64,
    /// Page sizes that were announced to the shell.
    pub(crate) page_sizes: PageSizes,
    /// Unmaps under way: the table may not be freed before their entries are removed.
    pub(crate) unmaps: BTreeSet<RequestId>,
}

impl Space {
    /// The mapping that contains an address, and the object's page there.
    pub(crate) fn find(&self, address: VirtAddr) -> Option<(VirtAddr, &Mapping, ObjectPage)> {
        let (&start, mapping) = self.mappings.range(..=address).next_back()?;
        let offset = address.get() - start.get();
        if offset >= mapping.bytes() {
            return None;
        }
        let page = ObjectPage {
            object: mapping.object,
            index: mapping.object_pages().start + (offset >> mapping.unit.bits()),
        };
        Some((start, mapping, page))
    }

    /// The mapping that contains an address, or else the nearest one.
    pub(crate) fn nearest(&self, address: VirtAddr) -> Option<MappingInfo> {
        let below = self.mappings.range(..=address).next_back();
        let above = self.mappings.range(address..).next();
        let info = |(&start, mapping): (&VirtAddr, &Mapping)| mapping.info(start);
        match (below.map(info), above.map(info)) {
            (Some(below), Some(above)) => {
                let gap = address.get() - below.address.get();
                let past_end = (gap + 1).saturating_sub(below.bytes);
                let before = above.address.get() - address.get();
                Some(if past_end <= before { below } else { above })
            }
            (below, above) => below.or(above),
        }
    }

    /// A mapping that overlaps a range, if there is one.
    pub(crate) fn overlap(&self, range: &Range<u64>) -> Option<MappingInfo> {
        self.mappings
            .range(..=VirtAddr::truncated(range.end - 1))
            .next_back()
            .map(|(&start, mapping)| mapping.info(start))
            .filter(|info| info.address.get() + info.bytes > range.start)
    }

    /// The lowest gap for a number of pages with an unmapped page on either side, so that a kernel that runs over the
    /// end of a buffer faults instead of reaching the next buffer.
    pub(crate) fn gap(&self, pages: u64, page_size: PageSize) -> Option<VirtAddr> {
        let bytes = pages.checked_add(2)?.checked_mul(page_size.bytes())?;
        let mut start = FIRST_CHOICE.next_multiple_of(page_size.bytes());
        for (at, mapping) in &self.mappings {
            if start.checked_add(bytes)? <= at.get() {
                break;
            }
            let behind = at.get() + mapping.bytes();
            start = start.max(behind.next_multiple_of(page_size.bytes()));
        }
        let end = start.checked_add(bytes)?;
        VirtAddr::new(end)?;
        VirtAddr::new(start + page_size.bytes())
    }

    /// Each mapping in a range, with the part of it in the range, rounded out to its pages.
    pub(crate) fn mapped_in(&self, range: &Range<u64>) -> Vec<(VirtAddr, Mapping, Range<u64>)> {
        let mut found: Vec<_> = self
            .mappings
            .range(..=VirtAddr::truncated(range.end - 1))
            .rev()
            .map(|(&start, &mapping)| (start, mapping))
            .take_while(|(start, mapping)| start.get() + mapping.bytes() > range.start)
            .map(|(start, mapping)| {
                let page = mapping.page_size;
                let from = VirtAddr::truncated(range.start).page_base(page).get();
                let to = range.end.next_multiple_of(page.bytes());
                let end = start.get() + mapping.bytes();
                (start, mapping, from.max(start.get())..to.min(end))
            })
            .collect();
        found.reverse();
        found
    }

    /// Removes a range, rounded out to pages, from the mappings. Returns the removed parts.
    pub(crate) fn cut(&mut self, range: &Range<u64>) -> Vec<Cut> {
        let mut cuts = Vec::new();
        for (start, mapping, part) in self.mapped_in(range) {
            self.mappings.remove(&start);
            let bits = mapping.page_size.bits();
            let end = start.get() + mapping.bytes();
            let piece = |from: u64, to: u64| {
                let piece = Mapping {
                    pages: (to - from) >> bits,
                    first: mapping.first + ((from - start.get()) >> bits),
                    ..mapping
                };
                (VirtAddr::truncated(from), piece)
            };
            let Range {
                start: from,
                end: to,
            } = part;
            let mut kept = Vec::new();
            if start.get() < from {
                kept.push(piece(start.get(), from));
            }
            if to < end {
                kept.push(piece(to, end));
            }
            self.mappings.extend(kept.iter().copied());
            cuts.push(Cut {
                was: start,
                gone: piece(from, to),
                kept,
            });
        }
        cuts
    }
}

/// A mapping that lost a part.
#[derive(Debug)]
pub(crate) struct Cut {
    /// Former first address of the mapping.
    pub(crate) was: VirtAddr,
    /// The removed part.
    pub(crate) gone: (VirtAddr, Mapping),
    /// The remaining parts.
    pub(crate) kept: Vec<(VirtAddr, Mapping)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{CardAddr, TableGeometry};

    const PAGE: PageSize = PageSize::KIB_4;

    fn at(page: u64) -> VirtAddr {
        VirtAddr::new(page << 12).unwrap()
    }

    fn space(mappings: &[(u64, u64)]) -> Space {
        let geometry = TableGeometry::new(CardAddr::default(), 10).unwrap();
        Space {
            phase: Phase::Ready,
            share: 0,
            table: TableImage::new(geometry),
            table_frame: FrameNumber::default(),
            old_table: None,
            mappings: mappings
                .iter()
                .map(|&(start, pages)| {
                    let mapping = Mapping {
                        pages,
                        page_size: PAGE,
                        unit: PAGE,
                        object: ObjectId(start),
                        first: 100,
                        read: true,
                        write: false,
                        advice: Advice::default(),
                    };
                    (at(start), mapping)
                })
                .collect(),
            limit: None,
            placement: SpacePlacement::Anywhere,
            channels: 0..1,
            charged: 0,
            page_sizes: PageSizes::only(PAGE),
            unmaps: BTreeSet::new(),
        }
    }

    #[test]
    fn finds_overlaps_and_neighbours() {
        let space = space(&[(10, 2), (20, 4)]);
        assert_eq!(space.find(at(11)).unwrap().2.index, 101);
        assert!(space.find(at(12)).is_none());
        let overlap = |page: u64, pages: u64| {
            let range = page << 12..(page + pages) << 12;
            space.overlap(&range).map(|info| info.address)
        };
        assert_eq!(overlap(12, 8), None);
        assert_eq!(overlap(12, 9), Some(at(20)));
        assert_eq!(overlap(11, 1), Some(at(10)));
        assert_eq!(overlap(23, 50), Some(at(20)));
        assert_eq!(overlap(24, 1), None);
        let nearest = |page| space.nearest(at(page)).unwrap().address;
        assert_eq!(
            [nearest(1), nearest(13), nearest(18), nearest(99)].map(|a| a.get() >> 12),
            [10, 10, 20, 20]
        );
    }

    #[test]
    fn gaps_leave_a_page_on_either_side() {
        let first = FIRST_CHOICE >> 12;
        assert_eq!(space(&[]).gap(5, PAGE), Some(at(first + 1)));
        let full = space(&[(first + 1, 5), (first + 9, 2)]);
        assert_eq!(full.gap(1, PAGE), Some(at(first + 7)));
        assert_eq!(full.gap(2, PAGE), Some(at(first + 12)));
        assert_eq!(full.gap(1 << 36, PAGE), None);
    }

    #[test]
    fn cuts_split_mappings() {
        let mut space = space(&[(10, 10), (20, 10), (40, 1)]);
        let cuts = space.cut(&(13 << 12..22 << 12));
        let left: Vec<_> = space
            .mappings
            .iter()
            .map(|(a, m)| (a.get() >> 12, m.pages, m.first))
            .collect();
        assert_eq!(left, [(10, 3, 100), (22, 8, 102), (40, 1, 100)]);
        let gone: Vec<_> = cuts
            .iter()
            .map(|cut| (cut.gone.0, cut.gone.1.pages))
            .collect();
        assert_eq!(gone, [(at(13), 7), (at(20), 2)]);
        assert!(space.cut(&(13 << 12..22 << 12)).is_empty());
    }
}
