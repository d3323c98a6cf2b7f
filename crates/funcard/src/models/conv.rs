//! `kernels/conv`.

use super::sequential::{SequentialKernel, SequentialPlan};
use crate::kernel::{Arguments, KernelModel};
use std::collections::VecDeque;

pub(super) const MODEL: KernelModel = KernelModel {
    name: "conv",
    arguments: &[
        ("input", 8),
        ("output", 8),
        ("blocks", 8),
        ("lines", 8),
        ("weights", 12),
        ("shift", 4),
    ],
    ports: 2,
    create: || Box::new(SequentialKernel::new(plan)),
};

const BLOCK: u64 = 64;
const MAX_BLOCKS: u64 = 4096;

fn plan(arguments: &Arguments<'_>) -> SequentialPlan {
    let (blocks, lines) = (arguments.number("blocks"), arguments.number("lines"));
    let fits = (1..=MAX_BLOCKS).contains(&blocks) && lines >> 32 == 0;
    let width = if fits { blocks * BLOCK } else { 0 };
    let mut picture = Picture {
        width: width as usize,
        lines_left: lines,
        weights: arguments
            .array::<9>("weights")
            .map(|byte| i32::from(byte as i8)),
        shift: arguments.number("shift") as u32 % 32,
        lines: VecDeque::from([vec![0; width as usize]]),
        line: Vec::new(),
    };
    SequentialPlan {
        inputs: vec![arguments.number("input")],
        output: arguments.number("output"),
        bytes: width * if fits { lines } else { 0 },
        combine: Box::new(move |inputs, output| picture.take(inputs[0], output)),
    }
}

/// A picture that comes in pieces.
struct Picture {
    width: usize,
    /// Lines that are not whole yet.
    lines_left: u64,
    weights: [i32; 9],
    shift: u32,
    /// Up to three lines, the first one above the line that is next to leave.
    lines: VecDeque<Vec<u8>>,
    /// The line that is coming.
    line: Vec<u8>,
}

impl Picture {
    fn take(&mut self, mut pixels: &[u8], output: &mut Vec<u8>) {
        while !pixels.is_empty() {
            let (now, later) = pixels.split_at(pixels.len().min(self.width - self.line.len()));
            self.line.extend_from_slice(now);
            pixels = later;
            if self.line.len() == self.width {
                self.lines.push_back(std::mem::take(&mut self.line));
                self.lines_left -= 1;
                self.leave(output);
                if self.lines_left == 0 {
                    self.lines.push_back(vec![0; self.width]);
                    self.leave(output);
                }
            }
        }
    }

    /// The middle line leaves once all three are there.
    fn leave(&mut self, output: &mut Vec<u8>) {
        if self.lines.len() < 3 {
            return;
        }
        output.extend((0..self.width).map(|x| self.pixel(x)));
        self.lines.pop_front();
    }

    fn pixel(&self, x: usize) -> u8 {
        let mut sum = 0;
        for (line, weights) in self.lines.iter().zip(self.weights.chunks(3)) {
            for (j, weight) in weights.iter().enumerate() {
                let pixel = (x + j).checked_sub(1).and_then(|x| line.get(x));
                sum += weight * i32::from(pixel.copied().unwrap_or(0));
            }
        }
        (sum >> self.shift).clamp(0, 255) as u8
    }
}
