//! `kernels/dnn`, and the order of reads and writes that `kernels/dnn_float` shares.

use super::go_on;
use super::rows::{Rows, ROW};
use crate::kernel::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "dnn",
    arguments: &[
        ("weights", 8),
        ("images", 8),
        ("output", 8),
        ("records", 8),
        ("batch", 8),
        ("shift", 8),
        ("pause", 8),
        ("in_turn", 8),
    ],
    ports: 2,
    create: || Box::<Dnn>::default(),
};

const READ_PORT: usize = 0;
const WRITE_PORT: usize = 1;
pub(super) const CHANNELS: usize = 8;
pub(super) const CLASSES: usize = 10;
/// Pixels of an image's side, taps of the convolution's, and places that are left of an image's side.
const SIDE: usize = 8;
pub(super) const TAPS: usize = 3;
pub(super) const PLACES: usize = 3;
const BIAS_ROW: usize = 2;
const RECORD_ROWS: u64 = 64;
const MARGIN_SHIFT: u32 = 6;

/// A row of weights, or an image.
pub(super) type Bytes = [u8; ROW as usize];

/// A network's arithmetic.
pub(super) trait Layers {
    /// Rows of weights.
    const WEIGHT_ROWS: u64;

    /// The result of an image: 2 bytes, or a row.
    fn infer(&self, weights: &[Bytes], image: &Bytes) -> Vec<u8>;
}

#[derive(Debug, Default)]
struct Dnn {
    run: Option<Inference<Int8>>,
}

#[derive(Debug)]
struct Int8 {
    shift: u32,
}

#[derive(Debug)]
pub(super) struct Inference<L> {
    layers: L,
    weights: Rows,
    images: Rows,
    output: u64,
    records: u64,
    batch: u64,
    /// The rows of weights that have been read.
    loaded: Vec<Bytes>,
    /// The next record, and its next image.
    record: u64,
    image: u64,
    /// Rows written, and the next one.
    written: u64,
    results: Vec<u8>,
}

/// A sum as the kernel's 24 bits hold it.
fn wrapped(sum: i32) -> i32 {
    sum << 8 >> 8
}

/// The 32-bit number at a place of a row.
fn bias(row: &[u8], at: usize) -> i32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&row[at..at + 4]);
    i32::from_le_bytes(bytes)
}

fn product(pixel: u8, weight: u8) -> i32 {
    i32::from(pixel) * i32::from(weight as i8)
}

/// The pixel of a tap of one of a place's four windows.
pub(super) fn pixel(image: &Bytes, place: usize, part: usize, tap: usize) -> u8 {
    let y = 2 * (place / PLACES) + part / 2 + tap / TAPS;
    let x = 2 * (place % PLACES) + part % 2 + tap % TAPS;
    image[y * SIDE + x]
}

/// Activation of a channel at a place.
fn activation(weights: &[Bytes], image: &Bytes, channel: usize, place: usize, shift: u32) -> u8 {
    let row = &weights[channel / 4][channel % 4 * 16..][..16];
    let sums = (0..4).map(|part| {
        let taps = (0..TAPS * TAPS).map(|tap| product(pixel(image, place, part, tap), row[tap]));
        wrapped(taps.fold(bias(row, 12), i32::wrapping_add))
    });
    let most = sums.fold(0, i32::max);
    (most >> shift).min(i32::from(u8::MAX)) as u8
}

impl Layers for Int8 {
    /// Two of channels, one of the classes' biases, two for each place.
    const WEIGHT_ROWS: u64 = 21;

    /// Class and margin of an image.
    fn infer(&self, rows: &[Bytes], image: &Bytes) -> Vec<u8> {
        let mut scores: [i32; CLASSES] =
            std::array::from_fn(|class| bias(&rows[BIAS_ROW], 4 * class));
        for place in 0..PLACES * PLACES {
            let weights = rows[BIAS_ROW + 1 + 2 * place..][..2].concat();
            for channel in 0..CHANNELS {
                let activation = activation(rows, image, channel, place, self.shift);
                for (class, score) in scores.iter_mut().enumerate() {
                    let weight = weights[class * CHANNELS + channel];
                    *score = score.wrapping_add(product(activation, weight));
                }
            }
        }
        let scores = scores.map(wrapped);
        let mut order: [usize; CLASSES] = std::array::from_fn(|class| class);
        // Stable: of equal scores the first class comes first.
        order.sort_by_key(|&class| -scores[class]);
        let margin = (scores[order[0]] - scores[order[1]]) >> MARGIN_SHIFT;
        vec![order[0] as u8, margin.min(i32::from(u8::MAX)) as u8]
    }
}

impl<L: Layers> Inference<L> {
    pub(super) fn new(arguments: &Arguments<'_>, layers: L) -> Self {
        let number = |name| arguments.number(name);
        Self {
            layers,
            weights: Rows::new(READ_PORT, number("weights")),
            images: Rows::new(READ_PORT, number("images")),
            output: number("output") & !(ROW - 1),
            records: number("records") & u64::from(u32::MAX),
            batch: number("batch").min(RECORD_ROWS),
            loaded: Vec::new(),
            record: 0,
            image: 0,
            written: 0,
            results: Vec::new(),
        }
    }

    /// Does what comes next; `None`: it waits.
    pub(super) fn go(&mut self, memory: &mut dyn VirtualMemory) -> Option<Step> {
        let ends_record = self.image == self.batch;
        if !self.results.is_empty() && (ends_record || self.results.len() as u64 == ROW) {
            let mut row = [0; ROW as usize];
            row[..self.results.len()].copy_from_slice(&self.results);
            let address = self.output.wrapping_add(self.written * ROW);
            if memory.write(WRITE_PORT, address, &row) == Access::Blocked {
                return None;
            }
            self.written += 1;
            self.results.clear();
        }
        if ends_record {
            self.image = 0;
            self.record += 1;
        }
        if self.batch == 0 || self.record >= self.records {
            return Some(Step::Done);
        }
        while (self.loaded.len() as u64) < L::WEIGHT_ROWS {
            let row = self.weights.get(self.loaded.len() as u64, memory)?;
            self.loaded.push(row);
        }
        let number = self.record * RECORD_ROWS + self.image;
        let image = self.images.get(number, memory)?;
        let result = self.layers.infer(&self.loaded, &image);
        self.results.extend(result);
        self.image += 1;
        Some(Step::Working)
    }
}

impl FunctionalKernel for Dnn {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        go_on(
            &mut self.run,
            || {
                let shift = (arguments.number("shift") & 31) as u32;
                Inference::new(arguments, Int8 { shift })
            },
            |run| run.go(memory).unwrap_or(Step::Blocked),
        )
    }
}
