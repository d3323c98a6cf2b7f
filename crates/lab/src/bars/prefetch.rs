//! Application prefetcher (CCKit, section 5.5 and figure 8): clients that load disjoint parts of a file in order,
//! with and without the kernel's blocks.

use super::Failure;
use crate::row::{Row, Target};
use std::collections::VecDeque;
use tombolo::{
    Card, CoherentMemory, MapOptions, PendingLine, ShellConfig, SimOptions, SlotId, SpacePlacement,
    Stripe,
};

const BASE: u64 = 0x1000_0000;
const LINE: u64 = 128;
/// Every client and every stream has lines of its own.
const PART: u64 = (1 << 20) / LINE;
const CLIENTS: u64 = 4;
/// Parts of all streams: one to four clients, twice.
const PARTS: u64 = 2 * (1 + 2 + 3 + CLIENTS);
/// Loads that a client has under way; of four they fill the link's request numbers.
const WINDOW: usize = 16;

struct Client {
    memory: CoherentMemory,
    next: u64,
    end: u64,
    under_way: VecDeque<(u64, PendingLine)>,
}

/// GiB/s of so many clients with a part each from `first` on, and lines that are not the file's.
fn stream(
    memory: &CoherentMemory,
    file: &[u8],
    clients: u64,
    first: u64,
) -> Result<(f64, u64), Failure> {
    let client = |number: u64| Client {
        memory: memory.on_core(number as u8),
        next: (first + number) * PART,
        end: (first + number + 1) * PART,
        under_way: VecDeque::with_capacity(WINDOW),
    };
    let mut all: Vec<Client> = (0..clients).map(client).collect();
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
    let bytes = (PART * clients * LINE) as f64;
    Ok((bytes / seconds / (1u64 << 30) as f64, wrong))
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("data");
    let bytes = PARTS * PART * LINE;
    let file: Vec<u8> = (0..bytes / 8)
        .flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect();
    std::fs::write(&path, &file)?;
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent_full();
    let kernel = options.home.join("kernels/prefetcher");
    let card = Card::simulated(options, Default::default(), |_| {})?;
    // Both halves of a block on a channel of their own.
    let stripe = Stripe::new(4096, 2).ok_or("no such stripe")?;
    let space = card.create_space_on(SpacePlacement::Interleaved { first: 0, stripe })?;
    let mapping = space.map_file(&path, MapOptions::read_only())?;
    mapping.prefetch()?;
    let slot = card.load(SlotId(0), &kernel, &space)?;
    slot.set("base", BASE)?;
    slot.set_pointer("data", mapping.address())?;
    slot.set("bytes", bytes)?;
    slot.set("units", 0)?;
    slot.start()?;
    let memory = card.coherent_memory(BASE, bytes)?;
    memory.load(0)?;

    let mut rows = Vec::new();
    let (mut wrong, mut first) = (0, 0);
    for (units, name) in [(0, "without"), (8, "with")] {
        slot.set("units", units)?;
        for clients in 1..=CLIENTS {
            let (rate, bad) = stream(&memory, &file, clients, first)?;
            first += clients;
            wrong += bad;
            let target = match (units, clients) {
                (8, CLIENTS) => Target::AtLeast(19.0),
                _ => Target::Shown,
            };
            let name = format!("app.prefetch.{name}.clients_{clients}");
            rows.push(Row::new(&name, rate, "GiB/s", target));
            if (units, clients) == (8, CLIENTS) {
                let name = "app.prefetch.paper";
                rows.push(Row::new(name, rate, "GiB/s", Target::Beside(17.4)));
            }
        }
    }
    let name = "app.prefetch.wrong";
    rows.push(Row::new(name, wrong as f64, "lines", Target::Exactly(0.0)));
    Ok(rows)
}
