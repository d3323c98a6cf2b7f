//! Table 2 and figure 6 of CCKit: single loads and streams, with the home at a second CPU, in on-chip memory, and in
//! DDR4 behind the directory. For table 2 both directory configurations are in a shell (including the slot boundary);
//! for figure 6 only DDR4 is.

use super::{directory, prefetch, rpc, Failure};
use crate::experiment::cckit::Cckit;
use crate::row::Row;
use coherence::bars;
use coherence::model::DirectoryGeometry;
use coherence::platform::Platform;
use std::collections::VecDeque;
use std::time::Instant;
use tombolo::{
    Card, CoherentMemory, OwnerOptions, PendingLine, Picoseconds, ShellConfig, SimOptions,
};

const LINE: u64 = 128;
/// Lines of a stream's region: 1 GiB, as in the paper.
const REGION: u64 = (1 << 30) / LINE;
/// Lines of the CPU's last-level cache; streams are measured once it is full.
const CACHE: u64 = (16 << 20) / LINE;
const MEASURED: u64 = 40_000;
/// Outstanding accesses of all cores together, more than the link has request numbers.
const WINDOW: usize = 96;

/// Access pattern of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamKind {
    Read,
    Write,
}

fn ddr() -> Result<(Card, CoherentMemory), Failure> {
    ddr_of(SimOptions::named("enzian")?)
}

pub(super) fn ddr_of(mut options: SimOptions) -> Result<(Card, CoherentMemory), Failure> {
    options.shell = ShellConfig::coherent_full();
    let owner = OwnerOptions {
        home_bytes: REGION * LINE,
        ..OwnerOptions::default()
    };
    let card = Card::simulated(options, owner, |_| {})?;
    let memory = card.home_memory()?;
    Ok((card, memory))
}

/// GiB/s of a stream in steady state with a given number of outstanding accesses: every refill evicts a line.
pub(super) fn stream(
    memory: &CoherentMemory,
    (kind, window): (StreamKind, usize),
    mut next: impl FnMut() -> u64,
) -> Result<f64, Failure> {
    let begin = |line: u64| match kind {
        StreamKind::Read => memory.begin_load(line * LINE),
        StreamKind::Write => memory.begin_store(line * LINE, &line.to_le_bytes()),
    };
    let mut under_way: VecDeque<PendingLine> = VecDeque::with_capacity(window);
    let mut began = Picoseconds::ZERO;
    // With random accesses some sets fill late.
    let warm = CACHE * 5 / 4;
    for access in 0..warm + MEASURED {
        if access == warm {
            began = memory.now()?;
        }
        if under_way.len() == window {
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

/// Lines of the region in ascending order.
pub(super) fn sequential_lines() -> impl FnMut() -> u64 {
    let mut line = 0;
    move || {
        line = (line + 1) % REGION;
        line
    }
}

/// Random lines of the region, by xorshift.
pub(super) fn random_lines() -> impl FnMut() -> u64 {
    let mut state = 0x5eed_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % REGION
    }
}

/// Measures table 2.
pub fn latencies() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    let latencies = bars::latencies(&platform, DirectoryGeometry::COMPACT)?;
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
        Row::new("cckit.table2.two_cpus_ns", two_cpus, "ns"),
        Row::new("cckit.table2.onchip_ns", onchip, "ns"),
        Row::new("cckit.table2.ddr_ns", ddr_ns, "ns"),
    ])
}

/// Platform enzian with changed figures: pairs of a line, or the beginning of one, in its file and the replacement.
pub(super) fn enzian_with(edits: &[(&str, &str)], name: &str) -> Result<SimOptions, Failure> {
    let mut options = SimOptions::named("enzian")?;
    let mut text = std::fs::read_to_string(options.home.join("platforms/enzian.toml"))?;
    for (ours, other) in edits {
        if text.matches(ours).count() != 1 {
            return Err(format!("platforms/enzian.toml has no single `{ours}`").into());
        }
        text = text.replace(ours, other);
    }
    options.platform = timing::platform::Platform::from_bytes(text.as_bytes(), name)?;
    Ok(options)
}

/// The latencies that the paper states for its controller and memory, applied to our platform: the directory takes 173
/// to 186 ns of a load (ours 56), and memory with its AXI 137 to 157 (ours 116). The directory's part is added to the
/// link, half in each direction, since each transaction passes it once; memory's part is added to the memory
/// controller.
pub(super) const PAPERS_LATENCIES: [(&str, &str); 2] = [
    ("round_trip_ps = 230000", "round_trip_ps = 353600"),
    ("response_ps = 30000", "response_ps = 61000"),
];

fn as_slow_as_the_papers() -> Result<SimOptions, Failure> {
    enzian_with(&PAPERS_LATENCIES, "enzian, as slow as the paper's")
}

/// `cckit.repro.*`: the paper's figures from our model of its hardware. None is fitted.
pub fn reproduction() -> Result<Vec<Row>, Failure> {
    let (card, space, slot, memory) = rpc::card_of(as_slow_as_the_papers()?)?;
    let onchip = rpc::load_ns(&memory, 2..64)?;
    let call = rpc::call_ns(&memory)?;
    drop((slot, space, card));
    let (card, memory) = ddr_of(as_slow_as_the_papers()?)?;
    let mut next = random_lines();
    let ddr_ns = rpc::load_ns(&memory, (0..200).map(|_| next()))?;
    drop(card);
    let (line_by_line, ahead) = prefetch::four_clients(as_slow_as_the_papers()?, prefetch::LOADS)?;
    let figures = [
        ("onchip_ns", onchip, "ns"),
        ("ddr_ns", ddr_ns, "ns"),
        ("rpc_ns", call, "ns"),
        ("prefetch_with", ahead, "GiB/s"),
        ("prefetch_without", line_by_line, "GiB/s"),
    ];
    let rows =
        figures.map(|(name, value, unit)| Row::new(&format!("cckit.repro.{name}"), value, unit));
    Ok(rows.into())
}

/// Measures the series of two CPUs in figure 7.
pub fn contended_cpus() -> Result<Vec<Row>, Failure> {
    Ok(directory::rows(bars::figure7(&Platform::enzian()?)?))
}

/// Measures figure 6.
pub fn streams() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    let mut rows = directory::rows(bars::figure6(&platform, DirectoryGeometry::COMPACT)?);
    for (kind, name) in [(StreamKind::Read, "read"), (StreamKind::Write, "write")] {
        let (_card, memory) = ddr()?;
        let rate = stream(&memory, (kind, WINDOW), sequential_lines())?;
        let name_of = |order: &str| format!("cckit.figure6.ddr.{order}_{name}");
        let row = |order: &str, rate| Row::new(&name_of(order), rate, "GiB/s");
        rows.push(row("seq", rate));
        let (_card, memory) = ddr()?;
        rows.push(row(
            "rand",
            stream(&memory, (kind, WINDOW), random_lines())?,
        ));
    }
    Ok(rows)
}

/// Wall-clock time of `tombolo lab cckit` with its models built.
pub fn lab_minutes() -> Result<Vec<Row>, Failure> {
    let experiment = Cckit::read(&simcard::home().join("experiments"), super::ALL)?;
    let figures: Vec<_> = experiment.figure.iter().collect();
    let began = Instant::now();
    let outcome = experiment.run(&figures, |ended| {
        eprintln!("{}: {:.0} s", ended.name, ended.took.as_secs_f64());
    });
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    match outcome.failures.is_empty() {
        true => Ok(vec![Row::new("cckit.lab_minutes", minutes, "min")]),
        false => Err(outcome.failures.join("; ").into()),
    }
}
