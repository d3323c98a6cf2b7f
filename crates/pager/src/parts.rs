//! Division of pages into the pieces that move at once.

use crate::buffer::Part;
use crate::ids::ObjectPage;
use crate::object::Object;
use crate::pages::Pages;
use crate::piece::Piece;
use std::ops::Range;
use units::{Operation, ROW_BYTES};

/// Maximum pieces of a page that fits into a buffer.
const MOST: u64 = 16;

impl Pages {
    /// The part of a page that moves next through one buffer. Pages that fit into a buffer move in one piece.
    pub(crate) fn piece(&self, key: ObjectPage) -> Piece {
        let size = self.size_of(key);
        let object = self.object(key.object);
        let unit = object.map_or(size, Object::unit);
        let moved = self.page(key).map_or(0, |page| page.progress.moved);
        let own = object.map_or(0..0, |object| object.part_on(key.index, size));
        let at = (own.start + moved).min(own.end);
        let left = own.end - at;
        let host = object.is_some_and(|object| {
            let direct = object.direct.is_some() && !own.is_empty();
            direct || object.host_address(key.index).is_some()
        });
        let buffer = match host {
            true => size.bytes(),
            false => size.min(self.sizes().largest_moved).bytes(),
        };
        // All pieces but the first begin at a row.
        let whole = size.bytes() <= buffer;
        let place = if whole { at } else { at % ROW_BYTES };
        let room = buffer - place;
        Piece {
            offset: (key.index << unit.bits()) + at,
            bytes: left.min(room),
            at,
            place,
            last: left <= room,
            edge: whole && (own.start > 0 || own.end < size.bytes()),
        }
    }

    /// The pieces of a page that fits into a buffer.
    pub(crate) fn pieces(&self, key: ObjectPage) -> Vec<Piece> {
        let size = self.size_of(key);
        let unit = self.unit_of(key.object).unwrap_or(size);
        let own = self.part_on(key);
        let base = key.index << unit.bits();
        let bytes = match self.sizes().piece_bytes {
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
    pub(crate) fn numbered_piece(&self, key: ObjectPage, number: u8) -> Option<Piece> {
        self.pieces(key).into_iter().nth(number.into())
    }

    /// The commands that complete a page in its frame: the last of the object's bytes from the buffer, and zeroes before
    /// and behind the object.
    pub(crate) fn copies(&self, key: ObjectPage, part: Option<Part>) -> Vec<Operation> {
        if let Some(part) = part {
            let copy = self.copy_of(key, part, self.piece(key));
            return copy.into_iter().chain(self.edges(key)).collect();
        }
        let page = self.page(key);
        let Some((page, to)) = page.and_then(|page| Some((page, page.address_of(0)?))) else {
            return Vec::new();
        };
        let (bytes, stripe) = (page.size.bytes(), page.place.stripe);
        vec![match self.host_address(key) {
            Some(from) => Operation::CopyIn {
                from,
                to,
                bytes,
                stripe,
            },
            None => Operation::Zero { to, bytes, stripe },
        }]
    }

    /// The copy of a piece from the buffer to the frame.
    pub(crate) fn copy_of(&self, key: ObjectPage, part: Part, piece: Piece) -> Option<Operation> {
        let page = self.page(key)?;
        Some(Operation::CopyIn {
            from: part.address.offset(piece.place - piece.lead()),
            to: page.address_of(piece.at - piece.lead())?,
            bytes: piece.row_bytes(),
            stripe: page.place.stripe,
        })
    }

    /// Zeroes the parts of a page's frame outside the object, from the row before its bytes and from the one behind
    /// them.
    pub(crate) fn edges(&self, key: ObjectPage) -> Vec<Operation> {
        let Some(page) = self.page(key) else {
            return Vec::new();
        };
        let (size, own) = (page.size.bytes(), self.part_on(key));
        let before = 0..own.start / ROW_BYTES * ROW_BYTES;
        let behind = own.end.next_multiple_of(ROW_BYTES)..size;
        let zero = |rows: Range<u64>| {
            let to = page.address_of(rows.start).filter(|_| !rows.is_empty())?;
            Some(Operation::Zero {
                to,
                bytes: rows.end - rows.start,
                stripe: page.place.stripe,
            })
        };
        [before, behind].into_iter().filter_map(zero).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ObjectKind;
    use crate::ids::ObjectId;
    use crate::pages::Sizes;
    use units::{PageSize, PageSizes};

    fn piece_of(largest_moved: PageSize, piece_bytes: u64) -> (Piece, Vec<u64>) {
        let mut pages = Pages::new(Sizes {
            usual: PageSize::MIB_2,
            possible: PageSizes::ALL,
            largest_moved,
            piece_bytes,
        });
        let (object, kind) = (ObjectId(1), ObjectKind::Anonymous);
        let created = pages.create_object(object, 100..(1 << 20) + 100, kind, None);
        assert!(created.is_ok());
        let key = ObjectPage { object, index: 0 };
        let pieces = pages.pieces(key);
        assert!(pieces.iter().rev().skip(1).all(|piece| !piece.last));
        (pages.piece(key), pieces.iter().map(|p| p.bytes).collect())
    }

    #[test]
    fn pages_larger_than_a_buffer_move_through_it_in_rows() {
        let (piece, _) = piece_of(PageSize::KIB_4, 0);
        let found = (piece.at, piece.place, piece.bytes, piece.last, piece.edge);
        assert_eq!(found, (100, 36, 4096 - 36, false, false));
        let (piece, whole) = piece_of(PageSize::MIB_2, 0);
        let found = (piece.at, piece.place, piece.bytes, piece.last, piece.edge);
        assert_eq!(found, (100, 100, 1 << 20, true, true));
        assert_eq!(whole, [1 << 20]);
    }

    #[test]
    fn a_page_has_sixteen_pieces_at_most() {
        let (_, pieces) = piece_of(PageSize::MIB_2, 64);
        let size = (2 << 20) / MOST;
        assert_eq!(pieces.len() as u64, (1 << 20) / size + 1);
        assert_eq!((pieces[0], pieces[1]), (size - 100, size));
        assert_eq!(pieces.iter().sum::<u64>(), 1 << 20);
    }
}
