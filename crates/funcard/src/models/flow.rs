//! `kernels/flow`.

use super::reduce::{ReduceKernel, ReducePlan, Reduction};
use crate::kernel::{Arguments, KernelModel};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "flow",
    arguments: &[
        ("input", 8),
        ("output", 8),
        ("tiles_x", 8),
        ("tiles_y", 8),
        ("images", 8),
    ],
    ports: 2,
    create: || Box::new(ReduceKernel::new(plan)),
};

/// Pixels of a tile's side, and bytes of a pixel.
const TILE: usize = 16;
const PIXEL: usize = 8;
const MAX_TILES_X: u64 = 128;
/// Pixels at the edge of an image without gradients.
const EDGE: usize = 2;
/// Parts of a pixel that a motion counts, and its limit.
const UNIT: u128 = 256;
const LIMIT: u128 = 32767;
/// Motion of a tile whose gradients do not determine one.
const FLAT: i16 = i16::MIN;

/// Images, each of which is evaluated when it is complete.
struct Images {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
    motions: Vec<u8>,
}

impl Images {
    fn grey(&self, line: usize, column: usize, frame: usize) -> i64 {
        self.pixels[(line * self.width + column) * PIXEL + frame].into()
    }

    /// Gradients to the right, down and in time.
    fn gradients(&self, line: usize, column: usize) -> [i64; 3] {
        let inside = |at: usize, size: usize| (EDGE..size - EDGE).contains(&at);
        if !inside(line, self.height) || !inside(column, self.width) {
            return [0; 3];
        }
        let taps = |grey: &dyn Fn(usize) -> i64| grey(0) - 8 * grey(1) + 8 * grey(3) - grey(4);
        [
            taps(&|k| self.grey(line, column + k - EDGE, 2)),
            taps(&|k| self.grey(line + k - EDGE, column, 2)),
            taps(&|k| self.grey(line, column, k)),
        ]
    }

    /// Motion of a tile.
    fn motion(&self, tile_line: usize, tile_column: usize) -> [i16; 2] {
        let [mut xx, mut xy, mut yy, mut xt, mut yt] = [0i128; 5];
        for line in TILE * tile_line..TILE * (tile_line + 1) {
            for column in TILE * tile_column..TILE * (tile_column + 1) {
                let [x, y, t] = self.gradients(line, column).map(i128::from);
                xx += x * x;
                xy += x * y;
                yy += y * y;
                xt += x * t;
                yt += y * t;
            }
        }
        let determinant = (xx * yy - xy * xy).unsigned_abs();
        [xy * yt - yy * xt, xy * xt - xx * yt].map(|numerator| {
            let size = (numerator.unsigned_abs() * UNIT).checked_div(determinant);
            let Some(size) = size.map(|size| size.min(LIMIT) as i16) else {
                return FLAT;
            };
            if numerator < 0 {
                -size
            } else {
                size
            }
        })
    }
}

impl Reduction for Images {
    fn take(&mut self, bytes: &[u8]) {
        let size = self.width * self.height * PIXEL;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(size - self.pixels.len()));
            self.pixels.extend(now);
            rest = later;
            if self.pixels.len() < size {
                continue;
            }
            for tile_line in 0..self.height / TILE {
                for tile_column in 0..self.width / TILE {
                    let motion = self.motion(tile_line, tile_column);
                    self.motions.extend(motion.map(i16::to_le_bytes).concat());
                }
            }
            self.pixels.clear();
        }
    }

    fn result(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.motions)
    }
}

fn plan(arguments: &Arguments<'_>) -> ReducePlan {
    let count = |name| arguments.number(name) & 0xffff;
    let tiles_x = arguments.number("tiles_x").min(MAX_TILES_X);
    let tiles_y = count("tiles_y");
    let tile_bytes = (TILE * TILE * PIXEL) as u64;
    ReducePlan {
        input: arguments.number("input"),
        bytes: tiles_x * tiles_y * count("images") * tile_bytes,
        output: arguments.number("output"),
        reduction: Box::new(Images {
            width: TILE * tiles_x as usize,
            height: TILE * tiles_y as usize,
            pixels: Vec::new(),
            motions: Vec::new(),
        }),
    }
}
