//! The bars of the directory: what is measured, against what, and how.

use std::fmt;

use serde::Serialize;

use crate::cache::{Access, Cache, Outcome};
use crate::home::{Directory, Operation, OperationKind, Surroundings};
use crate::line::{PlainLine, BYTES, WORDS};
use crate::link::HEADER_BYTES;
use crate::model::Geometry;
use crate::mutants::{try_mutant, Fate, MUTANTS};
use crate::platform::Platform;
use crate::random::Random;
use crate::system::{mesi, Home, System, SystemError};
use crate::torture::{self, Plan};
use crate::two_cpus::SecondCpu;

/// Lines of the region that streams run over: 1 GiB, as in the paper.
const REGION: u64 = (1 << 30) / BYTES;
/// Lines of the clean-invalidate measurements: 8 MiB, as in the paper.
const INVALIDATED: u64 = (8 << 20) / BYTES;
/// Accesses that the cores offer together: one each.
const WINDOW: usize = 48;
/// A measurement that takes longer is stuck.
const MOST_CYCLES: u64 = 20_000_000;

/// A figure and what it should be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// Name.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// What it should be, in words.
    pub target: String,
    /// Whether it is.
    pub met: bool,
}

impl Bar {
    fn at_least(name: impl Into<String>, value: f64, unit: &'static str, bound: f64) -> Self {
        let target = format!("≥ {bound}");
        Self {
            name: name.into(),
            value,
            unit,
            target,
            met: value >= bound,
        }
    }

    fn at_most(name: impl Into<String>, value: f64, unit: &'static str, bound: f64) -> Self {
        let target = format!("≤ {bound}");
        Self {
            name: name.into(),
            value,
            unit,
            target,
            met: value <= bound,
        }
    }

    fn shown(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            value,
            unit,
            target: "shown".to_owned(),
            met: true,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let met = if self.met { "met" } else { "MISSED" };
        let Self {
            name,
            value,
            unit,
            target,
            ..
        } = self;
        write!(f, "{name:<40}{value:>12.4} {unit:<10} {target:<10}{met}")
    }
}

fn directory(platform: &Platform, geometry: Geometry) -> Result<System<Directory>, SystemError> {
    let protocol = mesi()?;
    let surroundings = Surroundings {
        memory_latency: platform.memory.latency_cycles,
        stalls: 0,
        disorder: false,
    };
    let home = Directory::new(geometry, &protocol.spec, surroundings, 1)?;
    let sets = (platform.cache.bytes / BYTES) as usize / platform.cache.ways;
    let mut cache = Cache::new(protocol, sets, platform.cache.ways, geometry.slices);
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
    let protocol = mesi()?;
    let home = SecondCpu::new(protocol.clone(), 2, platform.two_cpus.home_ps);
    let sets = (platform.cache.bytes / BYTES) as usize / platform.cache.ways;
    let cache = Cache::new(protocol, sets, platform.cache.ways, 2);
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

/// Lines a second of a stream in its steady state.
fn stream(
    system: &mut System<Directory>,
    platform: &Platform,
    access: Access,
    next: impl FnMut() -> PlainLine,
    lines: u64,
) -> Result<f64, SystemError> {
    let writes = matches!(access, Access::Store { .. });
    let count = |system: &System<Directory>| {
        let (down, up) = system.delivered();
        if writes {
            up
        } else {
            down
        }
    };
    let mut next = next;
    let mut cores = Cores::new(platform, || Some(next()));
    // The cache is full of such lines, so that each new one evicts one.
    let capacity = platform.cache.bytes / BYTES;
    let target = system.delivered().0 + capacity + capacity / 4;
    while system.delivered().0 < target {
        cores.cycle(system, access)?;
    }
    let (from, start) = (count(system), system.now_ps());
    while count(system) < from + lines {
        cores.cycle(system, access)?;
    }
    let seconds = (system.now_ps() - start) as f64 * 1e-12;
    let lines = count(system) - from;
    system.drain(MOST_CYCLES)?;
    Ok(lines as f64 / seconds)
}

/// Order of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Sequential,
    Random,
}

impl Order {
    fn name(self) -> &'static str {
        match self {
            Self::Sequential => "seq",
            Self::Random => "rand",
        }
    }
}

const READ: (&str, Access) = ("read", Access::Load);
const WRITE: (&str, Access) = (
    "write",
    Access::Store {
        parts: 0xf,
        stamp: 1,
    },
);

/// Rate of a stream, as a share of the link's payload rate.
fn share_of_link(
    platform: &Platform,
    geometry: Geometry,
    access: Access,
    order: Order,
) -> Result<f64, SystemError> {
    let mut system = directory(platform, geometry)?;
    let mut random = Random::new(7);
    let mut count = 0;
    let next = || {
        count += 1;
        PlainLine(match order {
            Order::Sequential => count % REGION,
            Order::Random => random.below(REGION),
        })
    };
    let rate = stream(&mut system, platform, access, next, 60_000)?;
    Ok(rate / platform.lines_per_second())
}

/// `directory.{seq,rand}_{read,write}.share_of_link`.
///
/// # Errors
/// [`SystemError`].
pub fn streams(platform: &Platform, geometry: Geometry) -> Result<Vec<Bar>, SystemError> {
    let mut bars = Vec::new();
    for (kind, access) in [READ, WRITE] {
        for order in [Order::Sequential, Order::Random] {
            let share = share_of_link(platform, geometry, access, order)?;
            let name = format!("directory.{}_{kind}.share_of_link", order.name());
            bars.push(Bar::at_least(name, share, "", 0.95));
        }
    }
    // What the wire leaves: each line written back shares its direction with a request.
    let link = &platform.link;
    let payload = BYTES as f64 / link.payload_bytes_per_second as f64;
    let request = HEADER_BYTES as f64 / link.header_bytes_per_second as f64;
    let name = "directory.write.most_of_link";
    bars.push(Bar::shown(name, payload / (payload + request), ""));
    Ok(bars)
}

/// Streams with one choice of the model changed, of those for which there is no published source.
///
/// # Errors
/// [`SystemError`].
pub fn choices(platform: &Platform, geometry: Geometry) -> Result<Vec<Bar>, SystemError> {
    let changed = |change: fn(&mut Platform)| {
        let mut platform = platform.clone();
        change(&mut platform);
        platform
    };
    let variants = [
        ("no_evict_ahead", changed(|p| p.cache.evict_ahead = 0)),
        ("no_jitter", changed(|p| p.link.jitter_ps = 0)),
        ("jitter_60_ns", changed(|p| p.link.jitter_ps = 60_000)),
        ("transmit_one_line", changed(|p| p.link.transmit_ps = 6_000)),
        (
            "half_credits",
            changed(|p| {
                p.link.header_credits /= 2;
                p.link.data_credits /= 2;
            }),
        ),
    ];
    let mut bars = Vec::new();
    for (name, platform) in &variants {
        for (kind, access) in [READ, WRITE] {
            let share = share_of_link(platform, geometry, access, Order::Random)?;
            let name = format!("directory.model.{name}.rand_{kind}");
            bars.push(Bar::shown(name, share, ""));
        }
    }
    Ok(bars)
}

/// Mean latency of dependent loads, in nanoseconds.
fn load_latency<H: Home>(system: &mut System<H>, loads: u64) -> Result<f64, SystemError> {
    let mut random = Random::new(3);
    let mut total = 0;
    for _ in 0..loads {
        let line = PlainLine(random.below(REGION)).fold();
        let start = system.now_ps();
        if system.cache.access(line, Access::Load, 0) != Outcome::Started {
            continue;
        }
        system.cache.completed.clear();
        while system.cache.completed.is_empty() {
            system.cycle()?;
        }
        total += system.now_ps() - start;
    }
    Ok(total as f64 / loads as f64 / 1000.0)
}

/// `directory.latency_ns`, `directory.vs_two_cpus` and the latencies behind them.
///
/// # Errors
/// [`SystemError`].
pub fn latencies(platform: &Platform, geometry: Geometry) -> Result<Vec<Bar>, SystemError> {
    let mut system = directory(platform, geometry)?;
    let ours = load_latency(&mut system, 200)?;
    let moments = system.home.moments;
    let cycles = moments.data_out - moments.message_in - (moments.row_in - moments.read_out);
    let own = cycles as f64 * platform.clock_ps as f64 / 1000.0;
    let theirs = load_latency(&mut baseline(platform)?, 200)?;
    Ok(vec![
        Bar::at_most("directory.latency_ns", own, "ns", 60.0),
        Bar::shown("directory.read_ns", ours, "ns"),
        Bar::shown("directory.two_cpus_read_ns", theirs, "ns"),
        Bar::shown("directory.vs_two_cpus", ours / theirs, "x"),
    ])
}

fn clean_invalidate(line: PlainLine, tag: u8) -> Operation {
    let kind = OperationKind::CleanInvalidate;
    Operation {
        kind,
        tag,
        line,
        parts: 0,
        data: Box::new([0; WORDS]),
    }
}

/// Clean-invalidates the lines 0.. as fast as the application can: one a clock. Returns seconds.
fn invalidate_all(system: &mut System<Directory>, lines: u64) -> Result<f64, SystemError> {
    let slices = system.home.operations.len();
    let mut tags: Vec<Vec<u8>> = vec![(0..64).collect(); slices];
    // The application walks the lines in order; a line whose slice is full waits in its own queue.
    let (mut next, mut done, mut waiting) = (0, 0, vec![None; slices]);
    let start = system.now_ps();
    while done < lines {
        let mut issued = false;
        for _ in 0..slices {
            if next < lines {
                let slot = &mut waiting[system.home.slice_of(PlainLine(next))];
                if slot.is_none() {
                    *slot = Some(PlainLine(next));
                    next += 1;
                }
            }
        }
        // One operation a clock, the slice with more free tags first.
        let mut order: Vec<usize> = (0..slices).collect();
        order.sort_by_key(|&slice| std::cmp::Reverse(tags[slice].len()));
        for slice in order {
            if issued || !system.home.operations[slice].is_empty() {
                continue;
            }
            let Some(line) = waiting[slice] else { continue };
            let Some(tag) = tags[slice].pop() else {
                continue;
            };
            system.home.operations[slice].push_back(clean_invalidate(line, tag));
            waiting[slice] = None;
            issued = true;
        }
        system.cycle()?;
        for acknowledge in system.home.acknowledged.drain(..) {
            tags[acknowledge.slice].push(acknowledge.tag);
            done += 1;
        }
        if system.cycles() > MOST_CYCLES {
            let what = format!("{} invalidations", lines - done);
            return Err(SystemError::Stuck {
                cycles: MOST_CYCLES,
                what,
            });
        }
    }
    Ok((system.now_ps() - start) as f64 * 1e-12)
}

/// `directory.clean_invalidate_*`.
///
/// # Errors
/// [`SystemError`].
pub fn invalidations(platform: &Platform, geometry: Geometry) -> Result<Vec<Bar>, SystemError> {
    let mut system = directory(platform, geometry)?;
    let lines = || (0..INVALIDATED).map(PlainLine);
    touch(&mut system, platform, Access::Load, lines())?;
    let shared = system.cache.len() as u64;
    let seconds = invalidate_all(&mut system, INVALIDATED)?;
    let rate = INVALIDATED as f64 / seconds / 1e6;

    let store = Access::Store {
        parts: 0xf,
        stamp: 9,
    };
    touch(&mut system, platform, store, lines())?;
    let seconds = invalidate_all(&mut system, INVALIDATED)?;
    let dirty = INVALIDATED as f64 / seconds / platform.lines_per_second();

    touch(&mut system, platform, Access::Load, lines().take(64))?;
    let mut total = 0;
    for line in lines().take(64) {
        let slice = system.home.slice_of(line);
        system.home.operations[slice].push_back(clean_invalidate(line, 0));
        while system.home.acknowledged.is_empty() {
            system.cycle()?;
        }
        system.home.acknowledged.clear();
        let moments = system.home.moments;
        total += moments.acknowledge_out - moments.operation_in;
    }
    let latency = (total * platform.clock_ps) as f64 / 64.0 / 1000.0;
    Ok(vec![
        Bar::at_least("directory.clean_invalidate_mlines_s", rate, "M/s", 300.0),
        Bar::shown(
            "directory.clean_invalidate_shared_lines",
            shared as f64,
            "lines",
        ),
        Bar::at_least(
            "directory.clean_invalidate_dirty.share_of_link",
            dirty,
            "",
            0.95,
        ),
        Bar::at_most("directory.clean_invalidate_ns", latency, "ns", 300.0),
    ])
}

/// What the random test runs, of every hundred operations: geometry, lines, jitter, share, seeds.
const RANDOM: [(Geometry, u64, u64, u64, &[u64]); 3] = [
    (Geometry::SMALL, 48, 200_000, 15, &[42, 43, 44, 45]),
    // More lines than places: recalls.
    (Geometry::SMALL, 400, 200_000, 10, &[46, 47]),
    // Every unit of the paper's directory, and arrivals spread over ten round trips.
    (Geometry::WIDE, 400, 400_000, 10, &[48, 49]),
];

/// `directory.random_ops_unexplained`.
///
/// # Errors
/// [`SystemError`].
pub fn random_operations(platform: &Platform, operations: u64) -> Result<Vec<Bar>, SystemError> {
    let (mut done, mut unexplained, mut wide) = (0, 0, 0);
    for (geometry, lines, jitter_ps, share, seeds) in RANDOM {
        for &seed in seeds {
            let plan = Plan {
                geometry,
                operations: operations * share / 100,
                lines,
                card_operations: 24,
                round_trip_ps: 40_000,
                jitter_ps,
                seed,
            };
            let report = torture::run(&plan, &platform.link)?;
            if let Some(first) = &report.first {
                tracing::error!("seed {seed}: {first}");
            }
            done += report.cpu + report.card;
            unexplained += report.unexplained;
            if geometry == Geometry::WIDE {
                wide += report.cpu + report.card;
            }
        }
    }
    let name = "directory.random_ops_unexplained";
    Ok(vec![
        Bar::shown("directory.random_ops", done as f64, "operations"),
        Bar::shown("directory.random_ops_64_units", wide as f64, "operations"),
        Bar::at_most(name, unexplained as f64, "", 0.0),
    ])
}

/// `directory.rtl_mutants_survived`.
///
/// # Errors
/// [`SystemError`].
pub fn mutants(platform: &Platform) -> Result<Vec<Bar>, SystemError> {
    let mut survived = 0;
    for mutant in MUTANTS {
        let plan = Plan {
            geometry: Geometry::SMALL,
            operations: 60_000,
            lines: 48,
            card_operations: 24,
            round_trip_ps: 40_000,
            jitter_ps: 200_000,
            seed: 1,
        };
        match try_mutant(mutant, &plan, &platform.link)? {
            Fate::Found(how) => tracing::info!("{}: {how}", mutant.what),
            Fate::Survived => {
                tracing::error!("nobody noticed: {}", mutant.what);
                survived += 1;
            }
        }
    }
    let (tried, name) = (MUTANTS.len() as f64, "directory.rtl_mutants_survived");
    Ok(vec![
        Bar::shown("directory.rtl_mutants", tried, "mutants"),
        Bar::at_most(name, f64::from(survived), "mutants", 0.0),
    ])
}
