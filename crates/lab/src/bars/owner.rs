//! The owner of a card and its clients.

use super::stream::four_slots;
use super::Failure;
use crate::row::Row;
use std::fs;
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tombolo::io::{BlockingIo, FileIo, Transfer, TransferId};
use tombolo::{
    Card, ClockMode, FunctionalCard, FunctionalConfig, MapOptions, OwnerOptions, PageSize, SlotId,
};

#[path = "../../../tombolo/tests/handles/torture.rs"]
mod torture;

#[allow(dead_code, reason = "tests use more of it")]
#[path = "../../../tombolo/tests/shared_memory/common.rs"]
pub(super) mod common;
#[path = "../../../tombolo/tests/shared_memory/lockstep.rs"]
mod shared;

const OPERATIONS: u64 = 1_000_000;

/// Handles dropped in any order and used after their objects have ended, by three threads.
pub fn stale_handles() -> Result<Vec<Row>, Failure> {
    let found = torture::run(OPERATIONS, 3, 20_261_122, None);
    let injected = torture::run(10_000, 3, 1, Some(tombolo::InjectedFault::StaleMapping));
    if injected.wrong == 0 {
        return Err("the injected fault was not found".into());
    }
    Ok(vec![
        Row::new(
            "owner.stale_handles_wrong_bytes",
            found.wrong as f64,
            "findings",
        ),
        Row::new(
            "owner.stale_handles_operations",
            found.operations as f64,
            "operations",
        ),
    ])
}

fn functional(slots: u8) -> Box<FunctionalCard> {
    Box::new(FunctionalCard::new(FunctionalConfig {
        slots,
        queues: slots + 1,
        ..FunctionalConfig::default()
    }))
}

/// The quantile: the figure below which the given share of the figures lies. Sorts them.
fn quantile(figures: &mut [Duration], share: f64) -> Duration {
    figures.sort_unstable();
    let place = (figures.len() as f64 * share) as usize;
    figures
        .get(place.min(figures.len().saturating_sub(1)))
        .copied()
        .unwrap_or(Duration::MAX)
}

/// Cost of a call that does not access the card.
pub fn request() -> Result<Vec<Row>, Failure> {
    let card = Card::new(functional(1), OwnerOptions::default())?;
    let mut times = Vec::new();
    for _ in 0..50_000 {
        let begin = Instant::now();
        card.describe()?;
        times.push(begin.elapsed());
    }
    let median = quantile(&mut times, 0.5).as_secs_f64() * 1e6;
    let slow = quantile(&mut times, 0.99).as_secs_f64() * 1e6;
    Ok(vec![
        Row::new("owner.request_us", median, "µs"),
        Row::new("owner.request_p99_us", slow, "µs"),
    ])
}

/// Storage whose transfers take a fifth of a second each while it is slow.
struct SlowIo {
    inner: BlockingIo,
    slow: Arc<AtomicBool>,
}

impl FileIo for SlowIo {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn start(&mut self, transfer: Transfer) {
        self.inner.start(transfer);
    }

    fn finish(&mut self, id: TransferId) -> io::Result<usize> {
        if self.slow.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(200));
        }
        self.inner.finish(id)
    }
}

/// A kernel that is not cached: the copy kernel with a unique comment.
fn unknown_kernel(folder: &Path) -> Result<std::path::PathBuf, Failure> {
    let from = simcard::home().join("kernels/copy");
    let to = folder.join("copy");
    fs::create_dir(&to)?;
    // The manifest refers to it.
    std::os::unix::fs::symlink(simcard::home().join("kernels/lib"), folder.join("lib"))?;
    let stamp = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    for entry in fs::read_dir(&from)? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let mut content = fs::read(entry.path())?;
        if entry.path().extension().is_some_and(|end| end == "sv") {
            content.extend(format!("// {}\n", stamp.as_nanos()).bytes());
        }
        fs::write(to.join(entry.file_name()), content)?;
    }
    Ok(to)
}

/// Duration of a bystander's calls while another client loads, syncs a slow file and resets a slot.
fn bystander(raw: Box<dyn card::Card>, builds: bool) -> Result<Duration, Failure> {
    let folder = tempfile::tempdir()?;
    let slow = Arc::new(AtomicBool::new(false));
    let flag = slow.clone();
    let io = move || -> Box<dyn FileIo> {
        Box::new(SlowIo {
            inner: BlockingIo::default(),
            slow: flag.clone(),
        })
    };
    let options = OwnerOptions {
        clock: ClockMode::Free,
        page_size: Some(PageSize::KIB_4),
        ..OwnerOptions::default()
    };
    let card = Card::with_io(raw, io, options)?;
    let kernel = simcard::home().join("kernels/copy");
    let other = card.client();
    let quiet = other.create_space()?;
    let quiet = (other.load(SlotId(1), &kernel, &quiet)?, quiet);
    let over = AtomicBool::new(false);
    let times = std::thread::scope(|scope| {
        let watches = scope.spawn(|| -> Result<Vec<Duration>, tombolo::Error> {
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let begin = Instant::now();
                other.describe()?;
                quiet.0.read_register(0)?;
                times.push(begin.elapsed());
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(times)
        });
        let work = || -> Result<(), Failure> {
            let space = card.create_space()?;
            fs::write(folder.path().join("in"), vec![5; 40_000])?;
            let input = space.map_file(folder.path().join("in"), MapOptions::read_only())?;
            let output = MapOptions::create(input.bytes());
            let output = space.map_file(folder.path().join("out"), output)?;
            let kernel = match builds {
                true => unknown_kernel(folder.path())?,
                false => kernel.clone(),
            };
            for _ in 0..3 {
                let slot = card.load(SlotId(0), &kernel, &space)?;
                slot.set_pointer("input", input.address())?;
                slot.set_pointer("output", output.address())?;
                slot.set("bytes", input.bytes())?;
                slot.start()?;
                slot.join(None)?;
                slow.store(true, Ordering::Relaxed);
                output.sync()?;
                slow.store(false, Ordering::Relaxed);
                slot.start()?;
                slot.close()?;
            }
            Ok(())
        };
        let worked = work();
        over.store(true, Ordering::Relaxed);
        let times = watches.join().map_err(|_| "the bystander panicked")?;
        worked?;
        Ok::<_, Failure>(times?)
    });
    let mut times = times?;
    eprintln!(
        "{} calls, the slowest {:?}",
        times.len(),
        times.iter().max()
    );
    Ok(quantile(&mut times, 0.99))
}

/// A bystander on the functional card, and on a simulated one with a free-running clock.
pub fn bystanders() -> Result<Vec<Row>, Failure> {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let functional = bystander(functional(2), false)?;
    let simulated = simcard::SimCard::open(four_slots()?, |_| {})?;
    let simulated = bystander(Box::new(simulated), true)?;
    let row = |name, time| Row::new(name, milliseconds(time), "ms");
    Ok(vec![
        row("owner.bystander_ms", functional.max(simulated)),
        Row::new(
            "owner.bystander_functional_ms",
            milliseconds(functional),
            "ms",
        ),
        Row::new(
            "owner.bystander_simulated_ms",
            milliseconds(simulated),
            "ms",
        ),
    ])
}

/// Four registered host threads, each with a slot and files.
fn threads(folder: &Path) -> Result<String, Failure> {
    let card = Card::simulated(four_slots()?, OwnerOptions::default(), |_| {})?;
    let kernel = simcard::home().join("kernels/copy");
    let seats = (0..4).map(|_| card.participant());
    let seats: Vec<_> = seats.collect::<Result<_, _>>()?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0u8..)
            .zip(seats)
            .map(|(number, seat)| {
                let (card, kernel) = (&card, &kernel);
                scope.spawn(move || -> Result<(), tombolo::Error> {
                    let _present = seat.enter()?;
                    let from = folder.join(format!("{number}.in"));
                    let to = folder.join(format!("{number}.out"));
                    let space = card.create_space()?;
                    let input = space.map_file(&from, MapOptions::read_only())?;
                    let output = space.map_file(&to, MapOptions::create(input.bytes()))?;
                    let slot = card.load(SlotId(number), kernel, &space)?;
                    for _ in 0..2 {
                        slot.set_pointer("input", input.address())?;
                        slot.set_pointer("output", output.address())?;
                        slot.set("bytes", input.bytes())?;
                        slot.start()?;
                        slot.join(None)?;
                        output.sync()?;
                    }
                    output.unmap()
                })
            })
            .collect();
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok::<_, Failure>(())
    })?;
    for number in 0..4 {
        let [from, to] = ["in", "out"].map(|end| folder.join(format!("{number}.{end}")));
        if fs::read(from)? != fs::read(to)? {
            return Err(format!("thread {number} has got the wrong bytes").into());
        }
    }
    Ok(card.report()?.hash())
}

/// Whether 20 runs give one hash: ten on an idle machine, ten with both cores loaded.
fn is_always_one(run: impl Fn(u64) -> Result<String, Failure>) -> Result<bool, Failure> {
    let mut hashes = (0..10).map(&run).collect::<Result<Vec<_>, _>>()?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut count = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    count = black_box(count.wrapping_add(1));
                }
            });
        }
        let loaded = (10..20).map(run).collect::<Result<Vec<_>, _>>();
        stop.store(true, Ordering::Relaxed);
        hashes.extend(loaded?);
        Ok::<_, Failure>(())
    })?;
    let same = hashes.iter().all(|hash| *hash == hashes[0]);
    if !same {
        eprintln!("lockstep: {hashes:#?}");
    }
    Ok(same)
}

/// Threads with separate files and slots.
pub fn lockstep() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    for number in 0..4u8 {
        let bytes = 10_000 + 7000 * usize::from(number);
        fs::write(
            folder.path().join(format!("{number}.in")),
            vec![number + 1; bytes],
        )?;
    }
    let same = is_always_one(|_| threads(folder.path()))?;
    Ok(vec![Row::holds("lockstep.threads_golden", same)])
}

/// Threads that access memory held by kernels.
pub fn shared_lockstep() -> Result<Vec<Row>, Failure> {
    let same = is_always_one(|seed| Ok(shared::run(&shared::simulated(None), seed)?.0))?;
    Ok(vec![Row::holds("lockstep.shared_golden", same)])
}
