//! Kernels with streams on the u280: is every byte of every transfer right, from each device, and does virtual I/O cost
//! anything against ports of the kernel's own?

use super::Failure;
use crate::experiment::vfpio::{data, Application, Station, Vfpio};
use crate::random::Random;
use crate::row::{Row, Target};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use tombolo::{Card, FunctionalCard, FunctionalConfig, MapOptions, OwnerOptions, PageSize};

/// The names, in the order of measurement.
pub const LOST: &[&str] = &["vio.kernels.lost", "vio.kernels.transfers"];
/// The name of the other.
pub const SHARE: &[&str] = &["vio.share_of_wired"];

/// Transfers of a kernel from a device.
const TRANSFERS: usize = 200;
const LONGEST: u64 = 64 << 10;
/// What two matrices have.
const PAIR: u64 = 32 << 10;

fn experiment() -> Result<Vfpio, Failure> {
    Ok(Vfpio::read(&card::sim::home().join("experiments"))?)
}

fn simulated(experiment: &Vfpio) -> Result<Card, Failure> {
    let options = experiment.options()?;
    Ok(Card::simulated(options, OwnerOptions::default(), |_| {})?)
}

fn functional() -> Result<Card, Failure> {
    let card = FunctionalCard::new(FunctionalConfig {
        slots: 2,
        streams_per_slot: 1,
        queues: 3,
        ..FunctionalConfig::default()
    });
    Ok(Card::new(Box::new(card), OwnerOptions::default())?)
}

/// Bytes that may come out of a transfer.
fn room(one: &Application, bytes: u64) -> u64 {
    match one.name.as_str() {
        "sha256" | "md5" | "sha3" => one.room,
        "nw" => 4 * (bytes / 64 + 1),
        "gzip" => bytes + bytes / 8 + 32,
        "matmul" => (bytes / 2).max(64),
        _ => bytes,
    }
}

/// 1 B to 64 KiB, log-uniform: where a transfer begins in its mapping, and its bytes.
fn plan(one: &Application, seed: u64) -> Vec<(u64, u64)> {
    let mut random = Random(seed);
    (0..TRANSFERS)
        .map(|n| {
            let log = random.below(17_000) as f64 / 1000.0;
            let mut bytes = (log.exp2() as u64).clamp(1, LONGEST);
            if one.name == "matmul" && n % 8 == 0 {
                bytes = PAIR;
            }
            (random.below(4096), bytes)
        })
        .collect()
}

/// What comes out of each transfer, from a mapped file into one.
fn through_files(
    card: &Card,
    one: &Application,
    plan: &[(u64, u64)],
) -> Result<Vec<Vec<u8>>, Failure> {
    let station = Station::new(card, one)?;
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("in");
    std::fs::write(&source, data(4096 + LONGEST))?;
    let result = folder.path().join("out");
    let total: u64 = plan.iter().map(|(_, bytes)| room(one, *bytes) + 1).sum();
    let from = station.space().map_file(&source, MapOptions::read_only())?;
    let to = station
        .space()
        .map_file(&result, MapOptions::create(total))?;
    let (mut at, mut places) = (0, Vec::new());
    for (offset, bytes) in plan {
        if one.source {
            station.set("bytes", *bytes)?;
        }
        let input = (!one.source).then(|| from.slice(*offset, *bytes));
        let space = room(one, *bytes);
        let came = station.transfer(input.transpose()?, to.slice(at, space)?)?;
        places.push((at as usize, came as usize));
        // A byte between two stays as it was.
        at += space + 1;
    }
    to.unmap()?;
    let made = std::fs::read(&result)?;
    Ok(places
        .iter()
        .map(|(at, came)| made[*at..*at + *came].to_vec())
        .collect())
}

/// The same from the program's memory into such memory, whose pages come and go back each time.
fn through_memory(
    card: &Card,
    one: &Application,
    plan: &[(u64, u64)],
) -> Result<Vec<Vec<u8>>, Failure> {
    let station = Station::new(card, one)?;
    let page = PageSize::from_bytes(64 << 10).ok_or("no such page")?;
    let from = station
        .space()
        .alloc_untrapped((4096 + LONGEST) as usize, page)?;
    let to = station
        .space()
        .alloc_untrapped(2 * LONGEST as usize, page)?;
    let given = from.slice::<AtomicU8>();
    for (word, byte) in given.iter().zip(data(4096 + LONGEST)) {
        word.store(byte, Relaxed);
    }
    let mut made = Vec::new();
    for (offset, bytes) in plan {
        if one.source {
            station.set("bytes", *bytes)?;
        }
        from.take(0, 4096 + LONGEST, true)?;
        let input = (!one.source).then(|| from.part(*offset, *bytes));
        let space = room(one, *bytes);
        let came = station.transfer(input.transpose()?, to.part(offset % 64, space)?)?;
        to.take(0, 2 * LONGEST, true)?;
        let begin = (offset % 64) as usize;
        let bytes = &to.slice::<AtomicU8>()[begin..begin + came as usize];
        made.push(bytes.iter().map(|byte| byte.load(Relaxed)).collect());
    }
    Ok(made)
}

fn wrong(made: &[Vec<u8>], wanted: &[Vec<u8>]) -> usize {
    let alike = made
        .iter()
        .zip(wanted)
        .filter(|(made, wanted)| made == wanted);
    wanted.len() - alike.count()
}

/// Every kernel from both devices; the models of the functional card are the judges of the RTL.
pub fn lost() -> Result<Vec<Row>, Failure> {
    let experiment = experiment()?;
    let (rtl, models) = (simulated(&experiment)?, functional()?);
    let mut perf = experiment.application("matmul").ok_or("matmul")?.clone();
    perf.name = "perf".to_owned();
    perf.kernel = "perf_stream".to_owned();
    let (mut lost, mut transfers) = (0, 0);
    for (seed, one) in (1..).zip(experiment.application.iter().chain([&perf])) {
        let plan = plan(one, seed);
        let wanted = through_files(&models, one, &plan)?;
        let files = wrong(&through_files(&rtl, one, &plan)?, &wanted);
        let memory = wrong(&through_memory(&rtl, one, &plan)?, &wanted);
        eprintln!(
            "{}: {files} wrong from files, {memory} from memory",
            one.name
        );
        lost += files + memory;
        transfers += 2 * plan.len();
    }
    Ok(vec![
        Row::new(LOST[0], lost as f64, "transfers", Target::Exactly(0.0)),
        Row::new(
            LOST[1],
            transfers as f64,
            "transfers",
            Target::AtLeast(2.0 * 9.0 * TRANSFERS as f64),
        ),
    ])
}

/// The least of the kernels that there are in both forms, of 64 bytes a cycle, over 4 MiB on the card.
pub fn share_of_wired() -> Result<Vec<Row>, Failure> {
    let experiment = experiment()?;
    let mut least = f64::INFINITY;
    for one in experiment
        .application
        .iter()
        .filter(|one| one.wired.is_some())
    {
        let card = simulated(&experiment)?;
        let (card_rate, wired) = experiment.against_wired(&card, one)?;
        eprintln!(
            "{}: {card_rate:.1} MiB/s, through ports of its own {wired:.1}",
            one.name
        );
        least = least.min(card_rate / wired);
    }
    Ok(vec![Row::new(
        SHARE[0],
        least,
        "of wired",
        Target::AtLeast(0.995),
    )])
}
