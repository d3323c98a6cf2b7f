//! Allocation of frames, and the choice of pages that are evicted for them.

use crate::block::{self, Candidates, Scope};
use crate::eviction::Choice;
use crate::frame::Within;
use crate::ids::{ObjectId, ObjectPage};
use crate::keep::Keep;
use crate::memory::Memory;
use crate::page::{Page, State};
use crate::pages::Pages;
use crate::policies::Policies;
use crate::sizes::joins_in;
use crate::space::Space;
use crate::spaces::Spaces;
use crate::work::Work;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use units::{Asid, FrameNumber, PageSize, SpacePlacement, Stripe};

/// Gives waiting pages their frames, and finds the pages that leave if there is none.
pub(crate) struct Allocation<'a> {
    pub(crate) pages: &'a Pages,
    pub(crate) spaces: &'a Spaces,
    pub(crate) memory: &'a mut Memory,
    pub(crate) work: &'a Work,
    pub(crate) policies: &'a mut Policies,
}

impl Allocation<'_> {
    /// The space of a waiting page.
    fn space_of(&self, key: ObjectPage) -> Option<&Space> {
        let waiter = self.pages.page(key)?.waiters.first()?;
        self.spaces.space(waiter.asid)
    }

    /// Placement of a waiting page's frame.
    fn placement_of(&self, key: ObjectPage) -> SpacePlacement {
        let space = self.space_of(key);
        space.map_or(SpacePlacement::Anywhere, |space| space.placement)
    }

    /// Channels for a page's frame.
    pub(crate) fn channels_for(&self, key: ObjectPage) -> Range<usize> {
        let object = self.pages.object(key.object);
        if let Some(channels) = object.and_then(|object| object.channels.clone()) {
            return channels;
        }
        let all = || self.memory.channels();
        let space = self.space_of(key);
        space.map_or_else(all, |space| space.channels.clone())
    }

    /// The space whose limit keeps a waiting page from its frame: its own pages are evicted. If a more urgent page of a
    /// space waits for the limit, so does this one.
    pub(crate) fn limit_of(&self, key: ObjectPage, limited: &BTreeSet<Asid>) -> Option<Asid> {
        let page = self.pages.page(key)?;
        let asid = page.waiters.first()?.asid;
        let space = self.spaces.space(asid)?;
        let beyond = space.charged + page.size.bytes() > space.limit?;
        (beyond || limited.contains(&asid)).then_some(asid)
    }

    /// The waiting pages, most urgent first, with the scope of evictions for each.
    pub(crate) fn scopes(&self) -> Vec<(ObjectPage, Scope)> {
        let mut limited = BTreeSet::new();
        let mut scopes = Vec::new();
        for key in self.work.awaiting_frame() {
            let limit = self.limit_of(key, &limited);
            limited.extend(limit);
            let placement = self.placement_of(key);
            // Frames that count against a limit may lie on channels that the space had before.
            let channels = match limit {
                Some(_) => self.memory.frames().channels_of(placement),
                None => self.channels_for(key),
            };
            let scope = Scope {
                asid: limit,
                first: channels.start,
                end: channels.end,
                striped: placement.stripe() != Stripe::NONE,
                size: self.pages.size_of(key),
            };
            scopes.push((key, scope));
        }
        scopes
    }

    /// Takes a frame for a waiting page. `reserved`: channels that a more urgent page waits for.
    pub(crate) fn allocate(&mut self, key: ObjectPage, reserved: &[bool]) -> Option<FrameNumber> {
        let size = self.pages.size_of(key);
        let placement = self.placement_of(key);
        let channels = self.channels_for(key);
        if let SpacePlacement::Interleaved { first, stripe } = placement {
            let free = !reserved[channels].contains(&true);
            return free
                .then(|| self.memory.allocate_striped(first, stripe, size))
                .flatten();
        }
        let mut available = self.memory.frames().available(size.class());
        for (channel, room) in available.iter_mut().enumerate() {
            *room &= channels.contains(&channel) && !reserved[channel];
        }
        let first = available.iter().position(|&room| room)?;
        let asid = self.pages.page(key)?.waiters.first()?.asid;
        if let Some(beside) = self.pages.frame_beside(key) {
            let channel = self.memory.frames().channel_of(beside);
            if available[channel] && self.memory.take(beside, size) {
                return Some(beside);
            }
        }
        let wanted = self.policies.placement.channel(asid, key, &available);
        let channel = if available.get(wanted) == Some(&true) {
            wanted
        } else {
            first
        };
        // Blocks are chosen so that their other parts find room next to them.
        let begun = self
            .pages
            .place_in_block(key)
            .and_then(|(largest, offset)| {
                let policy = &mut *self.policies.size;
                let joins = joins_in(policy, self.spaces, self.memory, asid, largest);
                let within = Within {
                    larger: largest.class(),
                    offset,
                };
                joins.then(|| self.memory.allocate_within(channel, size, within))?
            });
        begun.or_else(|| self.memory.allocate(channel, size))
    }

    /// The policy's choice among the pages of a scope, and the pages that leave with it. Pages to be retained are
    /// chosen only if no others can leave.
    pub(crate) fn choose(&mut self, scope: Scope) -> (Choice, Vec<ObjectPage>) {
        let expected = match self.policies.eviction.spares_expected() {
            true => self.expected(),
            false => Vec::new(),
        };
        let turns = match self.spaces.is_advised() {
            true => &Keep::ALL[..],
            false => &[Keep::Long],
        };
        let spared = match self.policies.eviction.spares_written() {
            true => &[true, false][..],
            false => &[false],
        };
        let waits = match expected.is_empty() {
            true => &[&[][..]][..],
            false => &[&expected[..], &[]],
        };
        let turns = turns.iter().flat_map(|&keep| {
            let of = move |&unwritten| waits.iter().map(move |&wait| (keep, unwritten, wait));
            spared.iter().flat_map(of)
        });
        let strays = match self.spaces.is_regrouped() {
            true => &[true, false][..],
            false => &[false],
        };
        let turns = strays
            .iter()
            .flat_map(|&strays| turns.clone().map(move |turn| (strays, turn)));
        for (strays, (keep, unwritten, expected)) in turns {
            let candidates = Candidates {
                scope,
                keep,
                unwritten,
                expected,
                strays,
                spaces: self.spaces,
                pages: self.pages,
                memory: self.memory,
                work: self.work,
                blocks: RefCell::default(),
            };
            let eviction = &mut self.policies.eviction;
            match eviction.choose(&|key| candidates.eligible(key)) {
                Choice::Nothing => {}
                Choice::Evict(key) => return (Choice::Evict(key), candidates.leaving_with(key)),
                Choice::Examine(key) => return (Choice::Examine(key), Vec::new()),
            }
        }
        (Choice::Nothing, Vec::new())
    }

    /// Pages read ahead and not used yet, in smallest pages of the objects.
    fn expected(&self) -> Vec<(ObjectId, Range<u64>)> {
        let expected = self.policies.fetch.expected().into_iter();
        let in_units = |(object, size, pages): (ObjectId, PageSize, Range<u64>)| {
            let unit = self.pages.unit_of(object)?;
            let bits = size.bits().checked_sub(unit.bits())?;
            Some((object, pages.start << bits..pages.end << bits))
        };
        expected.filter_map(in_units).collect()
    }

    /// Whether there is a free frame for a waiting page, even if it is reserved.
    fn frame_is_free(&self, key: ObjectPage) -> bool {
        let order = self.pages.size_of(key).class();
        match self.placement_of(key) {
            SpacePlacement::Interleaved { first, stripe } => {
                let mut memory = self.memory.frames().clone();
                memory.allocate_striped(first, stripe, order).is_some()
            }
            _ => {
                let channels = self.channels_for(key);
                self.memory.frames().available(order)[channels].contains(&true)
            }
        }
    }

    /// Pages of a scope that are leaving, or may leave soon.
    fn leaving(&self, scope: Scope) -> impl Iterator<Item = (ObjectPage, &Page)> {
        let all = self.work.leaving(self.pages);
        all.filter(move |(_, page)| scope.holds(self.memory.frames(), page))
    }

    /// Whether the pages of a scope that are leaving, or may leave soon, free enough frames for `pages` pages.
    pub(crate) fn enough_comes(&self, scope: Scope, pages: u64) -> bool {
        let size = scope.size;
        if let Some(asid) = scope.asid {
            let coming: u64 = self.leaving(scope).map(|(_, page)| page.size.bytes()).sum();
            return self.spaces.slack(asid).saturating_add(coming) >= pages << size.bits();
        }
        // A small page counts for a large one only if its whole block becomes free.
        let mut bytes = 0;
        let mut blocks = BTreeSet::new();
        for (_, page) in self.leaving(scope) {
            match scope.block_of(page) {
                Some(block) => {
                    blocks.insert(block);
                }
                None => bytes += page.size.bytes(),
            }
        }
        let comes = |key| self.work.may_leave(key);
        let whole = blocks
            .into_iter()
            .filter(|&block| block::all_of(block, size, self.pages, self.memory, comes));
        (bytes >> size.bits()) + whole.count() as u64 >= pages
    }

    /// Whether a waiting page of a scope has what it waited for: its space is below its limit again, or there are more
    /// free frames than the `free` before.
    pub(crate) fn is_granted(&self, scope: Scope, free: u64) -> bool {
        match scope.asid {
            Some(asid) => self.spaces.slack(asid) >= scope.size.bytes(),
            None => self.memory.free(scope.size) > free,
        }
    }

    /// Whether no frame for the waiting pages of a scope is free or becomes free.
    pub(crate) fn is_hopeless(&self, scope: Scope, waiting: &[ObjectPage]) -> bool {
        // Where there is room, the pages wait for a more urgent one that is served first.
        let free = match scope.asid {
            Some(_) => self.enough_comes(scope, waiting.len() as u64),
            None => waiting.iter().any(|&key| self.frame_is_free(key)),
        };
        !free && self.leaving(scope).next().is_none() && !self.anything_moves(scope)
    }

    /// Whether a page of the scope is under way and may be evicted later.
    fn anything_moves(&self, scope: Scope) -> bool {
        self.pages.iter().any(|(_, page)| {
            scope.holds(self.memory.frames(), page)
                && match page.state() {
                    State::Waiting => false,
                    State::Resident => page.entries.unreported > 0,
                    _ => true,
                }
        })
    }
}
