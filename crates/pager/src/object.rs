//! Objects: the contents of pages.

use crate::event::ObjectKind;
use crate::extent::ExtentSet;
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Asid, HostAddr, PageSize, PageSizes, VirtAddr};

/// A file, a range of one, or memory.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Object {
    /// Offset of the first byte, in the file that it is a part of.
    start: u64,
    /// Offset behind its last byte.
    pub(crate) end: u64,
    pub(crate) kind: ObjectKind,
    /// Page size, in every space that maps it.
    pub(crate) page_size: PageSize,
    /// Sizes that pages may have; the largest is `page_size`. Pages are counted in the smallest.
    pub(crate) sizes: PageSizes,
    /// Pages whose saved content is zero.
    zero: ExtentSet,
    /// Mappings, and the object's pages that each covers.
    users: BTreeMap<(Asid, VirtAddr), Range<u64>>,
    /// Address of its first page in host memory, if its pages stay there.
    pub(crate) direct: Option<HostAddr>,
    /// Channels of card memory for its pages in all spaces; `None`: those of the space.
    pub(crate) channels: Option<Range<usize>>,
    /// A close is under way.
    pub(crate) closing: bool,
    /// Dirty pages are dropped, not written.
    pub(crate) discard: bool,
    /// Pages that a kernel is expected to write, because it wrote those before in order.
    pub(crate) expected: Range<u64>,
    /// A kernel wrote a page again that had been cleaned early.
    pub(crate) rewritten: bool,
}

impl Object {
    pub(crate) fn new(range: Range<u64>, kind: ObjectKind, page_size: PageSize) -> Self {
        let Range { start, end } = range;
        let mut zero = ExtentSet::default();
        if kind.starts_zero() {
            zero.insert(0..end.div_ceil(page_size.bytes()));
        }
        Self {
            start,
            end,
            kind,
            page_size,
            sizes: PageSizes::only(page_size),
            zero,
            users: BTreeMap::new(),
            direct: None,
            channels: None,
            closing: false,
            discard: false,
            expected: 0..0,
            rewritten: false,
        }
    }

    /// The smallest page size, in which pages are counted.
    pub(crate) fn unit(&self) -> PageSize {
        self.sizes.iter().next().unwrap_or(self.page_size)
    }

    /// Allows these page sizes. Must precede any knowledge of the content beyond the initial zeroes.
    pub(crate) fn vary(&mut self, sizes: PageSizes) {
        let before = self.unit();
        self.sizes = sizes;
        self.zero.refine(before.bits() - self.unit().bits());
    }

    /// The part of a page that is the object's, relative to the page's first byte; empty beyond the object's ends.
    pub(crate) fn part_on(&self, index: u64, size: PageSize) -> Range<u64> {
        let base = index << self.unit().bits();
        let within = |at: u64| at.saturating_sub(base).min(size.bytes());
        within(self.start)..within(self.end)
    }

    /// Address of a page of host memory for the card; `None` for other objects.
    pub(crate) fn host_address(&self, index: u64) -> Option<HostAddr> {
        match self.kind {
            ObjectKind::Host { memory } => Some(memory.offset(index << self.unit().bits())),
            ObjectKind::File { .. } | ObjectKind::Anonymous => None,
        }
    }

    /// Offset of a page in the direct memory, from the object's first page.
    pub(crate) fn direct_offset(&self, index: u64) -> u64 {
        let bits = self.unit().bits();
        (index << bits) - (self.start >> bits << bits)
    }

    /// Address of a page in host memory; `None` if the object's pages go to the card.
    pub(crate) fn direct_address(&self, index: u64) -> Option<HostAddr> {
        Some(self.direct?.offset(self.direct_offset(index)))
    }

    /// Whether the saved content of a page is zero: nothing needs to be read.
    pub(crate) fn is_zero(&self, index: u64, size: PageSize) -> bool {
        let part = self.part_on(index, size);
        let bits = self.unit().bits();
        let first = index + (part.start >> bits);
        let last = index + (part.end.div_ceil(1 << bits));
        part.is_empty() || self.zero.covers(first..last)
    }

    pub(crate) fn add_hole(&mut self, offset: u64, bytes: u64) {
        let page_size = self.unit();
        let end = offset.saturating_add(bytes);
        let last = if end >= self.end {
            self.end.div_ceil(page_size.bytes())
        } else {
            end >> page_size.bits()
        };
        let first = if offset <= self.start {
            0
        } else {
            offset.div_ceil(page_size.bytes())
        };
        if first < last {
            self.zero.insert(first..last);
        }
    }

    /// Another process may have written to pages: their content is unknown.
    pub(crate) fn may_have_changed(&mut self, units: Range<u64>) {
        self.zero.remove_range(units);
    }

    /// A page was saved with non-zero content.
    pub(crate) fn saved(&mut self, index: u64, size: PageSize) {
        let units = 1 << (size.bits() - self.unit().bits());
        self.zero.remove_range(index..index + units);
    }

    pub(crate) fn add_user(&mut self, asid: Asid, address: VirtAddr, pages: Range<u64>) {
        self.users.insert((asid, address), pages);
    }

    pub(crate) fn remove_user(&mut self, asid: Asid, address: VirtAddr) {
        self.users.remove(&(asid, address));
    }

    /// Whether any mapping covers the page.
    pub(crate) fn uses(&self, index: u64) -> bool {
        self.users.values().any(|pages| pages.contains(&index))
    }

    /// The mappings of a page.
    pub(crate) fn users_of(&self, index: u64) -> impl Iterator<Item = (Asid, VirtAddr)> + '_ {
        let shows = move |(_, pages): &(_, &Range<u64>)| pages.contains(&index);
        self.users.iter().filter(shows).map(|(&place, _)| place)
    }

    /// A mapping of the object, if there is one.
    pub(crate) fn any_user(&self) -> Option<(Asid, VirtAddr)> {
        self.users.keys().next().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_count_whole_pages_and_the_tail() {
        let page = PageSize::KIB_4;
        let kind = ObjectKind::File {
            writable: true,
            fresh: false,
        };
        let mut object = Object::new(0..3 * 4096 + 5, kind, page);
        assert_eq!(object.part_on(3, page), 0..5);
        assert!(object.part_on(4, page).is_empty());
        object.add_hole(1, 8191);
        let zero = move |object: &Object| {
            (0..5)
                .filter(|&i| object.is_zero(i, page))
                .collect::<Vec<_>>()
        };
        assert_eq!(zero(&object), [1, 4]);
        object.add_hole(3 * 4096, 5);
        assert_eq!(zero(&object), [1, 3, 4]);
        object.saved(1, page);
        assert_eq!(zero(&object), [3, 4]);

        let mut part = Object::new(4096 + 100..2 * 4096 + 7, kind, page);
        assert!(part.part_on(0, page).is_empty());
        assert_eq!(part.part_on(1, page), 100..4096);
        assert_eq!(part.part_on(2, page), 0..7);
        assert_eq!(zero(&part), [0, 3, 4]);
        part.add_hole(4096 + 101, 4000);
        assert_eq!(zero(&part), [0, 3, 4]);
        part.add_hole(4096 + 100, 4096);
        assert_eq!(
            zero(&part),
            [0, 1, 2, 3, 4],
            "also what lies behind its end"
        );
    }
}
