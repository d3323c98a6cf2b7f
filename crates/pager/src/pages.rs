//! Objects, and their pages that are requested or on the card.
//!
//! Pages are identified by the first of the object's smallest pages that they contain, and never overlap.

use crate::action::{Around, DirectTransfer, Success};
use crate::error::{Direction, IoError, PagerError};
use crate::event::ObjectKind;
use crate::ids::{ObjectId, ObjectPage};
use crate::object::Object;
use crate::page::{Page, Place, State, Waiter};
use crate::page_map::PageMap;
use crate::queue::Urgency;
use std::collections::btree_map::Entry;
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Asid, CommandStatus, HostAddr, PageSize, PageSizes, Stripe};

/// Sizes that all objects share.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Sizes {
    /// Page size of objects that choose none.
    pub(crate) usual: PageSize,
    /// Page sizes that objects may choose.
    pub(crate) possible: PageSizes,
    /// Largest page that moves through a buffer as a whole.
    pub(crate) largest_moved: PageSize,
    /// Minimum size of the pieces, in bytes, of pages that fit into a buffer; 0: pages move as a whole.
    pub(crate) piece_bytes: u64,
}

/// Objects and pages.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Pages {
    sizes: Sizes,
    objects: BTreeMap<ObjectId, Object>,
    pages: PageMap<Page>,
}

/// A page that is divided into smaller ones.
pub(crate) struct Split {
    /// The object's smallest page size.
    pub(crate) unit: PageSize,
    pub(crate) urgency: Urgency,
    pub(crate) waiters: Vec<Waiter>,
}

impl Pages {
    pub(crate) fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            objects: BTreeMap::new(),
            pages: PageMap::new(),
        }
    }

    pub(crate) const fn sizes(&self) -> Sizes {
        self.sizes
    }

    pub(crate) fn page(&self, key: ObjectPage) -> Option<&Page> {
        self.pages.get(key)
    }

    pub(crate) fn page_mut(&mut self, key: ObjectPage) -> Option<&mut Page> {
        self.pages.get_mut(key)
    }

    pub(crate) fn state(&self, key: ObjectPage) -> Option<State> {
        self.page(key).map(Page::state)
    }

    /// All pages, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ObjectPage, &Page)> {
        self.pages.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (ObjectPage, &mut Page)> {
        self.pages.iter_mut()
    }

    /// Pages of an object that begin in a range of its smallest pages.
    pub(crate) fn range(
        &self,
        object: ObjectId,
        indices: Range<u64>,
    ) -> impl Iterator<Item = (ObjectPage, &Page)> {
        self.pages.range(object, indices)
    }

    /// Keys of an object's pages in a range of its smallest pages.
    pub(crate) fn pages_of(&self, object: ObjectId, indices: Range<u64>) -> Vec<ObjectPage> {
        self.range(object, indices).map(|(key, _)| key).collect()
    }

    /// Adds a page.
    pub(crate) fn insert(&mut self, key: ObjectPage, page: Page) {
        self.pages.insert(key, page);
    }

    /// Removes a page without a frame, or one that was joined into another.
    pub(crate) fn remove(&mut self, key: ObjectPage) -> Option<Page> {
        self.pages.remove(key)
    }

    pub(crate) fn object(&self, object: ObjectId) -> Option<&Object> {
        self.objects.get(&object)
    }

    pub(crate) fn object_mut(&mut self, object: ObjectId) -> Option<&mut Object> {
        self.objects.get_mut(&object)
    }

    /// A page, and the object that it belongs to.
    pub(crate) fn page_and_object(&self, key: ObjectPage) -> Option<(&Page, &Object)> {
        self.page(key).zip(self.object(key.object))
    }

    /// Adds an object; `range` is its part of its file.
    pub(crate) fn create_object(
        &mut self,
        object: ObjectId,
        range: Range<u64>,
        kind: ObjectKind,
        page_size: Option<PageSize>,
    ) -> Result<Success, PagerError> {
        let page = page_size.unwrap_or(self.sizes.usual);
        let sizes = self.sizes.possible;
        let bytes = range.end.saturating_sub(range.start);
        let free = match self.objects.entry(object) {
            Entry::Occupied(_) => return Err(PagerError::ObjectExists { object }),
            Entry::Vacant(_) if bytes == 0 => return Err(PagerError::EmptyObject { object }),
            Entry::Vacant(free) => free,
        };
        if !sizes.contains(page) {
            return Err(PagerError::NoSuchPageSize {
                object,
                page,
                sizes,
            });
        }
        let whole = range.start == 0 && bytes % page.bytes() == 0;
        if matches!(kind, ObjectKind::Host { .. }) && !whole {
            return Err(PagerError::PartialHostPage {
                object,
                bytes,
                page,
            });
        }
        free.insert(Object::new(range, kind, page));
        Ok(Success::Done)
    }

    /// Whether an object may be closed: nothing maps it, and no close is under way.
    pub(crate) fn closable(&self, object: ObjectId) -> Result<(), PagerError> {
        let known = self.object(object);
        let known = known.ok_or(PagerError::NoSuchObject { object })?;
        if known.closing {
            return Err(PagerError::ObjectClosing { object });
        }
        match known.any_user() {
            None => Ok(()),
            Some((asid, address)) => Err(PagerError::ObjectMapped {
                object,
                asid,
                address,
            }),
        }
    }

    pub(crate) fn remove_object(&mut self, object: ObjectId) {
        self.objects.remove(&object);
    }

    /// Allows several page sizes for an object without pages. Mappings still consist of pages of the largest size.
    pub(crate) fn vary(&mut self, object: ObjectId, sizes: PageSizes) {
        let possible = self.sizes.possible;
        let used = !self.pages_of(object, 0..u64::MAX).is_empty();
        if let Some(known) = self.object_mut(object) {
            if !used && known.any_user().is_none() && known.direct.is_none() {
                let kept = sizes
                    .iter()
                    .filter(|&size| possible.contains(size) && size < known.page_size);
                let all = kept.fold(PageSizes::only(known.page_size), PageSizes::with);
                known.vary(all);
            }
        }
    }

    /// Places the pages of a file in this host memory; pages of shared memory stay where they are.
    pub(crate) fn place_direct(&mut self, object: ObjectId, memory: HostAddr) {
        let used = !self.pages_of(object, 0..u64::MAX).is_empty();
        if let Some(known) = self.object_mut(object) {
            let file = match known.kind {
                ObjectKind::File { .. } => true,
                ObjectKind::Host { memory: own } => own == memory,
                ObjectKind::Anonymous => false,
            };
            // Pages of several sizes split and join, which moves data.
            let one_size = known.unit() == known.page_size;
            let aligned = memory.get() % known.page_size.bytes() == 0;
            let free = !used && !known.closing && known.direct.is_none();
            if file && one_size && aligned && free {
                known.direct = Some(memory);
            }
        }
    }

    /// Size of a page.
    pub(crate) fn size_of(&self, key: ObjectPage) -> PageSize {
        let page = self.page(key).map(|page| page.size);
        page.unwrap_or_else(|| self.page_size_of(key.object))
    }

    /// Page size of an object, the largest if there are several.
    pub(crate) fn page_size_of(&self, object: ObjectId) -> PageSize {
        let object = self.object(object);
        object.map_or(self.sizes.usual, |object| object.page_size)
    }

    /// Smallest page size of an object, in which its pages are counted.
    pub(crate) fn unit_of(&self, object: ObjectId) -> Option<PageSize> {
        self.object(object).map(Object::unit)
    }

    /// Whether a page could be split into smaller ones.
    pub(crate) fn varies(&self, key: ObjectPage) -> bool {
        let unit = self.unit_of(key.object);
        unit.is_some_and(|unit| unit < self.size_of(key))
    }

    /// Whether a page could become a part of a larger one.
    pub(crate) fn varies_above(&self, key: ObjectPage) -> bool {
        self.size_of(key) < self.page_size_of(key.object)
    }

    /// The part of a page that is the object's.
    pub(crate) fn part_on(&self, key: ObjectPage) -> Range<u64> {
        let object = self.object(key.object);
        object.map_or(0..0, |object| object.part_on(key.index, self.size_of(key)))
    }

    /// Number of bytes of a page that are the object's.
    pub(crate) fn own_bytes(&self, key: ObjectPage) -> u64 {
        let own = self.part_on(key);
        own.end - own.start
    }

    /// Address of a page of host memory for the card; `None` for pages of other objects.
    pub(crate) fn host_address(&self, key: ObjectPage) -> Option<HostAddr> {
        self.object(key.object)?.host_address(key.index)
    }

    /// Whether the pages of an object stay in host memory.
    pub(crate) fn is_direct(&self, object: ObjectId) -> bool {
        let known = self.object(object);
        known.is_some_and(|known| known.direct.is_some())
    }

    /// Whether a page has a place in host memory. If a mapping is longer than its object, the pages behind the object
    /// have none: that memory may belong to another owner. They are zeroes on the card, as for any object.
    pub(crate) fn stays_in_host(&self, key: ObjectPage) -> bool {
        self.is_direct(key.object) && !self.part_on(key).is_empty()
    }

    /// The part of a direct page that is the object's.
    pub(crate) fn direct_part(&self, key: ObjectPage) -> Option<DirectTransfer> {
        let object = self.object(key.object)?;
        let own = self.part_on(key);
        let size = self.size_of(key).bytes();
        Some(DirectTransfer {
            object: key.object,
            offset: (key.index << object.unit().bits()) + own.start,
            bytes: own.end - own.start,
            at: object.direct_offset(key.index) + own.start,
            around: Around {
                before: own.start,
                behind: size - own.end,
            },
        })
    }

    /// Whether a dirty page must be written: it has a part of an object that is not discarded.
    pub(crate) fn writes_back(&self, key: ObjectPage) -> bool {
        let object = self.object(key.object);
        !self.part_on(key).is_empty() && object.is_some_and(|object| !object.discard)
    }

    /// The page, requested or resident, that contains a smallest page.
    pub(crate) fn covering(&self, at: ObjectPage) -> Option<ObjectPage> {
        self.covering_in(at, self.unit_of(at.object)?)
    }

    /// The same for an object whose smallest page size is `unit`.
    pub(crate) fn covering_in(&self, at: ObjectPage, unit: PageSize) -> Option<ObjectPage> {
        let (key, page) = self.pages.last_up_to(at)?;
        let units = 1 << (page.size.bits() - unit.bits());
        (at.index < key.index + units).then_some(key)
    }

    /// The largest new page up to a size that contains a smallest page: no other page overlaps its block.
    pub(crate) fn page_for(&self, at: ObjectPage, most: PageSize) -> (ObjectPage, PageSize) {
        let Some(object) = self.object(at.object) else {
            return (at, most);
        };
        let unit = object.unit();
        let free = |size: PageSize| {
            let units = 1 << (size.bits() - unit.bits());
            let key = ObjectPage {
                index: at.index / units * units,
                ..at
            };
            let mut block = self.range(at.object, key.index..key.index + units);
            let empty = self.covering(key).is_none() && block.next().is_none();
            (empty || units == 1).then_some((key, size))
        };
        let sizes = object.sizes.iter().filter(|&size| size <= most);
        sizes.filter_map(free).last().unwrap_or((at, unit))
    }

    /// Striping of an object's first page that has a frame.
    pub(crate) fn stripe_of(&self, object: ObjectId) -> Option<Stripe> {
        let mut pages = self.range(object, 0..u64::MAX).map(|(_, page)| page.place);
        let placed = pages.find(|place| place.frame.is_some());
        placed.map(|place| place.stripe)
    }

    /// The space that requested, or waits for, a page.
    pub(crate) fn brought_by(&self, key: ObjectPage) -> Option<Asid> {
        let page = self.page(key)?;
        let waits = page.waiters.first().map(|waiter| waiter.asid);
        let shows = page.entries.list.first().map(|entry| entry.asid);
        let Place {
            charged, requested, ..
        } = page.place;
        charged.or(requested).or(waits).or(shows)
    }

    /// A kernel writes a page that it could only read.
    pub(crate) fn note_rewritten(&mut self, key: ObjectPage) {
        let cleaned = self.page(key).is_some_and(|page| page.content.cleaned);
        if let Some(object) = self.object_mut(key.object) {
            object.rewritten |= cleaned;
        }
    }

    /// Bytes of a page were saved to the object: it is no longer zero.
    pub(crate) fn note_saved(&mut self, key: ObjectPage) {
        let size = self.size_of(key);
        if let Some(object) = self.object_mut(key.object) {
            object.saved(key.index, size);
        }
    }

    /// Takes the waiters of a page without a frame, to divide it into smaller ones. `None` if it has the smallest size.
    pub(crate) fn split(&mut self, key: ObjectPage) -> Option<Split> {
        let unit = self.unit_of(key.object)?;
        if unit >= self.size_of(key) {
            return None;
        }
        let page = self.page_mut(key)?;
        Some(Split {
            unit,
            urgency: page.urgency,
            waiters: std::mem::take(&mut page.waiters),
        })
    }

    /// The error of a failed I/O operation of a page.
    pub(crate) fn io_error(
        &self,
        direction: Direction,
        page: ObjectPage,
        error: IoError,
    ) -> PagerError {
        self.piece(page).error(direction, page, error)
    }

    /// The error of a failed card transfer of a page.
    pub(crate) fn card_error(
        &self,
        direction: Direction,
        page: ObjectPage,
        status: CommandStatus,
    ) -> PagerError {
        let piece = self.piece(page);
        PagerError::Card {
            direction,
            object: page.object,
            offset: piece.offset,
            bytes: piece.bytes,
            status,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Wish;
    use units::VirtAddr;

    const KIND: ObjectKind = ObjectKind::File {
        writable: true,
        fresh: false,
    };

    fn pages() -> Pages {
        Pages::new(Sizes {
            usual: PageSize::MIB_2,
            possible: PageSizes::ALL,
            largest_moved: PageSize::MIB_2,
            piece_bytes: 0,
        })
    }

    #[test]
    fn pages_of_two_sizes_lie_apart() {
        let (mut pages, object) = (pages(), ObjectId(1));
        let created = pages.create_object(object, 0..4 << 20, KIND, None);
        assert_eq!(created, Ok(Success::Done));
        pages.vary(object, PageSizes::only(PageSize::KIB_4));
        let at = |index| ObjectPage { object, index };
        let waiter = Waiter {
            asid: Asid::default(),
            address: VirtAddr::default(),
            wish: Wish::Load,
        };
        assert_eq!(
            pages.page_for(at(7), PageSize::MIB_2),
            (at(0), PageSize::MIB_2)
        );
        pages.insert(
            at(600),
            Page::wanted_by(waiter, Urgency::Hint, PageSize::KIB_4),
        );
        assert_eq!(
            pages.page_for(at(601), PageSize::MIB_2),
            (at(601), PageSize::KIB_4),
            "its block is in use"
        );
        pages.insert(
            at(0),
            Page::wanted_by(waiter, Urgency::Head, PageSize::MIB_2),
        );
        assert_eq!(pages.covering(at(511)), Some(at(0)));
        assert_eq!(pages.covering(at(512)), None);
        assert!(pages.varies(at(0)) && !pages.varies_above(at(0)));
        assert!(!pages.varies(at(600)) && pages.varies_above(at(600)));
        assert!(pages.split(at(600)).is_none());
        let split = pages.split(at(0)).unwrap();
        assert_eq!((split.unit, split.waiters.len()), (PageSize::KIB_4, 1));
    }

    #[test]
    fn objects_that_cannot_be_are_refused_in_order() {
        let mut pages = pages();
        let object = ObjectId(1);
        let small = PageSize::KIB_4;
        let host = ObjectKind::Host {
            memory: HostAddr::new(1 << 32),
        };
        assert_eq!(
            pages.create_object(object, 5..5, KIND, None),
            Err(PagerError::EmptyObject { object })
        );
        assert!(matches!(
            pages.create_object(object, 0..small.bytes() + 1, host, Some(small)),
            Err(PagerError::PartialHostPage { .. })
        ));
        let created = pages.create_object(object, 0..small.bytes(), host, Some(small));
        assert_eq!(created, Ok(Success::Done));
        assert_eq!(
            pages.create_object(object, 5..5, KIND, None),
            Err(PagerError::ObjectExists { object })
        );
        assert_eq!(pages.closable(object), Ok(()));
        assert_eq!(
            pages.closable(ObjectId(2)),
            Err(PagerError::NoSuchObject {
                object: ObjectId(2)
            })
        );
    }
}
