//! Table 2 and figure 6 of CCKit: one load at a time, and streams, with the home at a second CPU, in on-chip
//! memory and in DDR4 behind the directory. The two with a directory stand in a shell for table 2 (the slot's
//! boundary included); of figure 6 the DDR4 does.

use super::{directory, rpc, Failure};
use crate::experiment::cckit::Cckit;
use crate::row::{Row, Target};
use coherence::bars;
use coherence::model::Geometry;
use coherence::platform::Platform;
use std::collections::VecDeque;
use std::time::Instant;
use tombolo::{
    Card, CoherentMemory, OwnerOptions, PendingLine, Picoseconds, ShellConfig, SimOptions,
};

const LINE: u64 = 128;
/// What streams run over: 1 GiB, as in the paper.
const REGION: u64 = (1 << 30) / LINE;
/// Lines of the CPU's last-level cache: a stream is measured when it is full.
const CACHE: u64 = (16 << 20) / LINE;
const MEASURED: u64 = 40_000;
/// Accesses that the cores have under way together, more than the link's request numbers.
const WINDOW: usize = 96;

/// Of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

fn ddr() -> Result<(Card, CoherentMemory), Failure> {
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent_full();
    let owner = OwnerOptions {
        home_bytes: REGION * LINE,
        ..OwnerOptions::default()
    };
    let card = Card::simulated(options, owner, |_| {})?;
    let memory = card.home_memory()?;
    Ok((card, memory))
}

/// GiB/s of a stream in its steady state: every line that comes makes another leave.
fn stream(
    memory: &CoherentMemory,
    kind: Kind,
    mut next: impl FnMut() -> u64,
) -> Result<f64, Failure> {
    let begin = |line: u64| match kind {
        Kind::Read => memory.begin_load(line * LINE),
        Kind::Write => memory.begin_store(line * LINE, &line.to_le_bytes()),
    };
    let mut under_way: VecDeque<PendingLine> = VecDeque::with_capacity(WINDOW);
    let mut began = Picoseconds::ZERO;
    // At random some sets are full late.
    let warm = CACHE * 5 / 4;
    for access in 0..warm + MEASURED {
        if access == warm {
            began = memory.now()?;
        }
        if under_way.len() == WINDOW {
            if let Some(oldest) = under_way.pop_front() {
                oldest.wait()?;
            }
        }
        under_way.push_back(begin(next())?);
    }
    let took = memory.now()? - began;
    for rest in under_way {
        rest.wait()?;
    }
    Ok((MEASURED * LINE) as f64 / (took.get() as f64 * 1e-12) / (1u64 << 30) as f64)
}

/// A generator of lines of the region: xorshift.
fn random_lines() -> impl FnMut() -> u64 {
    let mut state = 0x5eed_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % REGION
    }
}

/// Table 2.
pub fn latencies() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    let latencies = bars::latencies(&platform, Geometry::COMPACT)?;
    let two_cpus = latencies
        .iter()
        .find(|bar| bar.name == "directory.two_cpus_read_ns");
    let two_cpus = two_cpus.map_or(f64::NAN, |bar| bar.value);
    let (card, space, slot, memory) = rpc::card()?;
    let onchip = rpc::load_ns(&memory, 2..64)?;
    drop((slot, space, card));
    let (card, memory) = ddr()?;
    let mut next = random_lines();
    let ddr_ns = rpc::load_ns(&memory, (0..200).map(|_| next()))?;
    drop(card);
    Ok(vec![
        Row::new(
            "cckit.table2.two_cpus_ns",
            two_cpus,
            "ns",
            Target::AtMost(270.0),
        ),
        Row::new(
            "cckit.table2.onchip_ns",
            onchip,
            "ns",
            Target::AtMost(325.0),
        ),
        Row::new("cckit.table2.ddr_ns", ddr_ns, "ns", Target::AtMost(440.0)),
    ])
}

/// Figure 6.
pub fn streams() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    let mut rows = directory::rows(bars::figure6(&platform, Geometry::COMPACT)?);
    for (kind, name) in [(Kind::Read, "read"), (Kind::Write, "write")] {
        let (_card, memory) = ddr()?;
        let mut line = 0;
        let sequential = || {
            line = (line + 1) % REGION;
            line
        };
        let rate = stream(&memory, kind, sequential)?;
        let name_of = |order: &str| format!("cckit.figure6.ddr.{order}_{name}");
        let row =
            |order: &str, rate| Row::new(&name_of(order), rate, "GiB/s", Target::AtLeast(14.0));
        rows.push(row("seq", rate));
        let (_card, memory) = ddr()?;
        rows.push(row("rand", stream(&memory, kind, random_lines())?));
    }
    Ok(rows)
}

/// How long `tombolo lab cckit` takes, by the clock on the wall, its models built.
pub fn lab_minutes() -> Result<Vec<Row>, Failure> {
    let experiment = Cckit::read(&card::sim::home().join("experiments"))?;
    let figures: Vec<_> = experiment.figure.iter().collect();
    let began = Instant::now();
    let outcome = experiment.run(&figures, |ended| {
        eprintln!("{}: {:.0} s", ended.name, ended.took.as_secs_f64());
    });
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    match outcome.failures.is_empty() {
        true => Ok(vec![Row::new(
            "cckit.lab_minutes",
            minutes,
            "min",
            Target::AtMost(15.0),
        )]),
        false => Err(outcome.failures.join("; ").into()),
    }
}
