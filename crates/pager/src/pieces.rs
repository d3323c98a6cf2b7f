//! Fills and write-backs in pieces: pieces of a page move to its frame while the next ones are read, and to its object
//! while the next ones are copied out.
//!
//! A page that fits into a part of a buffer is read in several concurrent pieces, and each is copied to the frame as
//! soon as it is in the buffer. The page is complete, and may be installed, when every copy has completed. The last
//! read is thus followed by the copy of one piece, instead of that of the whole page.

use crate::action::{Action, Around};
use crate::buffer::Part;
use crate::error::{AccessError, Direction, IoError};
use crate::ids::ObjectPage;
use crate::issue::{Meaning, Step};
use crate::object::Object;
use crate::page::{Stage, State};
use crate::pager::Pager;
use crate::piece::{Filling, Piece};
use crate::sabotage::Sabotage;
use units::{CommandStatus, Operation, ROW_BYTES};

/// Maximum pieces of a page.
const MOST: u64 = 16;

impl Pager {
    /// The pieces of a page that fits into a buffer.
    fn pieces(&self, key: ObjectPage) -> Vec<Piece> {
        let size = self.size_of(key);
        let unit = self.objects.get(&key.object).map_or(size, Object::unit);
        let own = self.part_on(key);
        let base = key.index << unit.bits();
        let bytes = match self.piece_bytes {
            0 => size.bytes(),
            bytes => bytes.max(size.bytes() / MOST),
        };
        let first = own.start / bytes * bytes;
        let piece = |begin: u64| {
            let (at, end) = (begin.max(own.start), (begin + bytes).min(own.end));
            Piece {
                offset: base + at,
                bytes: end - at,
                at,
                place: at,
                last: end == own.end,
                edge: false,
            }
        };
        let begins = (first..own.end).step_by(bytes as usize);
        begins.map(piece).collect()
    }

    /// The piece with this number.
    fn numbered_piece(&self, key: ObjectPage, number: u8) -> Option<Piece> {
        self.pieces(key).into_iter().nth(number.into())
    }

    /// Begins to read a page in pieces; returns false if it moves as a whole, or needs more than one buffer.
    pub(crate) fn begin_pieces(
        &mut self,
        key: ObjectPage,
        part: Part,
        out: &mut Vec<Action>,
    ) -> bool {
        if self.size_of(key).bytes() > part.bytes() {
            return false;
        }
        let pieces = self.pieces(key);
        if pieces.len() < 2 {
            return false;
        }
        for (number, piece) in pieces.iter().enumerate() {
            out.push(Action::ReadObject {
                io: self.issued.piece(key, number as u8),
                object: key.object,
                offset: piece.offset,
                bytes: piece.bytes,
                buffer: part.buffer,
                buffer_offset: part.offset + piece.place,
            });
        }
        if let Some(page) = self.pages.get_mut(&key) {
            page.filling.reading = pieces.len() as u8;
        }
        self.statistics.pages_in_pieces += 1;
        let edges = self.edges(key);
        self.copy_pieces(key, edges, out);
        true
    }

    /// Zeroes the parts of a page's frame outside the object, from the row before its bytes and from the one behind
    /// them.
    pub(crate) fn edges(&self, key: ObjectPage) -> Vec<Operation> {
        let Some(page) = self.pages.get(&key) else {
            return Vec::new();
        };
        let (size, own) = (page.size.bytes(), self.part_on(key));
        let before = 0..own.start / ROW_BYTES * ROW_BYTES;
        let behind = own.end.next_multiple_of(ROW_BYTES)..size;
        let zero = |rows: std::ops::Range<u64>| {
            let to = page.place(rows.start).filter(|_| !rows.is_empty())?;
            Some(Operation::Zero {
                to,
                bytes: rows.end - rows.start,
                stripe: page.stripe,
            })
        };
        [before, behind].into_iter().filter_map(zero).collect()
    }

    /// The copy of a piece from the buffer to the frame.
    pub(crate) fn copy_of(&self, key: ObjectPage, part: Part, piece: Piece) -> Option<Operation> {
        let page = self.pages.get(&key)?;
        Some(Operation::CopyIn {
            from: part.address.offset(piece.place - piece.lead()),
            to: page.place(piece.at - piece.lead())?,
            bytes: piece.row_bytes(),
            stripe: page.stripe,
        })
    }

    fn copy_pieces(
        &mut self,
        key: ObjectPage,
        copies: impl IntoIterator<Item = Operation>,
        out: &mut Vec<Action>,
    ) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        for operation in copies {
            page.filling.loading += 1;
            let step = Step::new(operation, Some(Meaning::Loaded(key))).of(page.charged);
            self.issued.command(step, out);
        }
    }

    /// Begins to save a page in pieces; returns false if it moves as a whole, or needs more than one buffer.
    pub(crate) fn begin_pieces_out(
        &mut self,
        key: ObjectPage,
        part: Part,
        out: &mut Vec<Action>,
    ) -> bool {
        // Partial pages are examined as a whole, to see whether the rest was written.
        let own = self.part_on(key);
        let whole = own == (0..self.size_of(key).bytes());
        if !self.overlap || !whole || self.size_of(key).bytes() > part.bytes() {
            return false;
        }
        let pieces = self.pieces(key);
        if pieces.len() < 2 {
            return false;
        }
        let Some(page) = self.pages.get_mut(&key) else {
            return false;
        };
        page.saving.copying = pieces.len() as u8;
        let (stripe, charged) = (page.stripe, page.charged);
        let places: Vec<_> = pieces.iter().map(|piece| page.place(piece.at)).collect();
        for (number, (piece, from)) in pieces.iter().zip(places).enumerate() {
            let Some(from) = from else { continue };
            let operation = Operation::CopyOut {
                from,
                to: part.address.offset(piece.place),
                bytes: piece.bytes,
                stripe,
            };
            let meaning = Meaning::PieceOut(key, number as u8);
            let step = Step::new(operation, Some(meaning)).of(charged);
            self.issued.command(step, out);
        }
        self.statistics.pages_saved_in_pieces += 1;
        true
    }

    /// A piece is in the buffer: writes it to the object. After the last copy, a page that stays may be written again.
    pub(crate) fn piece_copied_out(
        &mut self,
        key: ObjectPage,
        number: u8,
        status: CommandStatus,
        out: &mut Vec<Action>,
    ) {
        let piece = self.numbered_piece(key, number);
        let failed =
            (status != CommandStatus::Ok).then(|| self.card_error(Direction::Write, key, status));
        let Some((page, piece)) = self.pages.get_mut(&key).zip(piece) else {
            return;
        };
        let State::WritingBack {
            purpose,
            stage: Stage::CopyingOut(part),
        } = page.state
        else {
            return;
        };
        page.saving.copying -= 1;
        page.saving.failed = page.saving.failed.or(failed);
        if page.saving.failed.is_none() {
            page.saving.writing += 1;
            let io = self.issued.piece(key, number);
            out.push(piece.write(io, key, part, Around::default()));
        }
        if page.saving.copying == 0 {
            self.all_copied_out(key, purpose, part, out);
            self.end_of_writes(key, out);
        }
    }

    /// Handles the end of a piece's write to the object, successful or not.
    fn piece_written(
        &mut self,
        key: ObjectPage,
        number: u8,
        result: Result<u64, IoError>,
        out: &mut Vec<Action>,
    ) {
        let Some(piece) = self.numbered_piece(key, number) else {
            return;
        };
        let result = match result {
            Err(_) if self.sabotaged(Sabotage::TrustFailedWrite) => Ok(()),
            other => IoError::check(other, piece.bytes),
        };
        let failed = result.err();
        let failed = failed.map(|error| piece.error(Direction::Write, key, error));
        if failed.is_none() {
            self.count_moved(key, Direction::Write, piece.bytes);
            self.note_saved(key);
        }
        if let Some(page) = self.pages.get_mut(&key) {
            page.saving.writing -= 1;
            page.saving.failed = page.saving.failed.or(failed);
        }
        self.end_of_writes(key, out);
    }

    /// After the last write the page is saved, or the save has failed.
    fn end_of_writes(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        let State::WritingBack {
            purpose,
            stage: Stage::Writing(part),
        } = page.state
        else {
            return;
        };
        if page.saving.writing > 0 {
            return;
        }
        let failed = std::mem::take(&mut page.saving).failed;
        if failed.is_none() {
            self.statistics.pages_written += 1;
            self.count_of(key, |space| space.pages_written += 1);
        }
        self.buffers.give(part);
        self.written_back(key, purpose, failed.map_or(Ok(()), Err), out);
    }

    /// Handles the end of a piece's I/O, successful or not.
    pub(crate) fn piece_moved(
        &mut self,
        key: ObjectPage,
        number: u8,
        result: Result<u64, IoError>,
        out: &mut Vec<Action>,
    ) {
        match self.pages.get(&key).map(|page| page.state) {
            Some(State::WritingBack { .. }) => self.piece_written(key, number, result, out),
            _ => self.piece_read(key, number, result, out),
        }
    }

    /// Handles the end of a piece's read, successful or not.
    fn piece_read(
        &mut self,
        key: ObjectPage,
        number: u8,
        result: Result<u64, IoError>,
        out: &mut Vec<Action>,
    ) {
        let Some(State::Reading(part)) = self.pages.get(&key).map(|page| page.state) else {
            return;
        };
        let Some(piece) = self.numbered_piece(key, number) else {
            return;
        };
        let failed = IoError::check(result, piece.bytes).err();
        let failed =
            failed.map(|error| AccessError::Fetch(piece.error(Direction::Read, key, error)));
        if failed.is_none() {
            self.count_moved(key, Direction::Read, piece.bytes);
        }
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        page.filling.reading -= 1;
        page.filling.failed = page.filling.failed.or(failed);
        if page.filling.failed.is_none() {
            let copy = self.copy_of(key, part, piece);
            self.copy_pieces(key, copy, out);
        }
        self.end_of_reads(key, part, out);
    }

    /// A piece is in the frame while others are being read.
    pub(crate) fn piece_copied(&mut self, key: ObjectPage, status: CommandStatus) {
        let failed = (status != CommandStatus::Ok)
            .then(|| AccessError::Fetch(self.card_error(Direction::Read, key, status)));
        if let Some(page) = self.pages.get_mut(&key) {
            page.filling.loading -= 1;
            page.filling.failed = page.filling.failed.or(failed);
        }
    }

    /// After the last read the outstanding copies are awaited, as for a page that moves as a whole.
    fn end_of_reads(&mut self, key: ObjectPage, part: Part, out: &mut Vec<Action>) {
        let forgets = self.sabotaged(Sabotage::ForgetPieces);
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        let Filling {
            reading,
            loading,
            failed,
        } = page.filling;
        if reading > 0 {
            return;
        }
        page.filling.loading = 0;
        match failed {
            None => self.statistics.pages_read += 1,
            Some(_) => self.statistics.pages_in_pieces_failed += 1,
        }
        if failed.is_none() {
            self.count_of(key, |space| space.pages_read += 1);
        }
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        match failed {
            Some(reason) if loading == 0 => {
                page.filling.failed = None;
                self.buffers.give(part);
                self.fail_fill(key, reason, out);
            }
            _ => page.enter(State::Loading {
                part: Some(part),
                left: if forgets { 1 } else { loading },
                failed: None,
            }),
        }
    }
}
