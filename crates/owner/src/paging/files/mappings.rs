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
