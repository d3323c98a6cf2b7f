//! Card memory as the home of cache lines: a kernel counts in the same lines as two cores.
//!
//!     cargo run --release --example memory_table
//!
//! Memory serves the lines (`Card::home_memory`); kernel `kernels/memory_table` has line operations only: it locks a
//! line, reads it, writes it and unlocks it. The first run builds the shell's model, which takes a minute or two.

#[path = "common/command.rs"]
mod command;

use command::{command, Failure};
use std::process::ExitCode;
use tombolo::{Card, Continue, OwnerOptions, ShellConfig, SimOptions, SlotId};

const LINE: u64 = 128;
const ROWS: u64 = 64;
/// Increments of each line by the kernel, and by each core.
const TIMES: u64 = 20;

fn word(line: &[u8], place: usize) -> u64 {
    let bytes = line[8 * place..8 * place + 8].try_into();
    bytes.map_or(0, u64::from_le_bytes)
}

const USAGE: &str = "\
Usage: cargo run --release --example memory_table

Kernel memory_table and two cores count in the same lines of card memory.
The first run builds the shell's model, which takes a minute or two.";

fn main() -> ExitCode {
    command(std::env::args_os(), USAGE, 0, |_| run())
}

fn run() -> Result<(), Failure> {
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent();
    let kernel = options.home.join("kernels/memory_table");
    let owner = OwnerOptions {
        home_bytes: 1 << 20,
        ..OwnerOptions::default()
    };
    let card = Card::simulated(options, owner, |step| eprintln!("{step}"))?;
    let memory = card.home_memory()?;
    let space = card.create_space()?;
    let slot = card.load(SlotId(0), &kernel, &space)?;
    let arguments = [
        ("base", memory.base()),
        ("rows", ROWS),
        ("updates", ROWS * TIMES),
        ("inflight", 4),
    ];
    for (argument, value) in arguments {
        slot.set(argument, value)?;
    }
    slot.start()?;
    let began = memory.now()?;
    // Each core has a word of its own: a load for this CPU alone and a store, which the kernel cannot come between
    // but by taking the line, with what the core stored.
    for _ in 0..TIMES {
        for row in 0..ROWS {
            for (core, place) in [(0, 0), (1, 2)] {
                let memory = memory.on_core(core);
                let line = memory.load_exclusive(row * LINE)?;
                let count = word(&line, place) + 1;
                memory.store(row * LINE + 8 * place as u64, &count.to_le_bytes())?;
            }
        }
    }
    slot.wait(None, |_| Continue::Yes)?;
    let took = (memory.now()? - began).get() as f64 / 1e6;
    let mut wrong = 0;
    for row in 0..ROWS {
        let line = memory.load(row * LINE)?;
        wrong += [0, 1, 2]
            .iter()
            .filter(|place| word(&line, **place) != TIMES)
            .count();
    }
    println!(
        "{} additions of two cores and {} of the kernel in {ROWS} lines of card memory, {took:.0} us: {wrong} of {} sums wrong",
        2 * ROWS * TIMES,
        ROWS * TIMES,
        3 * ROWS
    );
    match wrong {
        0 => Ok(()),
        _ => Err("additions were lost".into()),
    }
}
