//! A kernel and threads of a program count in the same lines, the program through ordinary memory.
//!
//!     cargo run --release --example coherent_map
//!
//! The kernel `shared_table` is the memory of 512 lines, and adds 1 to the second word of each of the first rows: it
//! locks the line, which brings it home from the CPU. The program maps the lines and adds with atomic instructions.
//! No addition may be lost. The first run builds the shell's model, which takes a minute or two.

#[path = "common/command.rs"]
mod command;

use command::{command, Failure};
use std::process::ExitCode;
use std::sync::atomic::Ordering::SeqCst;
use tombolo::{Card, Continue, OwnerOptions, ShellConfig, SimOptions, SlotId};

const BASE: u64 = 0x1000_0000;
const LINE_WORDS: usize = 16;
const ROWS: u64 = 32;
const UPDATES: u64 = 64;
const THREADS: u64 = 3;
const ADDITIONS: u64 = 20_000;

const USAGE: &str = "\
Usage: cargo run --release --example coherent_map

Threads and kernel shared_table count in the same lines, the threads through ordinary memory.
The first run builds the shell's model, which takes a minute or two.";

fn main() -> ExitCode {
    command(std::env::args_os(), USAGE, 0, |_| run())
}

fn run() -> Result<(), Failure> {
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent();
    let card = Card::simulated(options, OwnerOptions::default(), |step| eprintln!("{step}"))?;
    let space = card.create_space()?;
    let slot = card.load(
        SlotId(0),
        simcard::home().join("kernels/shared_table"),
        &space,
    )?;
    let arguments = [
        ("base", BASE),
        ("rows", ROWS),
        ("updates", UPDATES),
        ("inflight", 1),
        ("pause", 1000),
    ];
    for (name, value) in arguments {
        slot.set(name, value)?;
    }
    let map = card.coherent_memory(BASE, 8192)?.map()?;
    let counters = || map.words().iter().skip(1).step_by(LINE_WORDS);
    slot.start()?;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for counter in counters().cycle().take(ADDITIONS as usize) {
                    counter.fetch_add(1, SeqCst);
                }
            });
        }
        slot.wait(None, |_| Continue::Yes)
    })?;
    let sum: u64 = counters().map(|counter| counter.load(SeqCst)).sum();
    let expected = UPDATES + THREADS * ADDITIONS;
    println!(
        "{sum} additions counted, of the kernel's {UPDATES} and the program's {}",
        expected - UPDATES
    );
    match sum == expected {
        true => Ok(()),
        false => Err(format!("{expected} were made").into()),
    }
}
