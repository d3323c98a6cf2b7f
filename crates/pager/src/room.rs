//! Room: who gets frames and buffers, and which pages leave for them.

use crate::action::{Action, Operation};
use crate::error::AccessError;
use crate::eviction::Choice;
use crate::frame::FrameMemory;
use crate::issue::{Meaning, Step};
use crate::page::{ObjectPage, Page, Purpose, Stage, State};
use crate::pager::Pager;
use crate::placement::SpacePlacement;
use crate::queue::Urgency;
use std::collections::BTreeMap;
use units::{Asid, FrameNumber};

/// Whose pages may leave to make room: those with a part of their frame on these channels, of anybody
/// or of a space at its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Scope {
    asid: Option<Asid>,
    first: usize,
    end: usize,
}

fn within(memory: &FrameMemory, scope: Scope, page: &Page) -> bool {
    let on_channels = |frame| memory.touches(frame, page.stripe, &(scope.first..scope.end));
    (scope.asid.is_none() || page.charged == scope.asid) && page.frame.is_none_or(on_channels)
}

impl Pager {
    /// Gives free frames to waiting pages, most urgent first. True if anything changed.
    pub(crate) fn grant_frames(&mut self, out: &mut Vec<Action>) -> bool {
        let mut changed = false;
        // Channels that a more urgent page waits for: nobody takes their frames before it, so that a
        // page that needs room on several channels at once gets it in the end.
        let mut wanted = vec![false; self.memory.available(0).len()];
        for key in self.frame_queue.pages() {
            let Some(page) = self.pages.get(&key) else {
                continue;
            };
            let hint = page.is_hint() && page.urgency == Urgency::Hint;
            match self.allocate_for(key, &wanted) {
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
                None if self.limit_of(key).is_none() => {
                    wanted[self.memory.channels_of(self.placement_of(key))].fill(true);
                }
                None => {}
            }
        }
        changed
    }

    /// Where the frame of a waiting page is to lie.
    fn placement_of(&self, key: ObjectPage) -> SpacePlacement {
        let waiter = self.pages.get(&key).and_then(|page| page.waiters.first());
        let space = waiter.and_then(|waiter| self.spaces.get(&waiter.asid));
        space.map_or(SpacePlacement::Anywhere, |space| space.placement)
    }

    /// The space at its limit that a waiting page would count against.
    fn limit_of(&self, key: ObjectPage) -> Option<Asid> {
        let asid = self.pages.get(&key)?.waiters.first()?.asid;
        let space = self.spaces.get(&asid)?;
        (space.frames >= space.frame_limit?).then_some(asid)
    }

    /// Whose pages may leave for a waiting page.
    fn scope_of(&self, key: ObjectPage) -> Scope {
        let channels = self.memory.channels_of(self.placement_of(key));
        Scope {
            asid: self.limit_of(key),
            first: channels.start,
            end: channels.end,
        }
    }

    fn allocate_for(&mut self, key: ObjectPage, wanted: &[bool]) -> Option<FrameNumber> {
        if self.limit_of(key).is_some() {
            return None;
        }
        let order = self.page_size.class();
        let placement = self.placement_of(key);
        let channels = self.memory.channels_of(placement);
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
                memory,
                ..
            } = self;
            let eligible = |key: ObjectPage| {
                pages.get(&key).is_some_and(|page| {
                    page.state == State::Resident
                        && !page.unsaved
                        && page.waiters.is_empty()
                        && page.leaving.is_empty()
                        && !examined.contains(&key)
                        && within(memory, scope, page)
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
            .filter(|key| {
                self.pages
                    .get(key)
                    .is_some_and(|page| within(&self.memory, scope, page))
            })
            .count()
    }

    /// A page of the scope is under way and may be evicted later.
    fn anything_moves(&self, scope: Scope) -> bool {
        self.pages.values().any(|page| {
            within(&self.memory, scope, page)
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
        let mut frames = 0;
        for page in self.pages.values_mut() {
            if within(&self.memory, scope, page) {
                unsaved += u64::from(std::mem::take(&mut page.unsaved));
                frames += u64::from(page.frame.is_some());
            }
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
