//! Room: who gets frames and buffers, and which pages leave for them.

use crate::action::{Action, Operation};
use crate::error::AccessError;
use crate::eviction::Choice;
use crate::issue::{Meaning, Step};
use crate::page::{ObjectPage, Page, Purpose, Stage, State};
use crate::pager::Pager;
use std::collections::BTreeMap;
use units::{Asid, FrameNumber};

/// Whose pages may leave to make room: anybody's, or those of a space at its limit.
type Scope = Option<Asid>;

fn within(scope: Scope, page: &Page) -> bool {
    scope.is_none() || page.charged == scope
}

impl Pager {
    /// Gives free frames to waiting pages, most urgent first. True if anything changed.
    pub(crate) fn grant_frames(&mut self, out: &mut Vec<Action>) -> bool {
        let mut changed = false;
        for key in self.frame_queue.pages() {
            let Some(page) = self.pages.get(&key) else {
                continue;
            };
            let hint = page.is_hint();
            match self.allocate_for(key) {
                Some(frame) => {
                    self.frame_queue.remove(key);
                    self.begin_fill(key, frame, out);
                    changed = true;
                }
                None if hint => {
                    // Hints never push anything out.
                    if let Some(page) = self.pages.get_mut(&key) {
                        page.waiters.clear();
                    }
                    self.forget(key);
                    changed = true;
                }
                None => {}
            }
        }
        changed
    }

    /// The space at its limit that a waiting page would count against.
    fn scope_of(&self, key: ObjectPage) -> Scope {
        let asid = self.pages.get(&key)?.waiters.first()?.asid;
        let space = self.spaces.get(&asid)?;
        (space.frames >= space.frame_limit?).then_some(asid)
    }

    fn allocate_for(&mut self, key: ObjectPage) -> Option<FrameNumber> {
        if self.scope_of(key).is_some() {
            return None;
        }
        let order = self.page_size.class();
        let available = self.memory.available(order);
        let first = available.iter().position(|&room| room)?;
        let asid = self.pages.get(&key)?.waiters.first()?.asid;
        let wanted = self.policies.placement.channel(asid, key, &available);
        let channel = if available.get(wanted) == Some(&true) {
            wanted
        } else {
            first
        };
        self.memory.allocate(channel, order)
    }

    /// Gives free buffers to fills and write-backs. True if anything changed.
    ///
    /// No cycle of waiting: who holds a buffer has its frame and needs nothing else.
    pub(crate) fn grant_buffers(&mut self, out: &mut Vec<Action>) -> bool {
        let mut changed = false;
        while !self.buffer_queue.is_empty() && !self.buffers.is_empty() {
            let (Some(key), Some(part)) = (self.buffer_queue.pop(), self.buffers.take()) else {
                break;
            };
            changed = true;
            match self.pages.get(&key).map(|page| page.state) {
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

    /// Evicts as many pages as wait for frames. True if anything changed.
    pub(crate) fn make_room(&mut self, out: &mut Vec<Action>) -> bool {
        if self.frame_queue.is_empty() {
            return false;
        }
        let mut waiting: BTreeMap<Scope, Vec<ObjectPage>> = BTreeMap::new();
        for key in self.frame_queue.pages() {
            waiting.entry(self.scope_of(key)).or_default().push(key);
        }
        let mut changed = false;
        for (scope, keys) in waiting {
            // Room made for one scope can have brought a space below its limit.
            let still = keys.iter().all(|&key| self.scope_of(key) == scope);
            changed |= !still || self.make_room_in(scope, &keys, out);
        }
        changed
    }

    fn make_room_in(&mut self, scope: Scope, keys: &[ObjectPage], out: &mut Vec<Action>) -> bool {
        let free = self.free_frames();
        let mut changed = false;
        while self.coming(scope) < keys.len() {
            let Self {
                pages,
                policies,
                examined,
                ..
            } = self;
            let eligible = |key: ObjectPage| {
                pages.get(&key).is_some_and(|page| {
                    page.state == State::Resident
                        && !page.unsaved
                        && page.waiters.is_empty()
                        && page.leaving.is_empty()
                        && !examined.contains(&key)
                        && within(scope, page)
                })
            };
            match policies.eviction.choose(&eligible) {
                Choice::Evict(key) => {
                    self.statistics.evictions += 1;
                    self.begin_write_back(key, Purpose::Release, out);
                    changed = true;
                }
                Choice::Examine(key) => self.examine(key, out),
                Choice::Nothing => break,
            }
            if self.free_frames() > free {
                return true;
            }
        }
        if self.coming(scope) == 0 && !self.anything_moves(scope) {
            self.give_up(scope, keys, out);
            changed = true;
        }
        changed
    }

    /// Pages of a scope that are on their way out, or may be soon.
    fn coming(&self, scope: Scope) -> usize {
        self.releasing
            .iter()
            .chain(&self.examined)
            .filter(|key| self.pages.get(key).is_some_and(|page| within(scope, page)))
            .count()
    }

    /// A page of the scope is under way and may be evicted later.
    fn anything_moves(&self, scope: Scope) -> bool {
        self.pages.values().any(|page| {
            within(scope, page)
                && match page.state {
                    State::Waiting => false,
                    State::Resident => page.unreported > 0,
                    _ => true,
                }
        })
    }

    /// No frame will become free: the accesses that wait for one fail. Pages whose write-back failed
    /// get another try with the next fault.
    fn give_up(&mut self, scope: Scope, keys: &[ObjectPage], out: &mut Vec<Action>) {
        let mut unsaved = 0;
        for page in self.pages.values_mut().filter(|page| within(scope, page)) {
            unsaved += u64::from(std::mem::take(&mut page.unsaved));
        }
        let mut frames = 0;
        for page in self.pages.values().filter(|page| within(scope, page)) {
            frames += u64::from(page.frame.is_some());
        }
        for &key in keys {
            self.fail_waiters(key, AccessError::NoFrame { frames, unsaved }, out);
            self.end_all_requests(key, Ok(()), out);
            self.forget(key);
        }
    }

    /// Asks the card whether a page was touched.
    fn examine(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        page.examining = page.entries.len() as u32;
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
                size: self.page_size,
            };
            let meaning = Some(Meaning::Examined(key));
            self.issued.command(Step::new(operation, meaning), out);
        }
    }

    /// The card has answered.
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
