//! The bars of the directory: what is measured, and how.

mod contention;
mod invalidations;
mod latencies;
mod random;
mod streams;

use std::fmt;

use serde::Serialize;

use crate::cache::{Access, Cache, Outcome};
use crate::home::{Directory, Surroundings};
use crate::line::{PlainLine, BYTES};
use crate::model::DirectoryGeometry;
use crate::platform::Platform;
use crate::system::{mesi, Home, System, SystemError};
use crate::two_cpus::SecondCpu;

pub use contention::figure7;
pub use invalidations::invalidations;
pub use latencies::latencies;
pub use random::{mutants, random_operations, wide_requests};
pub use streams::{choices, figure6, request_numbers, streams};

/// Lines of the region that streams run over: 1 GiB, as in the paper.
const REGION: u64 = (1 << 30) / BYTES;
/// Accesses that the cores offer together: one each.
const WINDOW: usize = 48;
/// A measurement that takes longer is stuck.
const MOST_CYCLES: u64 = 20_000_000;

/// A measured figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// Name of the figure.
    pub name: String,
    /// Measured value.
    pub value: f64,
    /// Unit of the value.
    pub unit: &'static str,
}

impl Bar {
    fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            value,
            unit,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, unit } = self;
        write!(f, "{name:<40}{value:>12.4} {unit}")
    }
}

fn directory(
    platform: &Platform,
    geometry: DirectoryGeometry,
) -> Result<System<Directory>, SystemError> {
    let protocol = mesi()?;
    let surroundings = Surroundings {
        memory_latency: platform.memory.latency_cycles,
        stalls: 0,
        disorder: false,
    };
    let home = Directory::new(geometry, &protocol.spec, surroundings, 1)?;
    let sets = (platform.cache.bytes / BYTES) as usize / platform.cache.ways;
    let mut cache = Cache::new(protocol, sets, platform.cache.ways, geometry.slices)
        .with_requests(geometry.request_ids as u8);
    cache.evict_ahead = platform.cache.evict_ahead;
    Ok(System::new(
        cache,
        home,
        &platform.link,
        platform.clock_ps,
        geometry.slices,
        1,
    ))
}

fn baseline(platform: &Platform) -> Result<System<SecondCpu>, SystemError> {
    join(platform, baseline_home(platform)?)
}

fn baseline_home(platform: &Platform) -> Result<SecondCpu, SystemError> {
    Ok(SecondCpu::new(mesi()?, 2, platform.two_cpus.home_ps))
}

fn join(platform: &Platform, home: SecondCpu) -> Result<System<SecondCpu>, SystemError> {
    let sets = (platform.cache.bytes / BYTES) as usize / platform.cache.ways;
    let mut cache = Cache::new(mesi()?, sets, platform.cache.ways, 2);
    cache.evict_ahead = platform.cache.evict_ahead;
    Ok(System::new(
        cache,
        home,
        &platform.two_cpu_link(),
        platform.clock_ps,
        2,
        1,
    ))
}

/// Cores that have many accesses under way.
struct Cores<F> {
    next: F,
    window: Vec<Option<PlainLine>>,
    per_cycle: usize,
}

impl<F: FnMut() -> Option<PlainLine>> Cores<F> {
    fn new(platform: &Platform, next: F) -> Self {
        let per_cycle = platform.cache.accesses_per_cycle;
        Self {
            next,
            window: vec![None; WINDOW],
            per_cycle,
        }
    }

    /// One clock; false when there is nothing left to start.
    fn cycle<H: Home>(
        &mut self,
        system: &mut System<H>,
        access: Access,
    ) -> Result<bool, SystemError> {
        let mut started = 0;
        for slot in &mut self.window {
            if slot.is_none() {
                *slot = (self.next)();
            }
            let Some(line) = *slot else { continue };
            if started < self.per_cycle
                && system.cache.access(line.fold(), access, 0) != Outcome::Busy
            {
                *slot = None;
                started += 1;
            }
        }
        system.cycle()?;
        system.cache.completed.clear();
        Ok(self.window.iter().any(Option::is_some))
    }
}

/// Accesses `lines` lines and waits for the end.
fn touch<H: Home>(
    system: &mut System<H>,
    platform: &Platform,
    access: Access,
    mut lines: impl Iterator<Item = PlainLine>,
) -> Result<(), SystemError> {
    let mut cores = Cores::new(platform, || lines.next());
    while cores.cycle(system, access)? {}
    system.drain(MOST_CYCLES)
}
