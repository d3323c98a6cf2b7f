//! The life of pages: the next step of a page when one ends, and the grants of frames and buffers.

use super::Pager;
use crate::action::Action;
use crate::block::Scope;
use crate::clean;
use crate::error::{AccessError, PagerError};
use crate::event::ObjectKind;
use crate::eviction::Choice;
use crate::host_memory;
use crate::ids::{ObjectPage, RequestId};
use crate::issue::{Meaning, Step};
use crate::outcome::Outcome;
use crate::page::{Purpose, Stage, State};
use crate::queue::Urgency;
use crate::sabotage::Sabotage;
use crate::sizes::{fits_again, joins_in};
use std::collections::{BTreeMap, BTreeSet};
use units::Operation;

impl Pager {
    /// Continues with a page after the end of a step.
    pub(super) fn apply(&mut self, key: ObjectPage, outcome: Outcome) {
        match outcome {
            Outcome::UnderWay => {}
            Outcome::Load => {
                let loaded = self.fill().load(key, None);
                self.apply(key, loaded);
            }
            Outcome::Resident => {
                if self.fill().become_resident(key) {
                    self.policies.eviction.inserted(key);
                }
                self.settle(key);
            }
            Outcome::FillFailed(reason) => self.fail_fill(key, reason),
            Outcome::Settle => self.settle(key),
            Outcome::WrittenBack(purpose, result) => self.written_back(key, purpose, result),
        }
    }

    /// Decides the next step of a resident page. Called whenever a page becomes idle or one of its reports arrives.
    pub(super) fn settle(&mut self, key: ObjectPage) {
        match self.pages.state(key) {
            Some(State::WritingBack {
                purpose,
                stage: Stage::Draining,
            }) => {
                let mut write_back = self.write_back();
                if write_back.is_drained(key) {
                    let outcome = write_back.drained(key, purpose);
                    self.apply(key, outcome);
                }
            }
            Some(State::Resident) => self.settle_resident(key),
            _ => {}
        }
    }

    fn settle_resident(&mut self, key: ObjectPage) {
        self.translation().serve_now(key);
        if host_memory::upgrade(&mut self.pages, &mut self.issued, key) {
            return;
        }
        let Some((page, object)) = self.pages.page_and_object(key) else {
            return;
        };
        let used = object.uses(key.index);
        let stays = used || (object.kind == ObjectKind::Anonymous && !object.closing);
        let requests = &page.requests;
        if !requests.leaving.is_empty() {
            if !stays {
                self.begin_write_back(key, Purpose::Release);
            } else if used {
                // The others keep the page; the request still needs its stores to be saved.
                if let Some(page) = self.pages.page_mut(key) {
                    let requests = &mut page.requests;
                    requests.wanted.append(&mut requests.leaving);
                }
                self.begin_write_back(key, Purpose::Clean);
            } else if page.entries.unreported == 0 {
                let page = self.pages.page_mut(key);
                let leaving = page.map(|page| std::mem::take(&mut page.requests.leaving));
                self.end(leaving.into_iter().flatten(), Ok(()));
                self.settle_resident(key);
            }
        } else if !requests.returning.is_empty() {
            self.begin_write_back(key, Purpose::Release);
        } else if !requests.wanted.is_empty() {
            self.begin_write_back(key, Purpose::Clean);
        } else if !stays && !page.content.unsaved {
            // It was fetched after its last mapping had ended.
            self.begin_write_back(key, Purpose::Release);
        } else if self.pages.varies_above(key) {
            self.work.rest(key);
        }
    }

    /// Begins a write-back of a resident page: its entries are protected or removed.
    fn begin_write_back(&mut self, key: ObjectPage, purpose: Purpose) {
        match purpose {
            Purpose::Release => self.work.begin_release(key),
            Purpose::Clean => self.work.begin_clean(key),
        }
        self.write_back().begin(key, purpose);
        self.settle(key);
    }

    /// The end of a write-back.
    fn written_back(&mut self, key: ObjectPage, purpose: Purpose, result: Result<(), PagerError>) {
        let object = self.pages.object(key.object);
        let discard = object.is_some_and(|object| object.discard);
        let result = if discard { Ok(()) } else { result };
        self.work.end_clean(key);
        let Some(page) = self.pages.page_mut(key) else {
            return;
        };
        page.progress.moved = 0;
        page.content.unsaved = result.is_err();
        let requests = &mut page.requests;
        if let Err(error) = result {
            self.counts.add(|total| total.write_backs_failed += 1);
            page.content.dirty = true;
            self.work.end_release(key);
            if requests.joined.is_empty() && requests.leaving.is_empty() {
                self.issued.push(Action::WriteBackFailed { error });
            }
        }
        let mut ended = std::mem::take(&mut requests.joined);
        match (purpose, result) {
            (Purpose::Release, Ok(())) => return self.released(key, ended),
            (Purpose::Release, Err(_)) => {
                ended.append(&mut requests.leaving);
                ended.append(&mut requests.returning);
            }
            (Purpose::Clean, _) => {}
        }
        page.enter(State::Resident);
        self.end(ended, result);
        self.settle(key);
    }

    /// Drained and saved: the frame is free. The page may already be requested again.
    fn released(&mut self, key: ObjectPage, mut ended: Vec<RequestId>) {
        self.work.end_release(key);
        let Some(page) = self.pages.page_mut(key) else {
            return;
        };
        if page.place.direct.is_none() {
            self.policies.eviction.removed(key);
        }
        self.memory.take_back(&mut self.spaces, page);
        let requests = &mut page.requests;
        ended.append(&mut requests.leaving);
        ended.append(&mut requests.wanted);
        ended.append(&mut requests.returning);
        if page.waiters.is_empty() {
            self.work.forget(&mut self.pages, key);
        } else if !self.is_split_again(key) {
            if let Some(page) = self.pages.page_mut(key) {
                page.enter(State::Waiting);
                self.work.await_frame(key, page.urgency);
            }
        }
        self.end(ended, Ok(()));
    }

    /// A block of several sizes is fetched again in small pages, unless there is room.
    fn is_split_again(&mut self, key: ObjectPage) -> bool {
        let (pages, spaces) = (&self.pages, &self.spaces);
        pages.varies(key)
            && !fits_again(pages, spaces, &self.memory, &self.work, key)
            && self.split_wanted(key)
    }

    /// A fill failed: frees the page's frame and reports the failure to its waiters. A page of host memory is given back
    /// to programs first.
    fn fail_fill(&mut self, key: ObjectPage, reason: AccessError) {
        self.work.end_zero(key);
        self.translation().fail_waiters(key, reason);
        if host_memory::is_claimed(&self.pages, key) {
            self.work.begin_release(key);
            let (issued, counts) = (&mut self.issued, &mut self.counts);
            let purpose = Purpose::Release;
            return host_memory::give_back(&mut self.pages, issued, counts, key, purpose);
        }
        if let Some(page) = self.pages.page_mut(key) {
            self.memory.take_back(&mut self.spaces, page);
        }
        self.completion().end_all(key, Ok(()));
        self.work.forget(&mut self.pages, key);
    }

    /// Splits a page without a frame into smaller ones, for the accesses that wait for it. Returns false if this is not
    /// possible.
    fn split_wanted(&mut self, key: ObjectPage) -> bool {
        let Some(split) = self.pages.split(key) else {
            return false;
        };
        self.completion().end_all(key, Ok(()));
        self.work.forget(&mut self.pages, key);
        self.counts.add(|total| total.sizes.split += 1);
        let mut demand = self.demand();
        for waiter in split.waiters {
            demand.want_small(waiter, split.unit, split.urgency);
        }
        true
    }

    /// Gives frames and buffers to waiting pages, until nothing changes.
    pub(super) fn pump(&mut self) {
        while self.grant_frames()
            | self.grant_zeroes()
            | self.grant_buffers()
            | self.make_room()
            | self.clean_ahead()
            | self.clean_behind()
        {}
    }

    /// Gives free frames to waiting pages, most urgent first. Returns true if anything changed.
    fn grant_frames(&mut self) -> bool {
        if self.work.frames_awaited() == 0 {
            return false;
        }
        let mut changed = false;
        // Channels that a more urgent page waits for are reserved, so that a page that needs room on several channels
        // at once gets it eventually.
        let mut reserved = vec![false; self.memory.channels().len()];
        // The same for spaces whose limit a more urgent page waits for.
        let mut limited = BTreeSet::new();
        for key in self.work.awaiting_frame() {
            let Some(page) = self.pages.page(key) else {
                continue;
            };
            let hint = page.is_hint() && page.urgency == Urgency::Hint;
            if self.pages.stays_in_host(key) {
                self.work.has_frame(key);
                let outcome = self.fill().begin_direct(key);
                self.apply(key, outcome);
                changed = true;
                continue;
            }
            let mut allocation = self.allocation();
            let limit = allocation.limit_of(key, &limited);
            let free = match limit {
                Some(_) => None,
                None => allocation.allocate(key, &reserved),
            };
            match (free, limit) {
                (Some(frame), _) => {
                    self.work.has_frame(key);
                    let outcome = self.fill().begin(key, frame);
                    self.apply(key, outcome);
                    changed = true;
                }
                (None, _) if hint => {
                    // Hints never cause an eviction.
                    self.work.forget(&mut self.pages, key);
                    changed = true;
                }
                (None, None) => reserved[allocation.channels_for(key)].fill(true),
                (None, Some(asid)) => {
                    limited.insert(asid);
                }
            }
        }
        changed
    }

    /// Zeroes pages. Returns true if anything changed.
    fn grant_zeroes(&mut self) -> bool {
        let mut changed = false;
        let most = self.config.zeroed_ahead_bytes;
        while let Some(key) = self.work.begin_zero(&self.pages, most) {
            let outcome = self.fill().load(key, None);
            self.apply(key, outcome);
            changed = true;
        }
        changed
    }

    /// Gives free buffers to fills and write-backs. Returns true if anything changed.
    ///
    /// There is no deadlock: the holder of a buffer has its frame and needs nothing else.
    fn grant_buffers(&mut self) -> bool {
        let mut changed = false;
        loop {
            let size = |key| self.pages.page(key).map(|page| page.size);
            let Some((key, part)) = self.buffers.grant(size) else {
                return changed;
            };
            changed = true;
            match self.pages.state(key) {
                Some(State::AwaitingBuffer) => self.fill().begin_read(key, part),
                Some(State::WritingBack {
                    purpose,
                    stage: Stage::AwaitingBuffer,
                }) => self.write_back().begin_copy_out(key, purpose, part),
                _ => self.buffers.give(part),
            }
        }
    }

    /// Evicts as many pages as wait for frames. Returns true if anything changed.
    fn make_room(&mut self) -> bool {
        if self.work.frames_awaited() == 0 {
            return false;
        }
        let mut waiting: BTreeMap<Scope, Vec<ObjectPage>> = BTreeMap::new();
        for (key, scope) in self.allocation().scopes() {
            waiting.entry(scope).or_default().push(key);
        }
        let mut changed = false;
        for (scope, keys) in waiting {
            // Room made for one scope can have brought a space below its limit.
            let now = self.allocation().scopes().into_iter();
            let now: BTreeMap<ObjectPage, Scope> = now.collect();
            let still = keys.iter().all(|key| now.get(key) == Some(&scope));
            changed |= !still || self.make_room_in(scope, &keys);
        }
        changed
    }

    fn make_room_in(&mut self, scope: Scope, keys: &[ObjectPage]) -> bool {
        let free = self.memory.free(scope.size);
        let mut changed = false;
        while !self.allocation().enough_comes(scope, keys.len() as u64) {
            match self.allocation().choose(scope) {
                (Choice::Evict(_), leaving) => {
                    self.evict(&leaving, scope, keys.first());
                    changed = true;
                }
                (Choice::Examine(key), _) => self.examine(key),
                (Choice::Nothing, _) => break,
            }
            if self.allocation().is_granted(scope, free) {
                return true;
            }
        }
        if self.allocation().is_hopeless(scope, keys) {
            self.give_up(scope, keys);
            changed = true;
        }
        changed
    }

    /// Evicts pages of a scope for the waiting pages, of which this is the first.
    fn evict(&mut self, leaving: &[ObjectPage], scope: Scope, first: Option<&ObjectPage>) {
        for &key in leaving {
            let page = self.pages.page(key);
            let in_block = page.is_some_and(|page| scope.block_of(page).is_some());
            if let Some(&first) = first.filter(|_| in_block) {
                // The block must not be divided again before it is whole.
                self.work.await_frame(first, Urgency::Head);
            }
            let asid = self.pages.brought_by(key);
            self.counts.add_in(asid, |counts| counts.evictions += 1);
            self.begin_write_back(key, Purpose::Release);
        }
    }

    /// No frame will become free: the accesses that wait for one fail. Pages whose write-back failed are tried again at
    /// the next fault.
    fn give_up(&mut self, scope: Scope, keys: &[ObjectPage]) {
        let mut unsaved = 0;
        let mut frames = 0;
        for (_, page) in self.pages.iter_mut() {
            if scope.holds(self.memory.frames(), page) {
                unsaved += u64::from(std::mem::take(&mut page.content.unsaved));
                frames += u64::from(page.place.frame.is_some());
            }
        }
        let reason = AccessError::NoFrame {
            page: scope.size,
            frames,
            unsaved,
        };
        for &key in keys {
            if !self.split_wanted(key) {
                self.translation().fail_waiters(key, reason);
                self.completion().end_all(key, Ok(()));
                self.work.forget(&mut self.pages, key);
            }
        }
    }

    /// Queries the card's accessed bits of a page.
    fn examine(&mut self, key: ObjectPage) {
        let Some(page) = self.pages.page_mut(key) else {
            return;
        };
        let entries = &mut page.entries;
        entries.examining = entries.list.len() as u32;
        if entries.list.is_empty() {
            let accessed = std::mem::take(&mut entries.accessed);
            return self.policies.eviction.observed(key, accessed);
        }
        self.work.begin_examination(key);
        for entry in &entries.list {
            let operation = Operation::ReadClear {
                asid: entry.asid,
                address: entry.address,
                size: page.size,
            };
            let meaning = Some(Meaning::Examined(key));
            self.issued.command(Step::new(operation, meaning));
        }
    }

    /// Handles the card's report of the accessed bits.
    pub(super) fn page_examined(&mut self, key: ObjectPage, accessed: bool) {
        let Some(page) = self.pages.page_mut(key) else {
            return;
        };
        let entries = &mut page.entries;
        entries.accessed |= accessed;
        entries.examining -= 1;
        if entries.examining == 0 {
            let accessed = std::mem::take(&mut entries.accessed);
            self.work.end_examination(key);
            self.policies.eviction.observed(key, accessed);
        }
    }

    /// Cleans eviction candidates while few frames are free. Returns true if anything changed.
    fn clean_ahead(&mut self) -> bool {
        let frames = self.config.clean_ahead.min(self.total_frames() / 4);
        if frames == 0 || self.free_frames() >= frames {
            return false;
        }
        let upcoming = self.policies.eviction.upcoming(clean::LOOK);
        let (bytes, advised) = (frames << self.page_size().bits(), self.spaces.is_advised());
        let mut changed = false;
        for key in clean::candidates(&self.pages, upcoming, bytes, advised) {
            if !clean::may_begin(&self.work) {
                break;
            }
            if clean::is_worth_it(&self.pages, &self.work, key) {
                self.counts.add(|total| total.pages_cleaned_ahead += 1);
                self.clean(key);
                changed = true;
            }
        }
        changed
    }

    /// Cleans pages that were written sequentially. Returns true if anything changed.
    fn clean_behind(&mut self) -> bool {
        let mut changed = false;
        while let Some(key) = clean::next_behind(&self.pages, &mut self.work) {
            self.counts.add(|total| total.pages_cleaned_behind += 1);
            self.clean(key);
            changed = true;
        }
        changed
    }

    fn clean(&mut self, key: ObjectPage) {
        if let Some(page) = self.pages.page_mut(key) {
            page.content.cleaned = true;
        }
        self.begin_write_back(key, Purpose::Clean);
    }

    /// Joins pages that have become idle into larger ones. Runs at the end of an event, when no code iterates over
    /// pages: a request that has completed one page of a block must still find the others.
    pub(super) fn join_rested(&mut self) {
        for key in self.work.take_rested() {
            self.join(key);
        }
    }

    /// Joins an idle page with the rest of its block, if that is complete. The small entries are removed and the large
    /// one is written behind them: an access in between waits for the host, as for any removed entry.
    fn join(&mut self, key: ObjectPage) {
        let examined = |part| self.work.is_examined(part);
        let Some(block) = self.pages.complete_block(key, examined) else {
            return;
        };
        let (spaces, memory) = (&self.spaces, &self.memory);
        let policy = &mut *self.policies.size;
        let mut entries = block.entries.iter();
        if !entries.all(|entry| joins_in(policy, spaces, memory, entry.asid, block.size)) {
            return;
        }
        let steps = block.hide(&mut self.translation());
        let forget = self.injected.is(Sabotage::JoinForgetsWrites);
        block.unite(&mut self.pages, &mut self.memory, forget);
        self.policies.eviction.joined(&block.parts, block.key);
        self.issued.commands(steps);
        block.show(&mut self.translation());
        self.counts.add(|total| total.sizes.joined += 1);
    }

    /// Ends a dependency of each of these requests.
    pub(super) fn end(
        &mut self,
        requests: impl IntoIterator<Item = RequestId>,
        result: Result<(), PagerError>,
    ) {
        self.completion().end(requests, result);
    }
}
