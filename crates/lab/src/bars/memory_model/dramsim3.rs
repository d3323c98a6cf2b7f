//! The memory models compared with another simulator, which shares only the timing parameters with them.
//!
//! DRAMsim3 was run once, with the parameters of `f1.toml` and `u280.toml`: 60,000 accesses of 64 bytes, 32 of them
//! outstanding. Its results are constants here, as shares of the pin bandwidth.

use super::Failure;
use crate::random::Random;
use crate::row::Row;
use crate::traffic::{Places, Traffic};
use timing::platform::{Memory, Platform};

const ACCESSES: u64 = 60_000;
const OUTSTANDING: usize = 32;

/// Order in which accesses are issued.
#[derive(Clone, Copy)]
enum AccessOrder {
    Sequential,
    Random,
    /// A stride in bytes.
    Stride(u64),
    /// Two alternating sequential streams, half of the memory apart.
    TwoStreams,
    /// Random 4 KiB pages, each read in order.
    RandomPages,
}

/// Which accesses are writes.
#[derive(Clone, Copy)]
enum Writes {
    Read,
    Write,
    /// Every second access.
    Mixed,
}

/// An experiment and DRAMsim3's result, in percent of the pin bandwidth.
type Case = (&'static str, AccessOrder, Writes, f64);

const F1: [Case; 10] = [
    (
        "sequential_read",
        AccessOrder::Sequential,
        Writes::Read,
        94.1,
    ),
    (
        "sequential_write",
        AccessOrder::Sequential,
        Writes::Write,
        94.9,
    ),
    ("random_read", AccessOrder::Random, Writes::Read, 51.9),
    ("random_write", AccessOrder::Random, Writes::Write, 63.0),
    (
        "sequential_mix",
        AccessOrder::Sequential,
        Writes::Mixed,
        90.4,
    ),
    ("random_mix", AccessOrder::Random, Writes::Mixed, 50.6),
    ("stride_4k", AccessOrder::Stride(4096), Writes::Read, 58.5),
    (
        "stride_64k",
        AccessOrder::Stride(65_536),
        Writes::Read,
        29.9,
    ),
    ("two_streams", AccessOrder::TwoStreams, Writes::Read, 94.0),
    ("random_4k", AccessOrder::RandomPages, Writes::Read, 91.4),
];

const U280: [Case; 5] = [
    (
        "sequential_read",
        AccessOrder::Sequential,
        Writes::Read,
        87.5,
    ),
    ("random_read", AccessOrder::Random, Writes::Read, 48.0),
    ("random_write", AccessOrder::Random, Writes::Write, 54.4),
    ("random_mix", AccessOrder::Random, Writes::Mixed, 46.1),
    ("two_streams", AccessOrder::TwoStreams, Writes::Read, 78.4),
];

impl AccessOrder {
    fn offsets(self, memory: &Memory) -> Vec<u64> {
        let places = Places(memory);
        let bytes = memory.channel_bytes;
        let numbers = 0..ACCESSES;
        match self {
            Self::Sequential => places.sequential(ACCESSES),
            Self::Random => places.random(ACCESSES, 1),
            Self::Stride(stride) => numbers.map(|number| number * stride % bytes).collect(),
            Self::TwoStreams => numbers
                .map(|number| number % 2 * (bytes / 2) + number / 2 * 64)
                .collect(),
            Self::RandomPages => {
                let mut random = Random(1);
                let starts: Vec<u64> = (0..ACCESSES.div_ceil(64))
                    .map(|_| random.next() % (bytes / 4096) * 4096)
                    .collect();
                numbers
                    .map(|number| starts[number as usize / 64] + number % 64 * 64)
                    .collect()
            }
        }
    }
}

/// `memory.dramsim3.*`
pub fn measure() -> Result<Vec<Row>, Failure> {
    let directories = simcard::platform_directories(&simcard::home());
    let mut rows = Vec::new();
    let mut worst: f64 = 0.0;
    for (name, cases) in [("f1", &F1[..]), ("u280", &U280[..])] {
        let platform = Platform::named(name, &directories)?;
        let memory = platform.memory();
        for &(case, order, kind, theirs) in cases {
            let accesses: Vec<(u64, bool)> = (0..)
                .zip(order.offsets(memory))
                .map(|(number, offset)| match kind {
                    Writes::Read => (offset, false),
                    Writes::Write => (offset, true),
                    Writes::Mixed => (offset, number % 2 == 1),
                })
                .collect();
            let seconds = Traffic(memory).windowed(&accesses, OUTSTANDING);
            let rate = (ACCESSES * 64) as f64 / seconds;
            let ours = 100.0 * rate / memory.pin_bytes_per_second();
            worst = worst.max((ours / theirs - 1.0).abs() * 100.0);
            let row = format!("memory.dramsim3.{name}.{case}");
            rows.push(Row::new(&row, ours, "% of pins"));
        }
    }
    let row = "memory.dramsim3_error";
    rows.push(Row::new(row, worst, "%"));
    Ok(rows)
}
