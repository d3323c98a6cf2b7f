//! Finds the pages that may be evicted for a waiting page, and those that must leave together.
//!
//! A frame needs an aligned block. Evicting a page at least as large frees one; smaller pages free a block only if all
//! pages in it are evicted, so each of them must be evictable.

use crate::frame::FrameMemory;
use crate::ids::{ObjectId, ObjectPage};
use crate::keep::Keep;
use crate::memory::{Memory, Owners};
use crate::page::{Page, State};
use crate::pages::Pages;
use crate::space::Space;
use crate::spaces::Spaces;
use crate::work::Work;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Asid, FrameNumber, PageSize, SpacePlacement, Stripe};

/// The pages that may be evicted to make room: those with a part of their frame on these channels, of all spaces or of
/// one at its limit; and the frame that they make room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scope {
    pub(crate) asid: Option<Asid>,
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// The requested frame is striped: a block of one channel is not enough.
    pub(crate) striped: bool,
    /// Size of the frame.
    pub(crate) size: PageSize,
}

impl Scope {
    /// Whether a page is in the scope.
    pub(crate) fn holds(&self, memory: &FrameMemory, page: &Page) -> bool {
        let place = &page.place;
        let on_channels = |frame| memory.touches(frame, place.stripe, &(self.first..self.end));
        place.direct.is_none()
            && (self.asid.is_none() || place.charged == self.asid)
            && place.frame.is_none_or(on_channels)
    }

    /// The block that a page has to leave together with its neighbours; `None` if evicting it alone helps. At a space's
    /// limit each page counts separately. Blocks of striped frames are not searched: there, pages are evicted in the
    /// policy's order until a block is free.
    pub(crate) fn block_of(&self, page: &Page) -> Option<FrameNumber> {
        let alone = page.size >= self.size
            || self.asid.is_some()
            || self.striped
            || page.place.stripe != Stripe::NONE;
        let class = self.size.class();
        let first = page.place.frame?.get() >> class << class;
        (!alone).then(|| FrameNumber::new(first)).flatten()
    }
}

/// The pages in a block.
fn pages_in(block: FrameNumber, size: PageSize, owners: &Owners) -> Vec<ObjectPage> {
    let end = block.get() + (1 << size.class());
    owners
        .range(block..)
        .take_while(|(frame, _)| frame.get() < end)
        .map(|(_, &key)| key)
        .collect()
}

/// Whether a block holds only free memory and pages for which `these` holds: no page table, no part of a striped frame.
pub(crate) fn all_of(
    block: FrameNumber,
    size: PageSize,
    pages: &Pages,
    memory: &Memory,
    these: impl Fn(ObjectPage) -> bool,
) -> bool {
    let mut units = memory.frames().free_in(block, size.class());
    for key in pages_in(block, size, memory.owners()) {
        let Some(page) = pages.page(key).filter(|_| these(key)) else {
            return false;
        };
        units += 1 << page.size.class();
    }
    units == 1 << size.class()
}

/// The pages of a scope that can be evicted now.
pub(crate) struct Candidates<'a> {
    pub(crate) scope: Scope,
    /// Pages with more retentive advice stay.
    pub(crate) keep: Keep,
    /// Pages that a kernel may write or has written stay.
    pub(crate) unwritten: bool,
    /// Ranges of objects that stay: they were read ahead and are not used yet.
    pub(crate) expected: &'a [(ObjectId, Range<u64>)],
    /// Only pages outside the channels now assigned to their spaces are evicted.
    pub(crate) strays: bool,
    pub(crate) spaces: &'a Spaces,
    pub(crate) pages: &'a Pages,
    pub(crate) memory: &'a Memory,
    pub(crate) work: &'a Work,
    /// Blocks that were examined, and whether all pages of each may be evicted.
    pub(crate) blocks: RefCell<BTreeMap<FrameNumber, bool>>,
}

impl Candidates<'_> {
    /// Whether a page may be chosen.
    pub(crate) fn eligible(&self, key: ObjectPage) -> bool {
        let Some(page) = self.pages.page(key).filter(|_| self.is_free_to_go(key)) else {
            return false;
        };
        self.scope.holds(self.memory.frames(), page)
            && self
                .scope
                .block_of(page)
                .is_none_or(|block| self.block_may_leave(block))
    }

    /// The pages evicted with a chosen page: the page and, if it is too small to suffice alone, its neighbours.
    pub(crate) fn leaving_with(&self, key: ObjectPage) -> Vec<ObjectPage> {
        let page = self.pages.page(key);
        match page.and_then(|page| self.scope.block_of(page)) {
            None => vec![key],
            Some(block) => {
                let mut keys = pages_in(block, self.scope.size, self.memory.owners());
                keys.retain(|&key| self.is_free_to_go(key));
                keys
            }
        }
    }

    /// Whether a page is idle, saved if possible, and has no waiting request.
    fn is_free_to_go(&self, key: ObjectPage) -> bool {
        self.pages.page(key).is_some_and(|page| {
            page.state() == State::Resident
                && page.keep <= self.keep
                && !(self.unwritten && page.may_be_written())
                && !self.is_expected(key)
                && (!self.strays || self.is_stray(page))
                && !page.content.unsaved
                && page.waiters.is_empty()
                && page.requests.leaving.is_empty()
                && !self.work.is_examined(key)
        })
    }

    fn is_expected(&self, key: ObjectPage) -> bool {
        let mut expected = self.expected.iter();
        expected.any(|(object, pages)| *object == key.object && pages.contains(&key.index))
    }

    fn is_stray(&self, page: &Page) -> bool {
        let charged = page.place.charged;
        let space = charged.and_then(|asid| self.spaces.space(asid));
        let elsewhere = |(space, frame): (&Space, FrameNumber)| {
            space.placement == SpacePlacement::Isolated
                && !space
                    .channels
                    .contains(&self.memory.frames().channel_of(frame))
        };
        space.zip(page.place.frame).is_some_and(elsewhere)
    }

    fn block_may_leave(&self, block: FrameNumber) -> bool {
        if let Some(&known) = self.blocks.borrow().get(&block) {
            return known;
        }
        let goes = |key| self.work.is_released(key) || self.is_free_to_go(key);
        let size = self.scope.size;
        let may = all_of(block, size, self.pages, self.memory, goes);
        self.blocks.borrow_mut().insert(block, may);
        may
    }
}
