//! The figures of the cache controller.

use cpu::home::HomeFigures;

use super::controller::{Access, AccessKind, Status, ROW_WORDS};
use super::model::{build, ControllerGeometry, ControllerModel};
use super::system::{CardError, CardSystem, SystemSetting};
use super::torture::{self, ControllerPlan, ControllerReport};
use crate::line::{PlainLine, BYTES};
use crate::platform::Platform;

/// A measurement that takes longer is stuck.
const MOST_CYCLES: u64 = 2_000_000;
/// Accesses that are timed one by one.
const TIMED: u64 = 200;
/// Accesses of a throughput.
const STREAMED: u64 = 20_000;
/// Tags, and so accesses under way.
const TAGS: u8 = 32;

/// Speeds on an idle link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// A load that misses, from taken to answered.
    pub load_ns: f64,
    /// A store that misses.
    pub store_ns: f64,
    /// A load that hits.
    pub hit_ns: f64,
    /// Loads a cycle, all hits, row after row.
    pub loads_per_cycle: f64,
    /// Stores a cycle, all hits.
    pub stores_per_cycle: f64,
    /// Line data that loads of new lines, one a line, bring over the link, as a share of it.
    pub share_of_link: f64,
}

/// A controller of default size before a CPU whose home takes the baseline's time.
fn system(platform: &Platform) -> Result<CardSystem, CardError> {
    let geometry = ControllerGeometry::DEFAULT;
    let library = build(geometry, None)?;
    let cpu = HomeFigures {
        memory_ps: platform.two_cpus.home_ps,
        jitter_ps: 0,
    };
    let setting = SystemSetting {
        geometry,
        link: &platform.link,
        cpu,
        period: platform.clock_ps,
        stalls: 0,
        seed: 1,
    };
    CardSystem::new(ControllerModel::load(&library)?, &setting)
}

fn access(kind: AccessKind, tag: u8, row: u64) -> Access {
    Access {
        kind,
        hold: None,
        tag,
        line: PlainLine(row / 2),
        second: row % 2 == 1,
        row: [row; ROW_WORDS],
        strobe: u64::MAX,
    }
}

/// Cycles of one access on a system where nothing else is under way.
fn one(system: &mut CardSystem, kind: AccessKind, row: u64) -> Result<u64, CardError> {
    system.card.accesses.push_back(access(kind, 0, row));
    let start = system.cycles();
    while system.card.answers.is_empty() {
        system.cycle()?;
        check(system, start)?;
    }
    let (answered, answer) = system.card.answers.remove(0);
    if answer.status != Status::Ok {
        return Err(stuck(system.cycles() - start, "an access failed"));
    }
    let taken = system.card.taken;
    // Whatever the access leaves behind ends before the next.
    for _ in 0..200 {
        system.cycle()?;
    }
    Ok(answered - taken)
}

/// Cycles of `STREAMED` accesses to rows `row(0)`, `row(1)` ... with every tag in use.
fn stream(
    system: &mut CardSystem,
    kind: AccessKind,
    row: impl Fn(u64) -> u64,
) -> Result<u64, CardError> {
    let mut free: Vec<u8> = (0..TAGS).collect();
    let (mut next, mut done) = (0, 0);
    let start = system.cycles();
    while done < STREAMED {
        if let (true, Some(tag)) = (next < STREAMED, free.pop()) {
            system.card.accesses.push_back(access(kind, tag, row(next)));
            next += 1;
        }
        system.cycle()?;
        for (_, answer) in system.card.answers.drain(..) {
            free.push(answer.tag);
            done += 1;
        }
        check(system, start)?;
    }
    Ok(system.cycles() - start)
}

fn check(system: &CardSystem, start: u64) -> Result<(), CardError> {
    if system.cycles() - start > MOST_CYCLES {
        return Err(stuck(MOST_CYCLES, "a measurement"));
    }
    Ok(())
}

fn stuck(cycles: u64, what: &str) -> CardError {
    let what = what.to_owned();
    CardError::Stuck { cycles, what }
}

/// Measures the speeds.
///
/// # Errors
/// [`CardError`].
pub fn speed(platform: &Platform) -> Result<Speed, CardError> {
    let nanoseconds =
        |cycles: u64, of: u64| cycles as f64 / of as f64 * platform.clock_ps as f64 / 1_000.0;
    let mut card = system(platform)?;
    let (mut load, mut store, mut hit) = (0, 0, 0);
    for number in 0..TIMED {
        load += one(&mut card, AccessKind::Load, 4 * number)?;
        hit += one(&mut card, AccessKind::Load, 4 * number + 1)?;
        store += one(&mut card, AccessKind::Store, 4 * number + 2)?;
    }
    // As many lines as the cache holds half of.
    let rows = (ControllerGeometry::DEFAULT.sets * ControllerGeometry::DEFAULT.ways) as u64;
    let base = 1 << 20;
    stream(&mut card, AccessKind::Store, |i| base + i % rows)?;
    let stores = stream(&mut card, AccessKind::Store, |i| base + i % rows)?;
    let loads = stream(&mut card, AccessKind::Load, |i| base + i % rows)?;
    let lines = stream(&mut card, AccessKind::Load, |i| 2 * base + 2 * i)?;
    let seconds = nanoseconds(lines, 1) * 1e-9;
    let rate = STREAMED as f64 * BYTES as f64 / seconds;
    Ok(Speed {
        load_ns: nanoseconds(load, TIMED),
        store_ns: nanoseconds(store, TIMED),
        hit_ns: nanoseconds(hit, TIMED),
        loads_per_cycle: STREAMED as f64 / loads as f64,
        stores_per_cycle: STREAMED as f64 / stores as f64,
        share_of_link: rate / platform.link.payload_bytes_per_second as f64,
    })
}

/// Random accesses: several seeds on a controller of eight lines, and one on the default.
///
/// # Errors
/// [`CardError`].
pub fn random_operations(
    platform: &Platform,
    operations: u64,
) -> Result<Vec<ControllerReport>, CardError> {
    let small = build(ControllerGeometry::SMALL, None)?;
    let default = build(ControllerGeometry::DEFAULT, None)?;
    let seeds = 4;
    let mut reports = Vec::new();
    for seed in 1..=seeds {
        let plan = ControllerPlan::small(operations / (seeds + 1), seed);
        reports.push(torture::run(&plan, &small, &platform.link)?);
    }
    let plan = ControllerPlan {
        geometry: ControllerGeometry::DEFAULT,
        lines: 400,
        counters: 8,
        ..ControllerPlan::small(operations / (seeds + 1), 99)
    };
    reports.push(torture::run(&plan, &default, &platform.link)?);
    Ok(reports)
}
