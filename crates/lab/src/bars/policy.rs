//! Automatic page sizes compared with each fixed one: sequential and random, data that fits and data of twice the
//! card's memory, warm and cold. A cell is the time of one kernel run, from start to interrupt. Also a loop over more
//! data than fits, with FIFO and with adaptive eviction.

use super::stream::four_slots;
use super::Failure;
use crate::row::Row;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tombolo::{
    AddressSpace, Advice, Card, Continue, Eviction, FileState, MapOptions, Mapping, OwnerOptions,
    PageSize, ServiceThreads, SimOptions, Slot, SlotId, SpacePlacement,
};

/// Size of card memory in bytes.
const CARD: u64 = 16 << 20;
/// log2(bytes) of the data.
const DATA: [(&str, u32); 2] = [("fits", 23), ("over", 25)];
const SEED: u64 = 0x1234_5678_9abc_def1;

/// Page sizes; `None` is automatic.
const CHOICES: [(&str, Option<u8>); 4] = [
    ("auto", None),
    ("2mib", Some(9)),
    ("64kib", Some(4)),
    ("4kib", Some(0)),
];

/// Number of random reads: about two per page if the data fits, few otherwise.
const fn reads(log2: u32) -> u64 {
    match log2 {
        ..=23 => 4096,
        _ => 128,
    }
}

/// Loads a kernel that reads a mapped file and writes its result to a second file. The result is small, so that its
/// page takes no memory from the data.
fn load(
    card: &Card,
    slot: u8,
    kernel: &Path,
    (space, data, path): (&AddressSpace, &Mapping, &Path),
) -> Result<(Slot, Mapping), Failure> {
    let small = MapOptions::create(64).page_size(PageSize::KIB_4);
    let result = space.map_file(path.with_extension("out"), small)?;
    let slot = card.load(SlotId(slot), kernel, space)?;
    slot.set_pointer("input", data.address())?;
    slot.set_pointer("output", result.address())?;
    Ok((slot, result))
}

/// Runs a kernel once; returns the time in microseconds.
fn run(
    path: &Path,
    log2: u32,
    kernel: &str,
    class: Option<u8>,
    state: FileState,
) -> Result<f64, Failure> {
    let mut options = SimOptions::named("f1")?;
    options.channel_bytes = Some(CARD / u64::from(options.shell.channels));
    let folder = options.home.join("kernels").join(kernel);
    let owner = OwnerOptions {
        file_state: state,
        ..OwnerOptions::default()
    };
    let card = Card::simulated(options, owner, |_| {})?;
    let space = card.create_space()?;
    let map = |options: MapOptions| match class.map(PageSize::from_class) {
        Some(size) => Ok(options.page_size(size.ok_or("no such size")?)),
        None => Ok::<_, Failure>(options.auto_pages()),
    };
    let data = space.map_file(path, map(MapOptions::read_only())?)?;
    let (slot, _result) = load(&card, 0, &folder, (&space, &data, path))?;
    match kernel {
        "sum" => slot.set("bytes", 1 << log2)?,
        _ => {
            slot.set("reads", reads(log2))?;
            slot.set("rows_log2", u64::from(log2 - 6))?;
            slot.set("seed", SEED)?;
        }
    }
    slot.start()?;
    slot.wait(None, |_| Continue::Yes)?;
    let report = card.report()?;
    let run = report.runs.first().ok_or("no run")?;
    Ok(run.time.as_seconds() * 1e6)
}

/// A card with 8 MiB and this eviction policy, and the folder of a kernel.
fn small_card(eviction: Eviction, kernel: &str) -> Result<(Card, PathBuf), Failure> {
    const CARD: u64 = 8 << 20;
    let mut options = SimOptions::named("f1")?;
    options.channel_bytes = Some(CARD / u64::from(options.shell.channels));
    let folder = options.home.join("kernels").join(kernel);
    let owner = OwnerOptions {
        eviction,
        ..OwnerOptions::default()
    };
    Ok((Card::simulated(options, owner, |_| {})?, folder))
}

/// Runs a kernel four times; returns the time of the last run in microseconds.
fn fourth(card: &Card, slot: &Slot) -> Result<f64, Failure> {
    for _ in 0..4 {
        slot.start()?;
        slot.wait(None, |_| Continue::Yes)?;
    }
    let report = card.report()?;
    let run = report.runs.last().ok_or("no run")?;
    Ok(run.time.as_seconds() * 1e6)
}

/// Time in microseconds of the fourth pass of a loop over one and a half times the card's memory.
fn fourth_of_a_loop(path: &Path, eviction: Eviction) -> Result<f64, Failure> {
    const DATA: u64 = 12 << 20;
    std::fs::write(path, vec![1; DATA as usize])?;
    let (card, kernel) = small_card(eviction, "sum")?;
    let space = card.create_space()?;
    let size = PageSize::from_class(4).ok_or("no such size")?;
    let data = space.map_file(path, MapOptions::read_only().page_size(size))?;
    let (slot, _result) = load(&card, 0, &kernel, (&space, &data, path))?;
    slot.set("bytes", DATA)?;
    fourth(&card, &slot)
}

pub fn loops() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("data");
    let fifo = fourth_of_a_loop(&path, Eviction::Fifo)?;
    let adaptive = fourth_of_a_loop(&path, Eviction::Adaptive)?;
    Ok(vec![
        Row::new("policy.loop.fifo_us", fifo, "us"),
        Row::new("policy.loop.adaptive_us", adaptive, "us"),
        // Half of the data can stay resident: the loop waits for at least that much less.
        Row::new("policy.loop.gain", fifo / adaptive, "ratio"),
    ])
}

/// Time in microseconds of the fourth of repeated sums of two streamed arrays, written to the same destination.
fn fourth_sum(folder: &Path, eviction: Eviction) -> Result<f64, Failure> {
    // The two arrays together fill the card.
    const BYTES: u64 = 4 << 20;
    let (card, kernel) = small_card(eviction, "vadd")?;
    let space = card.create_space()?;
    let size = PageSize::from_class(4).ok_or("no such size")?;
    let mut inputs = Vec::new();
    for name in ["a", "b"] {
        let path = folder.join(name);
        std::fs::write(&path, vec![1; BYTES as usize])?;
        inputs.push(space.map_file(&path, MapOptions::read_only().page_size(size))?);
    }
    // The sum is written to the first quarter of its file.
    let sum = MapOptions::create(4 * BYTES).page_size(size);
    let sum = space.map_file(folder.join("sum"), sum)?;
    let slot = card.load(SlotId(0), &kernel, &space)?;
    slot.set_pointer("a", inputs[0].address())?;
    slot.set_pointer("b", inputs[1].address())?;
    slot.set("length", BYTES / 4)?;
    slot.set_pointer("c", sum.address())?;
    fourth(&card, &slot)
}

/// `policy.sharedfirst.*`
pub fn shared_first() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let fifo = fourth_sum(folder.path(), Eviction::Fifo)?;
    let shared = fourth_sum(folder.path(), Eviction::SharedFirst)?;
    let name = "policy.sharedfirst.rewritten";
    Ok(vec![Row::new(name, fifo / shared, "ratio")])
}

/// Faults per second of four applications with random reads, each with a separate space and channel.
fn faults_of_four(folder: &Path, service_threads: ServiceThreads) -> Result<f64, Failure> {
    const LOG2: u32 = 24;
    const READS: u64 = 512;
    let options = four_slots()?;
    let kernel = options.home.join("kernels/random_read");
    let owner = OwnerOptions {
        service_threads,
        ..OwnerOptions::default()
    };
    let card = Card::simulated(options, owner, |_| {})?;
    let mut jobs = Vec::new();
    for number in 0..4 {
        let path = folder.join(format!("{number}.in"));
        std::fs::File::create(&path)?.set_len(1 << LOG2)?;
        let space = card.create_space_on(SpacePlacement::Channel(usize::from(number)))?;
        let pages = MapOptions::read_only().page_size(PageSize::KIB_4);
        let advice = Advice::RANDOM;
        let data = space.map_file(&path, pages.advice(advice))?;
        let (slot, result) = load(&card, number, &kernel, (&space, &data, &path))?;
        slot.set("reads", READS)?;
        slot.set("rows_log2", u64::from(LOG2 - 6))?;
        slot.set("seed", SEED + u64::from(number))?;
        jobs.push((slot, data, result, space));
    }
    for (slot, ..) in &jobs {
        slot.start()?;
    }
    for (slot, ..) in &jobs {
        slot.wait(None, |_| Continue::Yes)?;
    }
    let report = card.report()?;
    let longest = report.runs.iter().map(|run| run.time.as_seconds());
    Ok(report.paging.pages_read as f64 / longest.fold(0.0, f64::max))
}

pub fn service() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let one = faults_of_four(folder.path(), ServiceThreads::One)? * 1e-6;
    let each = faults_of_four(folder.path(), ServiceThreads::EachSpace)? * 1e-6;
    Ok(vec![
        Row::new("policy.service.one_thread", one, "Mpages/s"),
        Row::new("policy.service.thread_a_space", each, "Mpages/s"),
        Row::new("policy.service.gain", each / one, "ratio"),
    ])
}

/// Time in microseconds of random reads of resident data beyond the reach of the L1 TLBs with small entries, with pages
/// of 64 KiB and with the same pages joined.
pub fn joined() -> Result<Vec<Row>, Failure> {
    const LOG2: u32 = 25;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("data");
    std::fs::File::create(&path)?.set_len(1 << LOG2)?;
    let mut times = Vec::new();
    for class in [None, Some(4)] {
        let mut options = SimOptions::named("f1")?;
        options.channel_bytes = Some((2 << LOG2) / u64::from(options.shell.channels));
        let kernel = options.home.join("kernels/random_read");
        let card = Card::simulated(options, OwnerOptions::default(), |_| {})?;
        let space = card.create_space()?;
        let size = class.and_then(PageSize::from_class);
        let pages = size.map_or(MapOptions::read_only().auto_pages(), |size| {
            MapOptions::read_only().page_size(size)
        });
        let data = space.map_file(&path, pages)?;
        let (slot, _result) = load(&card, 0, &kernel, (&space, &data, &path))?;
        slot.set("rows_log2", u64::from(LOG2 - 6))?;
        slot.set("seed", SEED)?;
        // Enough to touch every page, then the reads that are measured.
        for reads in [8192, 4096] {
            slot.set("reads", reads)?;
            slot.start()?;
            slot.wait(None, |_| Continue::Yes)?;
        }
        let report = card.report()?;
        let run = report.runs.last().ok_or("no run")?;
        times.push(run.time.as_seconds() * 1e6);
    }
    Ok(vec![
        Row::new("policy.join.joined_us", times[0], "us"),
        Row::new("policy.join.64kib_us", times[1], "us"),
        Row::new("policy.join.gain", times[1] / times[0], "ratio"),
    ])
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let mut rows = Vec::new();
    let mut worst = f64::INFINITY;
    for (size, log2) in DATA {
        let path = folder.path().join(size);
        let words = (0..1u64 << (log2 - 3)).map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        std::fs::write(&path, words.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())?;
        for (order, kernel) in [("sequential", "sum"), ("random", "random_read")] {
            for (name, state) in [("warm", FileState::Warm), ("cold", FileState::Cold)] {
                let mut times = BTreeMap::new();
                for (choice, class) in CHOICES {
                    let time = run(&path, log2, kernel, class, state)?;
                    let row = format!("policy.{order}.{size}.{name}.{choice}_us");
                    rows.push(Row::new(&row, time, "us"));
                    times.insert(choice, time);
                }
                let auto = times.remove("auto").unwrap_or(f64::INFINITY);
                let best = times.into_values().fold(f64::INFINITY, f64::min);
                let row = format!("policy.{order}.{size}.{name}.share_of_best");
                rows.push(Row::new(&row, best / auto, "ratio"));
                worst = worst.min(best / auto);
            }
        }
    }
    rows.push(Row::new("policy.auto.worst_share", worst, "ratio"));
    Ok(rows)
}
