//! A part of a page that moves at once, and what is under way of a page that moves in several.

use crate::action::{Action, Around};
use crate::buffer::Part;
use crate::error::{AccessError, Direction, IoError, PagerError};
use crate::ids::{IoId, ObjectPage};
use units::ROW_BYTES;

/// A part of a page that moves at once: bytes of the object, and the rows that hold them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Where it begins in the object's file.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Where it begins in the page.
    pub(crate) at: u64,
    /// Where it begins in its part of a buffer.
    pub(crate) place: u64,
    /// Nothing of the page is left behind it.
    pub(crate) last: bool,
    /// The page moves at once, and not all of it is the object's.
    pub(crate) edge: bool,
}

impl Piece {
    /// Bytes before it in its first row.
    pub(crate) const fn lead(&self) -> u64 {
        self.at % ROW_BYTES
    }

    /// Its write from a part of a buffer to the object of its page; `around`: bytes before it and behind it that came along.
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

    /// Its failed read or write, with its place.
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

    /// Bytes of its rows.
    pub(crate) const fn row_bytes(&self) -> u64 {
        (self.lead() + self.bytes).next_multiple_of(ROW_BYTES)
    }
}

/// What of a fill in pieces is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Filling {
    /// Reads without answer.
    pub(crate) reading: u8,
    /// Copies (and zeroes) without answer while there are such reads.
    pub(crate) loading: u8,
    /// The first failure. Nothing more is copied then, and what is under way is waited for.
    pub(crate) failed: Option<AccessError>,
}

/// What of a write-back in pieces is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Saving {
    /// Copies without answer.
    pub(crate) copying: u8,
    /// Writes without answer.
    pub(crate) writing: u8,
    /// The first failure. Nothing more is written then, and what is under way is waited for.
    pub(crate) failed: Option<PagerError>,
}
