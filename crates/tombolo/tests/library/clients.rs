//! Can several threads and clients use one card concurrently? No client waits behind another one's request or reaches
//! its data, and registered threads give the same report in every run.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tombolo::io::{BlockingIo, FileIo, Transfer, TransferId};
use tombolo::{
    AddressSpace, Card, ClockMode, Error, ErrorCode, FunctionalCard, FunctionalConfig, MapOptions,
    Mapping, OwnerOptions, PageSize, Picoseconds, Slot, SlotId,
};

fn kernel() -> PathBuf {
    simcard::home().join("kernels/copy")
}

fn raw(slots: u8) -> Box<FunctionalCard> {
    Box::new(FunctionalCard::new(FunctionalConfig {
        slots,
        spaces: 16,
        queues: slots + 1,
        ..FunctionalConfig::default()
    }))
}

fn small_pages() -> OwnerOptions {
    OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        table_sets_log2: 10,
        ..OwnerOptions::default()
    }
}

/// A kernel that copies one file to another.
struct Job {
    slot: Slot,
    input: Mapping,
    output: Mapping,
    _space: AddressSpace,
}

impl Job {
    fn new(card: &Card, slot: u8, folder: &Path, name: &str, bytes: u64) -> Result<Self, Error> {
        let space = card.create_space()?;
        let from = folder.join(name);
        fs::write(&from, vec![slot + 1; bytes as usize]).unwrap();
        let input = space.map_file(&from, MapOptions::read_only())?;
        let output = from.with_extension("out");
        let output = space.map_file(&output, MapOptions::create(bytes))?;
        let slot = card.load(SlotId(slot), kernel(), &space)?;
        slot.set_pointer("input", input.address())?;
        slot.set_pointer("output", output.address())?;
        slot.set("bytes", bytes)?;
        Ok(Self {
            slot,
            input,
            output,
            _space: space,
        })
    }

    fn run(&self) -> Result<(), Error> {
        self.slot.start()?;
        self.slot.join(None)
    }
}

#[test]
fn a_client_reaches_only_what_is_its_own() {
    let folder = TempDir::new().unwrap();
    let card = Card::new(raw(2), small_pages()).unwrap();
    let other = card.client();
    let mine = Job::new(&card, 0, folder.path(), "mine", 5000).unwrap();
    let space = card.create_space().unwrap();
    // A space of the other client, and a slot that is in use.
    let refused = other.load(SlotId(1), kernel(), &space).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Gone);
    let own = other.create_space().unwrap();
    let refused = other.load(SlotId(0), kernel(), &own).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::SlotState);
    assert!(refused.to_string().contains("another client"), "{refused}");
    // What the other ends does not end mine.
    let theirs = Job::new(&other, 1, folder.path(), "theirs", 5000).unwrap();
    theirs.run().unwrap();
    other.close().unwrap();
    assert_eq!(theirs.run().unwrap_err().code(), ErrorCode::Gone);
    assert_eq!(other.describe().unwrap_err().code(), ErrorCode::Gone);
    mine.run().unwrap();
    mine.output.unmap().unwrap();
    mine.input.unmap().unwrap();
    assert!(fs::read(folder.path().join("mine.out")).unwrap() == vec![1; 5000]);
    // The slot is free again.
    let again = Job::new(&card, 1, folder.path(), "again", 100).unwrap();
    again.run().unwrap();
}

#[test]
fn what_a_client_leaves_behind_is_ended() {
    let folder = TempDir::new().unwrap();
    let card = Card::new(raw(1), small_pages()).unwrap();
    let other = card.client();
    let job = Job::new(&other, 0, folder.path(), "left", 5000).unwrap();
    job.run().unwrap();
    drop((job, other));
    let job = Job::new(&card, 0, folder.path(), "next", 5000).unwrap();
    job.run().unwrap();
}

/// A second descriptor of a file that is mapped writable brings its own rights, and no more.
#[test]
fn each_descriptor_has_its_own_rights() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, [7; 5000]).unwrap();
    let card = Card::new(raw(1), small_pages()).unwrap();
    let (here, there) = (card.create_space().unwrap(), card.create_space().unwrap());
    // Read-only first, and writable then.
    let reads = here.map_file(&path, MapOptions::read_only()).unwrap();
    let writes = there.map_file(&path, MapOptions::read_write()).unwrap();
    let map = |file: io::Result<File>, options| here.map_open_file(file.unwrap(), &path, options);
    let refused = map(File::open(&path), MapOptions::read_write()).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Unmappable);
    let write_only = File::options().write(true).open(&path);
    let refused = map(write_only, MapOptions::read_write()).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Unmappable);
    // Write-back goes through the descriptor that may.
    let input = folder.path().join("input");
    fs::write(&input, [9; 5000]).unwrap();
    let input = there.map_file(&input, MapOptions::read_only()).unwrap();
    let slot = card.load(SlotId(0), kernel(), &there).unwrap();
    slot.set_pointer("input", input.address()).unwrap();
    slot.set_pointer("output", writes.address()).unwrap();
    slot.set("bytes", 5000).unwrap();
    slot.start().unwrap();
    slot.join(None).unwrap();
    writes.unmap().unwrap();
    reads.unmap().unwrap();
    assert!(fs::read(&path).unwrap() == [9; 5000]);
}

/// Blocks all I/O until released.
struct SlowIo {
    inner: BlockingIo,
    slow: Arc<AtomicBool>,
}

impl SlowIo {
    fn wait(&self) {
        while self.slow.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl FileIo for SlowIo {
    fn name(&self) -> &'static str {
        "slow"
    }
    fn start(&mut self, transfer: Transfer) {
        self.inner.start(transfer);
    }
    fn finish(&mut self, id: TransferId) -> io::Result<usize> {
        self.wait();
        self.inner.finish(id)
    }
}

/// While a file is slow, other clients are served; and a client that waits for it can be interrupted.
#[test]
fn a_slow_file_holds_up_nobody_else() {
    for clock in [ClockMode::Lockstep, ClockMode::Free] {
        let folder = TempDir::new().unwrap();
        let slow = Arc::new(AtomicBool::new(false));
        let flag = slow.clone();
        let io = move || -> Box<dyn FileIo> {
            Box::new(SlowIo {
                inner: BlockingIo::default(),
                slow: flag.clone(),
            })
        };
        let options = OwnerOptions {
            clock,
            ..small_pages()
        };
        let card = Card::with_io(raw(2), io, options).unwrap();
        let job = Job::new(&card, 0, folder.path(), "slow", 50_000).unwrap();
        let other = card.client();
        let quiet = Job::new(&other, 1, folder.path(), "quiet", 64).unwrap();
        job.run().unwrap();
        slow.store(true, Ordering::Relaxed);
        std::thread::scope(|scope| {
            let syncs = scope.spawn(|| job.output.sync());
            for _ in 0..20 {
                other.describe().unwrap();
                quiet.slot.read_register(0).unwrap();
                quiet.slot.set("bytes", 64).unwrap();
            }
            assert!(!syncs.is_finished());
            slow.store(false, Ordering::Relaxed);
            syncs.join().unwrap().unwrap();
        });
        let path = folder.path().join("slow.out");
        assert!(fs::read(path).unwrap() == vec![1; 50_000]);
        // Now somebody who waits for it wants to wait no more.
        job.run().unwrap();
        slow.store(true, Ordering::Relaxed);
        let stop = Arc::new(AtomicBool::new(false));
        let watch = stop.clone();
        card.interrupt_when(move || watch.load(Ordering::Relaxed));
        std::thread::scope(|scope| {
            let syncs = scope.spawn(|| job.output.sync());
            other.describe().unwrap();
            stop.store(true, Ordering::Relaxed);
            let ended = syncs.join().unwrap().unwrap_err();
            assert_eq!(ended.code(), ErrorCode::Interrupted);
        });
        stop.store(false, Ordering::Relaxed);
        slow.store(false, Ordering::Relaxed);
        job.run().unwrap();
    }
}

/// A wait that is interrupted stops the kernel, which can be started anew.
#[test]
fn an_interrupted_wait_stops_the_kernel() {
    let folder = TempDir::new().unwrap();
    let card = Card::new(raw(1), small_pages()).unwrap();
    let job = Job::new(&card, 0, folder.path(), "long", 4 << 20).unwrap();
    let stop = Arc::new(AtomicBool::new(true));
    let watch = stop.clone();
    card.interrupt_when(move || watch.load(Ordering::Relaxed));
    let mut interrupted = false;
    for _ in 0..200 {
        match job.run() {
            Err(Error::Interrupted) => {
                interrupted = true;
                break;
            }
            other => other.unwrap(),
        }
    }
    stop.store(false, Ordering::Relaxed);
    job.run().unwrap();
    job.output.unmap().unwrap();
    assert!(fs::read(folder.path().join("long.out")).unwrap() == vec![1; 4 << 20]);
    // On a fast machine no call may wait long enough to be asked.
    if !interrupted {
        eprintln!("no call waited long enough to be interrupted");
    }
}

/// Four registered threads with a slot and files each; what they do depends on nothing but themselves.
fn four_threads(folder: &Path, shuffle: u64) -> String {
    let card = Card::new(raw(4), small_pages()).unwrap();
    let seats: Vec<_> = (0..4).map(|_| card.participant().unwrap()).collect();
    let barrier = Barrier::new(4);
    std::thread::scope(|scope| {
        for (number, seat) in (0u8..).zip(seats) {
            let (card, barrier) = (&card, &barrier);
            scope.spawn(move || {
                barrier.wait();
                // Threads arrive in another order each time.
                let nap = (shuffle * 7 + u64::from(number) * 5) % 11;
                std::thread::sleep(Duration::from_micros(nap * 100));
                let _present = seat.enter().unwrap();
                for round in 0..3u64 {
                    let name = format!("{number}.{round}");
                    let bytes = 3000 + 4000 * u64::from(number) + 100 * round;
                    let job = Job::new(card, number, folder, &name, bytes).unwrap();
                    job.run().unwrap();
                    job.output.unmap().unwrap();
                    let copied = fs::read(folder.join(name).with_extension("out")).unwrap();
                    assert!(copied == vec![number + 1; bytes as usize]);
                }
            });
        }
    });
    let report = card.report().unwrap();
    assert!(
        report.bytes_hash.is_empty(),
        "only a card in virtual time has one"
    );
    report.hash()
}

#[test]
fn registered_threads_give_the_same_report_every_time() {
    let folder = TempDir::new().unwrap();
    let first = four_threads(folder.path(), 0);
    for shuffle in 1..20 {
        assert_eq!(four_threads(folder.path(), shuffle), first, "{shuffle}");
    }
}

/// A registered thread that waits for another one declares this, or the others get an error that names it.
#[test]
fn a_participant_that_sleeps_elsewhere() {
    let folder = TempDir::new().unwrap();
    let card = Card::new(raw(1), small_pages()).unwrap();
    let (works, sleeps) = (card.participant().unwrap(), card.participant().unwrap());
    let (wake, woken) = channel();
    let (again, outside) = channel();
    std::thread::scope(|scope| {
        let card = &card;
        scope.spawn(move || {
            let _present = sleeps.enter().unwrap();
            woken.recv().unwrap();
            card.outside(|| outside.recv().unwrap()).unwrap();
        });
        let _present = works.enter().unwrap();
        let told = Job::new(card, 0, folder.path(), "job", 5000).map(drop);
        let told = told.unwrap_err();
        assert_eq!(told.code(), ErrorCode::Stalled);
        let text = told.to_string();
        assert!(
            text.contains("participant 1") && text.contains("futex"),
            "{text}"
        );
        wake.send(()).unwrap();
        let job = Job::new(card, 0, folder.path(), "job", 5000).unwrap();
        job.run().unwrap();
        drop(job);
        again.send(()).unwrap();
    });
}

/// A thread that panics counts no more, and the others go on.
#[test]
fn a_participant_that_panics() {
    let folder = TempDir::new().unwrap();
    let card = Card::new(raw(1), small_pages()).unwrap();
    let (works, panics) = (card.participant().unwrap(), card.participant().unwrap());
    std::thread::scope(|scope| {
        let panicking = scope.spawn(move || {
            let _present = panics.enter().unwrap();
            // Not through the hook, which prints.
            std::panic::resume_unwind(Box::new("as planned"));
        });
        assert!(panicking.join().is_err());
        let _present = works.enter().unwrap();
        let job = Job::new(&card, 0, folder.path(), "job", 5000).unwrap();
        // A callback that panics, in the middle of a wait.
        job.slot.start().unwrap();
        let wait = || {
            job.slot.wait(Some(Picoseconds::from_millis(9)), |_| {
                std::panic::resume_unwind(Box::new("as planned"))
            })
        };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(wait));
        assert!(result.is_err());
        job.slot.close().unwrap();
    });
}

#[test]
fn the_owner_answers_quickly_while_it_is_idle() {
    // No measurement: a call that never comes back would hang here.
    let card = Card::new(raw(1), small_pages()).unwrap();
    let begin = Instant::now();
    let mut calls = 0;
    while calls < 1000 && begin.elapsed() < Duration::from_secs(60) {
        card.describe().unwrap();
        calls += 1;
    }
    assert_eq!(calls, 1000);
}
