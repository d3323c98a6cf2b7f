//! Out-of-range writes: bytes that a kernel writes outside a range, on its first or last page.
//!
//! The card protects whole pages. The rest of an edge page is zero when it is filled, and is copied along on
//! write-back; a non-zero byte there was written by a kernel. It is not stored, and is reported to the client
//! that syncs or ends the mapping.

use super::transfers::{HostPlace, Part};
use card::memory::HostMemory;
use error::Error;
use pager::Around;
use std::ops::Range;
use units::VirtAddr;

/// Bytes that are read from the buffers together.
const CHUNK: usize = 64 << 10;
/// Bytes that are compared with zero together: the compiler vectorises the loop, as no byte ends the search
/// early.
const BLOCK: usize = 256;

/// The first out-of-range write of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutOfRange {
    /// Offset in the file that it would have.
    pub(super) offset: u64,
}

impl OutOfRange {
    /// The error for a mapping of `range`, in which the byte has an address.
    pub(super) fn error(self, path: &str, range: Range<u64>, address: VirtAddr) -> Error {
        let place = match self.offset < range.start {
            true => format!("{} bytes before its first byte", range.start - self.offset),
            false => format!("{} bytes behind its last byte", self.offset - range.end + 1),
        };
        Error::Outside {
            path: path.into(),
            offset: range.start,
            bytes: range.end - range.start,
            address,
            place,
        }
    }
}

impl OutOfRange {
    /// Checks the bytes around a part that is written back from host memory, which no kernel may have written:
    /// as many before and behind it as `around` states.
    pub(super) fn around(part: Part, place: &HostPlace, around: Around) -> Option<Self> {
        let Around { before, behind } = around;
        let ahead = first_written(&place.memory, place.offset - before, before);
        let ahead = ahead.map(|at| part.offset - before + at);
        let rest = first_written(&place.memory, place.offset + part.bytes, behind);
        let rest = rest.map(|at| part.offset + part.bytes + at);
        let offset = ahead.or(rest)?;
        Some(Self { offset })
    }
}

/// The first non-zero byte in a range of host memory.
fn first_written(memory: &HostMemory, place: u64, bytes: u64) -> Option<u64> {
    let mut chunk = vec![0; CHUNK.min(bytes as usize)];
    let mut seen = 0;
    while seen < bytes {
        let part = &mut chunk[..CHUNK.min((bytes - seen) as usize)];
        // The pager's places lie inside the memory; one that does not holds no valid bytes.
        memory.read((place + seen) as usize, part).ok()?;
        if let Some(at) = first_not_zero(part) {
            return Some(seen + at as u64);
        }
        seen += part.len() as u64;
    }
    None
}

fn first_not_zero(bytes: &[u8]) -> Option<usize> {
    let written = |block: &[u8]| block.iter().fold(0, |all, byte| all | byte) != 0;
    let block = bytes.chunks(BLOCK).position(written)? * BLOCK;
    let at = bytes[block..].iter().position(|&byte| byte != 0)?;
    Some(block + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_is_found_wherever_it_is() {
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let mut bytes = vec![0; length];
            assert_eq!(first_not_zero(&bytes), None);
            for at in (0..length).rev() {
                bytes[at] = 1 << (at % 8);
                assert_eq!(first_not_zero(&bytes), Some(at));
            }
        }
    }
}
