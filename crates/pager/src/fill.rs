//! Fills: from a requested page to a resident one.

use crate::action::Action;
use crate::buffer::{Buffers, Part};
use crate::config::InstallOrder;
use crate::error::{AccessError, Direction, IoError};
use crate::host_memory;
use crate::ids::ObjectPage;
use crate::issue::{Meaning, Step};
use crate::outcome::Outcome;
use crate::page::{Page, State};
use crate::sabotage::Sabotage;
use crate::translate::Translation;
use crate::work::Work;
use units::{CommandStatus, FrameNumber, Operation};

/// Brings the data of pages to their frames, and the entries behind it.
pub(crate) struct Fill<'a> {
    pub(crate) translation: Translation<'a>,
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) work: &'a mut Work,
}

impl Fill<'_> {
    /// Begins the fill of a page that was given a frame.
    pub(crate) fn begin(&mut self, key: ObjectPage, frame: FrameNumber) -> Outcome {
        let Translation {
            config,
            pages,
            spaces,
            memory,
            issued,
            counts,
            ..
        } = &mut self.translation;
        let size = pages.size_of(key);
        let object = pages.object(key.object);
        let zero = object.is_none_or(|object| object.is_zero(key.index, size));
        let shared = object.is_some_and(|object| object.host_address(key.index).is_some());
        let keep = spaces.keep_of(object, key);
        let Some(page) = pages.page_mut(key) else {
            return Outcome::UnderWay;
        };
        page.begin_residency(keep);
        memory.give(spaces, key, page, frame);
        if page.is_hint() {
            counts.add(|total| total.pages_hinted += 1);
        }
        let (urgency, charged) = (page.urgency, page.place.charged);
        if shared {
            host_memory::claim(pages, issued, key);
        } else if !zero {
            page.enter(State::AwaitingBuffer);
            self.buffers.push(key, urgency);
        } else {
            counts.add_in(charged, |counts| counts.pages_zeroed += 1);
            counts.add(|total| total.bytes_zeroed += size.bytes());
            if !config.overlap {
                return self.load(key, None);
            }
            page.enter(State::AwaitingZero);
            let share = spaces.share_of(charged);
            self.work.await_zero(share, key, urgency);
        }
        Outcome::UnderWay
    }

    /// Fetches the data of a page that was given a buffer.
    pub(crate) fn begin_read(&mut self, key: ObjectPage, part: Part) {
        if let Some(page) = self.translation.pages.page_mut(key) {
            page.enter(State::Reading(part));
        }
        if !self.begin_pieces(key, part) {
            self.read_piece(key, part);
        }
    }

    /// Fetches as much of the missing data as the buffer holds.
    fn read_piece(&mut self, key: ObjectPage, part: Part) {
        let piece = self.translation.pages.piece(key);
        let issued = &mut *self.translation.issued;
        let io = issued.io(key, Direction::Read);
        issued.push(piece.read(io, key, part));
    }

    /// Handles the end of a read into the buffer, successful or not.
    pub(crate) fn read_done(&mut self, key: ObjectPage, result: Result<u64, IoError>) -> Outcome {
        let Some(State::Reading(part)) = self.translation.pages.state(key) else {
            return Outcome::UnderWay;
        };
        let pages = &*self.translation.pages;
        let piece = pages.piece(key);
        if let Err(error) = IoError::check(result, piece.bytes) {
            if !self.translation.injected.is(Sabotage::LeakBuffer) {
                self.buffers.give(part);
            }
            let error = piece.error(Direction::Read, key, error);
            return Outcome::FillFailed(AccessError::Fetch(error));
        }
        let asid = pages.brought_by(key);
        let counts = &mut *self.translation.counts;
        counts.moved(asid, Direction::Read, piece.bytes);
        if piece.last {
            counts.page_read(asid);
            return self.load(key, Some(part));
        }
        // The piece moves into the frame; the buffer is then used for the next one.
        if let Some(operation) = pages.copy_of(key, part, piece) {
            let charged = pages.page(key).and_then(|page| page.place.charged);
            let step = Step::new(operation, Some(Meaning::Loaded(key)));
            self.translation.issued.command(step.of(charged));
        }
        Outcome::UnderWay
    }

    /// A piece that is not the last is in the frame.
    fn piece_loaded(&mut self, key: ObjectPage, part: Part, status: CommandStatus) -> Outcome {
        let pages = &mut *self.translation.pages;
        if status != CommandStatus::Ok {
            self.buffers.give(part);
            let error = pages.card_error(Direction::Read, key, status);
            return Outcome::FillFailed(AccessError::Fetch(error));
        }
        let bytes = pages.piece(key).bytes;
        if let Some(page) = pages.page_mut(key) {
            page.progress.moved += bytes;
        }
        self.read_piece(key, part);
        Outcome::UnderWay
    }

    /// Moves the data into the frame, and writes the entries behind it.
    pub(crate) fn load(&mut self, key: ObjectPage, part: Option<Part>) -> Outcome {
        let Translation {
            config,
            pages,
            issued,
            ..
        } = &mut self.translation;
        let Some(page) = pages.page(key).filter(|page| page.place.frame.is_some()) else {
            return Outcome::UnderWay;
        };
        let fenced = config.install_order == InstallOrder::Fenced && page.wants_entry();
        let charged = page.place.charged;
        let copies = pages.copies(key, part);
        let meaning = (!fenced).then_some(Meaning::Loaded(key));
        for &operation in &copies {
            issued.command(Step::new(operation, meaning).of(charged));
        }
        if fenced {
            return self.install_behind(key, part);
        }
        if let Some(page) = pages.page_mut(key) {
            page.enter(State::Loading {
                part,
                left: copies.len() as u8,
                failed: None,
            });
        }
        Outcome::UnderWay
    }

    /// Writes the entries and answers the accesses behind the data in transit; the last command reports.
    fn install_behind(&mut self, key: ObjectPage, part: Option<Part>) -> Outcome {
        let translation = &mut self.translation;
        if let Some(page) = translation.pages.page_mut(key) {
            page.enter(State::Installing { part });
        }
        let mut steps = translation.serve(key);
        let install = steps
            .iter_mut()
            .find(|step| matches!(step.operation, Operation::Install { .. }));
        if let Some(install) = install {
            install.fence = !translation.injected.is(Sabotage::InstallEarly);
        }
        if let Some(last) = steps.last_mut() {
            last.meaning = Some(Meaning::Installed(key));
        }
        let empty = steps.is_empty();
        translation.issued.commands(steps);
        match empty {
            true => self.installed(key),
            false => Outcome::UnderWay,
        }
    }

    /// A part of the data is in the frame.
    pub(crate) fn loaded(&mut self, key: ObjectPage, status: CommandStatus) -> Outcome {
        let pages = &mut *self.translation.pages;
        let Some(page) = pages.page_mut(key) else {
            return Outcome::UnderWay;
        };
        let State::Loading { part, left, failed } = page.state() else {
            return match page.state() {
                State::Reading(_) if page.progress.filling.reading > 0 => {
                    self.piece_copied(key, status);
                    Outcome::UnderWay
                }
                State::Reading(part) => self.piece_loaded(key, part, status),
                _ => Outcome::UnderWay,
            };
        };
        let failed = failed.or((status != CommandStatus::Ok).then_some(status));
        let left = left - 1;
        page.enter(State::Loading { part, left, failed });
        if left > 0 {
            return Outcome::UnderWay;
        }
        let of_a_piece = page.progress.filling.failed.take();
        if let Some(part) = part {
            self.buffers.give(part);
        }
        let of_a_copy = |status| AccessError::Fetch(pages.card_error(Direction::Read, key, status));
        let reason = of_a_piece.or(failed.map(of_a_copy));
        reason.map_or(Outcome::Resident, Outcome::FillFailed)
    }

    /// Entries and replies are complete.
    pub(crate) fn installed(&mut self, key: ObjectPage) -> Outcome {
        let Some(State::Installing { part }) = self.translation.pages.state(key) else {
            return Outcome::UnderWay;
        };
        if let Some(part) = part {
            self.buffers.give(part);
        }
        Outcome::Resident
    }

    /// Fetches a page's data to its place in host memory, without a frame.
    pub(crate) fn begin_direct(&mut self, key: ObjectPage) -> Outcome {
        let Translation {
            pages,
            spaces,
            issued,
            counts,
            ..
        } = &mut self.translation;
        let object = pages.object(key.object);
        let keep = spaces.keep_of(object, key);
        let place = object.and_then(|object| object.direct_address(key.index));
        let Some(page) = pages.page_mut(key) else {
            return Outcome::UnderWay;
        };
        page.begin_residency(keep);
        page.place.direct = place;
        page.place.requested = page.waiters.first().map(|waiter| waiter.asid);
        page.enter(State::Fetching);
        if page.is_hint() {
            counts.add(|total| total.pages_hinted += 1);
        }
        if pages.host_address(key).is_some() {
            return self.direct_there(key);
        }
        if let Some(transfer) = pages.direct_part(key) {
            let io = issued.io(key, Direction::Read);
            issued.push(Action::FillDirect { io, transfer });
        }
        Outcome::UnderWay
    }

    /// Handles the end of a fetch to host memory, successful or not.
    pub(crate) fn direct_filled(
        &mut self,
        key: ObjectPage,
        result: Result<u64, IoError>,
    ) -> Outcome {
        let Translation { pages, counts, .. } = &mut self.translation;
        let wanted = pages.own_bytes(key);
        match IoError::check(result, wanted) {
            Ok(()) => {
                let asid = pages.brought_by(key);
                counts.page_read(asid);
                counts.moved(asid, Direction::Read, wanted);
                self.direct_there(key)
            }
            Err(error) => {
                let error = pages.io_error(Direction::Read, key, error);
                Outcome::FillFailed(AccessError::Fetch(error))
            }
        }
    }

    /// The data is in its place: kernels may use it.
    fn direct_there(&mut self, key: ObjectPage) -> Outcome {
        let Translation { pages, counts, .. } = &mut self.translation;
        let bytes = pages.own_bytes(key);
        counts.add_in(pages.brought_by(key), |counts| {
            counts.direct.pages += 1;
            counts.direct.bytes += bytes;
        });
        Outcome::Resident
    }

    /// The data of a page is in its place. The completion of its entries and replies is not requested, because it would
    /// cost the host one event per page: later commands of the space follow them in order. Returns whether it takes
    /// card memory: evicting a direct page frees no frame.
    pub(crate) fn become_resident(&mut self, key: ObjectPage) -> bool {
        self.work.end_zero(key);
        let page = self.translation.pages.page_mut(key);
        page.is_none_or(|page: &mut Page| page.become_resident())
    }
}
