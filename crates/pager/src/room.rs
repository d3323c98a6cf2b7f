//! Allocation of frames and buffers, and evictions to make room.

use crate::action::Action;
use crate::block::{self, Candidates, Scope};
use crate::error::AccessError;
use crate::eviction::Choice;
use crate::frame::Within;
use crate::ids::{ObjectId, ObjectPage};
use crate::issue::{Meaning, Step};
use crate::keep::Keep;
use crate::page::{Page, Purpose, Stage, State};
use crate::pager::Pager;
use crate::queue::Urgency;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use units::{Asid, FrameNumber, Operation, PageSize, SpacePlacement, Stripe};

impl Pager {
    /// Gives free frames to waiting pages, most urgent first. Returns true if anything changed.
    pub(crate) fn grant_frames(&mut self, out: &mut Vec<Action>) -> bool {
        let mut changed = false;
        // Channels that a more urgent page waits for are reserved, so that a page that needs room on several channels
        // at once gets it eventually.
        let mut wanted = vec![false; self.memory.available(0).len()];
        // The same for spaces whose limit a more urgent page waits for.
        let mut limited = BTreeSet::new();
        for key in self.frame_queue.pages() {
            let Some(page) = self.pages.get(&key) else {
                continue;
            };
            let hint = page.is_hint() && page.urgency == Urgency::Hint;
            if self.stays_in_host(key) {
                self.frame_queue.remove(key);
                self.begin_direct(key, out);
                changed = true;
                continue;
            }
            let limit = self.limit_of(key, &limited);
            let free = match limit {
                Some(_) => None,
                None => self.allocate_for(key, &wanted),
            };
            match (free, limit) {
                (Some(frame), _) => {
                    self.frame_queue.remove(key);
                    self.begin_fill(key, frame, out);
                    changed = true;
                }
                (None, _) if hint => {
                    // Hints never cause an eviction.
                    if let Some(page) = self.pages.get_mut(&key) {
                        page.waiters.clear();
                    }
                    self.forget(key);
                    changed = true;
                }
                (None, None) => {
                    wanted[self.channels_for_page(key)].fill(true);
                }
                (None, Some(asid)) => {
                    limited.insert(asid);
                }
            }
        }
        changed
    }

    /// Placement of a waiting page's frame.
    fn placement_of(&self, key: ObjectPage) -> SpacePlacement {
        let waiter = self.pages.get(&key).and_then(|page| page.waiters.first());
        let space = waiter.and_then(|waiter| self.spaces.get(&waiter.asid));
        space.map_or(SpacePlacement::Anywhere, |space| space.placement)
    }

    /// Channels for a page's frame.
    fn channels_for_page(&self, key: ObjectPage) -> Range<usize> {
        let object = self.objects.get(&key.object);
        if let Some(channels) = object.and_then(|object| object.channels.clone()) {
            return channels;
        }
        let waiter = self.pages.get(&key).and_then(|page| page.waiters.first());
        let space = waiter.and_then(|waiter| self.spaces.get(&waiter.asid));
        let all = || self.memory.channels_of(SpacePlacement::Anywhere);
        space.map_or_else(all, |space| space.channels.clone())
    }

    /// The space whose limit keeps a waiting page from its frame: its own pages are evicted. If a more urgent page of a
    /// space waits for the limit, so does this one.
    fn limit_of(&self, key: ObjectPage, limited: &BTreeSet<Asid>) -> Option<Asid> {
        let page = self.pages.get(&key)?;
        let asid = page.waiters.first()?.asid;
        let space = self.spaces.get(&asid)?;
        let beyond = space.charged + page.size.bytes() > space.limit?;
        (beyond || limited.contains(&asid)).then_some(asid)
    }

    /// The waiting pages, most urgent first, with the scope of evictions for each.
    fn scopes(&self) -> Vec<(ObjectPage, Scope)> {
        let mut limited = BTreeSet::new();
        let mut scopes = Vec::new();
        for key in self.frame_queue.pages() {
            let limit = self.limit_of(key, &limited);
            limited.extend(limit);
            let placement = self.placement_of(key);
            // Frames that count against a limit may lie on channels that the space had before.
            let channels = match limit {
                Some(_) => self.memory.channels_of(placement),
                None => self.channels_for_page(key),
            };
            let scope = Scope {
                asid: limit,
                first: channels.start,
                end: channels.end,
                striped: placement.stripe() != Stripe::NONE,
                size: self.size_of(key),
            };
            scopes.push((key, scope));
        }
        scopes
    }

    fn allocate_for(&mut self, key: ObjectPage, wanted: &[bool]) -> Option<FrameNumber> {
        let order = self.size_of(key).class();
        let placement = self.placement_of(key);
        let channels = self.channels_for_page(key);
        if let SpacePlacement::Interleaved { first, stripe } = placement {
            let free = !wanted[channels].contains(&true);
            return free
                .then(|| self.memory.allocate_striped(first, stripe, order))
                .flatten();
        }
        let mut available = self.memory.available(order);
        for (channel, room) in available.iter_mut().enumerate() {
            *room &= channels.contains(&channel) && !wanted[channel];
        }
        let first = available.iter().position(|&room| room)?;
        let asid = self.pages.get(&key)?.waiters.first()?.asid;
        if let Some(beside) = self.frame_beside(key) {
            if available[self.memory.channel_of(beside)] && self.memory.take(beside, order) {
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
        let begun = self.place_in_block(key).and_then(|(largest, offset)| {
            let joins = self.joins_in(asid, largest);
            let within = Within {
                larger: largest.class(),
                offset,
            };
            joins.then(|| self.memory.allocate_within(channel, order, within))?
        });
        begun.or_else(|| self.memory.allocate(channel, order))
    }

    /// Gives free buffers to fills and write-backs. Returns true if anything changed.
    ///
    /// There is no deadlock: the holder of a buffer has its frame and needs nothing else.
    pub(crate) fn grant_buffers(&mut self, out: &mut Vec<Action>) -> bool {
        let mut changed = false;
        while let Some(key) = self.buffer_queue.first() {
            let page = self.pages.get(&key).map(|page| (page.state, page.size));
            // A page that waits for a large part is never overtaken; otherwise it would starve.
            let class = page.map_or(0, |(_, size)| self.buffers.class_for(size));
            let Some(part) = self.buffers.take(class) else {
                break;
            };
            self.buffer_queue.remove(key);
            changed = true;
            match page.map(|(state, _)| state) {
                Some(State::AwaitingBuffer) => self.begin_read(key, part, out),
                Some(State::WritingBack {
                    purpose,
                    stage: Stage::AwaitingBuffer,
                }) => self.begin_copy_out(key, purpose, part, out),
                _ => self.buffers.give(part),
            }
        }
        changed
    }

    /// Evicts as many pages as wait for frames. Returns true if anything changed.
    pub(crate) fn make_room(&mut self, out: &mut Vec<Action>) -> bool {
        if self.frame_queue.is_empty() {
            return false;
        }
        let mut waiting: BTreeMap<Scope, Vec<ObjectPage>> = BTreeMap::new();
        for (key, scope) in self.scopes() {
            waiting.entry(scope).or_default().push(key);
        }
        let mut changed = false;
        for (scope, keys) in waiting {
            // Room made for one scope can have brought a space below its limit.
            let now: BTreeMap<ObjectPage, Scope> = self.scopes().into_iter().collect();
            let still = keys.iter().all(|key| now.get(key) == Some(&scope));
            changed |= !still || self.make_room_in(scope, &keys, out);
        }
        changed
    }

    fn make_room_in(&mut self, scope: Scope, keys: &[ObjectPage], out: &mut Vec<Action>) -> bool {
        let free = self.memory.count(scope.size.class());
        let mut changed = false;
        while !self.enough_comes(scope, keys.len() as u64) {
            match self.choose(scope) {
                (Choice::Evict(_), leaving) => {
                    self.evict(&leaving, (scope, keys), out);
                    changed = true;
                }
                (Choice::Examine(key), _) => self.examine(key, out),
                (Choice::Nothing, _) => break,
            }
            let granted = match scope.asid {
                Some(asid) => self.slack(asid) >= scope.size.bytes(),
                None => self.memory.count(scope.size.class()) > free,
            };
            if granted {
                return true;
            }
        }
        // Where there is room, the pages wait for a more urgent one that is served first.
        let free = match scope.asid {
            Some(_) => self.enough_comes(scope, keys.len() as u64),
            None => keys.iter().any(|&key| self.frame_is_free(key)),
        };
        let hopeless = !free && self.leaving(scope).next().is_none() && !self.anything_moves(scope);
        if hopeless {
            self.give_up(scope, keys, out);
            changed = true;
        }
        changed
    }

    /// The policy's choice among the pages of a scope, and the pages that leave with it. Pages to be retained are
    /// chosen only if no others can leave.
    fn choose(&mut self, scope: Scope) -> (Choice, Vec<ObjectPage>) {
        let expected = match self.policies.eviction.spares_expected() {
            true => self.expected(),
            false => Vec::new(),
        };
        let Self {
            pages,
            policies,
            examined,
            releasing,
            owners,
            memory,
            spaces,
            regrouped,
            ..
        } = self;
        let turns = match self.advised {
            true => &Keep::ALL[..],
            false => &[Keep::Long],
        };
        let spared = match policies.eviction.spares_written() {
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
        let strays = match *regrouped {
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
                spaces,
                pages,
                examined,
                releasing,
                owners,
                memory,
                blocks: RefCell::default(),
            };
            match policies.eviction.choose(&|key| candidates.eligible(key)) {
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
            let unit = self.objects.get(&object)?.unit();
            let bits = size.bits().checked_sub(unit.bits())?;
            Some((object, pages.start << bits..pages.end << bits))
        };
        expected.filter_map(in_units).collect()
    }

    /// Evicts pages for the waiting pages of a scope.
    fn evict(
        &mut self,
        leaving: &[ObjectPage],
        (scope, waiting): (Scope, &[ObjectPage]),
        out: &mut Vec<Action>,
    ) {
        for &key in leaving {
            let page = self.pages.get(&key);
            let in_block = page.is_some_and(|page| scope.block_of(page).is_some());
            if let Some(&first) = waiting.first().filter(|_| in_block) {
                // The block must not be divided again before it is whole.
                self.frame_queue.push(first, Urgency::Head);
            }
            self.statistics.evictions += 1;
            self.count_of(key, |space| space.evictions += 1);
            self.begin_write_back(key, Purpose::Release, out);
        }
    }

    /// Whether there is a free frame for a waiting page, even if it is reserved.
    fn frame_is_free(&self, key: ObjectPage) -> bool {
        let order = self.size_of(key).class();
        match self.placement_of(key) {
            SpacePlacement::Interleaved { first, stripe } => {
                let mut memory = self.memory.clone();
                memory.allocate_striped(first, stripe, order).is_some()
            }
            _ => {
                let channels = self.channels_for_page(key);
                self.memory.available(order)[channels].contains(&true)
            }
        }
    }

    /// Bytes left below the limit of a space.
    fn slack(&self, asid: Asid) -> u64 {
        self.spaces.get(&asid).map_or(u64::MAX, |space| {
            space.limit.unwrap_or(u64::MAX) - space.charged
        })
    }

    /// Pages of a scope that are leaving, or may leave soon.
    fn leaving(&self, scope: Scope) -> impl Iterator<Item = (ObjectPage, &Page)> {
        self.releasing
            .iter()
            .chain(&self.examined)
            .filter_map(|key| Some((*key, self.pages.get(key)?)))
            .filter(move |(_, page)| scope.holds(&self.memory, page))
    }

    /// Whether the pages of a scope that are leaving, or may leave soon, free enough frames for `pages` pages.
    fn enough_comes(&self, scope: Scope, pages: u64) -> bool {
        let size = scope.size;
        if let Some(asid) = scope.asid {
            let coming: u64 = self.leaving(scope).map(|(_, page)| page.size.bytes()).sum();
            return self.slack(asid).saturating_add(coming) >= pages << size.bits();
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
        let comes = |key: ObjectPage| self.releasing.contains(&key) || self.examined.contains(&key);
        let whole = blocks.into_iter().filter(|&block| {
            block::all_of(block, size, &self.owners, &self.pages, &self.memory, comes)
        });
        (bytes >> size.bits()) + whole.count() as u64 >= pages
    }

    /// Whether a page of the scope is under way and may be evicted later.
    fn anything_moves(&self, scope: Scope) -> bool {
        self.pages.values().any(|page| {
            scope.holds(&self.memory, page)
                && match page.state {
                    State::Waiting => false,
                    State::Resident => page.unreported > 0,
                    _ => true,
                }
        })
    }

    /// No frame will become free: the accesses that wait for one fail. Pages whose write-back failed are tried again at
    /// the next fault.
    fn give_up(&mut self, scope: Scope, keys: &[ObjectPage], out: &mut Vec<Action>) {
        let mut unsaved = 0;
        let mut frames = 0;
        for page in self.pages.values_mut() {
            if scope.holds(&self.memory, page) {
                unsaved += u64::from(std::mem::take(&mut page.unsaved));
                frames += u64::from(page.frame.is_some());
            }
        }
        let reason = AccessError::NoFrame {
            page: scope.size,
            frames,
            unsaved,
        };
        for &key in keys {
            if self.split_wanted(key, out) {
                continue;
            }
            self.fail_waiters(key, reason, out);
            self.end_all_requests(key, Ok(()), out);
            self.forget(key);
        }
    }

    /// Queries the card's accessed bits of a page.
    fn examine(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        page.examining = page.entries.len() as u32;
        let size = page.size;
        let entries = page.entries.clone();
        if entries.is_empty() {
            let accessed = std::mem::take(&mut page.accessed);
            return self.policies.eviction.observed(key, accessed);
        }
        self.examined.insert(key);
        for entry in entries {
            let operation = Operation::ReadClear {
                asid: entry.asid,
                address: entry.address,
                size,
            };
            let meaning = Some(Meaning::Examined(key));
            self.issued.command(Step::new(operation, meaning), out);
        }
    }

    /// Handles the card's report of the accessed bits.
    pub(crate) fn page_examined(&mut self, key: ObjectPage, accessed: bool) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        page.accessed |= accessed;
        page.examining -= 1;
        if page.examining == 0 {
            let accessed = std::mem::take(&mut page.accessed);
            self.examined.remove(&key);
            self.policies.eviction.observed(key, accessed);
        }
    }
}
