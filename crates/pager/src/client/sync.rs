//! Syncs and hints.

use crate::action::Action;
use crate::event::ObjectKind;
use crate::ids::{ObjectId, ObjectPage, RequestId};
use crate::page::{Purpose, Stage, State, Waiter, Wish};
use crate::pager::Pager;
use crate::queue::Urgency;
use crate::request::{answer, Last};
use crate::space::Mapping;
use std::ops::Range;
use units::{Asid, Fetch, PageSize, Pattern, VirtAddr};

impl Pager {
    pub(crate) fn sync(
        &mut self,
        request: RequestId,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
        out: &mut Vec<Action>,
    ) {
        self.each_part(
            request,
            asid,
            (address, bytes),
            out,
            |pager, object, indices, out| {
                for key in pager.pages_of(object, indices) {
                    pager.sync_page(request, key, out);
                }
            },
        );
    }

    /// Begins `each` for every object's pages in a range; the request completes when all of them have.
    fn each_part(
        &mut self,
        request: RequestId,
        asid: Asid,
        (address, bytes): (VirtAddr, u64),
        out: &mut Vec<Action>,
        mut each: impl FnMut(&mut Self, ObjectId, Range<u64>, &mut Vec<Action>),
    ) {
        let range = match self.checked_range(asid, address, bytes) {
            Ok(range) => range,
            Err(error) => return out.push(answer(request, Err(error))),
        };
        self.requests.open(request, Last::Answer);
        for (_, object, indices) in self.mapped_in(asid, range) {
            each(self, object, indices, out);
        }
        self.end_requests([request], Ok(()), out);
    }

    /// Mapped parts of a range: address, object and its pages.
    pub(super) fn mapped_in(
        &self,
        asid: Asid,
        range: Range<u64>,
    ) -> Vec<(VirtAddr, ObjectId, Range<u64>)> {
        let Some(space) = self.spaces.get(&asid) else {
            return Vec::new();
        };
        let show = |(start, mapping, part): (VirtAddr, Mapping, Range<u64>)| {
            let bits = mapping.unit.bits();
            let index = |at: u64| mapping.object_pages().start + ((at - start.get()) >> bits);
            let indices = index(part.start)..index(part.end);
            (VirtAddr::truncated(part.start), mapping.object, indices)
        };
        space.mapped_in(&range).into_iter().map(show).collect()
    }

    /// Makes a request wait until stores to a page before now are saved.
    fn sync_page(&mut self, request: RequestId, key: ObjectPage, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        match page.state {
            // Nothing has been written since its data was fetched.
            State::Waiting
            | State::AwaitingBuffer
            | State::AwaitingZero
            | State::Claiming
            | State::Reading(_)
            | State::Fetching
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

    pub(crate) fn refresh(
        &mut self,
        request: RequestId,
        asid: Asid,
        range: (VirtAddr, u64),
        discard: bool,
        out: &mut Vec<Action>,
    ) {
        self.each_part(request, asid, range, out, |pager, object, indices, out| {
            let known = pager.objects.get_mut(&object);
            let Some(known) = known.filter(|known| matches!(known.kind, ObjectKind::File { .. }))
            else {
                return;
            };
            known.may_have_changed(indices.clone());
            for key in pager.pages_of(object, indices) {
                pager.refresh_page(request, key, discard, out);
            }
        });
    }

    /// Makes a request wait until a page has left, if its data was read before now.
    fn refresh_page(
        &mut self,
        request: RequestId,
        key: ObjectPage,
        discard: bool,
        out: &mut Vec<Action>,
    ) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        if matches!(page.state, State::Waiting | State::AwaitingBuffer) {
            return;
        }
        page.returning.push(request);
        page.drop_dirty |= discard;
        let cleaned = State::WritingBack {
            purpose: Purpose::Clean,
            stage: Stage::AwaitingBuffer,
        };
        if page.state == cleaned {
            self.buffer_queue.push(key, Urgency::Head);
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
                let size = self.page_size_of(object);
                let range = (start, object, indices);
                self.want_ahead(asid, range, (size, None), Urgency::Hint, out);
            }
        }
    }

    /// Fetches the page of an address that was passed to a kernel, without installing it.
    pub(crate) fn announce(&mut self, asid: Asid, address: VirtAddr, out: &mut Vec<Action>) {
        let space = self.spaces.get(&asid).filter(|_| self.overlap);
        let Some((start, mapping, page)) = space.and_then(|space| space.find(address)) else {
            return;
        };
        let in_order = !matches!(mapping.advice.pattern, Some(Pattern::Random))
            && !matches!(mapping.advice.fetch, Some(Fetch::OnDemand));
        // Programs lose access to shared pages only while virtual time passes.
        let shared = self.host_address(page).is_some();
        if !in_order || shared || mapping.unit < mapping.page_size {
            return;
        }
        let offset = (page.index - mapping.object_pages().start) << mapping.page_size.bits();
        let at = VirtAddr::truncated(start.get() + offset);
        let range = (at, page.object, page.index..page.index + 1);
        let marked = (mapping.page_size, Some(page.index));
        self.want_ahead(asid, range, marked, Urgency::Hint, out);
    }

    /// Requests pages of a mapping before they are accessed: resident pages as they are, others up to a size. Hints
    /// stop when no frame is free.
    pub(crate) fn want_ahead(
        &mut self,
        asid: Asid,
        (start, object, indices): (VirtAddr, ObjectId, Range<u64>),
        (most, marker): (PageSize, Option<u64>),
        urgency: Urgency,
        out: &mut Vec<Action>,
    ) {
        let Some(unit) = self.objects.get(&object).map(|object| object.unit()) else {
            return;
        };
        // In smallest pages. Direct pages take no frame.
        let mut room = match urgency {
            Urgency::Hint if self.is_direct(object) => u64::MAX,
            Urgency::Hint => {
                let free = self.memory.count(most.class());
                let left = free.saturating_sub(self.frame_queue.len() as u64);
                left << (most.bits() - unit.bits())
            }
            _ => u64::MAX,
        };
        let mut index = indices.start;
        while index < indices.end {
            let at = ObjectPage { object, index };
            let covering = self.covering(at);
            let (key, size) = match covering {
                Some(key) => (key, self.size_of(key)),
                None => self.page_for(at, most),
            };
            let units = 1 << (size.bits() - unit.bits());
            if covering.is_none() {
                if room < units {
                    return;
                }
                room -= units;
            }
            let wish = match marker.is_some_and(|at| (key.index..key.index + units).contains(&at)) {
                true => Wish::Load,
                false => Wish::Install,
            };
            // The page may begin before the range.
            let offset = (key.index << unit.bits()).wrapping_sub(indices.start << unit.bits());
            let waiter = Waiter {
                asid,
                address: VirtAddr::truncated(start.get().wrapping_add(offset)),
                wish,
            };
            self.want((key, size), waiter, urgency, out);
            index = key.index + units;
        }
    }
}
