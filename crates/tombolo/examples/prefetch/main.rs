//! Cores load a file through their caches, and a kernel on the card fetches ahead of them.
//!
//!     cargo run --release --example prefetch
//!
//! Kernel `kernels/prefetcher` stands behind the directory of platform `enzian` and serves the pages of a mapped
//! file as cache lines. The first run builds the shell's model, which takes some minutes.

mod clients;
#[path = "../common/command.rs"]
mod command;

use clients::{serve, stream, LINE, LOADS};
use command::{command, Failure};
use std::process::ExitCode;
use tombolo::{Card, ShellConfig, SimOptions};

const BYTES: u64 = 4 << 20;

const USAGE: &str = "\
Usage: cargo run --release --example prefetch

Streams a file of 4 MiB through kernel prefetcher to one to four cores, with and without blocks fetched ahead.
The first run builds the shell's model, which takes some minutes.";

fn main() -> ExitCode {
    command(std::env::args_os(), USAGE, 0, |_| run())
}

fn run() -> Result<(), Failure> {
    let file: Vec<u8> = (0..BYTES / 8)
        .flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect();

    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent_full();
    let kernel = options.home.join("kernels/prefetcher");
    let card = Card::simulated(options, Default::default(), |step| eprintln!("{step}"))?;
    let served = serve(&card, &kernel, &file)?;

    // Each stream has lines of its own: what the caches have, they do not ask for again.
    let share = BYTES / LINE / 8;
    let mut wrong = 0;
    let mut place = 0;
    for units in [0, 8] {
        served.slot.set("units", units)?;
        for clients in 1..=4 {
            let (rate, bad) = stream(
                &served.memory,
                &file,
                (clients, LOADS),
                (place, place + share),
            )?;
            println!("{clients} clients, {units} blocks ahead: {rate:5.2} GiB/s");
            place += share;
            wrong += bad;
        }
    }

    println!("lines that are not the file's: {wrong}");
    match wrong {
        0 => Ok(()),
        _ => Err("lines are not the file's".into()),
    }
}
