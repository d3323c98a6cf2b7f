//! `kernels/dnn_float`.

use super::dnn::{pixel, Bytes, Inference, Layers, CHANNELS, CLASSES, PLACES, TAPS};
use super::go_on;
use super::rows::ROW;
use crate::kernel::{Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "dnn_float",
    arguments: &[
        ("weights", 8),
        ("images", 8),
        ("output", 8),
        ("records", 8),
        ("batch", 8),
        ("scores", 8),
    ],
    ports: 2,
    create: || Box::<DnnFloat>::default(),
};

/// Rows of weights before those of places: taps, the channels' biases, the classes' biases.
const CHANNEL_BIAS_ROW: usize = TAPS * TAPS;
const CLASS_BIAS_ROW: usize = CHANNEL_BIAS_ROW + 1;
const FIRST_WEIGHT_ROW: usize = CLASS_BIAS_ROW + 1;
/// The bits of every NaN.
const NAN: u32 = 0x7fc0_0000;

#[derive(Debug, Default)]
struct DnnFloat {
    run: Option<Inference<Float>>,
}

#[derive(Debug)]
struct Float {
    /// Whether an image gets a row with its scores.
    scores: bool,
}

/// A subnormal number as 0 with its sign.
fn flush(value: f32) -> f32 {
    match value.is_subnormal() {
        true => 0_f32.copysign(value),
        false => value,
    }
}

fn multiply(a: f32, b: f32) -> f32 {
    flush(flush(a) * flush(b))
}

fn add(a: f32, b: f32) -> f32 {
    flush(flush(a) + flush(b))
}

fn bits(value: f32) -> u32 {
    match value.is_nan() {
        true => NAN,
        false => value.to_bits(),
    }
}

/// A number of a row.
fn number(row: &Bytes, place: usize) -> f32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&row[4 * place..][..4]);
    f32::from_le_bytes(bytes)
}

/// ReLU, and the maximum of a place's four windows. Numbers that are not negative compare as integers.
fn activation(weights: &[Bytes], image: &Bytes, channel: usize, place: usize) -> f32 {
    let most = (0..4).fold(0, |most, part| {
        let bias = number(&weights[CHANNEL_BIAS_ROW], channel);
        let sum = (0..TAPS * TAPS).fold(bias, |sum, tap| {
            let pixel = f32::from(pixel(image, place, part, tap));
            add(sum, multiply(pixel, number(&weights[tap], channel)))
        });
        (bits(sum) as i32).max(most)
    });
    f32::from_bits(most as u32)
}

/// Integers in the order of numbers, NaN above all; both zeros are equal.
fn rank(score: f32) -> i32 {
    let magnitude = (bits(score) & !(1 << 31)) as i32;
    match bits(score) >> 31 {
        0 => magnitude,
        _ => -magnitude,
    }
}

impl Layers for Float {
    const WEIGHT_ROWS: u64 = (FIRST_WEIGHT_ROW + PLACES * PLACES * CHANNELS) as u64;

    /// Class and score of an image, or its scores and class.
    fn infer(&self, weights: &[Bytes], image: &Bytes) -> Vec<u8> {
        let mut scores: [f32; CLASSES] =
            std::array::from_fn(|class| number(&weights[CLASS_BIAS_ROW], class));
        for place in 0..PLACES * PLACES {
            for channel in 0..CHANNELS {
                let activation = activation(weights, image, channel, place);
                let row = &weights[FIRST_WEIGHT_ROW + place * CHANNELS + channel];
                for (class, score) in scores.iter_mut().enumerate() {
                    *score = add(*score, multiply(activation, number(row, class)));
                }
            }
        }
        // The first of equal ones.
        let class = (1..CLASSES).fold(0, |best, class| {
            match rank(scores[class]) > rank(scores[best]) {
                true => class,
                false => best,
            }
        });
        if !self.scores {
            let high = bits(scores[class]) >> 20;
            return ((high << 4) as u16 | class as u16).to_le_bytes().to_vec();
        }
        let words = scores.map(bits).into_iter().chain([class as u32]);
        let mut row: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        row.resize(ROW as usize, 0);
        row
    }
}

impl FunctionalKernel for DnnFloat {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        go_on(
            &mut self.run,
            || {
                let scores = arguments.number("scores") != 0;
                Inference::new(arguments, Float { scores })
            },
            |run| run.go(memory).unwrap_or(Step::Blocked),
        )
    }
}
