//! Card memory behind the directory: the CPU's caches keep its lines, without a kernel.
//!
//!     cargo run --release --example home_memory
//!
//! The card is platform `enzian` with a directory in its shell and 1 MiB of its DDR4 kept for it. The first
//! run builds the shell's model, which takes a minute or two.

#[path = "common/command.rs"]
mod command;

use command::{command, Failure};
use std::collections::VecDeque;
use std::process::ExitCode;
use tombolo::{Card, OwnerOptions, PendingLine, Picoseconds, ShellConfig, SimOptions};

const LINE: u64 = 128;
const HOME_BYTES: u64 = 1 << 20;
/// Loads under way at a time.
const WINDOW: usize = 32;

fn nanoseconds(time: Picoseconds) -> f64 {
    time.get() as f64 / 1000.0
}

const USAGE: &str = "\
Usage: cargo run --release --example home_memory

Stores and loads card memory through the CPU's caches, without a kernel.
The first run builds the shell's model, which takes a minute or two.";

fn main() -> ExitCode {
    command(std::env::args_os(), USAGE, 0, |_| run())
}

fn run() -> Result<(), Failure> {
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent();
    let owner = OwnerOptions {
        home_bytes: HOME_BYTES,
        ..Default::default()
    };
    let card = Card::simulated(options, owner, |step| eprintln!("{step}"))?;
    let memory = card.home_memory()?;
    let lines = memory.bytes() / LINE;

    // One load at a time, of lines that nobody has used. The first also waits until the card has its
    // registers.
    memory.load(0)?;
    let mut loads = Picoseconds::ZERO;
    let samples = 64;
    for sample in 1..=samples {
        let began = memory.now()?;
        memory.load(sample * 37 * LINE)?;
        loads += memory.now()? - began;
    }
    let load = nanoseconds(loads) / samples as f64;
    println!("coherent read of card memory: {load:6.1} ns");

    // Every line gets its number. This small directory has places for an eighth of them: it calls lines
    // back, which are written to the card's memory.
    for line in 0..lines {
        memory.store(line * LINE, &line.to_le_bytes())?;
    }
    let mut wrong = 0;
    let mut under_way: VecDeque<(u64, PendingLine)> = VecDeque::new();
    for line in 0..lines {
        if under_way.len() == WINDOW {
            wrong += check(under_way.pop_front())?;
        }
        under_way.push_back((line, memory.begin_load(line * LINE)?));
    }
    while !under_way.is_empty() {
        wrong += check(under_way.pop_front())?;
    }
    println!("{lines} lines stored and loaded again: {wrong} wrong");
    match wrong {
        0 => Ok(()),
        _ => Err("lines are not what was stored".into()),
    }
}

/// 1 if a line is not its number.
fn check(access: Option<(u64, PendingLine)>) -> Result<u64, tombolo::Error> {
    match access {
        Some((line, load)) => Ok(u64::from(load.wait()?[..8] != line.to_le_bytes())),
        None => Ok(0),
    }
}
