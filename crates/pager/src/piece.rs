//! A part of a page that moves at once, and the state of a page that moves in several.

use crate::action::{Action, Around};
use crate::buffer::Part;
use crate::error::{AccessError, Direction, IoError, PagerError};
use crate::ids::{IoId, ObjectPage};
use units::ROW_BYTES;

/// A part of a page that moves in one transfer: bytes of the object, and the rows that hold them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Offset in the object's file.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Offset in the page.
    pub(crate) at: u64,
    /// Offset in its part of a buffer.
    pub(crate) place: u64,
    /// Whether it is the last piece of the page.
    pub(crate) last: bool,
    /// Whether the page moves as a whole, and not all of it is the object's.
    pub(crate) edge: bool,
}

impl Piece {
    /// Bytes before it in its first row.
    pub(crate) const fn lead(&self) -> u64 {
        self.at % ROW_BYTES
    }

    /// The action that reads the piece from the object to a buffer.
    pub(crate) const fn read(&self, io: IoId, page: ObjectPage, part: Part) -> Action {
        Action::ReadObject {
            io,
            object: page.object,
            offset: self.offset,
            bytes: self.bytes,
            buffer: part.buffer,
            buffer_offset: part.offset + self.place,
        }
    }

    /// The action that writes the piece from a buffer to the object; `around`: bytes before and behind it that were
    /// copied with it.
    pub(crate) const fn write(
        &self,
        io: IoId,
        page: ObjectPage,
        part: Part,
        around: Around,
    ) -> Action {
        Action::WriteObject {
            io,
            object: page.object,
            offset: self.offset,
            bytes: self.bytes,
            buffer: part.buffer,
            buffer_offset: part.offset + self.place,
            around,
        }
    }

    /// The error of a failed read or write of the piece.
    pub(crate) const fn error(
        &self,
        direction: Direction,
        page: ObjectPage,
        error: IoError,
    ) -> PagerError {
        PagerError::Io {
            direction,
            object: page.object,
            offset: self.offset,
            bytes: self.bytes,
            error,
        }
    }

    /// Size of its rows in bytes.
    pub(crate) const fn row_bytes(&self) -> u64 {
        (self.lead() + self.bytes).next_multiple_of(ROW_BYTES)
    }
}

/// State of a fill in pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Filling {
    /// Number of outstanding reads.
    pub(crate) reading: u8,
    /// Number of outstanding copies (and zeroes) while reads are outstanding.
    pub(crate) loading: u8,
    /// The first failure. No further copies are issued, and outstanding operations are awaited.
    pub(crate) failed: Option<AccessError>,
}

/// State of a write-back in pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Saving {
    /// Number of outstanding copies.
    pub(crate) copying: u8,
    /// Number of outstanding writes.
    pub(crate) writing: u8,
    /// The first failure. No further writes are issued, and outstanding operations are awaited.
    pub(crate) failed: Option<PagerError>,
}
