//! Whose pages may leave for a page that waits, and which have to leave together.
//!
//! A frame needs an aligned block. A page that is as large or larger leaves one behind; of smaller
//! pages all in a block have to leave, and they do if each of them may.

use crate::frame::FrameMemory;
use crate::ids::{ObjectId, ObjectPage};
use crate::keep::Keep;
use crate::page::{Page, State};
use crate::space::Space;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use units::{Asid, FrameNumber, PageSize, SpacePlacement, Stripe};

/// Whose pages may leave to make room: those with a part of their frame on these channels, of anybody
/// or of a space at its limit; and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scope {
    pub(crate) asid: Option<Asid>,
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// The frame that is waited for is striped: no block of one channel is enough.
    pub(crate) striped: bool,
    /// Its size.
    pub(crate) size: PageSize,
}

impl Scope {
    /// A page is one of those.
    pub(crate) fn holds(&self, memory: &FrameMemory, page: &Page) -> bool {
        let on_channels = |frame| memory.touches(frame, page.stripe, &(self.first..self.end));
        page.direct.is_none()
            && (self.asid.is_none() || page.charged == self.asid)
            && page.frame.is_none_or(on_channels)
    }

    /// The block that a page has to leave together with its neighbours; `None` if its leaving helps by
    /// itself. For a limit every page counts as it is. Blocks of striped frames are not looked for:
    /// there, pages leave in the policy's order until a block is free.
    pub(crate) fn block_of(&self, page: &Page) -> Option<FrameNumber> {
        let alone = page.size >= self.size
            || self.asid.is_some()
            || self.striped
            || page.stripe != Stripe::NONE;
        let class = self.size.class();
        let first = page.frame?.get() >> class << class;
        (!alone).then(|| FrameNumber::new(first)).flatten()
    }
}

/// Whose the frames are that are not striped.
pub(crate) type Owners = BTreeMap<FrameNumber, ObjectPage>;
/// All pages.
pub(crate) type Pages = BTreeMap<ObjectPage, Page>;

/// The pages in a block.
fn pages_in(block: FrameNumber, size: PageSize, owners: &Owners) -> Vec<ObjectPage> {
    let end = block.get() + (1 << size.class());
    owners
        .range(block..)
        .take_while(|(frame, _)| frame.get() < end)
        .map(|(_, &key)| key)
        .collect()
}

/// A block holds nothing but free memory and pages of which `these` holds: no page table, no part of a
/// striped frame.
pub(crate) fn all_of(
    block: FrameNumber,
    size: PageSize,
    owners: &Owners,
    pages: &Pages,
    memory: &FrameMemory,
    these: impl Fn(ObjectPage) -> bool,
) -> bool {
    let mut units = memory.free_in(block, size.class());
    for key in pages_in(block, size, owners) {
        let Some(page) = pages.get(&key).filter(|_| these(key)) else {
            return false;
        };
        units += 1 << page.size.class();
    }
    units == 1 << size.class()
}

/// The pages of a scope that can leave now.
pub(crate) struct Candidates<'a> {
    pub(crate) scope: Scope,
    /// Pages of which more is advised stay.
    pub(crate) keep: Keep,
    /// Pages that a kernel may write, or has written, stay.
    pub(crate) unwritten: bool,
    /// Pages of objects that stay: they were fetched ahead and are still to be used.
    pub(crate) expected: &'a [(ObjectId, Range<u64>)],
    /// Nothing leaves but pages that lie beside the channels that their spaces have by now.
    pub(crate) strays: bool,
    pub(crate) spaces: &'a BTreeMap<Asid, Space>,
    pub(crate) pages: &'a Pages,
    pub(crate) examined: &'a BTreeSet<ObjectPage>,
    pub(crate) releasing: &'a BTreeSet<ObjectPage>,
    pub(crate) owners: &'a Owners,
    pub(crate) memory: &'a FrameMemory,
    /// Blocks that were looked at, and whether all of each may leave.
    pub(crate) blocks: RefCell<BTreeMap<FrameNumber, bool>>,
}

impl Candidates<'_> {
    /// A page may be chosen.
    pub(crate) fn eligible(&self, key: ObjectPage) -> bool {
        let Some(page) = self.pages.get(&key).filter(|_| self.is_free_to_go(key)) else {
            return false;
        };
        self.scope.holds(self.memory, page)
            && self
                .scope
                .block_of(page)
                .is_none_or(|block| self.block_may_leave(block))
    }

    /// What leaves when a page is chosen: it and, if it is too small to help alone, its neighbours.
    pub(crate) fn leaving_with(&self, key: ObjectPage) -> Vec<ObjectPage> {
        let page = self.pages.get(&key);
        match page.and_then(|page| self.scope.block_of(page)) {
            None => vec![key],
            Some(block) => {
                let mut keys = pages_in(block, self.scope.size, self.owners);
                keys.retain(|&key| self.is_free_to_go(key));
                keys
            }
        }
    }

    /// At rest, saved if it could be, and nobody waits for it.
    fn is_free_to_go(&self, key: ObjectPage) -> bool {
        self.pages.get(&key).is_some_and(|page| {
            page.state == State::Resident
                && page.keep <= self.keep
                && !(self.unwritten && page.may_be_written())
                && !self.is_expected(key)
                && (!self.strays || self.is_stray(page))
                && !page.unsaved
                && page.waiters.is_empty()
                && page.leaving.is_empty()
                && !self.examined.contains(&key)
        })
    }

    fn is_expected(&self, key: ObjectPage) -> bool {
        let mut expected = self.expected.iter();
        expected.any(|(object, pages)| *object == key.object && pages.contains(&key.index))
    }

    fn is_stray(&self, page: &Page) -> bool {
        let space = page.charged.and_then(|asid| self.spaces.get(&asid));
        let elsewhere = |(space, frame): (&Space, FrameNumber)| {
            space.placement == SpacePlacement::Isolated
                && !space.channels.contains(&self.memory.channel_of(frame))
        };
        space.zip(page.frame).is_some_and(elsewhere)
    }

    fn block_may_leave(&self, block: FrameNumber) -> bool {
        if let Some(&known) = self.blocks.borrow().get(&block) {
            return known;
        }
        let goes = |key| self.releasing.contains(&key) || self.is_free_to_go(key);
        let size = self.scope.size;
        let may = all_of(block, size, self.owners, self.pages, self.memory, goes);
        self.blocks.borrow_mut().insert(block, may);
        may
    }
}
