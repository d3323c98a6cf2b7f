//! The bytes that moved between files and the card, as one hash.

use crate::io::Direction;
use card::memory::HostMemory;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// SHA-256 over every transfer in order: its direction, its place in its file, and its bytes. Names of files
/// do not count. On a card in virtual time the order follows from the inputs alone.
#[derive(Clone, Debug, Default)]
pub(super) struct MovedBytes {
    hash: Sha256,
}

/// Bytes that are hashed together.
const CHUNK: usize = 64 << 10;

impl MovedBytes {
    /// A transfer: its bytes lie in the buffers now.
    pub(super) fn note(
        &mut self,
        direction: Direction,
        file_offset: u64,
        buffers: &HostMemory,
        (place, bytes): (usize, usize),
    ) {
        let direction = match direction {
            Direction::Read => 0u8,
            Direction::Write => 1,
        };
        self.hash.update([direction]);
        self.hash.update(file_offset.to_le_bytes());
        self.hash.update((bytes as u64).to_le_bytes());
        let mut chunk = vec![0; CHUNK.min(bytes)];
        let mut done = 0;
        while done < bytes {
            let part = &mut chunk[..CHUNK.min(bytes - done)];
            // A place outside the buffers has failed as a transfer already.
            if buffers.read(place + done, part).is_err() {
                return;
            }
            self.hash.update(&*part);
            done += part.len();
        }
    }

    /// The hash of all so far, in hexadecimal.
    pub(super) fn hex(&self) -> String {
        let digest = self.hash.clone().finalize();
        digest.iter().fold(String::new(), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_its_place_and_its_direction_count() {
        let buffers = HostMemory::allocate(200_000).unwrap();
        let hash = |direction, offset, place, bytes| {
            let mut moved = MovedBytes::default();
            moved.note(direction, offset, &buffers, (place, bytes));
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
