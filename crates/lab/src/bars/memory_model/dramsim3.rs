//! The memory models compared with DRAMsim3, a simulator that shares only the platforms' figures with them.
//!
//! `tools/dramsim3` runs it over the same traces and records its results in `bench/dramsim3.json`, with the version of the
//! simulator, the figures of each platform and a hash of each trace. Both return reads in order, as the shell wants them;
//! its results out of order are printed next to them.

use super::Failure;
use crate::random::Random;
use crate::row::Row;
use crate::traffic::{Places, Traffic};
use serde::Deserialize;
use std::collections::BTreeMap;
use timing::platform::{Memory, Platform};

/// Platforms of the target.
const PLATFORMS: [&str; 4] = ["f1", "u280", "u55c", "enzian"];
/// Compared outside the target: its controller is fitted to two figures of FSRF, and no general simulator can be set up like it.
const FITTED: &str = "f1-mig";
const ACCESSES: u64 = 60_000;
const OUTSTANDING: usize = 32;
/// Bytes and rows of a page of the traces.
const PAGE: u64 = 4096;
const PAGE_ROWS: u64 = PAGE / 64;

/// Order in which accesses are issued.
#[derive(Clone, Copy)]
enum AccessOrder {
    Sequential,
    Random,
    /// A stride in bytes.
    Stride(u64),
    /// Sequential streams in turn, an equal part of the memory apart.
    Streams(u64),
    /// Random pages, each in order.
    RandomPages,
    /// Pages of two sequential streams in turn, half of the memory apart.
    Bursts,
}

/// Which accesses are writes.
#[derive(Clone, Copy)]
enum Writes {
    Read,
    Write,
    /// The last of each group of N.
    EveryNth(u64),
    EverySecondPage,
}

/// A trace: name, order, and which accesses are writes. `tools/dramsim3` has the same.
type Trace = (&'static str, AccessOrder, Writes);

const TRACES: [Trace; 15] = [
    ("sequential_read", AccessOrder::Sequential, Writes::Read),
    ("sequential_write", AccessOrder::Sequential, Writes::Write),
    ("random_read", AccessOrder::Random, Writes::Read),
    ("random_write", AccessOrder::Random, Writes::Write),
    ("random_mix", AccessOrder::Random, Writes::EveryNth(2)),
    ("random_mix_3_1", AccessOrder::Random, Writes::EveryNth(4)),
    (
        "sequential_mix",
        AccessOrder::Sequential,
        Writes::EveryNth(2),
    ),
    ("two_streams", AccessOrder::Streams(2), Writes::Read),
    ("four_streams", AccessOrder::Streams(4), Writes::Read),
    ("copy", AccessOrder::Streams(2), Writes::EveryNth(2)),
    ("stride_4k", AccessOrder::Stride(4096), Writes::Read),
    ("stride_64k", AccessOrder::Stride(65_536), Writes::Read),
    ("random_4k", AccessOrder::RandomPages, Writes::Read),
    ("random_4k_write", AccessOrder::RandomPages, Writes::Write),
    ("bursts_4k", AccessOrder::Bursts, Writes::EverySecondPage),
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
            Self::Streams(count) => numbers
                .map(|number| number % count * (bytes / count) + number / count * 64)
                .collect(),
            Self::RandomPages => {
                let mut random = Random(1);
                let starts: Vec<u64> = (0..ACCESSES.div_ceil(PAGE_ROWS))
                    .map(|_| random.next() % (bytes / PAGE) * PAGE)
                    .collect();
                numbers
                    .map(|number| starts[(number / PAGE_ROWS) as usize] + number % PAGE_ROWS * 64)
                    .collect()
            }
            Self::Bursts => numbers
                .map(|number| {
                    let page = number / PAGE_ROWS;
                    page % 2 * (bytes / 2) + page / 2 * PAGE + number % PAGE_ROWS * 64
                })
                .collect(),
        }
    }
}

impl Writes {
    fn has(self, number: u64) -> bool {
        match self {
            Self::Read => false,
            Self::Write => true,
            Self::EveryNth(count) => number % count == count - 1,
            Self::EverySecondPage => number / PAGE_ROWS % 2 == 1,
        }
    }
}

/// The accesses of a trace: offset, and whether it is a write.
fn accesses((_, order, writes): Trace, memory: &Memory) -> Vec<(u64, bool)> {
    (0..)
        .zip(order.offsets(memory))
        .map(|(number, offset)| (offset, writes.has(number)))
        .collect()
}

/// `bench/dramsim3.json`.
#[derive(Deserialize)]
struct Recorded {
    version: String,
    platforms: BTreeMap<String, RecordedPlatform>,
}

#[derive(Deserialize)]
struct RecordedPlatform {
    /// The figures that the simulator was run with.
    memory: Memory,
    traces: BTreeMap<String, RecordedTrace>,
}

/// Shares of the pins, in percent.
#[derive(Deserialize)]
struct RecordedTrace {
    in_order: f64,
    out_of_order: f64,
    #[cfg(test)]
    trace_sha256: String,
}

impl Recorded {
    fn of_checkout() -> Result<Self, Failure> {
        let path = simcard::home().join("bench/dramsim3.json");
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// A platform's results; an error if they are of other figures than those of today.
    fn of(&self, name: &str, memory: &Memory) -> Result<&RecordedPlatform, Failure> {
        let recorded = self.platforms.get(name);
        recorded
            .filter(|recorded| recorded.memory == *memory)
            .ok_or_else(|| {
                let told =
                    "bench/dramsim3.json is not of today's figures: run tools/dramsim3 again";
                format!("{name}: {told}").into()
            })
    }
}

/// Prints a platform's traces, and returns the largest error in percent.
fn compare(name: &str, memory: &Memory, recorded: &RecordedPlatform) -> Result<f64, Failure> {
    let mut worst: f64 = 0.0;
    eprintln!("{name:<20}      ours  DRAMsim3     error  out of order");
    for trace in TRACES {
        let theirs = recorded
            .traces
            .get(trace.0)
            .ok_or_else(|| format!("{name}: {}: run tools/dramsim3 again", trace.0))?;
        let seconds = Traffic(memory).windowed(&accesses(trace, memory), OUTSTANDING);
        let rate = (ACCESSES * 64) as f64 / seconds;
        let ours = 100.0 * rate / memory.pin_bytes_per_second();
        let error = (ours / theirs.in_order - 1.0) * 100.0;
        eprintln!(
            "  {:<18}{ours:>10.2}{:>10.2}{error:>+8.2} %{:>14.2}",
            trace.0, theirs.in_order, theirs.out_of_order
        );
        worst = worst.max(error.abs());
    }
    Ok(worst)
}

/// `memory.dramsim3_error*`
pub fn measure() -> Result<Vec<Row>, Failure> {
    let directories = simcard::platform_directories(&simcard::home());
    let recorded = Recorded::of_checkout()?;
    eprintln!("DRAMsim3 {}, shares of the pins in %", recorded.version);
    let mut rows = Vec::new();
    let mut worst: f64 = 0.0;
    for name in PLATFORMS {
        let platform = Platform::named(name, &directories)?;
        let memory = platform.memory();
        let error = compare(name, memory, recorded.of(name, memory)?)?;
        rows.push(Row::new(
            &format!("memory.dramsim3_error.{name}"),
            error,
            "%",
        ));
        worst = worst.max(error);
    }
    rows.push(Row::new("memory.dramsim3_error", worst, "%"));

    let platform = Platform::named(FITTED, &directories)?;
    let memory = platform.memory();
    eprintln!("not in the target, a controller fitted to two figures of FSRF:");
    compare(FITTED, memory, recorded.of(FITTED, memory)?)?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    const AGAIN: &str = "run tools/dramsim3 again";

    fn sha256(accesses: &[(u64, bool)]) -> String {
        let mut hash = Sha256::new();
        for &(offset, write) in accesses {
            hash.update((offset | u64::from(write) << 63).to_le_bytes());
        }
        crate::bars::aes::hex(&hash.finalize())
    }

    #[test]
    fn recorded_results_are_of_these_platforms_and_traces() {
        let directories = simcard::platform_directories(&simcard::home());
        let recorded = Recorded::of_checkout().unwrap();
        for name in PLATFORMS.into_iter().chain([FITTED]) {
            let platform = Platform::named(name, &directories).unwrap();
            let memory = platform.memory();
            let results = recorded.of(name, memory).unwrap();
            assert_eq!(results.traces.len(), TRACES.len(), "{name}: {AGAIN}");
            for trace in TRACES {
                let result = results.traces.get(trace.0);
                let hash = result.map(|result| result.trace_sha256.as_str());
                let ours = sha256(&accesses(trace, memory));
                assert_eq!(hash, Some(&*ours), "{name}: {}: {AGAIN}", trace.0);
            }
        }
    }

    #[test]
    fn results_of_other_figures_are_refused() {
        let directories = simcard::platform_directories(&simcard::home());
        let recorded = Recorded::of_checkout().unwrap();
        let mut memory = Platform::named("f1", &directories)
            .unwrap()
            .memory()
            .clone();
        memory.timing.faw += 1;
        let refused = recorded.of("f1", &memory).err().unwrap().to_string();
        assert!(refused.contains(AGAIN), "{refused}");
    }
}
