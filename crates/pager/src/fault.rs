//! Faults: the requests that wait for each page, and the replies to them.

use crate::action::Action;
use crate::error::AccessError;
use crate::fetch::Touch;
use crate::ids::ObjectPage;
use crate::issue::{Meaning, Step};
use crate::page::{Access, Entry, Page, Stage, State, Waiter, Wish};
use crate::pager::Pager;
use crate::queue::Urgency;
use crate::sabotage::Sabotage;
use crate::sizes::covering;
use crate::space::Mapping;
use std::ops::{Range, RangeInclusive};
use units::{Asid, Fault, Operation, PageEntry, PageSize, SpacePlacement, VirtAddr};

/// A page of a mapping that was accessed.
struct Touched {
    /// First address of the mapping.
    start: VirtAddr,
    mapping: Mapping,
    page: ObjectPage,
    size: PageSize,
}

/// Pages fetched in addition to the accessed page.
pub(crate) struct Ahead {
    /// Pages before it and behind it.
    pub(crate) ranges: [Range<u64>; 2],
    /// Whether the access continues its requester's sequence.
    pub(crate) goes_on: bool,
}

impl Pager {
    /// Handles a kernel access that waits.
    pub(crate) fn fault(&mut self, fault: Fault, out: &mut Vec<Action>) {
        let Fault {
            token,
            asid,
            address,
            write,
            ahead,
            cause: _,
        } = fault;
        self.statistics.faults += 1;
        self.statistics.faults_ahead += u64::from(ahead);
        self.count_in(asid, |space| {
            space.faults += 1;
            space.faults_ahead += u64::from(ahead);
        });
        let space = self.spaces.get(&asid);
        let found = space.and_then(|space| space.find(address));
        let size = found.map_or(self.page_size, |(_, mapping, _)| mapping.page_size);
        let waiter = Waiter {
            asid,
            address: address.page_base(size),
            wish: Wish::Access(Access {
                token,
                address,
                write,
            }),
        };
        let (start, mapping, page) = match found {
            None => return self.fail_access(waiter, AccessError::NotMapped, out),
            Some((_, mapping, _)) if write && !mapping.write => {
                return self.fail_access(waiter, AccessError::NotWritable, out)
            }
            Some((_, mapping, _)) if !write && !mapping.read => {
                return self.fail_access(waiter, AccessError::NotReadable, out)
            }
            Some((start, mapping, page)) => (start, *mapping, page),
        };
        let place = (asid, start, &mapping);
        let (page, size) = self.page_of_access(token.requester, place, page);
        let urgency = if ahead { Urgency::Ahead } else { Urgency::Head };
        match self.pages.get(&page).map(|page| page.state) {
            None => {}
            Some(state) if state.serves() => {
                self.statistics.faults_resident += 1;
                self.count_in(asid, |space| space.faults_resident += 1);
            }
            Some(_) => {
                self.statistics.faults_joined += 1;
                self.count_in(asid, |space| space.faults_joined += 1);
            }
        }
        let waiter = Waiter {
            address: address.page_base(size),
            ..waiter
        };
        self.want((page, size), waiter, urgency, out);
        let touched = Touched {
            start,
            mapping,
            page,
            size,
        };
        let ahead = self.fetch_ahead(&fault, touched, out);
        let large = self.page_size_of(page.object).min(PageSize::MIB_2);
        if size >= large {
            self.expect_writes(page.object, write, &ahead);
        }
        if write && size >= large {
            for range in ahead.ranges {
                self.upgrade_ahead(page.object, range, out);
            }
        }
    }

    /// Requests a page: serves it immediately if it is resident, otherwise when it is.
    pub(crate) fn want(
        &mut self,
        (key, size): (ObjectPage, PageSize),
        waiter: Waiter,
        urgency: Urgency,
        out: &mut Vec<Action>,
    ) {
        let Some(page) = self.pages.get_mut(&key) else {
            self.pages
                .insert(key, Page::wanted_by(waiter, urgency, size));
            return self.frame_queue.push(key, urgency);
        };
        page.waiters.push(waiter);
        page.urgency = page.urgency.min(urgency);
        match page.state {
            State::Waiting => self.frame_queue.push(key, urgency),
            State::AwaitingZero => {
                let share = self.share_of(key);
                self.zero_queue.push(share, key, urgency);
            }
            State::AwaitingBuffer
            | State::WritingBack {
                stage: Stage::AwaitingBuffer,
                ..
            } => self.buffer_queue.push(key, urgency),
            state if state.serves() => {
                self.serve_now(key, out);
                self.upgrade(key, out);
            }
            _ => {}
        }
    }

    /// Begins the fetches that the fetch policy asks for in addition to the accessed page.
    fn fetch_ahead(&mut self, fault: &Fault, touched: Touched, out: &mut Vec<Action>) -> Ahead {
        let (asid, write, requester) = (fault.asid, fault.write, fault.token.requester);
        let Touched {
            start,
            mapping,
            page,
            size,
        } = touched;
        let mapped = mapping.object_pages();
        // Policies count in pages of the size that was accessed.
        let bits = size.bits() - mapping.unit.bits();
        let (at, varies) = (page.index, mapping.unit < mapping.page_size);
        let page = ObjectPage {
            index: page.index >> bits,
            ..page
        };
        let mapped = mapped.start >> bits..mapped.end >> bits;
        let frames = match self.is_direct(page.object) {
            true => u64::MAX,
            false => self.frames_for(asid, size),
        };
        let touch = Touch {
            requester,
            write,
            page,
            page_size: size,
            mapped: mapped.clone(),
            frames,
            advice: mapping.advice,
        };
        let Self {
            policies, pages, ..
        } = self;
        let there = |index: u64| {
            // A sequence may have begun in another mapping, before this one.
            let Some(offset) = index.checked_sub(touch.mapped.start) else {
                return false;
            };
            let at = ObjectPage {
                index: index << bits,
                ..page
            };
            let held = covering(pages, at, mapping.unit).and_then(|key| pages.get(&key));
            let address = VirtAddr::truncated(start.get() + (offset << size.bits()));
            held.is_some_and(|page| page.is_ready_for(asid, address, write))
        };
        let plan = policies.fetch.touched(&touch, &there);
        if write {
            self.note_passed(
                page.object,
                plan.passed.start << bits..plan.passed.end << bits,
            );
        }
        let urgency = if plan.pushes {
            Urgency::Soon
        } else {
            Urgency::Hint
        };
        let (from, to) = (
            plan.ahead.start.max(mapped.start),
            plan.ahead.end.min(mapped.end),
        );
        // Before the page and behind it: the page itself is served separately.
        let parts = [from..to.min(page.index), from.max(page.index + 1)..to];
        for part in parts.clone() {
            if part.is_empty() {
                continue;
            }
            let offset = (part.start - mapped.start) << size.bits();
            let address = VirtAddr::truncated(start.get() + offset);
            let part = part.start << bits..part.end << bits;
            if varies && plan.pushes && part.start > at {
                self.policies.size.comes(requester, part.clone());
            }
            let range = (address, mapping.object, part);
            let marker = plan.marker.map(|marker| marker << bits);
            self.want_ahead(asid, range, (size, marker), urgency, out);
        }
        Ahead {
            ranges: parts.map(|part| part.start << bits..part.end << bits),
            goes_on: plan.pushes && !plan.jump,
        }
    }

    /// Number of frames of a size that a space can have at once.
    pub(crate) fn frames_for(&self, asid: Asid, size: PageSize) -> u64 {
        let Some(space) = self.spaces.get(&asid) else {
            return 0;
        };
        let channels = space.channels.len() as u64;
        let all = self.memory.channels_of(SpacePlacement::Anywhere).len() as u64;
        let frames = self.frames_in_all(size) * channels / all.max(1);
        frames.min(space.limit.map_or(u64::MAX, |limit| limit >> size.bits()))
    }

    /// Writes entries and replies for all requests that wait for a resident page.
    pub(crate) fn serve(&mut self, key: ObjectPage, out: &mut Vec<Action>) -> Vec<Step> {
        let mut steps = Vec::new();
        let Some(page) = self.pages.get_mut(&key) else {
            return steps;
        };
        let (later, now) = std::mem::take(&mut page.waiters)
            .into_iter()
            .partition(|waiter| page.awaits_upgrade(waiter));
        page.waiters = later;
        let now: Vec<Waiter> = now;
        for waiter in now {
            self.serve_one(key, waiter, &mut steps, out);
        }
        steps
    }

    /// Writes the entries and replies without waiting.
    pub(crate) fn serve_now(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        for step in self.serve(key, out) {
            self.issued.command(step, out);
        }
    }

    fn serve_one(
        &mut self,
        key: ObjectPage,
        waiter: Waiter,
        steps: &mut Vec<Step>,
        out: &mut Vec<Action>,
    ) {
        let Waiter {
            asid,
            address,
            wish,
        } = waiter;
        if wish == Wish::Load {
            return;
        }
        let rights = self
            .spaces
            .get(&asid)
            .and_then(|space| space.find(address))
            .filter(|(_, _, page)| *page == key)
            .map(|(_, mapping, _)| (mapping.read, mapping.write));
        let place = self
            .pages
            .get(&key)
            .map(|page| (page.target(), page.size, page.exclusive));
        let (Some((read, write)), Some((Some((frame, target)), size, exclusive))) = (rights, place)
        else {
            return self.fail_access(waiter, AccessError::NotMapped, out);
        };
        let marks = waiter.writes() && !self.sabotaged(Sabotage::ForgetAnsweredWrite);
        let mut entry = PageEntry {
            frame,
            size,
            target,
            read,
            write: write && exclusive,
            accessed: waiter.access().is_some(),
            dirty: marks,
        };
        let existing = self
            .pages
            .get(&key)
            .and_then(|page| page.entry(asid, address).copied());
        match existing {
            Some(existing) if existing.write || !waiter.writes() => entry.write = existing.write,
            existing => {
                if existing.is_some() {
                    self.note_rewritten(key);
                    // A downgraded entry may have copies: remove it with the whole sequence.
                    self.remove_entry(key, asid, address, steps);
                }
                self.use_page_size(asid, size, out);
                self.install(key, asid, address, entry, steps);
            }
        }
        if let Some(access) = waiter.access() {
            let reply = Operation::FaultReply {
                token: access.token,
                entry: Some(entry),
            };
            steps.push(Step::new(reply, None).of(Some(asid)));
        }
        if let Some(page) = self.pages.get_mut(&key) {
            // The access completes with the reply, even if the entry changes later: count it now.
            page.dirty |= marks;
        }
    }

    /// Writes an entry; if its set is full, the table grows, or the oldest entry of the set is evicted first.
    pub(crate) fn install(
        &mut self,
        key: ObjectPage,
        asid: Asid,
        address: VirtAddr,
        entry: PageEntry,
        steps: &mut Vec<Step>,
    ) {
        let conflict = |pager: &Self| {
            let space = pager.spaces.get(&asid)?;
            let spares = pager.policies.eviction.spares_written();
            let spared = |page| spares && pager.pages.get(&page).is_some_and(Page::may_be_written);
            space.table.conflict(address, entry.size, spared)
        };
        if conflict(self).is_some() {
            self.grow_table(asid, steps);
        }
        if let Some((victim, page)) = conflict(self) {
            self.statistics.set_conflicts += 1;
            self.count_in(asid, |space| space.set_conflicts += 1);
            let before = steps.len();
            self.remove_entry(page, asid, victim, steps);
            if self.sabotaged(Sabotage::OverfillSet) {
                steps.truncate(before);
                if let Some(page) = self.pages.get_mut(&page) {
                    page.unreported -= 1;
                }
            }
        }
        if let Some(space) = self.spaces.get_mut(&asid) {
            space.table.insert(address, key, entry.size);
        }
        if let Some(page) = self.pages.get_mut(&key) {
            page.entries.push(Entry {
                asid,
                address,
                write: entry.write,
            });
        }
        let operation = Operation::Install {
            asid,
            address,
            entry,
        };
        steps.push(Step::new(operation, None));
    }

    /// Removes an entry. Its report is outstanding from here on.
    pub(crate) fn remove_entry(
        &mut self,
        key: ObjectPage,
        asid: Asid,
        address: VirtAddr,
        steps: &mut Vec<Step>,
    ) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        page.entries
            .retain(|entry| (entry.asid, entry.address) != (asid, address));
        page.unreported += 1;
        let size = page.size;
        if let Some(space) = self.spaces.get_mut(&asid) {
            space.table.remove(address);
        }
        let operation = Operation::Invalidate {
            asid,
            address,
            size,
        };
        steps.push(Step::new(operation, Some(Meaning::Reported(key))));
    }

    /// Reports a failed access to its kernel and the owner. Hints end without a report.
    pub(crate) fn fail_access(
        &mut self,
        waiter: Waiter,
        reason: AccessError,
        out: &mut Vec<Action>,
    ) {
        let Some(access) = waiter.access() else {
            return;
        };
        self.statistics.accesses_failed += 1;
        self.count_in(waiter.asid, |space| space.accesses_failed += 1);
        let reply = Operation::FaultReply {
            token: access.token,
            entry: None,
        };
        self.issued
            .command(Step::new(reply, None).of(Some(waiter.asid)), out);
        out.push(Action::AccessFailed {
            token: access.token,
            asid: waiter.asid,
            address: access.address,
            write: access.write,
            reason,
            nearest: self
                .spaces
                .get(&waiter.asid)
                .and_then(|space| space.nearest(access.address)),
        });
    }

    /// Fails all requests that wait for a page.
    pub(crate) fn fail_waiters(
        &mut self,
        key: ObjectPage,
        reason: AccessError,
        out: &mut Vec<Action>,
    ) {
        let waiters = self
            .pages
            .get_mut(&key)
            .map(|page| std::mem::take(&mut page.waiters));
        for waiter in waiters.into_iter().flatten() {
            self.fail_access(waiter, reason, out);
        }
    }

    /// Accesses of these requesters are gone and must not be answered.
    pub(crate) fn slot_stopped(&mut self, requesters: RangeInclusive<u8>) {
        let gone = |waiter: &Waiter| {
            waiter
                .access()
                .is_some_and(|access| requesters.contains(&access.token.requester))
        };
        let mut unwanted = Vec::new();
        for (&key, page) in &mut self.pages {
            page.waiters.retain(|waiter| !gone(waiter));
            if page.state == State::Waiting && page.waiters.is_empty() {
                unwanted.push(key);
            }
        }
        for key in unwanted {
            self.forget(key);
        }
    }
}
