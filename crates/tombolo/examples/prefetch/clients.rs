//! Clients of the prefetcher: cores that load parts of the file in order, line by line. The bar
//! `app.prefetch` measures with them, too.

use std::collections::VecDeque;
use std::io::Write;
use std::path::Path;
use tombolo::{
    AddressSpace, Card, CoherentMemory, Error, MapOptions, Mapping, PendingLine, Slot, SlotId,
    SpacePlacement, Stripe,
};

/// Bytes of a line.
pub const LINE: u64 = 128;
/// Loads that a client has under way; those of four fill the link's request numbers.
pub const LOADS: usize = 16;

/// A core that loads lines in order.
struct Client {
    memory: CoherentMemory,
    next: u64,
    end: u64,
    under_way: VecDeque<(u64, PendingLine)>,
}

/// Where the CPU finds the file.
const BASE: u64 = 0x1000_0000;

/// A kernel `prefetcher` that serves a file, all of which is on the card, without fetching ahead so far.
pub struct Served {
    /// Coherent memory of the file's lines.
    pub memory: CoherentMemory,
    /// The kernel; its argument `units` is the number of blocks that it fetches ahead.
    pub slot: Slot,
    _mapping: Mapping,
    _space: AddressSpace,
}

/// Starts the kernel for a private file with these bytes.
pub fn serve(
    card: &Card,
    kernel: &Path,
    data: &[u8],
) -> Result<Served, Box<dyn std::error::Error + Send + Sync>> {
    // Both halves of a block of 8 KiB on a channel of their own.
    let stripe = Stripe::new(4096, 2).ok_or("no such stripe")?;
    let space = card.create_space_on(SpacePlacement::Interleaved { first: 0, stripe })?;
    // Without a name, so that nothing is left of it whatever ends the program.
    let mut file = tempfile::tempfile()?;
    file.write_all(data)?;
    let bytes = data.len() as u64;
    let mapping = space.map_open_file(file, "the file".as_ref(), MapOptions::read_only())?;
    mapping.prefetch()?;
    let slot = card.load(SlotId(0), kernel, &space)?;
    slot.set("base", BASE)?;
    slot.set_pointer("data", mapping.address())?;
    slot.set("bytes", bytes)?;
    slot.set("units", 0)?;
    slot.start()?;
    let memory = card.coherent_memory(BASE, bytes)?;
    memory.load(0)?;
    settle(&memory, bytes)?;
    Ok(Served {
        memory,
        slot,
        _mapping: mapping,
        _space: space,
    })
}

/// Waits until a mapped file of `bytes` bytes is on the card: its last line arrives last. `Mapping::prefetch` returns
/// at once; while pages still arrive, streams share the card's memory with them, and two clients get as little as 2.5
/// GiB/s of 7.6.
fn settle(memory: &CoherentMemory, bytes: u64) -> Result<(), Error> {
    memory.load(bytes - LINE).map(drop)
}

/// Loads the lines `from..to`, in equal parts by `clients` clients with `loads` outstanding loads each. Returns the
/// rate in GiB/s, and the number of lines that differ from `file`.
pub fn stream(
    memory: &CoherentMemory,
    file: &[u8],
    (clients, loads): (u64, usize),
    (from, to): (u64, u64),
) -> Result<(f64, u64), Error> {
    let part = (to - from) / clients;
    let client = |number: u64| Client {
        memory: memory.on_core(number as u8),
        next: from + number * part,
        end: from + (number + 1) * part,
        under_way: VecDeque::with_capacity(loads),
    };
    let mut all: Vec<Client> = (0..clients).map(client).collect();
    let mut wrong = 0;
    let began = memory.now()?;
    let mut working = true;
    while working {
        working = false;
        for client in &mut all {
            while client.under_way.len() < loads && client.next < client.end {
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
    let seconds = (memory.now()? - began).as_seconds();
    let bytes = (part * clients * LINE) as f64;
    Ok((bytes / seconds / (1u64 << 30) as f64, wrong))
}
