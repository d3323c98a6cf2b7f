//! Cores load a file through their caches, and a kernel on the card fetches ahead of them.
//!
//!     cargo run --release --example prefetch
//!
//! Kernel `kernels/prefetcher` stands behind the directory of platform `enzian` and serves the pages of a mapped
//! file as cache lines. The first run builds the shell's model, which takes some minutes.

use std::collections::VecDeque;
use tombolo::{
    Card, CoherentMemory, MapOptions, PendingLine, ShellConfig, SimOptions, SlotId, SpacePlacement,
    Stripe,
};

const BASE: u64 = 0x1000_0000;
const LINE: u64 = 128;
const BYTES: u64 = 4 << 20;
/// Loads that a client has under way.
const WINDOW: usize = 16;

/// A client: a core that loads lines in order.
struct Client {
    memory: CoherentMemory,
    next: u64,
    end: u64,
    under_way: VecDeque<(u64, PendingLine)>,
}

/// All clients load their parts of `from..to`; the rate in GiB/s, and lines that are not the file's.
fn stream(
    memory: &CoherentMemory,
    file: &[u8],
    clients: u64,
    (from, to): (u64, u64),
) -> Result<(f64, u64), tombolo::Error> {
    let part = (to - from) / clients;
    let mut all: Vec<Client> = (0..clients)
        .map(|client| Client {
            memory: memory.on_core(client as u8),
            next: from + client * part,
            end: from + (client + 1) * part,
            under_way: VecDeque::new(),
        })
        .collect();
    let mut wrong = 0;
    let began = memory.now()?;
    let mut working = true;
    while working {
        working = false;
        for client in &mut all {
            while client.under_way.len() < WINDOW && client.next < client.end {
                let load = client.memory.begin_load(client.next * LINE)?;
                client.under_way.push_back((client.next, load));
                client.next += 1;
            }
            if let Some((line, load)) = client.under_way.pop_front() {
                let at = (line * LINE) as usize;
                wrong += u64::from(load.wait()?[..] != file[at..at + LINE as usize]);
                working = true;
            }
        }
    }
    let seconds = (memory.now()? - began).get() as f64 * 1e-12;
    let bytes = (part * clients * LINE) as f64;
    Ok((bytes / seconds / (1u64 << 30) as f64, wrong))
}

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
