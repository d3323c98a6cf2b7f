//! Numbers of 128-byte lines, plain (memory, application) and folded (link, cache index).

/// 64-bit words of a line.
pub const WORDS: usize = 16;

/// Size of a line in bytes.
pub const BYTES: u64 = 128;

/// Number of parts of a line that are written separately.
pub const PARTS: usize = 4;

/// Content of a line.
pub type Data = [u64; WORDS];

/// Line number of memory and applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlainLine(pub u64);

/// Line number of the link and the CPU's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FoldedLine(pub u64);

/// Bits `high..=low` of a number.
fn bits(value: u64, high: u32, low: u32) -> u64 {
    value >> low & ((1 << (high - low + 1)) - 1)
}

impl PlainLine {
    /// The fold of Enzian's link; a bijection.
    #[must_use]
    pub fn fold(self) -> FoldedLine {
        let c = self.0;
        let upper = bits(c, 12, 8) ^ bits(c, 17, 13);
        let middle = bits(c, 7, 5) ^ bits(c, 20, 18);
        let lower = bits(c, 4, 3) ^ bits(c, 17, 16) ^ bits(c, 6, 5);
        let lowest = bits(c, 2, 0) ^ bits(c, 15, 13) ^ bits(c, 7, 5);
        FoldedLine(c & !0x1fff | upper << 8 | middle << 5 | lower << 3 | lowest)
    }
}

impl FoldedLine {
    /// The inverse of [`PlainLine::fold`].
    #[must_use]
    pub fn unfold(self) -> PlainLine {
        let a = self.0;
        let upper = bits(a, 12, 8) ^ bits(a, 17, 13);
        let middle = bits(a, 7, 5) ^ bits(a, 20, 18);
        let lower = bits(a, 4, 3) ^ bits(a, 17, 16) ^ (middle & 3);
        let lowest = bits(a, 2, 0) ^ bits(a, 15, 13) ^ middle;
        // c[6:5] and c[7:5] are the low bits of the plain middle.
        PlainLine(a & !0x1fff | upper << 8 | middle << 5 | lower << 3 | lowest)
    }

    /// Slice of the line in a directory with this many slices.
    #[must_use]
    pub fn slice(self, slices: usize) -> usize {
        self.0 as usize % slices
    }
}

/// Writes `stamp` into the parts of `mask`.
pub fn write_parts(data: &mut Data, mask: u8, stamp: u64) {
    for part in (0..PARTS).filter(|part| mask >> part & 1 == 1) {
        let words = WORDS / PARTS;
        data[part * words..(part + 1) * words].fill(stamp);
    }
}

/// Copies the bytes of `mask`, one bit per byte in memory order.
pub fn write_bytes(data: &mut Data, mask: u128, from: &Data) {
    for (word, (to, from)) in data.iter_mut().zip(from).enumerate() {
        let strobes = (mask >> (8 * word)) as u8;
        for byte in (0..8).filter(|byte| strobes >> byte & 1 == 1) {
            let place = 0xff << (8 * byte);
            *to = *to & !place | from & place;
        }
    }
}

/// Copies the parts of `mask`.
pub fn merge_parts(data: &mut Data, mask: u8, from: &Data) {
    for part in (0..PARTS).filter(|part| mask >> part & 1 == 1) {
        let words = WORDS / PARTS;
        data[part * words..(part + 1) * words]
            .copy_from_slice(&from[part * words..(part + 1) * words]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn bytes_go_where_the_mask_says() {
        let mut data = [0; WORDS];
        write_bytes(&mut data, 0b101 | 1 << 127, &[u64::MAX; WORDS]);
        assert_eq!((data[0], data[15]), (0xff_00ff, 0xff << 56));
        assert!(data[1..15].iter().all(|word| *word == 0));
    }

    #[test]
    fn fold_is_a_bijection() {
        let all: HashSet<u64> = (0..1 << 21).map(|line| PlainLine(line).fold().0).collect();
        assert_eq!(all.len(), 1 << 21);
        for line in (0..1u64 << 33).step_by(0x7_1235) {
            assert_eq!(PlainLine(line).fold().unfold(), PlainLine(line));
        }
    }

    #[test]
    fn fold_is_the_published_one() {
        // One set bit of the plain number at a time, worked out by hand from the published table.
        assert_eq!(PlainLine(1 << 13).fold().0, 1 << 13 | 1 << 8 | 1);
        assert_eq!(PlainLine(1 << 16).fold().0, 1 << 16 | 1 << 11 | 1 << 3);
        assert_eq!(PlainLine(1 << 18).fold().0, 1 << 18 | 1 << 5);
        assert_eq!(PlainLine(1 << 5).fold().0, 1 << 5 | 1 << 3 | 1);
    }
}
