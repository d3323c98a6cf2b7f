//! When I/O fails: does the one whose I/O it is get an error that names the file, do the others notice
//! nothing, and are the bytes that were said to be safe in the file?

use std::cell::Cell;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tombolo::io::{BlockingIo, Direction, FileIo, Transfer, TransferId};
use tombolo::{
    AddressSpace, Card, Continue, Error, FunctionalCard, FunctionalConfig, MapOptions, Mapping,
    OwnerOptions, PageSize, Slot, SlotId, SpaceOptions,
};

const PAGE: usize = 2 << 20;

fn bytes(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// A card with room for a few pages, so that pages leave while a kernel runs.
fn small_card() -> FunctionalCard {
    FunctionalCard::new(FunctionalConfig {
        channel_bytes: 5 * PAGE as u64,
        channels: 1,
        ..FunctionalConfig::default()
    })
}

fn start(card: &Card, space: &AddressSpace, from: &Mapping, to: &Mapping) -> Result<Slot, Error> {
    let folder = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &folder, space)?;
    slot.set_pointer("input", from.address())?;
    slot.set_pointer("output", to.address())?;
    slot.set("bytes", from.bytes())?;
    slot.start()?;
    Ok(slot)
}

fn run(card: &Card, space: &AddressSpace, from: &Mapping, to: &Mapping) -> Result<(), Error> {
    start(card, space, from, to)?.wait(None, |_| Continue::Yes)
}

/// Copies a file; the copy is in its file when this is over.
fn copy(card: &Card, from: &Path, to: &Path) -> Result<(), Error> {
    let space = card.create_space()?;
    let input = space.map_file(from, MapOptions::read_only())?;
    let output = space.map_file(to, MapOptions::create(input.bytes()))?;
    run(card, &space, &input, &output)?;
    output.unmap()
}

/// Injected fault of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Reads give an error of the device, writes find no room.
    Error,
    /// Reads end early, writes get an error of the device.
    Short,
}

/// Fails one operation, chosen by its number.
struct Failing {
    inner: BlockingIo,
    /// Operations until the one that fails; negative: none any more.
    until: Arc<AtomicI64>,
    fault: Fault,
    chosen: Option<(TransferId, Direction)>,
}

impl FileIo for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn start(&mut self, transfer: Transfer) {
        if self.until.fetch_sub(1, Ordering::Relaxed) == 0 {
            self.chosen = Some((transfer.id, transfer.direction));
            if transfer.direction == Direction::Write {
                return;
            }
        }
        self.inner.start(transfer);
    }

    fn finish(&mut self, id: TransferId) -> io::Result<usize> {
        let chosen = self.chosen.filter(|(chosen, _)| *chosen == id);
        match (chosen, self.fault) {
            (None, _) => self.inner.finish(id),
            (Some((_, Direction::Read)), Fault::Short) => self.inner.finish(id).map(|n| n / 2),
            (Some((_, Direction::Write)), Fault::Error) => {
                Err(io::Error::from_raw_os_error(libc::ENOSPC))
            }
            _ => Err(io::Error::from_raw_os_error(libc::EIO)),
        }
    }
}

#[test]
fn each_operation_in_turn_fails() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    // Small ones: the card starts once for each operation.
    const PAGE: usize = 64 << 10;
    let content = bytes(6 * PAGE + 777, 1);
    let quiet = bytes(PAGE + 5, 2);
    fs::write(path("from"), &content).unwrap();
    fs::write(path("quiet"), &quiet).unwrap();
    let (reads, writes) = (Cell::new(0), Cell::new(0));
    for fault in [Fault::Error, Fault::Short] {
        for number in 0.. {
            let until = Arc::new(AtomicI64::new(-1));
            let count = until.clone();
            let io = move || -> Box<dyn FileIo> {
                Box::new(Failing {
                    inner: BlockingIo::default(),
                    until: count.clone(),
                    fault,
                    chosen: None,
                })
            };
            let raw = Box::new(FunctionalCard::new(FunctionalConfig {
                channel_bytes: (128 << 10) + 4 * PAGE as u64,
                channels: 1,
                ..FunctionalConfig::default()
            }));
            let options = OwnerOptions {
                page_size: PageSize::from_bytes(PAGE as u64),
                table_sets_log2: 10,
                read_ahead_bytes: 0,
                clean_ahead_bytes: 0,
                ..OwnerOptions::default()
            };
            let card = Card::with_io(raw, io, options).unwrap();
            // A bystander with dirty pages on the card.
            let space = card.create_space().unwrap();
            let input = space
                .map_file(path("quiet"), MapOptions::read_only())
                .unwrap();
            let output = space
                .map_file(path("loud"), MapOptions::create(input.bytes()))
                .unwrap();
            run(&card, &space, &input, &output).unwrap();
            output.sync().unwrap();

            until.store(number, Ordering::Relaxed);
            let result = copy(&card, &path("from"), &path("to"));
            let failed = until.load(Ordering::Relaxed) < 0;
            until.store(-1, Ordering::Relaxed);
            match result {
                Ok(()) => assert!(
                    fs::read(path("to")).unwrap() == content,
                    "operation {number} {fault:?}: good, but the bytes are wrong"
                ),
                Err(error) => {
                    let text = error.to_string();
                    let read = matches!(error, Error::Access(_));
                    let named = text.contains(if read { "/from" } else { "/to" });
                    assert!(failed && named, "operation {number} {fault:?}: {text}");
                    let counter = if read { &reads } else { &writes };
                    counter.set(counter.get() + 1);
                }
            }
            // The bystander's bytes are safe, and its card still works for it and for others.
            assert!(fs::read(path("loud")).unwrap() == quiet);
            run(&card, &space, &input, &output).unwrap();
            output.unmap().unwrap();
            assert!(fs::read(path("loud")).unwrap() == quiet);
            copy(&card, &path("from"), &path("to")).unwrap();
            assert!(fs::read(path("to")).unwrap() == content);
            if !failed {
                break;
            }
        }
    }
    // A failed eviction is tried again, so not each failure is an error.
    assert!(reads.get() >= 14, "{} reads failed", reads.get());
    assert!(writes.get() >= 2, "{} writes failed", writes.get());
}

/// Injected fault while a file is synced.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SyncFault {
    /// A write fails.
    Write(i32),
    /// A write ends early.
    ShortWrite,
    /// All is written, and storage does not take it.
    Storage,
}

/// Fails once, on request.
struct FailingSync {
    inner: BlockingIo,
    armed: Arc<Mutex<Option<SyncFault>>>,
    chosen: Option<(TransferId, i32)>,
}

impl FileIo for FailingSync {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn start(&mut self, mut transfer: Transfer) {
        if transfer.direction == Direction::Write {
            let mut armed = self.armed.lock().unwrap();
            match armed.take() {
                Some(SyncFault::Write(code)) => {
                    self.chosen = Some((transfer.id, code));
                    return;
                }
                Some(SyncFault::ShortWrite) => transfer.bytes /= 2,
                other => *armed = other,
            }
        }
        self.inner.start(transfer);
    }

    fn finish(&mut self, id: TransferId) -> io::Result<usize> {
        match self.chosen.take_if(|(chosen, _)| *chosen == id) {
            Some((_, code)) => Err(io::Error::from_raw_os_error(code)),
            None => self.inner.finish(id),
        }
    }

    fn make_durable(&mut self, _file: &fs::File) -> Option<io::Result<()>> {
        let fault = self
            .armed
            .lock()
            .unwrap()
            .take_if(|fault| *fault == SyncFault::Storage);
        fault.map(|_| Err(io::Error::from_raw_os_error(libc::EIO)))
    }
}

#[test]
fn a_sync_that_fails_says_so_and_loses_nothing() {
    for fault in [
        SyncFault::Write(libc::EIO),
        SyncFault::Write(libc::ENOSPC),
        SyncFault::ShortWrite,
        SyncFault::Storage,
    ] {
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (old, new, quiet) = (bytes(2 * PAGE, 7), bytes(2 * PAGE, 8), bytes(5000, 9));
        for (name, content) in [("old", &old), ("new", &new), ("quiet", &quiet)] {
            fs::write(path(name), content).unwrap();
        }
        let armed = Arc::new(Mutex::new(None));
        let flag = armed.clone();
        let io = move || -> Box<dyn FileIo> {
            Box::new(FailingSync {
                inner: BlockingIo::default(),
                armed: flag.clone(),
                chosen: None,
            })
        };
        let raw = Box::new(FunctionalCard::new(FunctionalConfig::default()));
        let card = Card::with_io(raw, io, OwnerOptions::default()).unwrap();
        let bystander = card.create_space().unwrap();
        let map = |space: &AddressSpace, name: &str| {
            let options = MapOptions::read_only();
            space.map_file(path(name), options).unwrap()
        };
        let input = map(&bystander, "quiet");
        let output = bystander
            .map_file(path("loud"), MapOptions::create(input.bytes()))
            .unwrap();
        run(&card, &bystander, &input, &output).unwrap();

        let space = card.create_space().unwrap();
        let inputs = ["old", "new"].map(|name| map(&space, name));
        let to = space
            .map_file(path("to"), MapOptions::create(inputs[0].bytes()))
            .unwrap();
        run(&card, &space, &inputs[0], &to).unwrap();
        to.sync().unwrap();
        assert!(fs::read(path("to")).unwrap() == old);
        run(&card, &space, &inputs[1], &to).unwrap();
        *armed.lock().unwrap() = Some(fault);
        let error = to.sync().unwrap_err().to_string();
        assert!(error.contains("/to"), "{fault:?}: {error}");
        assert_eq!(*armed.lock().unwrap(), None);
        // What was synced before is there, or what was to replace it.
        let file = fs::read(path("to")).unwrap();
        let rows = file.chunks(64).zip(old.chunks(64)).zip(new.chunks(64));
        assert!(rows
            .into_iter()
            .all(|((row, old), new)| row == old || row == new));
        // The bystander syncs as if nothing had happened.
        output.sync().unwrap();
        assert!(fs::read(path("loud")).unwrap() == quiet);

        let again = to.sync();
        if fault == SyncFault::Storage {
            // The system has told of the loss once, and would not again.
            let error = again.unwrap_err().to_string();
            assert!(
                error.contains("/to") && error.contains("failed before"),
                "{error}"
            );
            let error = to.unmap().unwrap_err().to_string();
            assert!(error.contains("/to"), "{error}");
        } else {
            again.unwrap();
            assert!(fs::read(path("to")).unwrap() == new, "{fault:?}");
            to.unmap().unwrap();
        }
        // And all over again.
        copy(&card, &path("new"), &path("to")).unwrap();
        assert!(fs::read(path("to")).unwrap() == new);
    }
}

#[test]
fn a_file_truncated_while_mapped_is_an_error_and_not_zeroes() {
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::write(&from, bytes(4 * PAGE, 3)).unwrap();
    let card = Card::functional(small_card()).unwrap();
    let space = card.create_space().unwrap();
    let input = space.map_file(&from, MapOptions::read_only()).unwrap();
    let output = space
        .map_file(&to, MapOptions::create(input.bytes()))
        .unwrap();
    let file = fs::File::options().write(true).open(&from).unwrap();
    file.set_len(3 * PAGE as u64 / 2).unwrap();
    let error = run(&card, &space, &input, &output).unwrap_err().to_string();
    assert!(
        error.contains("truncated") && error.contains("/from"),
        "{error}"
    );
}

const CHILD: &str = "TOMBOLO_TEST_CHILD";

/// The child: copies, syncs, reports, and continues until it is killed.
fn live_and_be_killed(folder: &Path) {
    let card = Card::functional(small_card()).unwrap();
    let space = card.create_space().unwrap();
    let input = space
        .map_file(folder.join("from"), MapOptions::read_only())
        .unwrap();
    let output = space
        .map_file(folder.join("to"), MapOptions::create(input.bytes()))
        .unwrap();
    run(&card, &space, &input, &output).unwrap();
    output.sync().unwrap();
    println!("synced");
    io::stdout().flush().unwrap();
    // Overwrites the card's copy with the same bytes until the end.
    loop {
        run(&card, &space, &input, &output).unwrap();
    }
}

#[test]
fn synced_bytes_survive_the_process() {
    if let Ok(folder) = std::env::var(CHILD) {
        return live_and_be_killed(&PathBuf::from(folder));
    }
    let folder = TempDir::new().unwrap();
    let content = bytes(6 * PAGE + 777, 4);
    fs::write(folder.path().join("from"), &content).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "synced_bytes_survive_the_process", "--nocapture"])
        .env(CHILD, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = io::BufReader::new(child.stdout.take().unwrap()).lines();
    let synced = lines
        .map_while(Result::ok)
        .any(|line| line.ends_with("synced"));
    // SIGKILL: no destructor runs.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(synced, "the child ended early");
    assert!(fs::read(folder.path().join("to")).unwrap() == content);
}

#[test]
fn a_space_at_its_limit_pushes_out_its_own_pages_only() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (content, quiet) = (bytes(8 * PAGE, 5), bytes(PAGE, 6));
    fs::write(path("from"), &content).unwrap();
    fs::write(path("quiet"), &quiet).unwrap();
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap();
    let space = card.create_space().unwrap();
    let input = space
        .map_file(path("quiet"), MapOptions::read_only())
        .unwrap();
    let output = space
        .map_file(path("loud"), MapOptions::create(input.bytes()))
        .unwrap();
    run(&card, &space, &input, &output).unwrap();
    let before = card.report().unwrap().paging;
    assert_eq!(before.evictions, 0);

    let limit = Some(3 * PAGE as u64);
    let limited = card
        .create_space_with(SpaceOptions::new().limit(limit))
        .unwrap();
    let big = limited
        .map_file(path("from"), MapOptions::read_only())
        .unwrap();
    let copy = limited
        .map_file(path("to"), MapOptions::create(big.bytes()))
        .unwrap();
    run(&card, &limited, &big, &copy).unwrap();
    let report = card.report().unwrap();
    // 16 pages through 3 frames, on a card with thousands.
    assert!(report.paging.evictions >= 13, "{report}");
    copy.unmap().unwrap();
    assert!(fs::read(path("to")).unwrap() == content);

    // The others' pages are where they were.
    let reads = card.report().unwrap().paging.pages_read;
    run(&card, &space, &input, &output).unwrap();
    assert_eq!(card.report().unwrap().paging.pages_read, reads);
}
