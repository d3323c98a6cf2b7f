//! A kernel that caches the CPU's own memory: it and four cores add to the same words, and no addition is lost.
//!
//!     cargo run --release --example host_counter
//!
//! The CPU is home of the lines (`Card::host_lines`). Kernel `kernels/host_counter` holds a line while it adds; two cores add
//! by an atomic instruction, two by load and store under a lock in a line of its own. Then the kernel measures
//! what a coherent load and a store take from the card. The first run builds the shell's model, which takes a minute or two.

#[path = "common/command.rs"]
mod command;

use command::{command, Failure};
use std::process::ExitCode;
use tombolo::{
    Card, CoherentMemory, Continue, OwnerOptions, ShellConfig, SimOptions, Slot, SlotId,
};

const LINE: u64 = 128;
const ROWS: u64 = 16;
/// Increments of each line by the kernel, and by each core.
const TIMES: u64 = 20;
/// Behind the counters: the lock of the cores that load and store, and what the kernel counted.
const LOCK: u64 = ROWS * LINE;
const RESULT: u64 = LOCK + LINE;
/// Lines that the card has not used when latencies are measured.
const FRESH: u64 = 1 << 16;

fn word(line: &[u8], place: usize) -> u64 {
    let bytes = line[8 * place..8 * place + 8].try_into();
    bytes.map_or(0, u64::from_le_bytes)
}

/// Starts the kernel: modes are those of its kernel.toml.
fn start(
    slot: &Slot,
    base: u64,
    rows: u64,
    updates: u64,
    inflight: u64,
    mode: u64,
) -> Result<(), Failure> {
    let arguments = [
        ("base", base),
        ("rows", rows),
        ("updates", updates),
        ("inflight", inflight),
        ("mode", mode),
        ("result", RESULT),
    ];
    for (argument, value) in arguments {
        slot.set(argument, value)?;
    }
    Ok(slot.start()?)
}

/// A core adds under the lock, with loads and stores alone.
fn add_locked(memory: &CoherentMemory, row: u64) -> Result<(), Failure> {
    while memory.compare_exchange(LOCK, 0, 1)? != 0 {}
    let count = word(&memory.load(row * LINE)?, 0) + 1;
    memory.store(row * LINE, &count.to_le_bytes())?;
    memory.store(LOCK, &0u64.to_le_bytes())?;
    Ok(())
}

/// Nanoseconds of one access of the kernel, with one under way.
fn latency(
    slot: &Slot,
    memory: &CoherentMemory,
    base: u64,
    mode: u64,
    period_ns: f64,
) -> Result<f64, Failure> {
    const ACCESSES: u64 = 64;
    start(slot, base, ACCESSES, ACCESSES, 1, mode)?;
    slot.wait(None, |_| Continue::Yes)?;
    Ok(word(&memory.load(RESULT)?, 0) as f64 * period_ns / ACCESSES as f64)
}

const USAGE: &str = "\
Usage: cargo run --release --example host_counter

Kernel host_counter and four cores add to the same words of the CPU's own memory.
The first run builds the shell's model, which takes a minute or two.";

fn main() -> ExitCode {
    command(std::env::args_os(), USAGE, 0, |_| run())
}

fn run() -> Result<(), Failure> {
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent_host();
    let period_ns = options.platform.clock().period_ps.get() as f64 / 1e3;
    let kernel = options.home.join("kernels/host_counter");
    let card = Card::simulated(options, OwnerOptions::default(), |step| eprintln!("{step}"))?;
    let memory = card.host_lines()?;
    let space = card.create_space()?;
    let slot = card.load(SlotId(0), &kernel, &space)?;
    let began = memory.now()?;
    start(&slot, 0, ROWS, ROWS * TIMES, 4, 0)?;
    // Word 1 is everybody's: the kernel's hold and the cores' instruction are each indivisible. Word 0 is the lock's.
    for _ in 0..TIMES {
        for row in 0..ROWS {
            for core in [0, 1] {
                memory.on_core(core).add(row * LINE + 8, 1)?;
            }
            for core in [2, 3] {
                add_locked(&memory.on_core(core), row)?;
            }
        }
    }
    slot.wait(None, |_| Continue::Yes)?;
    let took = (memory.now()? - began).get() as f64 / 1e6;
    let lost = word(&memory.load(RESULT)?, 1);
    let mut wrong = 0;
    for row in 0..ROWS {
        let line = memory.load(row * LINE)?;
        wrong += u64::from(word(&line, 1) != 3 * TIMES) + u64::from(word(&line, 0) != 2 * TIMES);
    }
    println!(
        "{} additions of four cores and {} of the kernel in {ROWS} lines of the CPU's memory, {took:.0} us, {lost} holds \
         broken: {wrong} of {} sums wrong",
        4 * ROWS * TIMES,
        ROWS * TIMES,
        2 * ROWS
    );
    let miss = latency(&slot, &memory, FRESH, 1, period_ns)?;
    let hit = latency(&slot, &memory, FRESH, 1, period_ns)?;
    let store = latency(&slot, &memory, 2 * FRESH, 2, period_ns)?;
    println!("from the card: a load {miss:.1} ns, of a line that it has {hit:.1} ns, a store {store:.1} ns");
    match wrong {
        0 => Ok(()),
        _ => Err("additions were lost".into()),
    }
}
