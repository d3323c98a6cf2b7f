//! FSRF's figure 9: random reads of one size by one application, the whole path against its parts alone. Storage and the
//! DMA engine by themselves bound it; the paper's system is within a factor of two of the slower one.

use super::aes::write_input;
use super::Failure;
use crate::driver::Driver;
use crate::row::{Row, Target};
use card::command::Operation;
use card::memory::HostMemory;
use card::sim::{SimCard, SimOptions};
use card::Card as _;
use std::sync::Arc;
use timing::host::{Host, HostModel};
use tombolo::{Card, Continue, FileState, MapOptions, OwnerOptions, PageSize, Preset, SlotId};
use units::{CardAddr, Picoseconds};

/// A bar for all sizes, and one for the largest.
pub const NAMES: &[&str] = &[
    "fsrf.figure9.share_of_slowest",
    "fsrf.figure9.share_of_slowest_2m",
];

/// log2 of the sizes of a transfer, and how many are measured.
const SIZES: [(u32, u64); 4] = [(12, 128), (14, 64), (17, 32), (21, 8)];

fn preset() -> Result<Preset, Failure> {
    Ok(Preset::named("fsrf-sram", 0)?.scaled(4, 6))
}

fn options() -> Result<SimOptions, Failure> {
    let mut options = SimOptions::named("f1-mig")?;
    options.shell = preset()?.shell;
    Ok(options)
}

/// Bytes a second of random reads through the library: pages, faults, file, link.
fn through(log2: u32, count: u64, state: FileState) -> Result<f64, Failure> {
    let page = PageSize::from_bytes(1 << log2).ok_or("no such page")?;
    let owner = OwnerOptions {
        page_size: page,
        read_ahead_bytes: 0,
        file_state: state,
        ..OwnerOptions::default()
    };
    let card = Card::simulated(options()?, owner, |_| {})?;
    let space = preset()?.create_space(&card, 0)?;
    let files = tempfile::tempdir()?;
    let map = |name: &str, bytes, options| -> Result<_, Failure> {
        let path = files.path().join(name);
        write_input(&path, bytes)?;
        Ok(space.map_file(&path, options)?)
    };
    let input = map("in", count << log2, MapOptions::read_only())?;
    let output = map("out", 64, MapOptions::read_write())?;
    let folder = card::sim::home().join("kernels/rng");
    let slot = card.load(SlotId(0), &folder, &space)?;
    for (name, value) in [
        ("input", input.address().get()),
        ("output", output.address().get()),
        ("accesses", count),
        ("access_log2", log2.into()),
        ("period_log2", count.ilog2().into()),
        ("seed", 1),
        ("write", 0),
    ] {
        slot.set_bytes(name, &value.to_le_bytes())?;
    }
    slot.start()?;
    slot.wait(None, |_| Continue::Yes)?;
    let report = card.report()?;
    let time = report.runs.iter().map(|run| run.time).max();
    Ok((count << log2) as f64 / time.ok_or("no run")?.as_seconds())
}

/// Bytes a second of copies of this size to the card, nothing else running.
fn link_alone(log2: u32, count: u64) -> Result<f64, Failure> {
    let mut driver = Driver::new(SimCard::open(options()?, |_| {})?);
    let bytes = 1u64 << log2;
    let host = Arc::new(HostMemory::allocate((2 << 20) as usize)?);
    let from = driver.card.map_host(host)?;
    let began = driver.card.now();
    for number in 0..count {
        let to = CardAddr::new((1 << 30) + number * bytes).ok_or("no such address")?;
        driver.submit(Operation::CopyIn { from, to, bytes }, false)?;
    }
    driver.command(Operation::Nop)?;
    Ok((count * bytes) as f64 / (driver.card.now() - began).as_seconds())
}

/// Bytes a second of what the host does for reads of this size, as many at a time as it likes.
fn host_alone(log2: u32, count: u64, state: FileState) -> Result<f64, Failure> {
    let mut host = HostModel::new(options()?.platform.host());
    let bytes = 1u64 << log2;
    let read = |_| match state {
        FileState::Cold => host.storage_read(Picoseconds::ZERO, bytes),
        FileState::Warm => host.page_cache_copy(Picoseconds::ZERO, bytes),
    };
    let end = (0..count).map(read).max().ok_or("no reads")?;
    Ok((count * bytes) as f64 / end.as_seconds())
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut shares = Vec::new();
    for (log2, count) in SIZES {
        let link = link_alone(log2, count)?;
        for state in [FileState::Warm, FileState::Cold] {
            let host = host_alone(log2, count, state)?;
            let ours = through(log2, count, state)?;
            let share = ours / link.min(host);
            eprintln!(
                "{:>7} bytes, {state:?}: {:.0} MB/s; host alone {:.0}, DMA alone {:.0}: share {share:.2}",
                1 << log2,
                ours / 1e6,
                host / 1e6,
                link / 1e6
            );
            shares.push((log2, share));
        }
    }
    let worst = |of: &dyn Fn(u32) -> bool| {
        let shares = shares.iter().filter(|(log2, _)| of(*log2));
        shares
            .map(|(_, share)| *share)
            .fold(f64::INFINITY, f64::min)
    };
    let all = worst(&|_| true);
    let large = worst(&|log2| log2 == 21);
    Ok(vec![
        Row::new(NAMES[0], all, "share", Target::AtLeast(0.5)),
        Row::new(NAMES[1], large, "share", Target::AtLeast(0.8)),
    ])
}
