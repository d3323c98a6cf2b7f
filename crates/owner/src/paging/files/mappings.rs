//! The mappings of files, in all address spaces; and the end of a part of a mapping: the parts left on either side
//! become mappings of their own.

use super::View;
use crate::handles::MappedRange;
use std::ops::Range;
use units::{Asid, PageSize, VirtAddr};

/// A mapping of a range of a file.
#[derive(Debug)]
pub(super) struct Mapped {
    pub(super) space: Asid,
    pub(super) address: VirtAddr,
    pub(super) bytes: u64,
    pub(super) view: View,
    pub(super) writable: bool,
    /// Offset of its first byte in the object, in bytes; not 0 if a part before it was unmapped.
    pub(super) first: u64,
    /// The client's name of the file; other clients that map it may use another path.
    pub(super) label: String,
}

impl Mapped {
    pub(super) fn end(&self) -> u64 {
        self.address.get() + self.bytes
    }

    /// Whether it maps an address of a space.
    pub(super) fn holds(&self, space: Asid, address: VirtAddr) -> bool {
        self.space == space && (self.address.get()..self.end()).contains(&address.get())
    }

    /// Whether it maps bytes of a range of a space.
    pub(super) fn touches(&self, space: Asid, (address, bytes): (VirtAddr, u64)) -> bool {
        let end = address.get().saturating_add(bytes);
        self.space == space && self.address.get() < end && address.get() < self.end()
    }
}

/// All mappings of files.
#[derive(Debug, Default)]
pub(super) struct Mappings(Vec<Mapped>);

/// The rest of a mapping from which pages were removed.
pub(super) struct Cut {
    /// The range of the file that it shows.
    pub(super) view: View,
    /// The parts that are left: one or two.
    pub(super) left: Vec<MappedRange>,
}

impl Mappings {
    pub(super) fn add(&mut self, mapped: Mapped) {
        self.0.push(mapped);
    }

    /// The mapping at an address of a space.
    pub(super) fn holding(&self, space: Asid, address: VirtAddr) -> Option<&Mapped> {
        self.0.iter().find(|m| m.holds(space, address))
    }

    /// The mapping of a client's range.
    pub(super) fn at(&self, range: MappedRange) -> Option<&Mapped> {
        self.holding(range.asid, range.address)
    }

    /// The mappings of bytes of a range of a space.
    pub(super) fn touching(
        &self,
        space: Asid,
        range: (VirtAddr, u64),
    ) -> impl Iterator<Item = &Mapped> {
        self.0.iter().filter(move |m| m.touches(space, range))
    }

    /// The writable mappings of bytes of a range of a space.
    pub(super) fn written(
        &self,
        space: Asid,
        range: (VirtAddr, u64),
    ) -> impl Iterator<Item = &Mapped> {
        self.touching(space, range).filter(|m| m.writable)
    }

    /// Spaces in which a range of a file is mapped for writing.
    pub(super) fn writers(&self, view: View) -> impl Iterator<Item = Asid> + '_ {
        self.writable_of(view).map(|mapped| mapped.space)
    }

    fn writable_of(&self, view: View) -> impl Iterator<Item = &Mapped> {
        let writable = self.0.iter().filter(|mapped| mapped.writable);
        writable.filter(move |mapped| mapped.view == view)
    }

    /// The parts of a range of a file that writable mappings show, each in bytes of the file.
    pub(super) fn shown(&self, view: View, page: PageSize) -> Vec<Range<u64>> {
        let base = view.offset / page.bytes() * page.bytes();
        let shown = |mapped: &Mapped| {
            let start = base + mapped.first;
            start.max(view.offset)..(start + mapped.bytes).min(view.end())
        };
        self.writable_of(view).map(shown).collect()
    }

    /// Drops the mappings of a space (in a range); returns the range of the file that each showed.
    pub(super) fn forget(&mut self, space: Asid, range: Option<(u64, u64)>) -> Vec<View> {
        let mut gone = Vec::new();
        self.0.retain(|mapped| {
            let (start, end) = (mapped.address.get(), mapped.end());
            let inside = range.is_none_or(|(from, to)| from < end && start < to);
            if mapped.space == space && inside {
                gone.push(mapped.view);
                return false;
            }
            true
        });
        gone
    }

    /// Removes pages from a mapping; `None` if nothing would be left of it, or there is none.
    pub(super) fn cut(&mut self, range: MappedRange, gone: &Range<u64>) -> Option<Cut> {
        let mut all = self.0.iter();
        let place = all.position(|m| m.holds(range.asid, range.address))?;
        let mapped = &self.0[place];
        let (start, last) = (mapped.address.get(), mapped.end());
        let sides = [start..gone.start, gone.end..last];
        let sides: Vec<Range<u64>> = sides.into_iter().filter(|side| !side.is_empty()).collect();
        if sides.is_empty() {
            return None;
        }
        let Mapped {
            space,
            view,
            writable,
            first,
            label,
            ..
        } = self.0.remove(place);
        let pieces = sides.iter().map(|side| Mapped {
            space,
            address: VirtAddr::truncated(side.start),
            bytes: side.end - side.start,
            view,
            writable,
            first: first + (side.start - start),
            label: label.clone(),
        });
        self.0.extend(pieces);
        // The first and the last byte are not page-aligned.
        let (from, end) = (range.address.get(), range.address.get() + range.bytes);
        let left = |side: &Range<u64>| MappedRange {
            address: VirtAddr::truncated(side.start.max(from)),
            bytes: side.end.min(end) - side.start.max(from),
            ..range
        };
        let left = sides.iter().map(left).collect();
        Some(Cut { view, left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::SpaceId;
    use file_io::Identity;

    const PAGE: u64 = 4096;

    fn space() -> Asid {
        Asid::new(3).unwrap()
    }

    fn address(pages: u64) -> VirtAddr {
        VirtAddr::new(pages * PAGE).unwrap()
    }

    /// Six pages of a file from 100 bytes behind its second page, at page 16 of the space.
    fn view() -> View {
        View {
            identity: Identity {
                device: 1,
                inode: 2,
            },
            offset: PAGE + 100,
            bytes: 6 * PAGE - 100,
        }
    }

    fn mapped(writable: bool) -> Mappings {
        let mut mappings = Mappings::default();
        mappings.add(Mapped {
            space: space(),
            address: address(16),
            bytes: 6 * PAGE,
            view: view(),
            writable,
            first: 0,
            label: "data".into(),
        });
        mappings
    }

    fn range(from: u64, bytes: u64) -> MappedRange {
        MappedRange {
            space: SpaceId(1),
            asid: space(),
            address: VirtAddr::new(from).unwrap(),
            bytes,
        }
    }

    #[test]
    fn what_is_left_of_a_mapping_shows_the_same_bytes_at_the_same_addresses() {
        let mut mappings = mapped(true);
        let first = 16 * PAGE + 100;
        let whole = range(first, 6 * PAGE - 100);
        let cut = mappings.cut(whole, &(18 * PAGE..19 * PAGE)).unwrap();
        assert_eq!(cut.view, view());
        let (before, behind) = (range(first, 2 * PAGE - 100), range(19 * PAGE, 3 * PAGE));
        assert_eq!(cut.left, [before, behind]);
        assert!(mappings.holding(space(), address(18)).is_none());
        let page = PageSize::KIB_4;
        let shown = [view().offset..3 * PAGE, 4 * PAGE..view().end()];
        assert_eq!(mappings.shown(view(), page), shown);
        // Again, at the end of the second part.
        let cut = mappings.cut(behind, &(20 * PAGE..22 * PAGE)).unwrap();
        assert_eq!(cut.left, [range(19 * PAGE, PAGE)]);
        let shown = [view().offset..3 * PAGE, 4 * PAGE..5 * PAGE];
        assert_eq!(mappings.shown(view(), page), shown);
        // Nothing would be left of the rest.
        assert!(mappings
            .cut(range(19 * PAGE, PAGE), &(19 * PAGE..20 * PAGE))
            .is_none());
    }

    #[test]
    fn a_read_only_mapping_has_written_nothing() {
        let all = (address(16), 6 * PAGE);
        for writable in [false, true] {
            let mappings = mapped(writable);
            let count = usize::from(writable);
            assert_eq!(mappings.written(space(), all).count(), count);
            assert_eq!(mappings.writers(view()).count(), count);
            assert_eq!(mappings.shown(view(), PageSize::KIB_4).len(), count);
            assert_eq!(mappings.touching(space(), all).count(), 1);
        }
    }

    #[test]
    fn mappings_end_with_their_space_or_their_range() {
        let other = Asid::new(4).unwrap();
        let mut mappings = mapped(true);
        assert!(mappings.forget(other, None).is_empty());
        let beside = Some((22 * PAGE, 23 * PAGE));
        assert!(mappings.forget(space(), beside).is_empty());
        let touched = Some((21 * PAGE, 23 * PAGE));
        assert_eq!(mappings.forget(space(), touched), [view()]);
        assert!(mappings.forget(space(), None).is_empty());
    }
}
