//! Calls a kernel through two coherent cache lines, and draws what happens to them.
//!
//!     cargo run --release --example rpc [picture.svg]
//!
//! The card is platform `enzian` with a directory in its shell; kernel `kernels/rpc` stands behind it. The
//! first run builds the shell's model, which takes a minute or two.

#[path = "common/command.rs"]
mod command;

use command::{command, Failure};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use tombolo::{Card, Picoseconds, Rpc, ShellConfig, SimOptions, SlotId};

/// Where the kernel's lines are on the coherent link.
const BASE: u64 = 0x1000_0000;
/// Two lines for calls, 62 of plain memory.
const BYTES: u64 = 64 * 128;
const LINE: u64 = 128;
const CALLS: usize = 100;

fn nanoseconds(time: Picoseconds) -> f64 {
    time.get() as f64 / 1000.0
}

const USAGE: &str = "\
Usage: cargo run --release --example rpc -- [PICTURE.svg]

Calls kernel rpc through two coherent cache lines, prints the latencies and what happened to the lines, and draws it.
The first run builds the shell's model, which takes a minute or two.";

/// Refuses a picture that would not be written, before the calls are made.
fn can_be_written(path: &Path) -> Result<(), Failure> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || path.as_os_str().is_empty() {
        return Err(format!("`{}`: name a file for the picture", path.display()).into());
    }
    match folder.filter(|folder| !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => Err(format!(
            "{}: there is no folder {}",
            path.display(),
            folder.display()
        )
        .into()),
    }
}

fn main() -> ExitCode {
    command(std::env::args_os(), USAGE, 1, run)
}

fn run(words: &[OsString]) -> Result<(), Failure> {
    let picture = words.first().map(Path::new);
    if let Some(path) = picture {
        can_be_written(path)?;
    }
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent();
    let kernel = options.home.join("kernels/rpc");
    let card = Card::simulated(options, Default::default(), |step| eprintln!("{step}"))?;
    let space = card.create_space()?;
    let slot = card.load(SlotId(0), &kernel, &space)?;
    slot.set("base", BASE)?;
    slot.set("handler", 0)?;
    slot.set("calls", 0)?;
    slot.start()?;
    let memory = card.coherent_memory(BASE, BYTES)?;

    // The measure: a read of a line that the kernel holds on the card. The first access also waits until
    // the card has its registers.
    memory.load(2 * LINE)?;
    let mut reads = Picoseconds::ZERO;
    let samples = 32;
    for line in 3..3 + samples {
        let began = memory.now()?;
        memory.load(line * LINE)?;
        reads += memory.now()? - began;
    }
    let read = nanoseconds(reads) / samples as f64;
    println!("coherent read of on-chip memory: {read:6.1} ns");

    let mut rpc = Rpc::connect(memory.clone())?;
    let mut took = Vec::with_capacity(CALLS);
    for call in 0..CALLS {
        if call == CALLS - 2 {
            memory.record(&[(0, "A"), (LINE, "B")])?;
        }
        let arguments: Vec<u8> = (0..128).map(|byte| (call + byte) as u8).collect();
        let began = memory.now()?;
        let answer = rpc.call(&arguments)?;
        took.push(memory.now()? - began);
        if answer[..] != arguments[..] {
            return Err(format!("call {call}: the answer is not the arguments").into());
        }
    }
    // The first call finds the answer's line where the kernel left it, like all others.
    took.sort();
    let (least, median, most) = (took[0], took[CALLS / 2], took[CALLS - 1]);
    println!(
        "null RPC, {CALLS} calls:            {:6.1} ns (median; {:.1} to {:.1}), {:.2} reads",
        nanoseconds(median),
        nanoseconds(least),
        nanoseconds(most),
        nanoseconds(median) / read
    );

    println!("\nCDF: share of the calls, at most (ns)");
    for percent in [1, 10, 25, 50, 75, 90, 99, 100] {
        let call = (CALLS * percent).div_ceil(100) - 1;
        println!("{percent:4} % {:8.1}", nanoseconds(took[call]));
    }

    let history = memory.history()?;
    println!("\nThe last two calls: sent, arrived (ns), line, from -> to, what");
    print!("{}", history.to_text());
    if let Some(path) = picture {
        let svg = history.to_svg("Two calls through two coherent lines");
        std::fs::write(path, svg).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("\n{}: the same as a picture", path.display());
    }
    Ok(())
}
