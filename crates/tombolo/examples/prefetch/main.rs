//! Cores load a file through their caches, and a kernel on the card fetches ahead of them.
//!
//!     cargo run --release --example prefetch
//!
//! Kernel `kernels/prefetcher` stands behind the directory of platform `enzian` and serves the pages of a mapped
//! file as cache lines. The first run builds the shell's model, which takes some minutes.

mod clients;

use clients::{settle, stream, LINE};
use tombolo::{Card, MapOptions, ShellConfig, SimOptions, SlotId, SpacePlacement, Stripe};

const BASE: u64 = 0x1000_0000;
const BYTES: u64 = 4 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("tombolo-prefetch-{}", std::process::id()));
    let file: Vec<u8> = (0..BYTES / 8)
        .flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect();
    std::fs::write(&path, &file)?;

    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent_full();
    let kernel = options.home.join("kernels/prefetcher");
    let card = Card::simulated(options, Default::default(), |step| eprintln!("{step}"))?;
    // Both halves of a block of 8 KiB on a channel of their own.
    let stripe = Stripe::new(4096, 2).ok_or("no such stripe")?;
    let space = card.create_space_on(SpacePlacement::Interleaved { first: 0, stripe })?;
    let mapping = space.map_file(&path, MapOptions::read_write())?;
    mapping.prefetch()?;
    let slot = card.load(SlotId(0), &kernel, &space)?;
    slot.set("base", BASE)?;
    slot.set_pointer("data", mapping.address())?;
    slot.set("bytes", BYTES)?;
    slot.set("units", 0)?;
    slot.start()?;
    let memory = card.coherent_memory(BASE, BYTES)?;
    memory.load(0)?;
    settle(&memory, BYTES)?;

    // Each stream has lines of its own: what the caches have, they do not ask for again.
    let share = BYTES / LINE / 8;
    let mut wrong = 0;
    let mut place = 0;
    for units in [0, 8] {
        slot.set("units", units)?;
        for clients in 1..=4 {
            let (rate, bad) = stream(&memory, &file, clients, (place, place + share))?;
            println!("{clients} clients, {units} blocks ahead: {rate:5.2} GiB/s");
            place += share;
            wrong += bad;
        }
    }

    println!("lines that are not the file's: {wrong}");
    std::fs::remove_file(&path)?;
    match wrong {
        0 => Ok(()),
        _ => Err("lines are not the file's".into()),
    }
}
