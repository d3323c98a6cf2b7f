//! Fills and write-backs in pieces: pieces of a page move to its frame while the next ones are read, and to its object
//! while the next ones are copied out.
//!
//! A page that fits into a part of a buffer is read in several concurrent pieces, and each is copied to the frame as
//! soon as it is in the buffer. The page is complete, and may be installed, when every copy has completed. The last
//! read is thus followed by the copy of one piece, instead of that of the whole page.

use crate::action::Around;
use crate::buffer::Part;
use crate::error::{AccessError, Direction, IoError};
use crate::fill::Fill;
use crate::ids::ObjectPage;
use crate::issue::{Meaning, Step};
use crate::outcome::Outcome;
use crate::page::{Stage, State};
use crate::piece::Filling;
use crate::sabotage::Sabotage;
use crate::translate::Translation;
use crate::writeback::WriteBack;
use units::{CommandStatus, Operation};

impl Fill<'_> {
    /// Begins to read a page in pieces; returns false if it moves as a whole, or needs more than one buffer.
    pub(crate) fn begin_pieces(&mut self, key: ObjectPage, part: Part) -> bool {
        let Translation {
            pages,
            issued,
            counts,
            ..
        } = &mut self.translation;
        if pages.size_of(key).bytes() > part.bytes() {
            return false;
        }
        let pieces = pages.pieces(key);
        if pieces.len() < 2 {
            return false;
        }
        for (number, piece) in pieces.iter().enumerate() {
            let io = issued.piece(key, number as u8);
            issued.push(piece.read(io, key, part));
        }
        if let Some(page) = pages.page_mut(key) {
            page.progress.filling.reading = pieces.len() as u8;
        }
        counts.add(|total| total.pieces.read += 1);
        let edges = pages.edges(key);
        self.copy_pieces(key, edges);
        true
    }

    fn copy_pieces(&mut self, key: ObjectPage, copies: impl IntoIterator<Item = Operation>) {
        let Translation { pages, issued, .. } = &mut self.translation;
        let Some(page) = pages.page_mut(key) else {
            return;
        };
        for operation in copies {
            page.progress.filling.loading += 1;
            let step = Step::new(operation, Some(Meaning::Loaded(key)));
            issued.command(step.of(page.place.charged));
        }
    }

    /// Handles the end of a piece's read, successful or not.
    pub(crate) fn piece_read(
        &mut self,
        key: ObjectPage,
        number: u8,
        result: Result<u64, IoError>,
    ) -> Outcome {
        let Translation { pages, counts, .. } = &mut self.translation;
        let Some(State::Reading(part)) = pages.state(key) else {
            return Outcome::UnderWay;
        };
        let Some(piece) = pages.numbered_piece(key, number) else {
            return Outcome::UnderWay;
        };
        let failed = IoError::check(result, piece.bytes).err();
        let failed =
            failed.map(|error| AccessError::Fetch(piece.error(Direction::Read, key, error)));
        if failed.is_none() {
            counts.moved(pages.brought_by(key), Direction::Read, piece.bytes);
        }
        let Some(page) = pages.page_mut(key) else {
            return Outcome::UnderWay;
        };
        let filling = &mut page.progress.filling;
        filling.reading -= 1;
        filling.failed = filling.failed.or(failed);
        if filling.failed.is_none() {
            let copy = pages.copy_of(key, part, piece);
            self.copy_pieces(key, copy);
        }
        self.end_of_reads(key, part)
    }

    /// A piece is in the frame while others are being read.
    pub(crate) fn piece_copied(&mut self, key: ObjectPage, status: CommandStatus) {
        let pages = &mut *self.translation.pages;
        let failed = (status != CommandStatus::Ok)
            .then(|| AccessError::Fetch(pages.card_error(Direction::Read, key, status)));
        if let Some(page) = pages.page_mut(key) {
            let filling = &mut page.progress.filling;
            filling.loading -= 1;
            filling.failed = filling.failed.or(failed);
        }
    }

    /// After the last read the outstanding copies are awaited, as for a page that moves as a whole.
    fn end_of_reads(&mut self, key: ObjectPage, part: Part) -> Outcome {
        let forgets = self.translation.injected.is(Sabotage::ForgetPieces);
        let Translation { pages, counts, .. } = &mut self.translation;
        let asid = pages.brought_by(key);
        let Some(page) = pages.page_mut(key) else {
            return Outcome::UnderWay;
        };
        let Filling {
            reading,
            loading,
            failed,
        } = page.progress.filling;
        if reading > 0 {
            return Outcome::UnderWay;
        }
        page.progress.filling.loading = 0;
        match failed {
            None => counts.page_read(asid),
            Some(_) => counts.add(|total| total.pieces.failed += 1),
        }
        match failed {
            Some(reason) if loading == 0 => {
                page.progress.filling.failed = None;
                self.buffers.give(part);
                Outcome::FillFailed(reason)
            }
            _ => {
                page.enter(State::Loading {
                    part: Some(part),
                    left: if forgets { 1 } else { loading },
                    failed: None,
                });
                Outcome::UnderWay
            }
        }
    }
}

impl WriteBack<'_> {
    /// Begins to save a page in pieces; returns false if it moves as a whole, or needs more than one buffer.
    pub(crate) fn begin_pieces(&mut self, key: ObjectPage, part: Part) -> bool {
        let Translation {
            config,
            pages,
            issued,
            counts,
            ..
        } = &mut self.translation;
        // Partial pages are examined as a whole, to see whether the rest was written.
        let whole = pages.part_on(key) == (0..pages.size_of(key).bytes());
        if !config.overlap || !whole || pages.size_of(key).bytes() > part.bytes() {
            return false;
        }
        let pieces = pages.pieces(key);
        if pieces.len() < 2 {
            return false;
        }
        let Some(page) = pages.page_mut(key) else {
            return false;
        };
        page.progress.saving.copying = pieces.len() as u8;
        for (number, piece) in pieces.iter().enumerate() {
            let Some(from) = page.address_of(piece.at) else {
                continue;
            };
            let operation = Operation::CopyOut {
                from,
                to: part.address.offset(piece.place),
                bytes: piece.bytes,
                stripe: page.place.stripe,
            };
            let meaning = Meaning::PieceOut(key, number as u8);
            issued.command(Step::new(operation, Some(meaning)).of(page.place.charged));
        }
        counts.add(|total| total.pieces.saved += 1);
        true
    }

    /// A piece is in the buffer: writes it to the object. After the last copy, a page that stays may be written again.
    pub(crate) fn piece_copied_out(
        &mut self,
        key: ObjectPage,
        number: u8,
        status: CommandStatus,
    ) -> Outcome {
        let Translation { pages, issued, .. } = &mut self.translation;
        let piece = pages.numbered_piece(key, number);
        let failed =
            (status != CommandStatus::Ok).then(|| pages.card_error(Direction::Write, key, status));
        let Some((page, piece)) = pages.page_mut(key).zip(piece) else {
            return Outcome::UnderWay;
        };
        let State::WritingBack {
            purpose,
            stage: Stage::CopyingOut(part),
        } = page.state()
        else {
            return Outcome::UnderWay;
        };
        let saving = &mut page.progress.saving;
        saving.copying -= 1;
        saving.failed = saving.failed.or(failed);
        if saving.failed.is_none() {
            saving.writing += 1;
            let io = issued.piece(key, number);
            issued.push(piece.write(io, key, part, Around::default()));
        }
        if saving.copying > 0 {
            return Outcome::UnderWay;
        }
        self.all_copied_out(key, purpose, part);
        self.end_of_writes(key)
    }

    /// Handles the end of a piece's write to the object, successful or not.
    pub(crate) fn piece_written(
        &mut self,
        key: ObjectPage,
        number: u8,
        result: Result<u64, IoError>,
    ) -> Outcome {
        let injected = self.translation.injected;
        let Translation { pages, counts, .. } = &mut self.translation;
        let Some(piece) = pages.numbered_piece(key, number) else {
            return Outcome::UnderWay;
        };
        let result = match result {
            Err(_) if injected.is(Sabotage::TrustFailedWrite) => Ok(()),
            other => IoError::check(other, piece.bytes),
        };
        let failed = result.err();
        let failed = failed.map(|error| piece.error(Direction::Write, key, error));
        if failed.is_none() {
            counts.moved(pages.brought_by(key), Direction::Write, piece.bytes);
            self.note_saved(key);
        }
        if let Some(page) = self.translation.pages.page_mut(key) {
            let saving = &mut page.progress.saving;
            saving.writing -= 1;
            saving.failed = saving.failed.or(failed);
        }
        self.end_of_writes(key)
    }

    /// After the last write the page is saved, or the save has failed.
    fn end_of_writes(&mut self, key: ObjectPage) -> Outcome {
        let Translation { pages, counts, .. } = &mut self.translation;
        let asid = pages.brought_by(key);
        let Some(page) = pages.page_mut(key) else {
            return Outcome::UnderWay;
        };
        let State::WritingBack {
            purpose,
            stage: Stage::Writing(part),
        } = page.state()
        else {
            return Outcome::UnderWay;
        };
        if page.progress.saving.writing > 0 {
            return Outcome::UnderWay;
        }
        let failed = std::mem::take(&mut page.progress.saving).failed;
        if failed.is_none() {
            counts.page_written(asid);
        }
        self.buffers.give(part);
        Outcome::WrittenBack(purpose, failed.map_or(Ok(()), Err))
    }
}
