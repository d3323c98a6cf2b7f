//! `kernels/sha3`: Keccak-256 and FIPS SHA3-256.

use super::packet::{PacketKernel, Work};
use crate::kernel::{Arguments, KernelModel};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "sha3",
    arguments: &[("mode", 8)],
    ports: 0,
    create: || Box::new(PacketKernel::new(Sponge::begin, true)),
};

const RATE: usize = 136;
const DIGEST: usize = 32;

/// The sponge of a message.
struct Sponge {
    lanes: [u64; 25],
    /// Bytes of the block that is under way.
    filled: usize,
    /// The first byte of padding.
    domain: u8,
}

impl Sponge {
    fn begin(arguments: &Arguments<'_>) -> Box<dyn Work> {
        let fips = arguments.number("mode") % 2 == 1;
        Box::new(Self {
            lanes: [0; 25],
            filled: 0,
            domain: if fips { 0x06 } else { 0x01 },
        })
    }

    fn add(&mut self, place: usize, byte: u8) {
        self.lanes[place / 8] ^= u64::from(byte) << (8 * (place % 8));
    }
}

impl Work for Sponge {
    fn take(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) -> bool {
        for byte in bytes {
            self.add(self.filled, *byte);
            self.filled += 1;
            if self.filled == RATE {
                permute(&mut self.lanes);
                self.filled = 0;
            }
        }
        if last {
            self.add(self.filled, self.domain);
            self.add(RATE - 1, 0x80);
            permute(&mut self.lanes);
            let digest = self.lanes.iter().flat_map(|lane| lane.to_le_bytes());
            out.extend(digest.take(DIGEST));
        }
        last
    }
}

/// Keccak-f[1600], with offsets and round constants by their rules (FIPS 202, 3.2.2 and algorithm 5).
fn permute(lanes: &mut [u64; 25]) {
    let mut register = 1u16;
    for _ in 0..24 {
        let column = [0, 1, 2, 3, 4].map(|x| (0..5).fold(0, |sum, y| sum ^ lanes[x + 5 * y]));
        for (n, lane) in lanes.iter_mut().enumerate() {
            *lane ^= column[(n + 4) % 5] ^ column[(n + 1) % 5].rotate_left(1);
        }
        let (mut x, mut y, mut current) = (1, 0, lanes[1]);
        for step in 0..24u32 {
            (x, y) = (y, (2 * x + 3 * y) % 5);
            let turned = current.rotate_left((step + 1) * (step + 2) / 2 % 64);
            current = std::mem::replace(&mut lanes[x + 5 * y], turned);
        }
        for row in lanes.chunks_exact_mut(5) {
            let before = [row[0], row[1], row[2], row[3], row[4]];
            for (x, lane) in row.iter_mut().enumerate() {
                *lane ^= !before[(x + 1) % 5] & before[(x + 2) % 5];
            }
        }
        for bit in 0..7 {
            lanes[0] ^= u64::from(register & 1) << ((1u32 << bit) - 1);
            let feedback = if register & 0x80 != 0 { 0x171 } else { 0 };
            register = register << 1 ^ feedback;
        }
    }
}
