//! Figures of the platform, each with its source, from `enzian.toml`.

use serde::Deserialize;

/// The file, as it is written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    /// Period of the directory's clock.
    pub clock_ps: u64,
    /// The link between CPU and card.
    pub link: LinkFigures,
    /// The CPU's last-level cache.
    pub cache: CacheFigures,
    /// Memory behind the directory.
    pub memory: MemoryFigures,
    /// The baseline.
    pub two_cpus: TwoCpuFigures,
}

/// A link, both directions alike.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFigures {
    /// There and back, idle.
    pub round_trip_ps: u64,
    /// Line data of a direction, after framing.
    pub payload_bytes_per_second: u64,
    /// Wire rate, for messages without data.
    pub header_bytes_per_second: u64,
    /// Messages of a channel without data that may be under way.
    pub header_credits: usize,
    /// Messages of a channel with data that may be under way.
    pub data_credits: usize,
    /// A sender may be ahead of the wire by this much.
    pub transmit_ps: u64,
    /// Arrivals are spread over this time at random.
    pub jitter_ps: u64,
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheFigures {
    /// Capacity.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: usize,
    /// Ways of a set that are emptied before a miss needs them.
    pub evict_ahead: usize,
    /// Accesses that the cores start in a clock of the directory.
    pub accesses_per_cycle: usize,
}

/// Memory of constant latency.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryFigures {
    /// From address to first row.
    pub latency_cycles: u64,
}

/// Two CPUs of one kind, joined by their own link.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TwoCpuFigures {
    /// As [`LinkFigures::round_trip_ps`].
    pub round_trip_ps: u64,
    /// As [`LinkFigures::payload_bytes_per_second`].
    pub payload_bytes_per_second: u64,
    /// From a request's arrival to its answer.
    pub home_ps: u64,
}

/// A platform file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("platform file: {0}")]
pub struct PlatformError(#[from] toml::de::Error);

impl Platform {
    /// The platform of the paper.
    ///
    /// # Errors
    /// [`PlatformError`], never for the file that comes with this crate (a test reads it).
    pub fn enzian() -> Result<Self, PlatformError> {
        Self::parse(include_str!("../enzian.toml"))
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// [`PlatformError`] with line and key.
    pub fn parse(text: &str) -> Result<Self, PlatformError> {
        Ok(toml::from_str(text)?)
    }

    /// The baseline's link.
    #[must_use]
    pub fn two_cpu_link(&self) -> LinkFigures {
        LinkFigures {
            round_trip_ps: self.two_cpus.round_trip_ps,
            payload_bytes_per_second: self.two_cpus.payload_bytes_per_second,
            ..self.link.clone()
        }
    }

    /// Lines a second that a direction of the link carries.
    #[must_use]
    pub fn lines_per_second(&self) -> f64 {
        self.link.payload_bytes_per_second as f64 / crate::line::BYTES as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_good() {
        let platform = Platform::enzian().expect("enzian.toml");
        assert_eq!(platform.clock_ps, 3106);
        assert_eq!(platform.cache.bytes / crate::line::BYTES, 2 * 32 * 128 * 16);
    }
}
