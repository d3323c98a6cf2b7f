//! Write-backs: a page is cleaned (sync) or released (eviction, unmap, close).
//!
//! Both drain first: they Protect or Invalidate every entry and wait for the reports, so that no write is under way and
//! the dirty bits are known. Then a dirty page is copied to a buffer and written to its object. A cleaned page may be
//! written again from the moment its copy is complete.

use crate::action::{Action, Around};
use crate::buffer::Part;
use crate::error::{Direction, IoError, PagerError};
use crate::event::ObjectKind;
use crate::ids::{ObjectPage, RequestId};
use crate::issue::{Meaning, Step};
use crate::page::{Purpose, Stage, State};
use crate::pager::Pager;
use crate::queue::Urgency;
use crate::sabotage::Sabotage;
use units::{CommandStatus, Operation};

impl Pager {
    /// Decides the next step of a resident page. Called whenever a page becomes idle or one of its reports arrives.
    pub(crate) fn settle(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get(&key) else {
            return;
        };
        match page.state {
            State::WritingBack {
                purpose,
                stage: Stage::Draining,
            } if page.unreported == 0 || self.sabotaged(Sabotage::SkipDrain) => {
                self.drained(key, purpose, out);
            }
            State::Resident => self.settle_resident(key, out),
            _ => {}
        }
    }

    fn settle_resident(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        self.serve_now(key, out);
        if self.upgrade(key, out) {
            return;
        }
        let Some((page, object)) = self.pages.get(&key).zip(self.objects.get(&key.object)) else {
            return;
        };
        let used = object.uses(key.index);
        let stays = used || (object.kind == ObjectKind::Anonymous && !object.closing);
        if !page.leaving.is_empty() {
            if !stays {
                self.begin_write_back(key, Purpose::Release, out);
            } else if used {
                // The others keep the page; the request still needs its stores to be saved.
                let leaving = self
                    .pages
                    .get_mut(&key)
                    .map(|page| std::mem::take(&mut page.leaving));
                if let Some(page) = self.pages.get_mut(&key) {
                    page.wanted.extend(leaving.into_iter().flatten());
                }
                self.begin_write_back(key, Purpose::Clean, out);
            } else if page.unreported == 0 {
                let leaving = self
                    .pages
                    .get_mut(&key)
                    .map(|page| std::mem::take(&mut page.leaving));
                self.end_requests(leaving.into_iter().flatten(), Ok(()), out);
                self.settle_resident(key, out);
            }
        } else if !page.returning.is_empty() {
            self.begin_write_back(key, Purpose::Release, out);
        } else if !page.wanted.is_empty() {
            self.begin_write_back(key, Purpose::Clean, out);
        } else if !stays && !page.unsaved {
            // It was fetched after its last mapping had ended.
            self.begin_write_back(key, Purpose::Release, out);
        } else if self.varies_above(key) {
            self.rested.push(key);
        }
    }

    /// Begins a write-back of a resident page: its entries are protected or removed.
    pub(crate) fn begin_write_back(
        &mut self,
        key: ObjectPage,
        purpose: Purpose,
        out: &mut Vec<Action>,
    ) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        page.enter(State::WritingBack {
            purpose,
            stage: Stage::Draining,
        });
        let wanted = std::mem::take(&mut page.wanted);
        page.joined.extend(wanted);
        let mut steps = Vec::new();
        match purpose {
            Purpose::Release => {
                for entry in page.entries.clone() {
                    self.remove_entry(key, entry.asid, entry.address, &mut steps);
                }
                self.releasing.insert(key);
            }
            Purpose::Clean => {
                self.cleaning.insert(key);
                self.protect(key, &mut steps);
            }
        }
        for step in steps {
            self.issued.command(step, out);
        }
        self.settle(key, out);
    }

    fn protect(&mut self, key: ObjectPage, steps: &mut Vec<Step>) {
        if self.sabotaged(Sabotage::SyncUnprotected) {
            return;
        }
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        let size = page.size;
        for entry in page.entries.iter_mut().filter(|entry| entry.write) {
            entry.write = false;
            page.unreported += 1;
            let operation = Operation::Protect {
                asid: entry.asid,
                address: entry.address,
                size,
            };
            steps.push(Step::new(operation, Some(Meaning::Reported(key))));
        }
    }

    /// An Invalidate or Protect has drained.
    pub(crate) fn reported(
        &mut self,
        key: ObjectPage,
        accessed: bool,
        dirty: bool,
        out: &mut Vec<Action>,
    ) {
        let dirty = dirty && !self.sabotaged(Sabotage::DropDirty);
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        page.unreported = page.unreported.saturating_sub(1);
        page.dirty |= dirty;
        page.accessed |= accessed;
        self.settle(key, out);
    }

    /// Nothing can write the page now, and the dirty bit is exact.
    fn drained(&mut self, key: ObjectPage, purpose: Purpose, out: &mut Vec<Action>) {
        let writes = self.writes_back(key);
        let direct = self.pages.get(&key).is_some_and(|p| p.direct.is_some());
        let host = self.host_address(key).is_some();
        if host && !direct {
            return self.host_drained(key, purpose, writes, out);
        }
        // Programs have shared memory in place: there is nothing to write.
        let writes = writes && !host;
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        if purpose == Purpose::Release && page.drop_dirty {
            page.dirty = false;
        }
        if page.dirty && writes && page.direct.is_some() {
            return self.save_direct(key, purpose, out);
        }
        if page.dirty && writes {
            page.enter(State::WritingBack {
                purpose,
                stage: Stage::AwaitingBuffer,
            });
            // No request waits for a page that is cleaned ahead.
            let ahead = purpose == Purpose::Clean
                && page.joined.is_empty()
                && page.leaving.is_empty()
                && page.waiters.is_empty();
            let urgency = if ahead { Urgency::Soon } else { Urgency::Head };
            self.buffer_queue.push(key, urgency);
            return;
        }
        page.dirty = false;
        if purpose == Purpose::Release {
            self.statistics.pages_dropped_clean += 1;
            self.count_of(key, |space| space.pages_dropped_clean += 1);
        }
        self.written_back(key, purpose, Ok(()), out);
    }

    /// Whether a page is dirty and must be written.
    fn writes_back(&self, key: ObjectPage) -> bool {
        !self.part_on(key).is_empty()
            && self
                .objects
                .get(&key.object)
                .is_some_and(|object| !object.discard)
    }

    /// Begins to copy out a page that was given a buffer.
    pub(crate) fn begin_copy_out(
        &mut self,
        key: ObjectPage,
        purpose: Purpose,
        part: Part,
        out: &mut Vec<Action>,
    ) {
        let early = purpose == Purpose::Release && self.sabotaged(Sabotage::ReuseEarly);
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        page.enter(State::WritingBack {
            purpose,
            stage: Stage::CopyingOut(part),
        });
        page.dirty = false;
        page.moved = 0;
        if !self.begin_pieces_out(key, part, out) {
            self.copy_piece_out(key, part, out);
        }
        if early {
            self.give_frame_back(key);
        }
    }

    /// Copies as much of the unsaved data as the buffer holds.
    fn copy_piece_out(&mut self, key: ObjectPage, part: Part, out: &mut Vec<Action>) {
        let piece = self.piece(key);
        let Some(page) = self.pages.get(&key) else {
            return;
        };
        // If a page is not all the object's, the rest is copied too, to see whether it was written.
        let (at, place, bytes) = match piece.edge {
            true => (0, 0, page.size.bytes()),
            false => {
                let lead = piece.lead();
                (piece.at - lead, piece.place - lead, piece.row_bytes())
            }
        };
        if let Some(from) = page.place(at) {
            let operation = Operation::CopyOut {
                from,
                to: part.address.offset(place),
                bytes,
                stripe: page.stripe,
            };
            let step = Step::new(operation, Some(Meaning::CopiedOut(key))).of(page.charged);
            self.issued.command(step, out);
        }
    }

    /// The data is in the buffer. With the last piece, a page that stays may be written again.
    pub(crate) fn copied_out(
        &mut self,
        key: ObjectPage,
        status: CommandStatus,
        out: &mut Vec<Action>,
    ) {
        if self.returned(key, status, out) {
            return;
        }
        let mut piece = self.piece(key);
        let size = self.size_of(key).bytes();
        let around = match piece.edge {
            true => Around {
                before: piece.at,
                behind: size - piece.at - piece.bytes,
            },
            false => {
                let before = piece.lead();
                let behind = piece.row_bytes() - before - piece.bytes;
                Around { before, behind }
            }
        };
        if self.sabotaged(Sabotage::WriteTail) {
            piece.bytes = size;
        }
        let Some(State::WritingBack {
            purpose,
            stage: Stage::CopyingOut(part),
        }) = self.pages.get(&key).map(|page| page.state)
        else {
            return;
        };
        if status != CommandStatus::Ok {
            self.buffers.give(part);
            let error = self.card_error(Direction::Write, key, status);
            return self.written_back(key, purpose, Err(error), out);
        }
        let io = self.issued.io(key, Direction::Write);
        out.push(piece.write(io, key, part, around));
        if piece.last {
            self.all_copied_out(key, purpose, part, out);
        }
    }

    /// All of the page is copied out: it is written, and a page that stays may be written again.
    pub(crate) fn all_copied_out(
        &mut self,
        key: ObjectPage,
        purpose: Purpose,
        part: Part,
        out: &mut Vec<Action>,
    ) {
        if let Some(page) = self.pages.get_mut(&key) {
            page.enter(State::WritingBack {
                purpose,
                stage: Stage::Writing(part),
            });
        }
        if purpose == Purpose::Clean {
            self.serve_now(key, out);
        }
    }

    /// Handles the end of a write to the object, successful or not.
    pub(crate) fn write_done(
        &mut self,
        key: ObjectPage,
        result: Result<u64, IoError>,
        out: &mut Vec<Action>,
    ) {
        if self.direct_saved(key, result, out) {
            return;
        }
        let piece = self.piece(key);
        let wanted = piece.bytes;
        let Some(State::WritingBack {
            purpose,
            stage: Stage::Writing(part) | Stage::CopyingOut(part),
        }) = self.pages.get(&key).map(|page| page.state)
        else {
            return;
        };
        let result = match result {
            Err(_) if self.sabotaged(Sabotage::TrustFailedWrite) => Ok(()),
            other => IoError::check(other, wanted),
        };
        if result.is_ok() {
            self.statistics.pages_written += u64::from(piece.last);
            self.count_of(key, |space| space.pages_written += u64::from(piece.last));
            self.count_moved(key, Direction::Write, wanted);
            self.note_saved(key);
            if !piece.last {
                if let Some(page) = self.pages.get_mut(&key) {
                    page.moved += wanted;
                }
                return self.copy_piece_out(key, part, out);
            }
        }
        self.buffers.give(part);
        let result = result.map_err(|error| self.io_error(Direction::Write, key, error));
        self.written_back(key, purpose, result, out);
    }

    /// Records that bytes of a page were saved to the object: it is no longer zero.
    pub(crate) fn note_saved(&mut self, key: ObjectPage) {
        let forget = self.sabotaged(Sabotage::ForgetSaved);
        let size = self.size_of(key);
        if let Some(object) = self.objects.get_mut(&key.object).filter(|_| !forget) {
            object.saved(key.index, size);
        }
    }

    /// The end of a write-back.
    pub(crate) fn written_back(
        &mut self,
        key: ObjectPage,
        purpose: Purpose,
        result: Result<(), PagerError>,
        out: &mut Vec<Action>,
    ) {
        let discard = self
            .objects
            .get(&key.object)
            .is_some_and(|object| object.discard);
        let result = if discard { Ok(()) } else { result };
        self.cleaning.remove(&key);
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        page.moved = 0;
        if let Err(error) = result {
            self.statistics.write_backs_failed += 1;
            page.dirty = true;
            page.unsaved = true;
            self.releasing.remove(&key);
            if page.joined.is_empty() && page.leaving.is_empty() {
                out.push(Action::WriteBackFailed { error });
            }
        } else {
            page.unsaved = false;
        }
        let mut ended = std::mem::take(&mut page.joined);
        match (purpose, result) {
            (Purpose::Release, Ok(())) => return self.released(key, ended, out),
            (Purpose::Release, Err(_)) => {
                ended.append(&mut page.leaving);
                ended.append(&mut page.returning);
            }
            (Purpose::Clean, _) => {}
        }
        page.enter(State::Resident);
        self.end_requests(ended, result, out);
        self.settle(key, out);
    }

    /// Drained and saved: the frame is free. The page may already be requested again.
    fn released(&mut self, key: ObjectPage, mut ended: Vec<RequestId>, out: &mut Vec<Action>) {
        if self
            .pages
            .get(&key)
            .is_some_and(|page| page.direct.is_none())
        {
            self.policies.eviction.removed(key);
        }
        self.releasing.remove(&key);
        self.give_frame_back(key);
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        ended.append(&mut page.leaving);
        ended.append(&mut page.wanted);
        ended.append(&mut page.returning);
        if page.waiters.is_empty() {
            self.forget(key);
        } else {
            // A block of several sizes is fetched again in small pages, unless there is room.
            let splits = self.varies(key) && !self.fits_again(key) && self.split_wanted(key, out);
            if let Some(page) = self.pages.get_mut(&key).filter(|_| !splits) {
                page.enter(State::Waiting);
                let urgency = page.urgency;
                self.frame_queue.push(key, urgency);
            }
        }
        self.end_requests(ended, Ok(()), out);
    }
}
