//! Calls of many coherent lines to a kernel, which answers with as many.
//!
//!     cargo run --release --example rpc_lines [lines ...]
//!
//! The card is platform `enzian` with a directory of two slices; kernel `kernels/rpc_lines` stands behind it. The
//! first run builds the shell's model, which takes some minutes.

#[path = "common/command.rs"]
mod command;

use command::{command, Failure};
use std::ffi::OsString;
use std::process::ExitCode;
use tombolo::{Card, RpcLines, ShellConfig, SimOptions, SlotId};

/// Where the kernel's lines are on the coherent link.
const BASE: u64 = 0x1000_0000;
const ECHO: u64 = 2;
const LINE: usize = 128;

const USAGE: &str = "\
Usage: cargo run --release --example rpc_lines -- [LINES ...]

Calls kernel rpc_lines with so many lines and gets as many back, 1 to 2048 each (default: 1 10 100 1000).
The first run builds the shell's model, which takes some minutes.";

fn main() -> ExitCode {
    command(std::env::args_os(), USAGE, usize::MAX, run)
}

fn run(words: &[OsString]) -> Result<(), Failure> {
    let mut sizes = Vec::new();
    for word in words {
        let word = word.to_string_lossy();
        let lines = word.parse().ok();
        let lines = lines.filter(|lines| (1..=RpcLines::MOST as usize).contains(lines));
        let refused = || format!("`{word}`: a call has 1 to {} lines", RpcLines::MOST);
        sizes.push(lines.ok_or_else(refused)?);
    }
    if sizes.is_empty() {
        sizes = vec![1, 10, 100, 1000];
    }
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent_full();
    let kernel = options.home.join("kernels/rpc_lines");
    let card = Card::simulated(options, Default::default(), |step| eprintln!("{step}"))?;
    let space = card.create_space()?;
    let slot = card.load(SlotId(0), &kernel, &space)?;
    slot.set("base", BASE)?;
    slot.set("handler", ECHO)?;
    slot.start()?;
    let memory = card.coherent_memory(BASE, RpcLines::BYTES)?;
    let mut rpc = RpcLines::connect(memory.clone())?;

    println!(
        "{:>6} {:>12} {:>22}",
        "lines", "ns a call", "GiB/s in and out"
    );
    for lines in sizes {
        // The first call of a size also fetches the lines that the CPU does not have yet.
        let mut took = 0.0;
        for call in 0..3 {
            let request: Vec<u8> = (0..lines * LINE).map(|byte| (byte + call) as u8).collect();
            let began = memory.now()?;
            let answer = rpc.call(&request, lines as u64)?;
            took = (memory.now()? - began).as_seconds();
            if answer.payload != request {
                return Err(format!("call {call} of {lines} lines: the answer is another").into());
            }
        }
        let rate = (2 * lines * LINE) as f64 / took / (1u64 << 30) as f64;
        println!("{lines:>6} {:>12.1} {rate:>22.2}", took * 1e9);
    }
    Ok(())
}
