//! Objects whose pages have several sizes: lookup of pages, and sizes of new ones.
//!
//! Pages are identified by the first of the object's smallest pages that they contain, and never overlap. Mappings,
//! unmaps and syncs cover whole pages of the largest size.

use crate::action::Action;
use crate::block::Pages;
use crate::error::AccessError;
use crate::ids::{ObjectId, ObjectPage};
use crate::page::Waiter;
use crate::pager::Pager;
use crate::queue::Urgency;
use crate::size::SizeTouch;
use crate::space::Mapping;
use units::{Asid, PageSize, PageSizes, VirtAddr};

/// The page that contains a smallest page of an object whose smallest page size is `unit`.
pub(crate) fn covering(pages: &Pages, at: ObjectPage, unit: PageSize) -> Option<ObjectPage> {
    let (&key, page) = pages.range(..=at).next_back()?;
    // A page of the preceding object may be smaller than this one's smallest.
    if key.object != at.object {
        return None;
    }
    let units = 1 << (page.size.bits() - unit.bits());
    (at.index < key.index + units).then_some(key)
}

impl Pager {
    /// Allows several page sizes for an object. Mappings still consist of pages of the largest size.
    pub(crate) fn vary_pages(&mut self, object: ObjectId, sizes: PageSizes) {
        let possible = self.page_sizes;
        let used = !self.pages_of(object, 0..u64::MAX).is_empty();
        if let Some(known) = self.objects.get_mut(&object) {
            if !used && known.any_user().is_none() && known.direct.is_none() {
                let kept = sizes
                    .iter()
                    .filter(|&size| possible.contains(size) && size < known.page_size);
                let all = kept.fold(PageSizes::only(known.page_size), PageSizes::with);
                known.vary(all);
            }
        }
    }

    /// The page, requested or resident, that contains a smallest page.
    pub(crate) fn covering(&self, at: ObjectPage) -> Option<ObjectPage> {
        let unit = self.objects.get(&at.object)?.unit();
        covering(&self.pages, at, unit)
    }

    /// The largest new page up to a size that contains a smallest page: no other page overlaps its block.
    pub(crate) fn page_for(&self, at: ObjectPage, most: PageSize) -> (ObjectPage, PageSize) {
        let Some(object) = self.objects.get(&at.object) else {
            return (at, most);
        };
        let unit = object.unit();
        let free = |size: PageSize| {
            let units = 1 << (size.bits() - unit.bits());
            let key = ObjectPage {
                index: at.index / units * units,
                ..at
            };
            let end = ObjectPage {
                index: key.index + units,
                ..at
            };
            let empty = self.covering(key).is_none() && self.pages.range(key..end).next().is_none();
            (empty || units == 1).then_some((key, size))
        };
        let sizes = object.sizes.iter().filter(|&size| size <= most);
        sizes.filter_map(free).last().unwrap_or((at, unit))
    }

    /// The page that an access waits for: the one that contains it, or a new one.
    pub(crate) fn page_of_access(
        &mut self,
        requester: u8,
        (asid, start, mapping): (Asid, VirtAddr, &Mapping),
        at: ObjectPage,
    ) -> (ObjectPage, PageSize) {
        if mapping.unit == mapping.page_size {
            return (at, mapping.page_size);
        }
        let Some(sizes) = self.objects.get(&at.object).map(|object| object.sizes) else {
            return (at, mapping.unit);
        };
        let covering = self.covering(at);
        let covered = covering.map(|key| {
            let size = self.size_of(key);
            (key, size, 1 << (size.bits() - mapping.unit.bits()))
        });
        // Larger pages are made by joining these.
        let whole = mapping.page_size.min(PageSize::MIB_2);
        let touch = SizeTouch {
            requester,
            object: at.object,
            index: at.index,
            sizes,
            covered: covered.map(|(key, _, units)| key.index..key.index + units),
            room: self.has_room(asid, whole),
            fits: self.mapped_fits(asid, whole),
            memory: self.frames_for(asid, mapping.unit) << mapping.unit.bits(),
            first: at.index == mapping.object_pages().start,
            pattern: mapping.advice.pattern,
        };
        debug_assert!(start.page_offset(mapping.page_size) == 0);
        let most = self.policies.size.touched(&touch);
        let (key, size) = match covered {
            Some((key, size, _)) => (key, size),
            None => {
                let (key, size) = self.page_for(at, most);
                let large = size >= whole;
                self.statistics.pages_large += u64::from(large);
                self.statistics.pages_small += u64::from(!large);
                (key, size)
            }
        };
        let units = 1 << (size.bits() - mapping.unit.bits());
        self.policies
            .size
            .comes(requester, key.index..key.index + units);
        (key, size)
    }

    /// Whether all mappings of a space could be on the card at once.
    fn mapped_fits(&self, asid: Asid, size: PageSize) -> bool {
        self.mapped_bytes(asid) <= self.frames_for(asid, size) << size.bits()
    }

    fn mapped_bytes(&self, asid: Asid) -> u64 {
        let mappings = self.spaces.get(&asid).map(|space| space.mappings.values());
        mappings.into_iter().flatten().map(Mapping::bytes).sum()
    }

    /// Whether the parts of blocks of a size are joined in a space.
    pub(crate) fn joins_in(&mut self, asid: Asid, size: PageSize) -> bool {
        let (fits, mapped) = (self.mapped_fits(asid, size), self.mapped_bytes(asid));
        self.policies.size.joins(size, fits, mapped)
    }

    /// Whether a frame of a size is free for a space, not counting those that others wait for.
    fn has_room(&self, asid: Asid, size: PageSize) -> bool {
        let Some(space) = self.spaces.get(&asid) else {
            return false;
        };
        let waiting: u64 = self
            .frame_queue
            .pages()
            .into_iter()
            .map(|key| self.size_of(key).bytes())
            .sum();
        let within = space
            .limit
            .is_none_or(|limit| space.charged + waiting + size.bytes() <= limit);
        let channels = space.channels.clone();
        let there = self.memory.available(size.class())[channels].contains(&true);
        within && there && self.memory.count(size.class()) > waiting.div_ceil(size.bytes())
    }

    /// Whether a page could be split into smaller ones.
    pub(crate) fn varies(&self, key: ObjectPage) -> bool {
        let unit = self.objects.get(&key.object).map(|object| object.unit());
        unit.is_some_and(|unit| unit < self.size_of(key))
    }

    /// Whether a page could become a part of a larger one.
    pub(crate) fn varies_above(&self, key: ObjectPage) -> bool {
        self.size_of(key) < self.page_size_of(key.object)
    }

    /// Whether a page that has just left may be fetched again at its former size.
    pub(crate) fn fits_again(&self, key: ObjectPage) -> bool {
        let page = self.pages.get(&key);
        let waiter = page.and_then(|page| Some((page.size, page.waiters.first()?.asid)));
        waiter.is_none_or(|(size, asid)| self.has_room(asid, size))
    }

    /// Splits a page without a frame into smaller ones, for the accesses that wait for it. Returns false if this is not
    /// possible.
    pub(crate) fn split_wanted(&mut self, key: ObjectPage, out: &mut Vec<Action>) -> bool {
        let size = self.size_of(key);
        let unit = self.objects.get(&key.object).map(|object| object.unit());
        let Some(unit) = unit.filter(|&unit| unit < size) else {
            return false;
        };
        let Some(page) = self.pages.get_mut(&key) else {
            return false;
        };
        let urgency = page.urgency;
        let waiters = std::mem::take(&mut page.waiters);
        self.end_all_requests(key, Ok(()), out);
        self.forget(key);
        self.statistics.pages_split += 1;
        for waiter in waiters {
            self.want_small(waiter, unit, urgency, out);
        }
        true
    }

    fn want_small(
        &mut self,
        waiter: Waiter,
        unit: PageSize,
        urgency: Urgency,
        out: &mut Vec<Action>,
    ) {
        let Some(access) = waiter.access() else {
            return;
        };
        let space = self.spaces.get(&waiter.asid);
        let found = space.and_then(|space| space.find(access.address));
        let Some((_, _, at)) = found else {
            return self.fail_access(waiter, AccessError::NotMapped, out);
        };
        let key = self.covering(at).unwrap_or(at);
        let size = self.pages.get(&key).map_or(unit, |page| page.size);
        let waiter = Waiter {
            address: access.address.page_base(size),
            ..waiter
        };
        self.want((key, size), waiter, urgency, out);
    }
}
