//! Results of a cell.

use serde::{Deserialize, Serialize};
use units::Picoseconds;

/// Measurement of one application of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// Time from its start to its interrupt.
    pub(crate) time: Picoseconds,
    /// Bytes that it read and wrote in that time.
    pub(crate) bytes: u64,
}

/// Part of a set that a measured run has loaded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// Size of the set in bytes.
    pub(super) set: u64,
    /// Bytes of it that were not on the card after the run.
    pub(super) absent: u64,
}

impl Measured {
    /// Adds the rest of the accesses, at the rate of a second run of equal length whose data were on the card, and the
    /// load of the rest of the set, at the cost that the first run had beyond the second.
    pub(super) fn extend(&mut self, rest: u64, resident: Self, sample: Sample) {
        let resident_time = resident.time.get() as f64;
        let loads = (self.time.get() as f64 - resident_time).max(0.0);
        let loaded = sample.set.saturating_sub(sample.absent).max(1) as f64;
        let time = resident_time * rest as f64 / resident.bytes as f64
            + loads * sample.absent as f64 / loaded;
        self.time += Picoseconds::new(time as u64);
        self.bytes += rest;
    }
}

/// One run of concurrent applications.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Measurement of each application.
    pub(crate) applications: Vec<Measured>,
    /// Clock edges simulated.
    pub(crate) cycles: u64,
}

/// Results of a cell, over all its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// System throughput: bytes of all applications over their mean runtime, in MiB/s.
    pub mib_per_s: f64,
    /// Standard deviation of the applications' runtimes, each averaged over the runs, relative to their mean.
    pub deviation: f64,
    /// The deviation within each run.
    #[serde(default)]
    pub deviations: Vec<f64>,
    /// Throughput of each application in MiB/s, or figures specific to the work.
    pub each: Vec<f64>,
    /// Processor time of the simulation in seconds.
    #[serde(default)]
    pub processor_seconds: f64,
    /// Clock edges simulated, excluding those skipped because no state could change.
    #[serde(default)]
    pub cycles: u64,
}

/// Standard deviation relative to the mean.
fn deviation(times: &[f64]) -> f64 {
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
    variance.sqrt() / mean
}

impl Outcome {
    /// Combines runs with the same applications, as in FSRF's section 6.4: an application's runtime is its mean over
    /// the runs.
    pub(super) fn of_runs(runs: &[Run]) -> Self {
        let times = |run: &Run| -> Vec<f64> {
            let times = run.applications.iter().map(|one| one.time.as_seconds());
            times.collect()
        };
        let all: Vec<Vec<f64>> = runs.iter().map(times).collect();
        let applications = all.first().map_or(0, Vec::len);
        let means: Vec<f64> = (0..applications)
            .map(|place| all.iter().map(|times| times[place]).sum::<f64>() / all.len() as f64)
            .collect();
        let mean = means.iter().sum::<f64>() / applications as f64;
        let measured = runs.first().map_or(&[][..], |run| &run.applications);
        let bytes: u64 = measured.iter().map(|one| one.bytes).sum();
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let each = measured.iter().zip(&means);
        Self {
            mib_per_s: mib(bytes) / mean,
            deviation: deviation(&means),
            deviations: all.iter().map(|times| deviation(times)).collect(),
            each: each.map(|(one, time)| mib(one.bytes) / time).collect(),
            processor_seconds: 0.0,
            cycles: runs.iter().map(|run| run.cycles).sum(),
        }
    }

    /// Simulation speed in thousands of edges per second.
    pub fn kilohertz(&self) -> f64 {
        match self.processor_seconds > 0.0 {
            true => self.cycles as f64 / self.processor_seconds / 1e3,
            false => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(microseconds: [u64; 2]) -> Run {
        let application = |microseconds: u64| Measured {
            time: Picoseconds::new(microseconds * 1_000_000),
            bytes: 1 << 20,
        };
        Run {
            applications: microseconds.map(application).to_vec(),
            cycles: 7,
        }
    }

    #[test]
    fn the_rest_of_a_set_is_loaded_once_and_accessed_as_what_is_there() {
        let of = |time, bytes| Measured {
            time: Picoseconds::new(time),
            bytes,
        };
        // A quarter of the set was loaded in 600 - 200; three times as much is left, and nine times the accesses.
        let mut first = of(600, 64);
        let sample = Sample {
            set: 4096,
            absent: 3072,
        };
        first.extend(9 * 64, of(200, 64), sample);
        assert_eq!(first, of(600 + 9 * 200 + 3 * 400, 640));
        // All of it is there.
        let mut first = of(600, 64);
        let sample = Sample {
            set: 4096,
            absent: 0,
        };
        first.extend(64, of(200, 64), sample);
        assert_eq!(first, of(800, 128));
    }

    #[test]
    fn throughput_is_all_bytes_over_the_mean_runtime() {
        let outcome = Outcome::of_runs(&[run([1, 3])]);
        assert!((outcome.mib_per_s - 1e6).abs() < 1.0, "{outcome:?}");
        assert!((outcome.deviation - 0.5).abs() < 1e-9, "{outcome:?}");
        assert_eq!(outcome.deviations, [outcome.deviation]);
    }

    /// Applications that are slow in alternate runs deviate within each run, but not over all.
    #[test]
    fn runtimes_are_means_over_runs() {
        let outcome = Outcome::of_runs(&[run([1, 3]), run([3, 1])]);
        assert!(outcome.deviation < 1e-9, "{outcome:?}");
        assert!(outcome
            .deviations
            .iter()
            .all(|one| (one - 0.5).abs() < 1e-9));
        assert!((outcome.each[0] - 0.5e6).abs() < 1.0, "{outcome:?}");
        assert_eq!(outcome.cycles, 14);
    }
}
