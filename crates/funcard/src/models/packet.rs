//! Kernels that transform packets, with the models of those that need a few lines.

use super::hash::HashLanes;
use crate::kernel::{Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};
use ctr::cipher::{KeyIvInit, StreamCipher};
use sha2::Digest;
use std::collections::VecDeque;

/// Bytes received or sent at a time.
const PIECE: usize = 1024;

/// A kernel's processing of one packet.
pub(super) trait Work: Send {
    /// Takes the next bytes; `last`: they end the packet. Output is appended to `out`; returns `true` if the outgoing
    /// packet ends with it.
    fn take(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) -> bool;
}

/// Creates the processing of a packet.
pub(super) type Begin = fn(&Arguments<'_>) -> Box<dyn Work>;

/// A kernel with one stream in, one out.
pub(super) struct PacketKernel {
    begin: Begin,
    /// It has no input: output is requested again and again.
    is_source: bool,
    /// Each packet is a run started by the host; otherwise packets follow one another.
    has_runs: bool,
    work: Option<Box<dyn Work>>,
    waiting: VecDeque<(Vec<u8>, bool)>,
}

impl PacketKernel {
    pub(super) fn new(begin: Begin, has_runs: bool) -> Self {
        Self {
            begin,
            is_source: false,
            has_runs,
            work: None,
            waiting: VecDeque::new(),
        }
    }

    fn put(&mut self, bytes: &[u8], ends: bool) {
        let count = bytes.len().div_ceil(PIECE).max(usize::from(ends));
        for n in 0..count {
            let piece = &bytes[n * PIECE..bytes.len().min((n + 1) * PIECE)];
            self.waiting
                .push_back((piece.to_vec(), ends && n + 1 == count));
        }
    }
}

impl FunctionalKernel for PacketKernel {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        if let Some((bytes, last)) = self.waiting.front() {
            if !memory.send(0, bytes, *last) {
                return Step::Blocked;
            }
            let ended = *last;
            self.waiting.pop_front();
            if ended {
                self.work = None;
                if self.has_runs {
                    return Step::Done;
                }
            }
            return Step::Working;
        }
        let begin = self.begin;
        let work = self.work.get_or_insert_with(|| begin(arguments));
        let (bytes, last) = match self.is_source {
            true => (Vec::new(), false),
            false => match memory.receive(0, PIECE) {
                Some(taken) => taken,
                None => return Step::Blocked,
            },
        };
        let mut out = Vec::new();
        let ends = work.take(&bytes, last, &mut out);
        self.put(&out, ends);
        Step::Working
    }
}

pub(super) const PERF: KernelModel = KernelModel {
    name: "perf_stream",
    arguments: &[],
    ports: 0,
    create: || Box::new(PacketKernel::new(|_| Box::new(Increment::default()), false)),
};

pub(super) const AES256CTR: KernelModel = KernelModel {
    name: "aes256ctr_stream",
    arguments: &[("key", 32), ("iv", 16)],
    ports: 0,
    create: || Box::new(PacketKernel::new(Cipher::begin, true)),
};

pub(super) const SHA256: KernelModel = KernelModel {
    name: "sha256_stream",
    arguments: &[("lanes", 8)],
    ports: 0,
    create: || Box::new(PacketKernel::new(hash::<sha2::Sha256>, true)),
};

pub(super) const MD5: KernelModel = KernelModel {
    name: "md5_stream",
    arguments: &[("lanes", 8)],
    ports: 0,
    create: || Box::new(PacketKernel::new(hash::<md5::Md5>, true)),
};

pub(super) const NW: KernelModel = KernelModel {
    name: "nw",
    arguments: &[
        ("query_bytes", 8),
        ("target_bytes", 8),
        ("match", 8),
        ("mismatch", 8),
        ("gap", 8),
        ("query", 64),
    ],
    ports: 0,
    create: || Box::new(PacketKernel::new(Alignment::begin, true)),
};

pub(super) const MATMUL: KernelModel = KernelModel {
    name: "matmul",
    arguments: &[],
    ports: 0,
    create: || Box::new(PacketKernel::new(|_| Box::new(Product::default()), false)),
};

pub(super) const RNG: KernelModel = KernelModel {
    name: "rng_stream",
    arguments: &[("bytes", 8), ("state", 32)],
    ports: 0,
    create: || {
        Box::new(PacketKernel {
            is_source: true,
            ..PacketKernel::new(Numbers::begin, true)
        })
    },
};

/// 1 added to each word of 64 bits; of a last word in part, to what it has.
#[derive(Default)]
struct Increment {
    word: Vec<u8>,
}

impl Work for Increment {
    fn take(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) -> bool {
        for byte in bytes {
            self.word.push(*byte);
            if self.word.len() == 8 {
                increment(&mut self.word, out);
            }
        }
        if last {
            increment(&mut self.word, out);
        }
        last
    }
}

fn increment(word: &mut Vec<u8>, out: &mut Vec<u8>) {
    let mut carry = true;
    for byte in word.drain(..) {
        let sum = byte.wrapping_add(carry.into());
        carry = carry && sum == 0;
        out.push(sum);
    }
}

/// With the cipher of the RustCrypto project.
struct Cipher(ctr::Ctr128BE<aes::Aes256>);

impl Cipher {
    fn begin(arguments: &Arguments<'_>) -> Box<dyn Work> {
        let key: [u8; 32] = arguments.array("key");
        let iv: [u8; 16] = arguments.array("iv");
        Box::new(Self(ctr::Ctr128BE::new(&key.into(), &iv.into())))
    }
}

impl Work for Cipher {
    fn take(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(bytes);
        self.0.apply_keystream(out);
        last
    }
}

fn hash<Hash: Digest + Send + 'static>(arguments: &Arguments<'_>) -> Box<dyn Work> {
    Box::new(HashLanes::<Hash>::new(arguments))
}

impl<Hash: Digest + Send> Work for HashLanes<Hash> {
    fn take(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) -> bool {
        self.update(bytes);
        if last {
            out.extend(self.finalize());
        }
        last
    }
}

/// A query against targets, row by row of the recurrence.
struct Alignment {
    query: Vec<u8>,
    letters: u64,
    scores: [i32; 3],
    row: Vec<i32>,
    taken: u64,
}

impl Alignment {
    fn begin(arguments: &Arguments<'_>) -> Box<dyn Work> {
        let mut query = arguments.bytes("query");
        query.truncate(arguments.number("query_bytes").clamp(1, 64) as usize);
        let scores = ["match", "mismatch", "gap"].map(|name| arguments.number(name) as u32 as i32);
        let mut begun = Self {
            query,
            letters: arguments.number("target_bytes").max(1),
            scores,
            row: Vec::new(),
            taken: 0,
        };
        begun.next_target();
        Box::new(begun)
    }

    fn next_target(&mut self) {
        let gaps = |j: usize| self.scores[2].wrapping_mul(j as i32);
        self.row = (0..=self.query.len()).map(gaps).collect();
        self.taken = 0;
    }

    fn letter(&mut self, letter: u8) {
        let [equal, other, gap] = self.scores;
        let mut diagonal = self.row[0];
        self.row[0] = diagonal.wrapping_add(gap);
        for (j, of_query) in self.query.iter().enumerate() {
            let against = if *of_query == letter { equal } else { other };
            let gaps = self.row[j + 1].max(self.row[j]).wrapping_add(gap);
            let best = gaps.max(diagonal.wrapping_add(against));
            diagonal = std::mem::replace(&mut self.row[j + 1], best);
        }
        self.taken += 1;
    }
}

impl Work for Alignment {
    fn take(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) -> bool {
        for (place, letter) in bytes.iter().enumerate() {
            self.letter(*letter);
            if self.taken == self.letters || last && place + 1 == bytes.len() {
                out.extend(self.row[self.query.len()].to_le_bytes());
                self.next_target();
            }
        }
        last
    }
}

/// Rows and columns.
const SIZE: usize = 64;
const PAIR: usize = 2 * SIZE * SIZE * 4;

/// Pairs of matrices.
#[derive(Default)]
struct Product {
    held: Vec<u8>,
}

impl Work for Product {
    fn take(&mut self, mut bytes: &[u8], last: bool, out: &mut Vec<u8>) -> bool {
        while !bytes.is_empty() {
            let count = (PAIR - self.held.len()).min(bytes.len());
            self.held.extend_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            if self.held.len() == PAIR {
                multiply(&self.held, out);
                self.held.clear();
            }
        }
        last
    }
}

fn multiply(pair: &[u8], out: &mut Vec<u8>) {
    let mut words = Vec::with_capacity(PAIR / 4);
    for word in pair.chunks_exact(4) {
        words.push(u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    }
    let (a, b) = words.split_at(SIZE * SIZE);
    for row in a.chunks_exact(SIZE) {
        for column in 0..SIZE {
            let products = row.iter().enumerate();
            let sum = products.fold(0u32, |sum, (k, factor)| {
                sum.wrapping_add(factor.wrapping_mul(b[k * SIZE + column]))
            });
            out.extend(sum.to_le_bytes());
        }
    }
}

/// The SFC64 generator.
struct Numbers {
    state: [u64; 4],
    left: u64,
}

impl Numbers {
    fn begin(arguments: &Arguments<'_>) -> Box<dyn Work> {
        let bytes: [u8; 32] = arguments.array("state");
        let state = [0, 8, 16, 24].map(|at| super::word(&bytes, at));
        Box::new(Self {
            state,
            left: arguments.number("bytes"),
        })
    }

    fn next(&mut self) -> u64 {
        let [a, b, c, counter] = self.state;
        let number = a.wrapping_add(b).wrapping_add(counter);
        self.state = [
            b ^ (b >> 11),
            c.wrapping_add(c << 3),
            c.rotate_left(24).wrapping_add(number),
            counter.wrapping_add(1),
        ];
        number
    }
}

impl Work for Numbers {
    fn take(&mut self, _: &[u8], _: bool, out: &mut Vec<u8>) -> bool {
        while self.left > 0 && out.len() < PIECE {
            let number = self.next().to_le_bytes();
            let count = self.left.min(8);
            out.extend_from_slice(&number[..count as usize]);
            self.left -= count;
        }
        self.left == 0
    }
}
