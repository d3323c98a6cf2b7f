//! Random bursts and their expected results.

use crate::random::Random;

/// Size of a page in bytes.
pub const PAGE_BYTES: u64 = 4096;
/// Number of pages that the bursts access.
pub const PAGES: u64 = 48;
/// Virtual address of the first page.
pub const FIRST: u64 = 0x1_8000_0000;
/// Size in bytes of a row of the list, and of the results.
pub const ROW: usize = 64;

const WRITE: u16 = 1;
const BARRIER: u16 = 2;
/// Bursts of a batch access pages within this distance.
const WINDOW: u64 = 5;

/// A burst of the list.
#[derive(Clone, Debug)]
pub struct Burst {
    pub address: u64,
    pub beats: u64,
    pub size: u32,
    fixed: bool,
    pub write: bool,
    barrier: bool,
    id: u16,
    pub seed: u64,
    pub strobe: u64,
    offer: u32,
    take: u32,
}

/// Expected result of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Result {
    pub hash: u64,
    pub errors: u16,
    pub strange: u16,
}

impl Burst {
    /// Encodes the row of the list; kernels/burst_player/README.md specifies the format.
    fn encode(&self, row: &mut [u8]) {
        let flags = u16::from(self.write) * WRITE + u16::from(self.barrier) * BARRIER;
        row[0..8].copy_from_slice(&self.address.to_le_bytes());
        row[8..10].copy_from_slice(&(self.beats as u16 - 1).to_le_bytes());
        row[10] = self.size as u8;
        row[11] = u8::from(!self.fixed);
        row[12..14].copy_from_slice(&flags.to_le_bytes());
        row[14..16].copy_from_slice(&self.id.to_le_bytes());
        row[16..24].copy_from_slice(&self.seed.to_le_bytes());
        row[24..32].copy_from_slice(&self.strobe.to_le_bytes());
        row[32..36].copy_from_slice(&self.offer.to_le_bytes());
        row[36..40].copy_from_slice(&self.take.to_le_bytes());
    }

    /// Decodes a row of the list.
    pub fn decode(row: &[u8; ROW]) -> Self {
        let number = |at: usize, bytes: usize| {
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(&row[at..at + bytes]);
            u64::from_le_bytes(word)
        };
        let flags = number(12, 2) as u16;
        Self {
            address: number(0, 8),
            beats: number(8, 2) + 1,
            size: number(10, 1) as u32,
            fixed: number(11, 1) == 0,
            write: flags & WRITE != 0,
            barrier: flags & BARRIER != 0,
            id: number(14, 2) as u16,
            seed: number(16, 8),
            strobe: number(24, 8),
            offer: number(32, 4) as u32,
            take: number(36, 4) as u32,
        }
    }

    /// The beats: row address on the bus, and active byte lanes.
    pub fn lanes(&self) -> impl Iterator<Item = (u64, std::ops::Range<u64>)> + '_ {
        let bytes = 1u64 << self.size;
        (0..self.beats).map(move |beat| {
            let aligned = (self.address & !(bytes - 1)) + beat * bytes;
            let first = if beat == 0 { self.address } else { aligned };
            let row = aligned & !63;
            (row, first - row..aligned + bytes - row)
        })
    }

    /// Word `k` of a beat's write data.
    pub fn word(&self, beat: u64, k: u64) -> u64 {
        let x = self.seed.wrapping_add(beat * 8 + k);
        let x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^ x >> 32
    }

    /// Advances the hash over a beat with `byte` on each active lane.
    pub fn hash(before: u64, lanes: std::ops::Range<u64>, byte: impl Fn(u64) -> u8) -> u64 {
        let mut words = [0u64; 8];
        for lane in lanes {
            words[(lane / 8) as usize] |= u64::from(byte(lane)) << (lane % 8 * 8);
        }
        let mixed = (0..8u32).fold(0, |mixed, k| mixed ^ words[k as usize].rotate_left(5 * k));
        before.rotate_left(9).wrapping_add(mixed)
    }
}

/// Expected memory contents, and the generator of bursts.
pub struct Model {
    random: Random,
    memory: Vec<u8>,
    batch: u64,
}

impl Model {
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed ^ 0x5eed);
        let words = PAGES * PAGE_BYTES / 8;
        let memory = (0..words).flat_map(|_| random.next().to_le_bytes());
        Self {
            memory: memory.collect(),
            random,
            batch: 0,
        }
    }

    pub fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// The list of the next `count` bursts, with their expected results.
    ///
    /// Reads and writes of a port are unordered. Bursts therefore come in batches, each complete before the next
    /// begins; a batch writes to one half of the pages and reads from the other, and the halves alternate.
    pub fn draw(&mut self, count: u64) -> (Vec<u8>, Vec<Result>) {
        let mut list = vec![0; count as usize * ROW];
        let mut expected = Vec::with_capacity(count as usize);
        let mut left = 0;
        let mut windows = [0, 0];
        for row in list.chunks_exact_mut(ROW) {
            let barrier = left == 0;
            if barrier {
                left = 1 + self.random.below(64);
                self.batch += 1;
                windows = [0, 0].map(|_| self.random.below(PAGES / 2));
            }
            left -= 1;
            let write = self.random.below(2) == 0;
            let half = (self.batch + u64::from(write)) % 2;
            let page = (windows[usize::from(write)] + self.random.below(WINDOW)) % (PAGES / 2);
            let burst = self.burst(half * PAGES / 2 + page, write, barrier);
            burst.encode(row);
            expected.push(self.apply(&burst));
        }
        (list, expected)
    }

    fn burst(&mut self, page: u64, write: bool, barrier: bool) -> Burst {
        let random = &mut self.random;
        let size = match random.below(2) {
            0 => 6,
            _ => random.below(6) as u32,
        };
        let offset = match random.below(3) {
            0 => random.below(PAGE_BYTES),
            1 => random.below(PAGE_BYTES) & !63,
            _ => random.below(PAGE_BYTES) >> size << size,
        };
        let most = ((PAGE_BYTES - (offset >> size << size)) >> size).min(256);
        let beats = match random.below(3) {
            0 => 1 + random.below(most.min(4)),
            1 => 1 + random.below(most),
            _ => most,
        };
        // Pauses on all cycles, half of them, or few.
        let mut pattern = || match random.below(4) {
            0 | 1 => u32::MAX,
            2 => random.next() as u32 | 1,
            _ => 1 << random.below(32),
        };
        let (offer, take) = (pattern(), pattern());
        let strobe = match random.below(3) {
            0 | 1 => u64::MAX,
            _ => random.next(),
        };
        Burst {
            address: FIRST + page * PAGE_BYTES + offset,
            beats,
            size,
            fixed: beats == 1 && random.below(4) == 0,
            write,
            barrier,
            id: random.next() as u16,
            seed: random.next(),
            strobe,
            offer,
            take,
        }
    }

    fn apply(&mut self, burst: &Burst) -> Result {
        let mut hash = burst.seed;
        for (beat, (row, lanes)) in burst.lanes().enumerate() {
            let at = (row - FIRST) as usize;
            if !burst.write {
                hash = Burst::hash(hash, lanes, |lane| self.memory[at + lane as usize]);
                continue;
            }
            let strobe = burst.strobe.rotate_left(beat as u32 % 64);
            for lane in lanes.filter(|lane| strobe >> lane & 1 != 0) {
                let word = burst.word(beat as u64, lane / 8).to_le_bytes();
                self.memory[at + lane as usize] = word[(lane % 8) as usize];
            }
        }
        Result {
            hash,
            errors: 0,
            strange: 0,
        }
    }
}

/// Number of bursts with a wrong, missing or duplicate result.
pub fn compare(expected: &[Result], rows: &[u8]) -> u64 {
    let mut seen = vec![false; expected.len()];
    let mut wrong = 0;
    for row in rows.chunks_exact(ROW) {
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&row[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let result = Result {
            hash: word(8),
            errors: word(16) as u16,
            strange: (word(16) >> 16) as u16,
        };
        let index = word(0) as usize;
        let fits =
            expected.get(index) == Some(&result) && !std::mem::replace(&mut seen[index], true);
        wrong += u64::from(!fits);
    }
    wrong + seen.iter().filter(|seen| !**seen).count() as u64
}
