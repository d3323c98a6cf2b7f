//! Calls a kernel through two coherent cache lines, and draws what happens to them.
//!
//!     cargo run --release --example rpc [picture.svg]
//!
//! The card is platform `enzian` with a directory in its shell; kernel `kernels/rpc` stands behind it. The
//! first run builds the shell's model, which takes a minute or two.

use std::path::PathBuf;
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let picture = std::env::args_os().nth(1).map(PathBuf::from);
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
        std::fs::write(
            &path,
            history.to_svg("Two calls through two coherent lines"),
        )?;
        println!("\n{}: the same as a picture", path.display());
    }
    Ok(())
}
