//! An array in program memory, updated in place, relative to the time of compute and link alone: with and without pages
//! fetched ahead. Also in random order, where fetching ahead must not cost anything.

use super::Failure;
use crate::bars::fsrf_direct::link_peak;
use crate::row::Row;
use simcard::SimOptions;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tombolo::{
    AddressSpace, Card, Continue, HostFile, OwnerOptions, PageSize, Slot, SlotId, SpacePlacement,
    Stripe,
};
use units::Picoseconds;

/// Names of [`measure`].
pub const NAMES: &[&str] = &[
    "shared.transform.vs_ready.2m",
    "shared.transform.vs_ready.256k",
    "shared.transform.vs_ready.32k",
    "shared.transform.without_ahead.2m",
    "shared.transform.without_ahead.256k",
    "shared.transform.without_ahead.32k",
    "shared.random.ahead_over_without.2m",
    "shared.random.ahead_over_without.256k",
    "shared.random.ahead_over_without.32k",
];

const BYTES: usize = 64 << 20;
/// An update in place writes each row from the link, reads it and writes it: three times the link's rate, with half of
/// the channels' rate to spare.
const CHANNELS: u8 = 8;
const AHEAD: u64 = 16 << 20;
/// log2 of the rows of each buffer of the random-access kernel: 8 MiB.
const RANDOM_ROWS_LOG2: u64 = 17;
/// log2 of the rows of its bursts.
const RANDOM_BURST_LOG2: u64 = 6;
const ADDEND: u32 = 0x0765_4321;

/// A page size: name and bytes.
const PAGES: [(&str, u64); 3] = [("2m", 2 << 20), ("256k", 256 << 10), ("32k", 32 << 10)];

fn platform() -> Result<SimOptions, Failure> {
    let mut options = SimOptions::named("u55c")?;
    options.shell.channels = CHANNELS;
    options.channel_bytes = Some(64 << 20);
    Ok(options)
}

/// A card with its space striped over all channels, and the trap costs of a reference machine.
fn open(page: PageSize, ahead: u64) -> Result<(Card, AddressSpace), Failure> {
    let host = simcard::home().join("hosts/epyc-vm-huge.toml");
    let options = OwnerOptions {
        page_size: Some(page),
        read_ahead_bytes: ahead,
        host: Some(HostFile::load(host)?),
        ..OwnerOptions::default()
    };
    let card = Card::simulated(platform()?, options, |_| {})?;
    let stripe = Stripe::new(4096, CHANNELS.into()).ok_or("stripe")?;
    let space = card.create_space_on(SpacePlacement::Interleaved { first: 0, stripe })?;
    Ok((card, space))
}

fn run(card: &Card, slot: &Slot) -> Result<Picoseconds, Failure> {
    slot.start()?;
    slot.wait(None, |_| Continue::Yes)?;
    let report = card.report()?;
    Ok(report.runs.last().ok_or("no run was reported")?.time)
}

fn kernel(name: &str) -> std::path::PathBuf {
    Path::new(&simcard::home()).join("kernels").join(name)
}

/// Time of the kernel in sequential order.
fn transform(page: PageSize, ahead: u64) -> Result<Picoseconds, Failure> {
    let (card, space) = open(page, ahead)?;
    let memory = space.alloc_with_pages(BYTES, page)?;
    let words = memory.slice::<AtomicU32>();
    for (n, word) in words.iter().enumerate() {
        word.store(n as u32, Relaxed);
    }
    let slot = card.load(SlotId(0), kernel("transform"), &space)?;
    slot.set_pointer("data", memory.address())?;
    slot.set("bytes", BYTES as u64)?;
    slot.set("addend", ADDEND.into())?;
    slot.set("pace", 1)?;
    let time = run(&card, &slot)?;
    let right = |(n, word): (usize, &AtomicU32)| {
        word.load(Relaxed) == (n as u32).wrapping_add(ADDEND).rotate_left(7)
    };
    match words.iter().enumerate().all(right) {
        true => Ok(time),
        false => Err(format!("pages of {page}: words are wrong").into()),
    }
}

/// Time of a kernel that gathers and scatters at random.
fn random(page: PageSize, ahead: u64) -> Result<Picoseconds, Failure> {
    let (card, space) = open(page, ahead)?;
    let bytes = 64usize << RANDOM_ROWS_LOG2;
    let (input, output) = (
        space.alloc_with_pages(bytes, page)?,
        space.alloc_with_pages(bytes, page)?,
    );
    for (n, word) in input.slice::<AtomicU32>().iter().enumerate() {
        word.store(n as u32, Relaxed);
    }
    let slot = card.load(SlotId(0), kernel("traffic"), &space)?;
    slot.set_pointer("input", input.address())?;
    slot.set_pointer("output", output.address())?;
    slot.set("bursts", 1 << (RANDOM_ROWS_LOG2 - RANDOM_BURST_LOG2))?;
    slot.set("length_log2", RANDOM_BURST_LOG2)?;
    slot.set("rows_log2", RANDOM_ROWS_LOG2)?;
    slot.set("seed", 14)?;
    slot.set("random", 3)?;
    run(&card, &slot)
}

/// Measures all page sizes.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let options = platform()?;
    let clock = options.platform.clock().period_ps.as_seconds();
    let compute = (BYTES / 64) as f64 * clock;
    let link = BYTES as f64 / link_peak(&options);
    let least = compute.max(link);
    let mut rows = Vec::new();
    for (name, bytes) in PAGES {
        let page = PageSize::from_bytes(bytes).ok_or("page size")?;
        eprintln!("pages of {name}");
        let row = |what: &str, value: f64| Row::new(&format!("shared.{what}.{name}"), value, "x");
        let over = |time: Picoseconds| time.as_seconds() / least;
        rows.push(row("transform.vs_ready", over(transform(page, AHEAD)?)));
        rows.push(row("transform.without_ahead", over(transform(page, 0)?)));
        let gain = random(page, AHEAD)?.as_seconds() / random(page, 0)?.as_seconds();
        rows.push(row("random.ahead_over_without", gain));
    }
    Ok(rows)
}
