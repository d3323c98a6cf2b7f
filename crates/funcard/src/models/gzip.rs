//! `kernels/gzip`: one block of Deflate with the fixed codes, and greedy matches. Its output equals that of the RTL bit
//! for bit.

use super::packet::{PacketKernel, Work};
use crate::kernel::KernelModel;

pub(super) const MODEL: KernelModel = KernelModel {
    name: "gzip",
    arguments: &[],
    ports: 0,
    create: || {
        Box::new(PacketKernel::new(
            |_| Box::new(Compressor::default()),
            false,
        ))
    },
};

const HASH_BITS: u32 = 13;
const WINDOW: usize = 32_768;
const SHORTEST: usize = 4;
const LONGEST: usize = 258;
/// 1f 8b, Deflate; no flags, no time; fastest, unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];

/// Buffers the packet until its end.
#[derive(Default)]
struct Compressor {
    packet: Vec<u8>,
}

impl Work for Compressor {
    fn take(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) -> bool {
        self.packet.extend_from_slice(bytes);
        if last {
            out.extend_from_slice(&compress(&self.packet));
        }
        last
    }
}

/// Bits, the first one low.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl Bits {
    fn put(&mut self, value: u32, bits: u32) {
        self.held |= u64::from(value) << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.bytes.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// A code, whose first bit is its highest one.
    fn code(&mut self, code: u32, bits: u32) {
        self.put(code.reverse_bits() >> (32 - bits), bits);
    }

    fn literal(&mut self, byte: u8) {
        match byte {
            0..144 => self.code(0x30 + u32::from(byte), 8),
            _ => self.code(0x190 + u32::from(byte - 144), 9),
        }
    }

    fn copy(&mut self, length: usize, distance: usize) {
        let over = length as u32 - 3;
        let (number, extra) = match over {
            255 => (28, 0),
            0..8 => (over, 0),
            _ => {
                let extra = over.ilog2() - 2;
                (4 * (extra + 1) + (over >> extra & 3), extra)
            }
        };
        match number {
            0..23 => self.code(number + 1, 7),
            _ => self.code(0xc0 + number - 23, 8),
        }
        self.put(over & ((1 << extra) - 1), extra);
        let away = distance as u32 - 1;
        let (number, extra) = match away {
            0..4 => (away, 0),
            _ => {
                let extra = away.ilog2() - 1;
                (2 * (extra + 1) + (away >> extra & 1), extra)
            }
        };
        self.code(number, 5);
        self.put(away & ((1 << extra) - 1), extra);
    }
}

fn hash(bytes: &[u8]) -> usize {
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    (word.wrapping_mul(2_654_435_761) >> (32 - HASH_BITS)) as usize
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}

/// For each position the previous one whose four bytes have the same hash, if within reach.
fn candidates(packet: &[u8]) -> Vec<Option<usize>> {
    let mut table = vec![None; 1 << HASH_BITS];
    let all = packet.windows(SHORTEST).enumerate();
    all.map(|(place, bytes)| {
        let before: Option<usize> = table[hash(bytes)].replace(place);
        before.filter(|before| place - before <= WINDOW)
    })
    .collect()
}

fn compress(packet: &[u8]) -> Vec<u8> {
    let candidates = candidates(packet);
    let mut bits = Bits::default();
    // The last block, with the fixed codes.
    bits.put(3, 3);
    let mut place = 0;
    while place < packet.len() {
        let candidate = candidates.get(place).copied().flatten();
        let length = candidate.map_or(0, |from| {
            let pairs = packet[from..].iter().zip(&packet[place..]);
            pairs.take(LONGEST).take_while(|(a, b)| a == b).count()
        });
        match candidate {
            Some(from) if length >= SHORTEST => {
                bits.copy(length, place - from);
                place += length;
            }
            _ => {
                bits.literal(packet[place]);
                place += 1;
            }
        }
    }
    bits.code(0, 7);
    bits.put(0, (8 - bits.count) % 8);
    let mut file = HEADER.to_vec();
    file.extend_from_slice(&bits.bytes);
    file.extend(crc(packet).to_le_bytes());
    file.extend((packet.len() as u32).to_le_bytes());
    file
}
