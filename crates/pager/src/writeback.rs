//! Write-backs: a page is cleaned (sync) or released (eviction, unmap, close).
//!
//! Both drain first: they Protect or Invalidate every entry and wait for the reports, so that no write is under way and
//! the dirty bits are known. Then a dirty page is copied to a buffer and written to its object. A cleaned page may be
//! written again from the moment its copy is complete.

use crate::action::{Action, Around};
use crate::buffer::{Buffers, Part};
use crate::error::{Direction, IoError};
use crate::host_memory;
use crate::ids::ObjectPage;
use crate::issue::{Meaning, Step};
use crate::outcome::Outcome;
use crate::page::{Purpose, Stage, State};
use crate::queue::Urgency;
use crate::sabotage::Sabotage;
use crate::translate::Translation;
use units::{CommandStatus, Operation};

/// Drains pages, and brings their data from their frames to their objects.
pub(crate) struct WriteBack<'a> {
    pub(crate) translation: Translation<'a>,
    pub(crate) buffers: &'a mut Buffers,
}

impl WriteBack<'_> {
    /// Begins the drain of a resident page: its entries are protected or removed.
    pub(crate) fn begin(&mut self, key: ObjectPage, purpose: Purpose) {
        let Some(page) = self.translation.pages.page_mut(key) else {
            return;
        };
        page.enter(State::WritingBack {
            purpose,
            stage: Stage::Draining,
        });
        let requests = &mut page.requests;
        requests.joined.append(&mut requests.wanted);
        let mut steps = Vec::new();
        match purpose {
            Purpose::Release => self.translation.remove_entries(key, &mut steps),
            Purpose::Clean => self.protect(key, &mut steps),
        }
        self.translation.issued.commands(steps);
    }

    fn protect(&mut self, key: ObjectPage, steps: &mut Vec<Step>) {
        if self.translation.injected.is(Sabotage::SyncUnprotected) {
            return;
        }
        let Some(page) = self.translation.pages.page_mut(key) else {
            return;
        };
        let size = page.size;
        let entries = &mut page.entries;
        for entry in entries.list.iter_mut().filter(|entry| entry.write) {
            entry.write = false;
            entries.unreported += 1;
            let operation = Operation::Protect {
                asid: entry.asid,
                address: entry.address,
                size,
            };
            steps.push(Step::new(operation, Some(Meaning::Reported(key))));
        }
    }

    /// An Invalidate or Protect has drained.
    pub(crate) fn reported(&mut self, key: ObjectPage, accessed: bool, dirty: bool) -> Outcome {
        let dirty = dirty && !self.translation.injected.is(Sabotage::DropDirty);
        let Some(page) = self.translation.pages.page_mut(key) else {
            return Outcome::UnderWay;
        };
        page.entries.unreported = page.entries.unreported.saturating_sub(1);
        page.entries.accessed |= accessed;
        page.content.dirty |= dirty;
        Outcome::Settle
    }

    /// Whether nothing can write a draining page any more.
    pub(crate) fn is_drained(&self, key: ObjectPage) -> bool {
        let page = self.translation.pages.page(key);
        page.is_some_and(|page| page.entries.unreported == 0)
            || self.translation.injected.is(Sabotage::SkipDrain)
    }

    /// Nothing can write the page now, and the dirty bit is exact.
    pub(crate) fn drained(&mut self, key: ObjectPage, purpose: Purpose) -> Outcome {
        let Translation {
            pages,
            issued,
            counts,
            ..
        } = &mut self.translation;
        let writes = pages.writes_back(key);
        let host = pages.host_address(key).is_some();
        let asid = pages.brought_by(key);
        let Some(page) = pages.page_mut(key) else {
            return Outcome::UnderWay;
        };
        let direct = page.place.direct.is_some();
        if host && !direct {
            return host_memory::drained(pages, issued, counts, key, purpose, writes);
        }
        if purpose == Purpose::Release && page.content.drop_dirty {
            page.content.dirty = false;
        }
        // Programs have shared memory in place: there is nothing to write.
        let saves = page.content.dirty && writes && !host;
        if saves && direct {
            return self.save_direct(key, purpose);
        }
        if saves {
            page.enter(State::WritingBack {
                purpose,
                stage: Stage::AwaitingBuffer,
            });
            // No request waits for a page that is cleaned ahead.
            let ahead = purpose == Purpose::Clean && !page.is_awaited();
            let urgency = if ahead { Urgency::Soon } else { Urgency::Head };
            self.buffers.push(key, urgency);
            return Outcome::UnderWay;
        }
        page.content.dirty = false;
        if purpose == Purpose::Release {
            counts.dropped_clean(asid);
        }
        Outcome::WrittenBack(purpose, Ok(()))
    }

    /// Begins to copy out a page that was given a buffer.
    pub(crate) fn begin_copy_out(&mut self, key: ObjectPage, purpose: Purpose, part: Part) {
        let Some(page) = self.translation.pages.page_mut(key) else {
            return;
        };
        page.enter(State::WritingBack {
            purpose,
            stage: Stage::CopyingOut(part),
        });
        page.content.dirty = false;
        page.progress.moved = 0;
        if !self.begin_pieces(key, part) {
            self.copy_piece_out(key, part);
        }
        let translation = &mut self.translation;
        if purpose == Purpose::Release && translation.injected.is(Sabotage::ReuseEarly) {
            if let Some(page) = translation.pages.page_mut(key) {
                translation.memory.take_back(translation.spaces, page);
            }
        }
    }

    /// Copies as much of the unsaved data as the buffer holds.
    fn copy_piece_out(&mut self, key: ObjectPage, part: Part) {
        let piece = self.translation.pages.piece(key);
        let Some(page) = self.translation.pages.page(key) else {
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
        if let Some(from) = page.address_of(at) {
            let operation = Operation::CopyOut {
                from,
                to: part.address.offset(place),
                bytes,
                stripe: page.place.stripe,
            };
            let step = Step::new(operation, Some(Meaning::CopiedOut(key)));
            self.translation.issued.command(step.of(page.place.charged));
        }
    }

    /// The data is in the buffer, or in host memory. With the last piece, a page that stays may be written again.
    pub(crate) fn copied_out(&mut self, key: ObjectPage, status: CommandStatus) -> Outcome {
        let injected = self.translation.injected;
        let Translation {
            pages,
            issued,
            counts,
            ..
        } = &mut self.translation;
        if let Some(outcome) = host_memory::returned(pages, issued, counts, key, status) {
            return outcome;
        }
        let mut piece = pages.piece(key);
        let size = pages.size_of(key).bytes();
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
        if injected.is(Sabotage::WriteTail) {
            piece.bytes = size;
        }
        let Some(State::WritingBack {
            purpose,
            stage: Stage::CopyingOut(part),
        }) = pages.state(key)
        else {
            return Outcome::UnderWay;
        };
        if status != CommandStatus::Ok {
            self.buffers.give(part);
            let error = pages.card_error(Direction::Write, key, status);
            return Outcome::WrittenBack(purpose, Err(error));
        }
        let io = issued.io(key, Direction::Write);
        issued.push(piece.write(io, key, part, around));
        if piece.last {
            self.all_copied_out(key, purpose, part);
        }
        Outcome::UnderWay
    }

    /// All of the page is copied out: it is written, and a page that stays may be written again.
    pub(crate) fn all_copied_out(&mut self, key: ObjectPage, purpose: Purpose, part: Part) {
        if let Some(page) = self.translation.pages.page_mut(key) {
            page.enter(State::WritingBack {
                purpose,
                stage: Stage::Writing(part),
            });
        }
        if purpose == Purpose::Clean {
            self.translation.serve_now(key);
        }
    }

    /// Handles the end of a write to the object, successful or not.
    pub(crate) fn write_done(&mut self, key: ObjectPage, result: Result<u64, IoError>) -> Outcome {
        let injected = self.translation.injected;
        let Translation { pages, counts, .. } = &mut self.translation;
        let Some(State::WritingBack { purpose, stage }) = pages.state(key) else {
            return Outcome::UnderWay;
        };
        let part = match stage {
            Stage::Saving => return self.direct_saved(key, purpose, result),
            Stage::Writing(part) | Stage::CopyingOut(part) => part,
            _ => return Outcome::UnderWay,
        };
        let piece = pages.piece(key);
        let result = match result {
            Err(_) if injected.is(Sabotage::TrustFailedWrite) => Ok(()),
            other => IoError::check(other, piece.bytes),
        };
        if result.is_ok() {
            let asid = pages.brought_by(key);
            if piece.last {
                counts.page_written(asid);
            }
            counts.moved(asid, Direction::Write, piece.bytes);
            self.note_saved(key);
            if !piece.last {
                if let Some(page) = self.translation.pages.page_mut(key) {
                    page.progress.moved += piece.bytes;
                }
                self.copy_piece_out(key, part);
                return Outcome::UnderWay;
            }
        }
        self.buffers.give(part);
        let result = result.map_err(|error| piece.error(Direction::Write, key, error));
        Outcome::WrittenBack(purpose, result)
    }

    /// Records that bytes of a page were saved to the object: it is no longer zero.
    pub(crate) fn note_saved(&mut self, key: ObjectPage) {
        if !self.translation.injected.is(Sabotage::ForgetSaved) {
            self.translation.pages.note_saved(key);
        }
    }

    /// Saves a dirty page from its place in host memory to the object, once all writes to it are blocked.
    fn save_direct(&mut self, key: ObjectPage, purpose: Purpose) -> Outcome {
        let forgets = self.translation.injected.is(Sabotage::ForgetDirect);
        let Translation { pages, issued, .. } = &mut self.translation;
        let Some(transfer) = pages.direct_part(key) else {
            return Outcome::UnderWay;
        };
        let Some(page) = pages.page_mut(key) else {
            return Outcome::UnderWay;
        };
        page.content.dirty = false;
        if forgets {
            return Outcome::WrittenBack(purpose, Ok(()));
        }
        page.enter(State::WritingBack {
            purpose,
            stage: Stage::Saving,
        });
        let io = issued.io(key, Direction::Write);
        issued.push(Action::SaveDirect { io, transfer });
        Outcome::UnderWay
    }

    /// Handles the end of such a save, successful or not.
    fn direct_saved(
        &mut self,
        key: ObjectPage,
        purpose: Purpose,
        result: Result<u64, IoError>,
    ) -> Outcome {
        let Translation { pages, counts, .. } = &mut self.translation;
        let wanted = pages.own_bytes(key);
        let result = IoError::check(result, wanted);
        if result.is_ok() {
            let asid = pages.brought_by(key);
            counts.page_written(asid);
            counts.moved(asid, Direction::Write, wanted);
            counts.add_in(asid, |counts| counts.direct.written += 1);
            pages.note_saved(key);
        }
        let result = result.map_err(|error| pages.io_error(Direction::Write, key, error));
        Outcome::WrittenBack(purpose, result)
    }
}
