//! Requests for pages: those of accesses, and of pages that are fetched before an access.

use crate::buffer::Buffers;
use crate::error::AccessError;
use crate::host_memory;
use crate::ids::ObjectPage;
use crate::page::{Page, Stage, State, Waiter, Wish};
use crate::queue::Urgency;
use crate::spaces::MappedPart;
use crate::translate::Translation;
use crate::work::Work;
use units::{Asid, Fetch, PageSize, Pattern, VirtAddr};

/// Requests pages: serves the resident ones, and queues the others.
pub(crate) struct Demand<'a> {
    pub(crate) translation: Translation<'a>,
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) work: &'a mut Work,
}

impl Demand<'_> {
    /// Requests a page: serves it immediately if it is resident, otherwise when it is.
    pub(crate) fn want(
        &mut self,
        key: ObjectPage,
        size: PageSize,
        waiter: Waiter,
        urgency: Urgency,
    ) {
        let Translation { pages, spaces, .. } = &mut self.translation;
        let Some(page) = pages.page_mut(key) else {
            pages.insert(key, Page::wanted_by(waiter, urgency, size));
            return self.work.await_frame(key, urgency);
        };
        page.waiters.push(waiter);
        page.urgency = page.urgency.min(urgency);
        match page.state() {
            State::Waiting => self.work.await_frame(key, urgency),
            State::AwaitingZero => {
                let share = spaces.share_of(page.place.charged);
                self.work.await_zero(share, key, urgency);
            }
            State::AwaitingBuffer
            | State::WritingBack {
                stage: Stage::AwaitingBuffer,
                ..
            } => self.buffers.push(key, urgency),
            state if state.serves() => {
                self.translation.serve_now(key);
                let Translation { pages, issued, .. } = &mut self.translation;
                host_memory::upgrade(pages, issued, key);
            }
            _ => {}
        }
    }

    /// Requests a page again in the smallest size, for an access that waited for a larger one.
    pub(crate) fn want_small(&mut self, waiter: Waiter, unit: PageSize, urgency: Urgency) {
        let Some(access) = waiter.access() else {
            return;
        };
        let space = self.translation.spaces.space(waiter.asid);
        let found = space.and_then(|space| space.find(access.address));
        let Some((_, _, at)) = found else {
            return self.translation.fail_access(waiter, AccessError::NotMapped);
        };
        let pages = &*self.translation.pages;
        let key = pages.covering(at).unwrap_or(at);
        let size = pages.page(key).map_or(unit, |page| page.size);
        let waiter = Waiter {
            address: access.address.page_base(size),
            ..waiter
        };
        self.want(key, size, waiter, urgency);
    }

    /// Requests a part of a mapping before it is accessed: resident pages as they are, others up to a size. `marker` is
    /// a page that is not installed. Hints stop when no frame is free.
    pub(crate) fn want_ahead(
        &mut self,
        asid: Asid,
        part: MappedPart,
        most: PageSize,
        marker: Option<u64>,
        urgency: Urgency,
    ) {
        let MappedPart {
            address: start,
            object,
            indices,
        } = part;
        let Translation { pages, memory, .. } = &self.translation;
        let Some(unit) = pages.unit_of(object) else {
            return;
        };
        // In smallest pages. Direct pages take no frame.
        let mut room = match urgency {
            Urgency::Hint if pages.is_direct(object) => u64::MAX,
            Urgency::Hint => {
                let free = memory.free(most);
                let left = free.saturating_sub(self.work.frames_awaited() as u64);
                left << (most.bits() - unit.bits())
            }
            _ => u64::MAX,
        };
        let mut index = indices.start;
        while index < indices.end {
            let at = ObjectPage { object, index };
            let pages = &*self.translation.pages;
            let covering = pages.covering_in(at, unit);
            let (key, size) = match covering {
                Some(key) => (key, pages.size_of(key)),
                None => pages.page_for(at, most),
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
            self.want(key, size, waiter, urgency);
            index = key.index + units;
        }
    }

    /// Fetches a range, as far as frames are free.
    pub(crate) fn prefetch(&mut self, asid: Asid, address: VirtAddr, bytes: u64) {
        let spaces = &mut *self.translation.spaces;
        if let Ok(range) = spaces.checked_range(asid, address, bytes) {
            for part in spaces.mapped_in(asid, range) {
                let size = self.translation.pages.page_size_of(part.object);
                self.want_ahead(asid, part, size, None, Urgency::Hint);
            }
        }
    }

    /// Fetches the page of an address that was passed to a kernel, without installing it.
    pub(crate) fn announce(&mut self, asid: Asid, address: VirtAddr) {
        let Translation {
            config,
            pages,
            spaces,
            ..
        } = &self.translation;
        let space = spaces.space(asid).filter(|_| config.overlap);
        let Some((start, mapping, page)) = space.and_then(|space| space.find(address)) else {
            return;
        };
        let in_order = !matches!(mapping.advice.pattern, Some(Pattern::Random))
            && !matches!(mapping.advice.fetch, Some(Fetch::OnDemand));
        // Programs lose access to shared pages only while virtual time passes.
        let shared = pages.host_address(page).is_some();
        if !in_order || shared || mapping.unit < mapping.page_size {
            return;
        }
        let offset = (page.index - mapping.object_pages().start) << mapping.page_size.bits();
        let part = MappedPart {
            address: VirtAddr::truncated(start.get() + offset),
            object: page.object,
            indices: page.index..page.index + 1,
        };
        let (size, marker) = (mapping.page_size, Some(page.index));
        self.want_ahead(asid, part, size, marker, Urgency::Hint);
    }
}
