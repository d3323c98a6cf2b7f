//! FSRF's figure 9: random reads of one size by one application, the whole path against its parts alone. Storage and the
//! DMA engine by themselves bound it; the paper's system is within a factor of two of the slower one. It does not say how many
//! reads and copies its parts had under way. The bars let them have all at once; beside them stands what they do one at a
//! time, as the text's "file access and DMA dominating run time" suggests.

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

/// A bar for all sizes, and one for the largest; and for all sizes with parts that do one thing at a time.
pub const NAMES: &[&str] = &[
    "fsrf.figure9.share_of_slowest",
    "fsrf.figure9.share_of_slowest_2m",
    "fsrf.figure9.share_of_slowest_serial",
];

/// How many a part of the path has under way when it is alone.
#[derive(Clone, Copy)]
enum Depth {
    All,
    One,
}

/// log2 of the sizes of a transfer, and how many are measured.
const SIZES: [(u32, u64); 4] = [(12, 128), (14, 64), (17, 32), (21, 8)];

fn preset() -> Result<Preset, Failure> {
    Ok(Preset::named("tombolo", 0)?.scaled(4, 6))
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
fn link_alone(log2: u32, count: u64, depth: Depth) -> Result<f64, Failure> {
    let mut driver = Driver::new(SimCard::open(options()?, |_| {})?);
    let bytes = 1u64 << log2;
    let host = Arc::new(HostMemory::allocate((2 << 20) as usize)?);
    let from = driver.card.map_host(host)?;
    let began = driver.card.now();
    for number in 0..count {
        let to = CardAddr::new((1 << 30) + number * bytes).ok_or("no such address")?;
        let copy = Operation::CopyIn { from, to, bytes };
        match depth {
            Depth::All => drop(driver.submit(copy, false)?),
            Depth::One => drop(driver.command(copy)?),
        }
    }
    driver.command(Operation::Nop)?;
    Ok((count * bytes) as f64 / (driver.card.now() - began).as_seconds())
}

/// Bytes a second of what the host does for reads of this size.
fn host_alone(log2: u32, count: u64, state: FileState, depth: Depth) -> Result<f64, Failure> {
    let mut host = HostModel::new(options()?.platform.host());
    let bytes = 1u64 << log2;
    let mut end = Picoseconds::ZERO;
    for _ in 0..count {
        let begin = match depth {
            Depth::All => Picoseconds::ZERO,
            Depth::One => end,
        };
        let read = match state {
            FileState::Cold => host.storage_read(begin, bytes),
            FileState::Warm => host.page_cache_copy(begin, bytes),
        };
        end = end.max(read);
    }
    Ok((count * bytes) as f64 / end.as_seconds())
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    // The worst of all sizes, of the largest, and beside parts that do one thing at a time.
    let mut worst = [f64::INFINITY; 3];
    for (log2, count) in SIZES {
        let links = [
            link_alone(log2, count, Depth::All)?,
            link_alone(log2, count, Depth::One)?,
        ];
        for state in [FileState::Warm, FileState::Cold] {
            let ours = through(log2, count, state)?;
            let mut shares = [0.0; 2];
            for (place, depth) in [Depth::All, Depth::One].into_iter().enumerate() {
                let host = host_alone(log2, count, state, depth)?;
                let link = links[place];
                shares[place] = ours / link.min(host);
                eprintln!(
                    "{:>7} bytes, {state:?}: {:.0} MB/s; {} host alone {:.0}, DMA alone {:.0}: share {:.2}",
                    1 << log2,
                    ours / 1e6,
                    ["all at once:", "one at a time:"][place],
                    host / 1e6,
                    link / 1e6,
                    shares[place]
                );
            }
            worst[0] = worst[0].min(shares[0]);
            if log2 == 21 {
                worst[1] = worst[1].min(shares[0]);
            }
            worst[2] = worst[2].min(shares[1]);
        }
    }
    Ok(vec![
        Row::new(NAMES[0], worst[0], "share", Target::AtLeast(0.5)),
        Row::new(NAMES[1], worst[1], "share", Target::AtLeast(0.8)),
        Row::new(NAMES[2], worst[2], "share", Target::Shown),
    ])
}
