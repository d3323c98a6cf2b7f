//! Objects: what pages show.

use crate::event::ObjectKind;
use crate::extent::ExtentSet;
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Asid, HostAddr, PageSize, VirtAddr};

/// A file, a range of one, or memory.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Object {
    /// First byte, in the file that it is a part of.
    start: u64,
    /// Behind its last byte.
    pub(crate) end: u64,
    pub(crate) kind: ObjectKind,
    /// Size of its pages, in every space that maps it.
    pub(crate) page_size: PageSize,
    /// Pages whose saved content is zero.
    zero: ExtentSet,
    /// Where it is mapped, and which of its pages that mapping shows.
    users: BTreeMap<(Asid, VirtAddr), Range<u64>>,
    /// A close is under way.
    pub(crate) closing: bool,
    /// Dirty pages are dropped, not written.
    pub(crate) discard: bool,
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
            zero,
            users: BTreeMap::new(),
            closing: false,
            discard: false,
        }
    }

    /// What of a page is the object's, from the page's first byte on; empty beyond its ends.
    pub(crate) fn part_on(&self, index: u64) -> Range<u64> {
        let base = index << self.page_size.bits();
        let within = |at: u64| at.saturating_sub(base).min(self.page_size.bytes());
        within(self.start)..within(self.end)
    }

    /// Where a page of host memory begins, as the card sees it; `None` for other objects.
    pub(crate) fn host_address(&self, index: u64) -> Option<HostAddr> {
        match self.kind {
            ObjectKind::Host { memory } => Some(memory.offset(index << self.page_size.bits())),
            ObjectKind::File { .. } | ObjectKind::Anonymous => None,
        }
    }

    /// The saved content of a page is zero: nothing needs to be read.
    pub(crate) fn is_zero(&self, index: u64) -> bool {
        self.part_on(index).is_empty() || self.zero.contains(index)
    }

    pub(crate) fn add_hole(&mut self, offset: u64, bytes: u64) {
        let page_size = self.page_size;
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

    /// A page has been saved with other content than zero.
    pub(crate) fn saved(&mut self, index: u64) {
        self.zero.remove(index);
    }

    pub(crate) fn add_user(&mut self, asid: Asid, address: VirtAddr, pages: Range<u64>) {
        self.users.insert((asid, address), pages);
    }

    pub(crate) fn remove_user(&mut self, asid: Asid, address: VirtAddr) {
        self.users.remove(&(asid, address));
    }

    /// Somebody maps the page.
    pub(crate) fn uses(&self, index: u64) -> bool {
        self.users.values().any(|pages| pages.contains(&index))
    }

    /// The places where a page is mapped.
    pub(crate) fn users_of(&self, index: u64) -> impl Iterator<Item = (Asid, VirtAddr)> + '_ {
        let shows = move |(_, pages): &(_, &Range<u64>)| pages.contains(&index);
        self.users.iter().filter(shows).map(|(&place, _)| place)
    }

    /// A place where the object is mapped.
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
        assert_eq!(object.part_on(3), 0..5);
        assert!(object.part_on(4).is_empty());
        object.add_hole(1, 8191);
        let zero = |object: &Object| (0..5).filter(|&i| object.is_zero(i)).collect::<Vec<_>>();
        assert_eq!(zero(&object), [1, 4]);
        object.add_hole(3 * 4096, 5);
        assert_eq!(zero(&object), [1, 3, 4]);
        object.saved(1);
        assert_eq!(zero(&object), [3, 4]);

        let mut part = Object::new(4096 + 100..2 * 4096 + 7, kind, page);
        assert!(part.part_on(0).is_empty());
        assert_eq!(part.part_on(1), 100..4096);
        assert_eq!(part.part_on(2), 0..7);
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
