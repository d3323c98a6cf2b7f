//! A hash of the bytes that moved between files and a card in virtual time.
//!
//! It shows whether two runs moved the same bytes, not their origin: XXH3 costs about as much as reading the bytes
//! once. It is not computed for other cards: the order of transfers differs in every run.

use card::memory::HostMemory;
use file_io::Direction;
use std::fmt;
use std::ops::Range;
use twox_hash::XxHash3_128;

/// XXH3 over every transfer in order: direction, position in the file, and bytes. File names are not included. On
/// a card in virtual time the order follows from the inputs alone.
#[derive(Clone)]
pub(super) struct MovedBytes {
    hash: XxHash3_128,
}

/// Bytes that are hashed together. Memory that a card or a program may write is never borrowed: the bytes are
/// copied through a window that stays in the L1 cache.
const WINDOW: usize = 4096;

impl MovedBytes {
    /// The hash of no transfers.
    pub(super) fn new() -> Self {
        Self {
            hash: XxHash3_128::new(),
        }
    }

    /// Adds a transfer, whose bytes are in the buffers now.
    pub(super) fn note(
        &mut self,
        direction: Direction,
        file_offset: u64,
        buffers: &HostMemory,
        place: Range<usize>,
    ) {
        let (place, bytes) = (place.start, place.len());
        let direction = match direction {
            Direction::Read => 0u8,
            Direction::Write => 1,
        };
        self.hash.write(&[direction]);
        self.hash.write(&file_offset.to_le_bytes());
        self.hash.write(&(bytes as u64).to_le_bytes());
        let mut window = [0; WINDOW];
        let mut done = 0;
        while done < bytes {
            let part = &mut window[..WINDOW.min(bytes - done)];
            // A place outside the buffers has already failed as a transfer.
            if buffers.read(place + done, part).is_err() {
                return;
            }
            self.hash.write(part);
            done += part.len();
        }
    }

    /// Adds a hole of a file, without reading.
    pub(super) fn note_hole(&mut self, hole: &Range<u64>) {
        self.hash.write(&[2]);
        self.hash.write(&hole.start.to_le_bytes());
        self.hash.write(&hole.end.to_le_bytes());
    }

    /// The hash so far, in hexadecimal.
    pub(super) fn hex(&self) -> String {
        format!("{:032x}", self.hash.finish_128())
    }
}

impl fmt::Debug for MovedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MovedBytes").field(&self.hex()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_its_place_and_its_direction_count() {
        let buffers = HostMemory::allocate(200_000).unwrap();
        let hash = |direction, offset, place, bytes| {
            let mut moved = MovedBytes::new();
            moved.note(direction, offset, &buffers, place..place + bytes);
            moved.hex()
        };
        let plain = hash(Direction::Read, 5, 64, 100_001);
        assert_eq!(plain, hash(Direction::Read, 5, 64, 100_001));
        assert_ne!(plain, hash(Direction::Write, 5, 64, 100_001));
        assert_ne!(plain, hash(Direction::Read, 6, 64, 100_001));
        assert_ne!(plain, hash(Direction::Read, 5, 64, 100_000));
        buffers.write(64 + 100_001, &[1]).unwrap();
        assert_eq!(plain, hash(Direction::Read, 5, 64, 100_001));
        buffers.write(64 + 100_000, &[1]).unwrap();
        assert_ne!(plain, hash(Direction::Read, 5, 64, 100_001));
    }
}
