//! Calls of many coherent lines to a kernel, which answers with as many.
//!
//!     cargo run --release --example rpc_lines [lines ...]
//!
//! The card is platform `enzian` with a directory of two slices; kernel `kernels/rpc_lines` stands behind it. The
//! first run builds the shell's model, which takes some minutes.

use tombolo::{Card, RpcLines, ShellConfig, SimOptions, SlotId};

/// Where the kernel's lines are on the coherent link.
const BASE: u64 = 0x1000_0000;
const ECHO: u64 = 2;
const LINE: usize = 128;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes = Vec::new();
    for word in std::env::args().skip(1) {
        sizes.push(word.parse::<usize>()?);
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
