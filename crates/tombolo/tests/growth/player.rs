//! Lists of bursts for `kernels/burst_player`, and the functional card's model of it. Bursts of whole
//! rows only.

use funcard::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

/// Bytes of a row of memory, of the list and of the results.
pub const ROW: usize = 64;

/// Rows of one direction, one after the other, inside 4 KiB.
#[derive(Clone, Copy)]
pub struct Burst {
    pub address: u64,
    pub rows: u64,
    pub write: bool,
    pub seed: u64,
}

impl Burst {
    /// The row of the list (kernels/burst_player/README.md).
    pub fn encode(&self) -> [u8; ROW] {
        let mut row = [0; ROW];
        row[0..8].copy_from_slice(&self.address.to_le_bytes());
        row[8] = (self.rows - 1) as u8;
        row[10] = 6; // 64 bytes a beat
        row[11] = 1; // INCR
        row[12] = u8::from(self.write);
        row[16..24].copy_from_slice(&self.seed.to_le_bytes());
        row[24..40].fill(0xff); // strobes, and no pauses
        row
    }

    fn decode(row: &[u8; ROW]) -> Self {
        let number = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&row[at..at + 8]);
            u64::from_le_bytes(word)
        };
        Self {
            address: number(0),
            rows: u64::from(row[8]) + 1,
            write: row[12] & 1 != 0,
            seed: number(16),
        }
    }

    /// Data of a write.
    pub fn data(&self) -> Vec<u8> {
        let word = |index: u64| {
            let x = self.seed.wrapping_add(index);
            let x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (x ^ x >> 32).to_le_bytes()
        };
        (0..self.rows * 8).flat_map(word).collect()
    }

    /// The hash of a read that gave these bytes.
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        bytes.chunks_exact(ROW).fold(self.seed, |hash, row| {
            let mixed = row.chunks_exact(8).enumerate().fold(0, |mixed, (k, word)| {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(word);
                mixed ^ u64::from_le_bytes(bytes).rotate_left(5 * k as u32)
            });
            hash.rotate_left(9).wrapping_add(mixed)
        })
    }
}

pub const MODEL: KernelModel = KernelModel {
    name: "burst_player",
    arguments: &[("program", 8), ("results", 8), ("bursts", 8)],
    ports: 2,
    create: || Box::new(Player::default()),
};

/// One burst after the other.
#[derive(Default)]
struct Player {
    index: u64,
}

impl FunctionalKernel for Player {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        if self.index == arguments.number("bursts") {
            self.index = 0;
            return Step::Done;
        }
        let at = self.index * ROW as u64;
        let mut row = [0; ROW];
        if memory.read(0, arguments.number("program") + at, &mut row) != Access::Done {
            return Step::Blocked;
        }
        let burst = Burst::decode(&row);
        let mut bytes = burst.data();
        let (access, hash) = if burst.write {
            (memory.write(1, burst.address, &bytes), burst.seed)
        } else {
            let access = memory.read(1, burst.address, &mut bytes);
            (access, burst.hash(&bytes))
        };
        if access == Access::Blocked {
            return Step::Blocked;
        }
        let mut result = [0; ROW];
        result[0..8].copy_from_slice(&self.index.to_le_bytes());
        result[8..16].copy_from_slice(&hash.to_le_bytes());
        result[16] = u8::from(access == Access::Failed);
        if memory.write(0, arguments.number("results") + at, &result) != Access::Done {
            return Step::Blocked;
        }
        self.index += 1;
        Step::Working
    }
}
