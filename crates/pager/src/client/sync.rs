//! Syncs, and hints.

use crate::action::Action;
use crate::ids::{ObjectId, RequestId};
use crate::page::{ObjectPage, Purpose, Stage, State, Waiter, Wish};
use crate::pager::Pager;
use crate::queue::Urgency;
use crate::request::{answer, Last};
use crate::space::Mapping;
use std::ops::Range;
use units::{Asid, VirtAddr};

impl Pager {
    pub(crate) fn sync(
        &mut self,
        request: RequestId,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
        out: &mut Vec<Action>,
    ) {
        let range = match self.checked_range(asid, address, bytes) {
            Ok(range) => range,
            Err(error) => return out.push(answer(request, Err(error))),
        };
        self.requests.open(request, Last::Answer);
        for (_, object, indices) in self.mapped_in(asid, range) {
            for key in self.pages_of(object, indices) {
                self.sync_page(request, key, out);
            }
        }
        self.end_requests([request], Ok(()), out);
    }

    /// What is mapped in a range: address, object and its pages.
    pub(super) fn mapped_in(
        &self,
        asid: Asid,
        range: Range<u64>,
    ) -> Vec<(VirtAddr, ObjectId, Range<u64>)> {
        let Some(space) = self.spaces.get(&asid) else {
            return Vec::new();
        };
        let show = |(start, mapping, part): (VirtAddr, Mapping, Range<u64>)| {
            let bits = mapping.page_size.bits();
            let index = |at: u64| mapping.first + ((at - start.get()) >> bits);
            let indices = index(part.start)..index(part.end);
            (VirtAddr::truncated(part.start), mapping.object, indices)
        };
        space.mapped_in(&range).into_iter().map(show).collect()
    }

    /// A request waits until what was written to a page before now is saved.
    fn sync_page(&mut self, request: RequestId, key: ObjectPage, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        match page.state {
            // Nothing has been written since its data was fetched.
            State::Waiting
            | State::AwaitingBuffer
            | State::Claiming
            | State::Reading(_)
            | State::Loading { .. } => return,
            // It may have been written again since its copy was taken.
            State::WritingBack {
                purpose: Purpose::Clean,
                stage: Stage::Writing(_),
            } => page.wanted.push(request),
            State::WritingBack { stage, .. } => {
                page.joined.push(request);
                if stage == Stage::AwaitingBuffer {
                    self.buffer_queue.push(key, Urgency::Head);
                }
            }
            State::Installing { .. } | State::Resident | State::Upgrading => {
                page.wanted.push(request)
            }
        }
        self.requests.add_one(request);
        self.settle(key, out);
    }

    pub(crate) fn prefetch(
        &mut self,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
        out: &mut Vec<Action>,
    ) {
        if let Ok(range) = self.checked_range(asid, address, bytes) {
            for (start, object, indices) in self.mapped_in(asid, range) {
                self.want_ahead(asid, (start, object, indices), None, Urgency::Hint, out);
            }
        }
    }

    /// Wants pages of a mapping before they are touched. Hints end with the free frames.
    pub(crate) fn want_ahead(
        &mut self,
        asid: Asid,
        (start, object, indices): (VirtAddr, ObjectId, Range<u64>),
        marker: Option<u64>,
        urgency: Urgency,
        out: &mut Vec<Action>,
    ) {
        let size = self.page_size_of(object);
        let mut room = match urgency {
            Urgency::Hint => self
                .memory
                .count(size.class())
                .saturating_sub(self.frame_queue.len() as u64),
            _ => u64::MAX,
        };
        let first = indices.start;
        for index in indices {
            let key = ObjectPage { object, index };
            if !self.pages.contains_key(&key) {
                if room == 0 {
                    return;
                }
                room -= 1;
            }
            let wish = if marker == Some(index) {
                Wish::Load
            } else {
                Wish::Install
            };
            let offset = (index - first) << size.bits();
            let waiter = Waiter {
                asid,
                address: VirtAddr::truncated(start.get() + offset),
                wish,
            };
            self.want(key, waiter, urgency, out);
        }
    }
}
