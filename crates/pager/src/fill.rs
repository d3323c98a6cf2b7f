//! Fills: from a requested page to a resident one.

use crate::action::Action;
use crate::buffer::Part;
use crate::config::InstallOrder;
use crate::error::{AccessError, Direction, IoError};
use crate::ids::ObjectPage;
use crate::issue::{Meaning, Step};
use crate::page::State;
use crate::pager::Pager;
use crate::queue::Urgency;
use crate::sabotage::Sabotage;
use std::collections::BTreeMap;
use units::{CardAddr, CommandStatus, FrameNumber, Operation, Stripe};

impl Pager {
    /// Begins the fill of a page that was given a frame.
    pub(crate) fn begin_fill(
        &mut self,
        key: ObjectPage,
        frame: FrameNumber,
        out: &mut Vec<Action>,
    ) {
        let size = self.size_of(key);
        let zero = self
            .objects
            .get(&key.object)
            .is_none_or(|object| object.is_zero(key.index, size));
        let keep = self.keep_of(key);
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        page.keep = keep;
        page.drop_dirty = false;
        page.frame = Some(frame);
        page.charged = page.waiters.first().map(|waiter| waiter.asid);
        let charged = page.charged;
        let space = charged.and_then(|asid| self.spaces.get(&asid));
        page.stripe = space.map_or(Stripe::NONE, |space| space.placement.stripe());
        if page.is_hint() {
            self.statistics.pages_hinted += 1;
        }
        page.moved = 0;
        let (urgency, size, stripe) = (page.urgency, page.size, page.stripe);
        if stripe == Stripe::NONE {
            self.owners.insert(frame, key);
        }
        if let Some(space) = charged.and_then(|asid| self.spaces.get_mut(&asid)) {
            space.charged += size.bytes();
        }
        if self.host_address(key).is_some() {
            self.claim(key, out);
        } else if zero {
            self.statistics.pages_zeroed += 1;
            self.count_of(key, |space| space.pages_zeroed += 1);
            self.statistics.bytes_zeroed += size.bytes();
            if self.overlap {
                if let Some(page) = self.pages.get_mut(&key) {
                    page.enter(State::AwaitingZero);
                }
                let share = self.share_of(key);
                self.zero_queue.push(share, key, urgency);
            } else {
                self.load(key, None, out);
            }
        } else {
            if let Some(page) = self.pages.get_mut(&key) {
                page.enter(State::AwaitingBuffer);
            }
            self.buffer_queue.push(key, urgency);
        }
    }

    /// Zeroes pages: those with a waiting access immediately, others while little else is zeroed for their share,
    /// because a kernel that has its page needs the memory bandwidth more than one that does not need its page yet.
    /// Returns true if anything changed.
    pub(crate) fn grant_zeroes(&mut self, out: &mut Vec<Action>) -> bool {
        let mut changed = false;
        while let Some(key) = self.next_zero() {
            self.zeroing.insert(key);
            self.load(key, None, out);
            changed = true;
        }
        changed
    }

    fn next_zero(&mut self) -> Option<ObjectPage> {
        if self.zero_queue.is_empty() {
            return None;
        }
        let mut under_way: BTreeMap<u64, u64> = BTreeMap::new();
        for &key in &self.zeroing {
            *under_way.entry(self.share_of(key)).or_default() += self.size_of(key).bytes();
        }
        let (pages, most) = (&self.pages, self.zeroed_ahead_bytes);
        self.zero_queue.take(|share, key| {
            let page = pages.get(&key);
            let waited_for = page.is_some_and(|page| page.urgency <= Urgency::Ahead);
            waited_for || under_way.get(&share).is_none_or(|&bytes| bytes < most)
        })
    }

    /// Share of the space that requested a page.
    pub(crate) fn share_of(&self, key: ObjectPage) -> u64 {
        let charged = self.pages.get(&key).and_then(|page| page.charged);
        let space = charged.and_then(|asid| self.spaces.get(&asid));
        space.map_or(0, |space| space.share)
    }

    /// Fetches the data of a page that was given a buffer.
    pub(crate) fn begin_read(&mut self, key: ObjectPage, part: Part, out: &mut Vec<Action>) {
        if let Some(page) = self.pages.get_mut(&key) {
            page.enter(State::Reading(part));
        }
        if !self.begin_pieces(key, part, out) {
            self.read_piece(key, part, out);
        }
    }

    /// Fetches as much of the missing data as the buffer holds.
    fn read_piece(&mut self, key: ObjectPage, part: Part, out: &mut Vec<Action>) {
        let piece = self.piece(key);
        out.push(Action::ReadObject {
            io: self.issued.io(key, Direction::Read),
            object: key.object,
            offset: piece.offset,
            bytes: piece.bytes,
            buffer: part.buffer,
            buffer_offset: part.offset + piece.place,
        });
    }

    /// Handles the end of a read into the buffer, successful or not.
    pub(crate) fn read_done(
        &mut self,
        key: ObjectPage,
        result: Result<u64, IoError>,
        out: &mut Vec<Action>,
    ) {
        if self.direct_filled(key, result, out) {
            return;
        }
        let Some(State::Reading(part)) = self.pages.get(&key).map(|page| page.state) else {
            return;
        };
        let piece = self.piece(key);
        let wanted = piece.bytes;
        match IoError::check(result, wanted) {
            Ok(()) => {
                self.count_moved(key, Direction::Read, wanted);
                if piece.last {
                    self.statistics.pages_read += 1;
                    self.count_of(key, |space| space.pages_read += 1);
                    self.load(key, Some(part), out);
                } else {
                    self.load_piece(key, part, out);
                }
            }
            Err(error) => {
                if !self.sabotaged(Sabotage::LeakBuffer) {
                    self.buffers.give(part);
                }
                let error = self.io_error(Direction::Read, key, error);
                self.fail_fill(key, AccessError::Fetch(error), out);
            }
        }
    }

    /// Moves a piece that is not the last into the frame; the buffer is then used for the next one.
    fn load_piece(&mut self, key: ObjectPage, part: Part, out: &mut Vec<Action>) {
        let charged = self.pages.get(&key).and_then(|page| page.charged);
        if let Some(operation) = self.copy_of(key, part, self.piece(key)) {
            let step = Step::new(operation, Some(Meaning::Loaded(key))).of(charged);
            self.issued.command(step, out);
        }
    }

    /// A piece that is not the last is in the frame.
    fn piece_loaded(
        &mut self,
        key: ObjectPage,
        part: Part,
        status: CommandStatus,
        out: &mut Vec<Action>,
    ) {
        if status != CommandStatus::Ok {
            self.buffers.give(part);
            let error = self.card_error(Direction::Read, key, status);
            return self.fail_fill(key, AccessError::Fetch(error), out);
        }
        let bytes = self.piece(key).bytes;
        if let Some(page) = self.pages.get_mut(&key) {
            page.moved += bytes;
        }
        self.read_piece(key, part, out);
    }

    /// Moves the data into the frame, and writes the entries behind it.
    pub(crate) fn load(&mut self, key: ObjectPage, part: Option<Part>, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        let Some(frame) = page.place(0) else {
            return;
        };
        let size = page.size.bytes();
        let wanted = page.wants_entry();
        let fenced = self.install_order == InstallOrder::Fenced && wanted;
        let (stripe, charged) = (page.stripe, page.charged);
        let copies = self.copies(key, (frame, stripe), size, part);
        let meaning = (!fenced).then_some(Meaning::Loaded(key));
        for &operation in &copies {
            let step = Step::new(operation, meaning).of(charged);
            self.issued.command(step, out);
        }
        if fenced {
            self.install_behind(key, part, out);
        } else if let Some(page) = self.pages.get_mut(&key) {
            page.enter(State::Loading {
                part,
                left: copies.len() as u8,
                failed: None,
            });
        }
    }

    /// The commands that complete a page of `size` bytes in its frame: the last of the object's bytes from the buffer,
    /// and zeroes before and behind the object.
    fn copies(
        &self,
        key: ObjectPage,
        (frame, stripe): (CardAddr, Stripe),
        size: u64,
        part: Option<Part>,
    ) -> Vec<Operation> {
        let Some(part) = part else {
            let (to, bytes) = (frame, size);
            return vec![match self.host_address(key) {
                Some(from) => Operation::CopyIn {
                    from,
                    to,
                    bytes,
                    stripe,
                },
                None => Operation::Zero { to, bytes, stripe },
            }];
        };
        let copy = self.copy_of(key, part, self.piece(key));
        copy.into_iter().chain(self.edges(key)).collect()
    }

    /// Writes the entries and answers the accesses behind the data in transit; the last command reports.
    fn install_behind(&mut self, key: ObjectPage, part: Option<Part>, out: &mut Vec<Action>) {
        if let Some(page) = self.pages.get_mut(&key) {
            page.enter(State::Installing { part });
        }
        let mut steps = self.serve(key, out);
        let install = steps
            .iter_mut()
            .find(|step| matches!(step.operation, Operation::Install { .. }));
        if let Some(install) = install {
            install.fence = !self.sabotaged(Sabotage::InstallEarly);
        }
        if let Some(last) = steps.last_mut() {
            last.meaning = Some(Meaning::Installed(key));
        }
        let empty = steps.is_empty();
        for step in steps {
            self.issued.command(step, out);
        }
        if empty {
            self.installed(key, out);
        }
    }

    /// A part of the data is in the frame.
    pub(crate) fn loaded(&mut self, key: ObjectPage, status: CommandStatus, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        let State::Loading { part, left, failed } = page.state else {
            match page.state {
                State::Reading(_) if page.filling.reading > 0 => self.piece_copied(key, status),
                State::Reading(part) => self.piece_loaded(key, part, status, out),
                _ => {}
            }
            return;
        };
        let failed = failed.or((status != CommandStatus::Ok).then_some(status));
        let left = left - 1;
        page.enter(State::Loading { part, left, failed });
        if left > 0 {
            return;
        }
        let of_a_piece = page.filling.failed.take();
        if let Some(part) = part {
            self.buffers.give(part);
        }
        let of_a_copy = |status| AccessError::Fetch(self.card_error(Direction::Read, key, status));
        if let Some(reason) = of_a_piece.or(failed.map(of_a_copy)) {
            return self.fail_fill(key, reason, out);
        }
        self.become_resident(key, out);
    }

    /// Entries and replies are complete.
    pub(crate) fn installed(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        let Some(State::Installing { part }) = self.pages.get(&key).map(|page| page.state) else {
            return;
        };
        if let Some(part) = part {
            self.buffers.give(part);
        }
        self.become_resident(key, out);
    }

    /// The data is in its place: entries may refer to it. The completion of these entries and replies is not requested,
    /// because it would cost the host one event per page: later commands of the space follow them in order.
    pub(crate) fn become_resident(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        self.zeroing.remove(&key);
        let mut direct = false;
        if let Some(page) = self.pages.get_mut(&key) {
            page.enter(State::Resident);
            page.urgency = Urgency::Hint;
            page.moved = 0;
            direct = page.direct.is_some();
        }
        // Evicting a direct page frees no frame.
        if !direct {
            self.policies.eviction.inserted(key);
        }
        self.settle(key, out);
    }

    /// A fill failed: frees the page's frame and reports the failure to its waiters.
    pub(crate) fn fail_fill(
        &mut self,
        key: ObjectPage,
        reason: AccessError,
        out: &mut Vec<Action>,
    ) {
        self.zeroing.remove(&key);
        self.fail_waiters(key, reason, out);
        if self.yield_failed(key, out) {
            return;
        }
        self.give_frame_back(key);
        self.end_all_requests(key, Ok(()), out);
        self.forget(key);
    }

    /// Frees the frame of a page.
    pub(crate) fn give_frame_back(&mut self, key: ObjectPage) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        page.direct = None;
        let charged = page.charged.take();
        if let Some(space) = charged.and_then(|asid| self.spaces.get_mut(&asid)) {
            space.charged -= page.size.bytes();
        }
        if let Some(frame) = page.frame.take() {
            if page.stripe == Stripe::NONE {
                self.owners.remove(&frame);
            }
            self.memory.release(frame, page.size.class(), page.stripe);
        }
    }

    /// Removes the record of a page that has no frame.
    pub(crate) fn forget(&mut self, key: ObjectPage) {
        self.frame_queue.remove(key);
        if let Some(page) = self.pages.remove(&key) {
            page.end();
        }
    }
}
