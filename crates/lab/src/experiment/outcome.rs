//! What a cell gave.

use serde::{Deserialize, Serialize};
use units::Picoseconds;

/// What was measured of one application of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// From its start to its interrupt.
    pub(crate) time: Picoseconds,
    /// Bytes that it read and wrote in that time.
    pub(crate) bytes: u64,
}

impl Measured {
    fn mib_per_s(&self) -> f64 {
        self.bytes as f64 / self.time.as_seconds() / f64::from(1 << 20)
    }
}

/// What a cell gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// System throughput: bytes of all applications over their mean runtime, in MiB/s.
    pub mib_per_s: f64,
    /// Standard deviation of the applications' runtimes over their mean.
    pub deviation: f64,
    /// What each got, in MiB/s, or what the work says of itself.
    pub each: Vec<f64>,
    /// What simulating it took of the machine's processors, in seconds.
    #[serde(default)]
    pub processor_seconds: f64,
}

impl Outcome {
    pub(super) fn of(measured: &[Measured]) -> Self {
        let count = measured.len() as f64;
        let times = || measured.iter().map(|m| m.time.as_seconds());
        let mean = times().sum::<f64>() / count;
        let variance = times().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
        let bytes: u64 = measured.iter().map(|m| m.bytes).sum();
        Self {
            mib_per_s: bytes as f64 / mean / f64::from(1 << 20),
            deviation: variance.sqrt() / mean,
            each: measured.iter().map(Measured::mib_per_s).collect(),
            processor_seconds: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_all_bytes_over_the_mean_runtime() {
        let application = |microseconds: u64| Measured {
            time: Picoseconds::new(microseconds * 1_000_000),
            bytes: 1 << 20,
        };
        let outcome = Outcome::of(&[application(1), application(3)]);
        assert!((outcome.mib_per_s - 1e6).abs() < 1.0, "{outcome:?}");
        assert!((outcome.deviation - 0.5).abs() < 1e-9, "{outcome:?}");
    }
}
