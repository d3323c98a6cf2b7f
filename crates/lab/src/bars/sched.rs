//! The scheduler: shares of one memory channel between slots, by priority, weight, floor and limit.
//!
//! Three slots read from (or write to) the only channel of an F1 card; data and page tables are on the card. Backlogged
//! slots have 15 chunks of 16 KiB outstanding; slots *one chunk at a time* request the next chunk when one has arrived,
//! as vFPIO's perf-host does.

use super::Failure;
use crate::contended::{open, perf, prioritize, schedule, ALL, CHUNK, FIRST, PLAIN};
use crate::direct::{Bench, Each};
use crate::experiment::vfpio::priorities::{Figure6, CHUNKS};
use crate::row::Row;
use card::Card;
use units::{Picoseconds, Priority, SlotSchedule};

/// Bytes transferred by a backlogged slot.
const BYTES: u64 = 4 << 20;
const BACKLOG: u64 = 15;
/// Names, in the order of measurement.
pub const NAMES: &[&str] = &[
    "sched.high_beside_two.backlogged",
    "sched.high_beside_two.reads_beside_writes",
    "sched.high_beside_two.writes_beside_reads",
    "sched.low_floor",
    "sched.high_beside_two.one_chunk_cycles",
    "sched.idle_cycles",
    "sched.fig6.alone_share",
    "sched.fig6.high_over_rr",
    "sched.fig6.high_over_low",
    "sched.fig6.low_over_rr",
    "sched.fig6.context_switches",
    "sched.weights.error",
    "sched.floors.error",
    "sched.limit.error",
    "sched.fig6.link.alone_share",
    "sched.fig6.link.high_over_rr",
    "sched.fig6.link.high_over_low",
    "sched.fig6.link.low_over_rr",
];

fn seconds(time: &Picoseconds) -> f64 {
    time.as_seconds()
}

/// Slowdown of slot 0 with priority, with two other slots active, compared with alone.
fn slower(bench: &mut Bench) -> Result<(f64, Each), Failure> {
    let alone = bench.run_each(&[0])?;
    prioritize(bench, FIRST)?;
    let beside = bench.run_each(&ALL)?;
    prioritize(bench, PLAIN)?;
    let share = seconds(&beside.times[0]) / seconds(&alone.times[0]) - 1.0;
    eprintln!(
        "alone {}, first of three {}, the others {} and {}",
        alone.times[0], beside.times[0], beside.times[1], beside.times[2]
    );
    Ok((share, beside))
}

/// Accesses of 16 KiB as fast as they are accepted; slot 0 reads or writes, the others do the opposite.
fn across(writes: bool) -> Result<f64, Failure> {
    let mut bench = open("rng", BYTES)?;
    for slot in ALL {
        bench.set_argument_of(slot, "accesses", BYTES / CHUNK)?;
        bench.set_argument_of(slot, "access_log2", CHUNK.ilog2().into())?;
        bench.set_argument_of(slot, "period_log2", (BYTES / CHUNK).ilog2().into())?;
        bench.set_argument_of(slot, "seed", 1)?;
        bench.set_argument_of(slot, "write", ((slot == 0) == writes).into())?;
    }
    Ok(slower(&mut bench)?.0)
}

/// Slots that always have requests waiting.
fn backlogged() -> Result<Vec<Row>, Failure> {
    let (reads, beside) = slower(&mut perf(BYTES, BACKLOG, 0)?)?;
    let all: u64 = beside.rows.iter().sum();
    let low = beside.rows[1].min(beside.rows[2]) as f64 / all as f64;
    let [of_reads, of_mixed_reads, of_mixed_writes, of_low] =
        [NAMES[0], NAMES[1], NAMES[2], NAMES[3]];
    Ok(vec![
        Row::new(of_reads, reads, "of its time alone"),
        Row::new(of_mixed_reads, across(false)?, "of its time alone"),
        Row::new(of_mixed_writes, across(true)?, "of its time alone"),
        // Every slot has a floor of 1/256.
        Row::new(of_low, low, "of all rows"),
    ])
}

/// One chunk at a time: figure 6.
fn one_chunk() -> Result<Vec<Row>, Failure> {
    let mut bench = perf(CHUNKS * CHUNK, 1, 0)?;
    let clock = bench.card().description().clock_period.as_seconds();
    let cycles = |time: f64| time / clock / CHUNKS as f64;
    let alone = seconds(&bench.run_each(&[0])?.times[0]);
    prioritize(&mut bench, FIRST)?;
    let managed = seconds(&bench.run_each(&[0])?.times[0]);
    let beside = seconds(&bench.run_each(&ALL)?.times[0]);

    let figure = Figure6::measure()?;
    let [over_low, over_turns, low] = figure.channel.ratios();
    let [link_over_low, link_over_turns, link_low] = figure.link.ratios();
    eprintln!(
        "1,000 chunks, cycles a chunk: alone {:.1}, with a scheduler in use {:.1}, first of three {:.1}; with pauses: {figure:?}",
        cycles(alone),
        cycles(managed),
        cycles(beside),
    );
    Ok(vec![
        // 105 rows of the others, and the time to change to another DRAM row.
        Row::new(NAMES[4], cycles(beside - alone), "cycles a chunk"),
        Row::new(NAMES[5], cycles(managed - alone), "cycles a chunk"),
        Row::new(
            NAMES[6],
            figure.channel.share_alone(),
            "of the channel, by a pause",
        ),
        Row::new(NAMES[7], over_turns, "times faster"),
        Row::new(NAMES[8], over_low, "times faster"),
        Row::new(NAMES[9], low - 1.0, "slower"),
        // Predicted: the paper's arrangement, nothing tuned.
        Row::new(NAMES[14], figure.link.share_alone(), "of the link"),
        Row::new(NAMES[15], link_over_turns, "times faster"),
        Row::new(NAMES[16], link_over_low, "times faster"),
        Row::new(NAMES[17], link_low - 1.0, "slower"),
        // Figure 6b: less with a prioritised slot; the text does not contain the figure's numbers.
        Row::new(NAMES[10], figure.switched(), "of those in turn"),
    ])
}

/// Largest relative deviation of the shares from their expected values.
fn error(rows: &[u64], expected: &[f64]) -> f64 {
    let all: u64 = rows.iter().sum();
    let errors = rows.iter().zip(expected).map(|(rows, expected)| {
        let share = *rows as f64 / all as f64;
        eprintln!("{share:.4} of all rows, for {expected:.4}");
        (share / expected - 1.0).abs()
    });
    errors.fold(0.0, f64::max)
}

fn shares() -> Result<Vec<Row>, Failure> {
    let mut bench = perf(BYTES, BACKLOG, 0)?;
    let plain = SlotSchedule::default();
    let weighted = [4, 2, 1].map(|weight| SlotSchedule { weight, ..plain });
    schedule(&mut bench, weighted)?;
    let weights = error(
        &bench.run_each(&ALL)?.rows,
        &[4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0],
    );

    let floor = |floor| SlotSchedule { floor, ..plain };
    schedule(&mut bench, [Priority::High.into(), floor(25), floor(10)])?;
    let floors = error(&bench.run_each(&ALL)?.rows, &[0.65, 0.25, 0.1]);

    const LIMIT: u64 = 1_000_000_000;
    let limited = SlotSchedule {
        limit: Some(LIMIT),
        ..plain
    };
    schedule(&mut bench, [limited, plain, plain])?;
    let time = seconds(&bench.run_each(&[0])?.times[0]);
    let rate = BYTES as f64 / time;
    eprintln!(
        "{:.4} GB/s, limited to {:.1}",
        rate * 1e-9,
        LIMIT as f64 * 1e-9
    );
    let limit = (rate / LIMIT as f64 - 1.0).abs();
    Ok(vec![
        Row::new(NAMES[11], weights, "of a share"),
        Row::new(NAMES[12], floors, "of a share"),
        Row::new(NAMES[13], limit, "of the limit"),
    ])
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut rows = backlogged()?;
    rows.extend(one_chunk()?);
    rows.extend(shares()?);
    Ok(rows)
}
