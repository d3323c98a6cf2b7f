//! Pieces of 2 MiB that the system maps as one page: rights then change in one step instead of 512.
//!
//! Memory files get small pages, unless the administrator configures otherwise. If a whole piece changes hands,
//! `madvise(MADV_COLLAPSE)` (Linux 6.1) makes it one page, whatever the setting of `shmem_enabled` (except `deny`). The
//! program's data does not change. It is tried once per piece, the first time that the piece is taken from the program:
//! only data that goes to the card costs memory. Once a part of a piece changes hands, the system splits its mapping
//! into small pages.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

/// Size of a piece in bytes.
pub const PIECE: usize = 2 << 20;

/// Since Linux 6.1; not in every C library's headers.
const MADV_COLLAPSE: libc::c_int = 25;

const NEW: u8 = 0;
/// Changed hands as a whole, always.
const WHOLE: u8 = 1;
/// A part of it changed hands.
const SPLIT: u8 = 2;

/// The pieces of a block.
#[derive(Debug)]
pub(super) struct Pieces {
    start: usize,
    state: Vec<AtomicU8>,
    /// Whether the system makes such pages, as far as it is known.
    possible: AtomicBool,
}

impl Pieces {
    /// Pieces of a block that starts at the first byte of its file; none if addresses and offsets are not congruent.
    pub(super) fn new(start: usize, bytes: usize) -> Self {
        let pieces = if start % PIECE == 0 { bytes / PIECE } else { 0 };
        Self {
            start,
            state: (0..pieces).map(|_| AtomicU8::new(NEW)).collect(),
            possible: AtomicBool::new(true),
        }
    }

    /// Pieces of a block in another process, which makes them one page itself.
    pub(super) fn elsewhere(start: usize, bytes: usize) -> Self {
        Self {
            possible: AtomicBool::new(false),
            ..Self::new(start, bytes)
        }
    }

    /// Records that a range is about to change hands. Returns the number of bytes in pieces that have never been split;
    /// the result depends on earlier calls, not on the system.
    pub(super) fn change(&self, range: Range<usize>) -> usize {
        let mut whole = 0;
        let pieces = range.start / PIECE..range.end.div_ceil(PIECE).min(self.state.len());
        for (number, state) in pieces
            .clone()
            .zip(self.state.get(pieces).unwrap_or_default())
        {
            let piece = number * PIECE..(number + 1) * PIECE;
            if piece.start < range.start || range.end < piece.end {
                state.store(SPLIT, Relaxed);
                continue;
            }
            match state.load(Relaxed) {
                SPLIT => continue,
                NEW => {
                    state.store(WHOLE, Relaxed);
                    self.collapse(piece.start);
                }
                _ => {}
            }
            whole += PIECE;
        }
        whole
    }

    /// Whether a range is one piece that has never been split.
    pub(super) fn is_whole(&self, range: &Range<usize>) -> bool {
        let state = self.state.get(range.start / PIECE);
        range.start % PIECE == 0
            && range.len() == PIECE
            && state.is_some_and(|state| state.load(Relaxed) != SPLIT)
    }

    /// Whether the system has made the requested pages.
    pub(super) fn are_possible(&self) -> bool {
        !self.state.is_empty() && self.possible.load(Relaxed)
    }

    fn collapse(&self, offset: usize) {
        if !self.possible.load(Relaxed) {
            return;
        }
        // SAFETY: the range lies in the view. The bytes that a program sees stay as they are.
        let done = unsafe {
            let at = (self.start + offset) as *mut libc::c_void;
            libc::madvise(at, PIECE, MADV_COLLAPSE)
        };
        if done != 0 {
            let error = std::io::Error::last_os_error();
            tracing::debug!(%error, "shared memory stays in small pages");
            // An old system, or a configuration against it; other errors may be temporary lack of memory.
            let never = matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS));
            self.possible.store(!never, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses without a mapping: collapsing them fails and changes nothing.
    const NOWHERE: usize = 0x3100_0000_0000;

    #[test]
    fn a_piece_counts_as_one_until_a_part_of_it_changes() {
        let pieces = Pieces::new(NOWHERE, 4 * PIECE + 8192);
        assert_eq!(pieces.change(0..2 * PIECE), 2 * PIECE);
        assert!(pieces.is_whole(&(PIECE..2 * PIECE)));
        assert_eq!(pieces.change(PIECE + 4096..PIECE + 8192), 0);
        assert!(!pieces.is_whole(&(PIECE..2 * PIECE)));
        assert_eq!(pieces.change(0..4 * PIECE), 3 * PIECE);
        // Part of the last piece, and bytes behind all of them.
        assert_eq!(pieces.change(4 * PIECE - 4096..4 * PIECE + 8192), 0);
        assert_eq!(pieces.change(0..4 * PIECE + 8192), 2 * PIECE);
        assert!(!pieces.is_whole(&(4096..PIECE + 4096)));
        assert_eq!(pieces.change(4 * PIECE..4 * PIECE + 8192), 0);
    }

    #[test]
    fn blocks_that_do_not_begin_with_a_piece_have_none() {
        let pieces = Pieces::new(NOWHERE + 4096, 4 * PIECE);
        assert_eq!(pieces.change(0..4 * PIECE), 0);
        assert!(!pieces.is_whole(&(0..PIECE)) && !pieces.are_possible());
    }
}
