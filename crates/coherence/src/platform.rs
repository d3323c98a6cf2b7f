//! Figures of the platform, each with its source, from `platforms/enzian.toml` and `enzian.toml`.

use serde::Deserialize;
pub use timing::platform::LinkFigures;

/// A platform as the benches of this crate need it: its common file (`platforms/enzian.toml`), and
/// what only they know.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// Period of the directory's clock.
    pub clock_ps: u64,
    /// The link between CPU and card.
    pub link: LinkFigures,
    /// The CPU's last-level cache.
    pub cache: CacheFigures,
    /// Memory behind the directory.
    pub memory: MemoryFigures,
    /// Figures of the two-CPU baseline.
    pub two_cpus: TwoCpuFigures,
}

/// This crate's own file, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    memory: MemoryFigures,
    two_cpus: TwoCpuFigures,
}

/// The CPU's last-level cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFigures {
    /// Capacity in bytes.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: usize,
    /// Ways of a set that are emptied before a miss needs them.
    pub evict_ahead: usize,
    /// Accesses that the cores start in a clock of the directory.
    pub accesses_per_cycle: usize,
    /// A core's access that hits.
    pub hit_ps: u64,
    /// A core's access that hits its first-level cache.
    pub l1_hit_ps: u64,
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

/// A platform that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    /// The common file.
    #[error(transparent)]
    Common(#[from] timing::platform::PlatformError),
    /// This crate's own file.
    #[error("figures of the benches: {0}")]
    Own(#[from] toml::de::Error),
    /// The common file has no CPU.
    #[error("platform {0} has no [link] and [cpu]: it is not coherent")]
    NotCoherent(String),
}

impl Platform {
    /// The platform of the paper.
    ///
    /// # Errors
    /// [`PlatformError`], never for the files that come with this crate (a test reads them).
    pub fn enzian() -> Result<Self, PlatformError> {
        let text = include_bytes!("../../../platforms/enzian.toml");
        let common = timing::platform::Platform::from_bytes(text, "platforms/enzian.toml")?;
        let own: Own = toml::from_str(include_str!("../enzian.toml"))?;
        let Some(coherent) = common.coherent() else {
            return Err(PlatformError::NotCoherent(common.name().to_owned()));
        };
        let cpu = &coherent.cpu;
        Ok(Self {
            clock_ps: common.clock().period_ps.get(),
            link: coherent.link.clone(),
            cache: CacheFigures {
                bytes: cpu.cache_bytes,
                ways: cpu.cache_ways,
                evict_ahead: cpu.evict_ahead,
                accesses_per_cycle: cpu.accesses_per_cycle,
                hit_ps: cpu.cache_hit_ps.get(),
                l1_hit_ps: cpu.l1_hit_ps.get(),
            },
            memory: own.memory,
            two_cpus: own.two_cpus,
        })
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
