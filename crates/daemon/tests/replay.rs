//! A daemon's journal replays to the same report, replies and files, or the replay reports the first difference.

mod common;

use common::{kernel, set_copy, Random, Served};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tombolo::serving::Inputs;
use tombolo::{
    AddressSpace, Card, ClockMode, ErrorCode, FunctionalCard, FunctionalConfig, HostFile,
    MapOptions, OwnerOptions, PageSize, SimOptions, Slot, TrapFigures,
};
use tombolo_daemon::{
    End, Header, Journal, JournalEntry, JournalReader, Replay, ReplayError, ReplayPlaces, Replayed,
    FORMAT,
};
use units::Picoseconds;

/// A kind of card.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Functional,
    Rtl,
    /// RTL in free mode, with a cost of the socket.
    Free,
}

impl Kind {
    fn open(self, inputs: Inputs) -> Card {
        let mut options = OwnerOptions {
            inputs,
            ..OwnerOptions::default()
        };
        if self == Self::Free {
            options.clock = ClockMode::Free;
            options.host = Some(host());
        }
        match self {
            Self::Functional => {
                let config = FunctionalConfig {
                    slots: 4,
                    spaces: 8,
                    channel_bytes: 64 << 20,
                    ..FunctionalConfig::default()
                };
                Card::new(Box::new(FunctionalCard::new(config)), options).unwrap()
            }
            Self::Rtl | Self::Free => {
                let mut sim = SimOptions::named("f1").unwrap();
                sim.channel_bytes = Some(16 << 20);
                sim.shell.slots = 2;
                Card::simulated(sim, options, |_| {}).unwrap()
            }
        }
    }

    fn same(self) -> Vec<(String, String)> {
        let name = match self {
            Self::Functional => "functional",
            Self::Rtl => "simulated",
            Self::Free => "simulated, free",
        };
        vec![("card".to_owned(), name.to_owned())]
    }
}

/// Virtual time that a request takes over the socket.
const REQUEST: Picoseconds = Picoseconds::from_micros(20);

/// A host file with the cost of the socket.
fn host() -> HostFile {
    let text = HostFile::text_of("test", "a test", TrapFigures::default(), None).unwrap();
    let text = format!("{text}\n[socket]\nrequest_ps = {}\n", REQUEST.get());
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("host.toml"), text).unwrap();
    HostFile::load(folder.path().join("host.toml")).unwrap()
}

fn header(kind: Kind) -> Header {
    Header::new(serde_json::Value::Null, kind.same())
}

/// Records what `work` does; returns the folder with its files.
fn record(kind: Kind, data: bool, work: impl FnOnce(&Served)) -> TempDir {
    let folder = TempDir::new().unwrap();
    let copies = folder.path().join("data");
    let journal = Journal::create(&folder.path().join("journal"), data.then_some(&*copies));
    let journal = journal.unwrap();
    let card = kind.open(journal.inputs());
    journal.begin(header(kind)).unwrap();
    let mut served = Served::recorded(folder, card, journal);
    work(&served);
    served.daemon.take().unwrap().stop();
    std::mem::replace(&mut served.folder, TempDir::new().unwrap())
}

fn replay(
    kind: Kind,
    journal: &Path,
    outputs: &Path,
    data: Option<&Path>,
) -> Result<Replayed, ReplayError> {
    let replay = Replay::open(journal)?;
    replay.check(&kind.same())?;
    let places = ReplayPlaces {
        outputs: outputs.to_owned(),
        data: data.map(Path::to_owned),
    };
    let (inputs, replay) = replay.prepare(places)?;
    let card = kind.open(inputs);
    replay.run(&card)
}

fn content(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    (0..bytes).map(|_| random.below(256) as u8).collect()
}

/// Loads a kernel; waits while others have all slots.
fn load(card: &Card, name: &str, space: &AddressSpace) -> Slot {
    loop {
        match card.load_anywhere(kernel(name), space) {
            Ok(slot) => return slot,
            Err(error) if error.code() == ErrorCode::NoFreeSlot => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Copies a file through a kernel, several times.
fn copy(
    served: &Served,
    name: &str,
    bytes: usize,
    times: usize,
    page: Option<PageSize>,
) -> PathBuf {
    let input = served.file(&format!("{name}.in"), &content(bytes, bytes as u64));
    let output = served.path(&format!("{name}.out"));
    let card = served.open();
    for _ in 0..times {
        let space = card.create_space().unwrap();
        let options = |options: MapOptions| match page {
            Some(page) => options.page_size(page),
            None => options,
        };
        let from = space
            .map_file(&input, options(MapOptions::read_only()))
            .unwrap();
        let to = space.map_file(&output, options(MapOptions::create(from.bytes())));
        let to = to.unwrap();
        let slot = load(&card, "copy", &space);
        set_copy(&slot, &from, &to);
        slot.run().unwrap();
        to.unmap().unwrap();
    }
    card.report().unwrap();
    output
}

/// Changes a table for longer than anybody waits, and is killed while it does.
fn be_killed(served: &Served, looks: u64) {
    let table = served.file("table", &vec![1; 64 << 10]);
    let card = served.open();
    let space = card.create_space().unwrap();
    let mapping = space.map_file(&table, MapOptions::read_write()).unwrap();
    let slot = load(&card, "gups", &space);
    slot.set_mapping("table", &mapping).unwrap();
    for (name, value) in [
        ("words_log2", 9),
        ("updates", 1 << 50),
        ("seed", 7),
        ("under_way", 0),
    ] {
        slot.set(name, value).unwrap();
    }
    slot.start().unwrap();
    let mut looks = looks;
    let _ = slot.wait(None, |_| {
        looks = looks.saturating_sub(1);
        match looks {
            0 => tombolo::Continue::Stop,
            _ => tombolo::Continue::Yes,
        }
    });
    card.hang_up();
}

/// Two programs with odd sizes at the same time as one that is killed.
fn crowd(served: &Served, kind: Kind) {
    let (bytes, times, looks) = match kind {
        Kind::Functional => (723_457, 3, 20),
        Kind::Rtl | Kind::Free => (20_011, 2, 2),
    };
    std::thread::scope(|scope| {
        scope.spawn(|| be_killed(served, looks));
        scope.spawn(|| copy(served, "a", bytes, times, None));
        scope.spawn(|| copy(served, "b", bytes / 3 + 1, times, Some(PageSize::KIB_4)));
    });
}

fn same(kind: Kind) {
    let folder = record(kind, true, |served| crowd(served, kind));
    let at = |name: &str| folder.path().join(name);
    let mut hashes = Vec::new();
    for outputs in ["first", "second"] {
        let replayed = replay(kind, &at("journal"), &at(outputs), Some(&at("data"))).unwrap();
        assert!(
            replayed.is_same(),
            "{:?} {:?}",
            replayed.different_reply,
            replayed.written
        );
        let End::Report(recorded) = &replayed.end else {
            panic!("{:?}", replayed.end);
        };
        assert_eq!(recorded.hash, replayed.report.hash());
        assert!(replayed.replies > 40, "{}", replayed.replies);
        assert_eq!(replayed.written.len(), 3);
        for file in &replayed.written {
            assert!(fs::read(&file.copy).unwrap() == fs::read(&file.path).unwrap());
        }
        hashes.push((recorded.hash.clone(), replayed.inputs, replayed.replies));
    }
    assert_eq!(hashes[0], hashes[1]);
    for name in ["a", "b"] {
        let read = |end: &str| fs::read(at(&format!("{name}.{end}"))).unwrap();
        assert!(read("in") == read("out"));
    }
}

#[test]
fn a_crowd_replays_to_the_same_report_replies_and_files() {
    for _ in 0..3 {
        same(Kind::Functional);
    }
}

#[test]
fn a_crowd_on_rtl_replays_to_the_same_report_replies_and_files() {
    same(Kind::Rtl);
}

#[test]
fn a_crowd_in_free_mode_replays_to_the_same_report_replies_and_files() {
    same(Kind::Free);
}

/// A program that does not wait for its kernel, or is stopped, stops no clock; and each request takes its time.
#[test]
fn in_free_mode_time_passes_while_the_card_has_work() {
    let runs = |kind: Kind| {
        let own = kind.open(Inputs::default());
        let served = Served::on(own.clone());
        let input = served.file("in", &content(20_011, 5));
        let card = served.open();
        let space = card.create_space().unwrap();
        let from = space.map_file(&input, MapOptions::read_only()).unwrap();
        let to = space.map_file(served.path("out"), MapOptions::create(from.bytes()));
        let to = to.unwrap();
        let slot = load(&card, "copy", &space);
        set_copy(&slot, &from, &to);
        let now = |card: &Card| card.describe().unwrap().1;
        // Time stands without work.
        std::thread::sleep(Duration::from_millis(200));
        let before = now(&own);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(now(&own), before);
        let request = now(&card) - before;
        slot.start().unwrap();
        // Nobody waits for the kernel.
        let started = now(&own);
        let begin = Instant::now();
        while now(&own) == started && begin.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let passes = now(&own) > started;
        slot.wait(None, |_| tombolo::Continue::Yes).unwrap();
        to.unmap().unwrap();
        assert!(fs::read(served.path("out")).unwrap() == content(20_011, 5));
        (passes, request)
    };
    assert_eq!(runs(Kind::Rtl), (false, Picoseconds::ZERO));
    assert_eq!(runs(Kind::Free), (true, REQUEST));
}

/// Programs come and go for a while, at least this long: `TOMBOLO_JOURNAL_SECONDS` overrides it.
#[test]
fn a_long_session_replays_to_the_same_report() {
    let seconds = std::env::var("TOMBOLO_JOURNAL_SECONDS").ok();
    let seconds = seconds.map_or(2, |text| text.parse().unwrap());
    let (begin, limit) = (Instant::now(), Duration::from_secs(seconds));
    let kind = Kind::Functional;
    let ended = Mutex::new(0u64);
    let folder = record(kind, false, |served| {
        std::thread::scope(|scope| {
            for lane in 0..3u64 {
                let ended = &ended;
                scope.spawn(move || {
                    let mut random = Random(lane + 1);
                    while begin.elapsed() < limit {
                        let bytes = 1 + random.below(400_000) as usize;
                        let page = (random.below(2) == 0).then_some(PageSize::KIB_4);
                        copy(served, &format!("{lane}-{bytes}"), bytes, 1, page);
                        *ended.lock().unwrap() += 1;
                        // A second of work in a minute is a session, too.
                        std::thread::sleep(Duration::from_millis(random.below(50)));
                    }
                });
            }
        });
    });
    let at = |name: &str| folder.path().join(name);
    let begin = Instant::now();
    let replayed = replay(kind, &at("journal"), &at("again"), None).unwrap();
    let same = replayed.is_same() && matches!(replayed.end, End::Report(_));
    println!(
        "{}",
        serde_json::json!({
            "seconds": seconds,
            "clients": *ended.lock().unwrap(),
            "requests": replayed.requests,
            "replies": replayed.replies,
            "replayed_in_ms": begin.elapsed().as_millis() as u64,
            "journal_bytes": fs::metadata(at("journal")).unwrap().len(),
            "same": u8::from(same),
        })
    );
    let differs = replayed.written.iter().filter(|file| !file.is_same());
    assert!(
        same,
        "{:?}, {:?}, {:?} and {} at {:?}",
        replayed.different_reply,
        differs.collect::<Vec<_>>(),
        replayed.end,
        replayed.report.hash(),
        replayed.report.time
    );
}

#[test]
fn a_journal_that_is_cut_anywhere_replays_up_to_there() {
    let kind = Kind::Functional;
    let folder = record(kind, true, |served| crowd(served, kind));
    let at = |name: &str| folder.path().join(name);
    let text = fs::read(at("journal")).unwrap();
    let mut random = Random(11);
    for turn in 0..8 {
        let first = text.iter().position(|byte| *byte == b'\n').unwrap() as u64 + 1;
        let cut = first + random.below(text.len() as u64 - first - 300);
        fs::write(at("cut"), &text[..cut as usize]).unwrap();
        let mut hashes = Vec::new();
        for _ in 0..2 {
            let outputs = at(&format!("cut-{turn}"));
            let replayed = replay(kind, &at("cut"), &outputs, Some(&at("data"))).unwrap();
            assert!(replayed.is_same(), "{cut}: {:?}", replayed.different_reply);
            let End::Cut(why) = &replayed.end else {
                panic!("a report in a journal that is cut at byte {cut}");
            };
            assert!(why.contains("it ends"), "{why}");
            hashes.push((replayed.report.hash(), replayed.inputs, replayed.replies));
        }
        assert_eq!(hashes[0], hashes[1], "cut at byte {cut}");
    }
}

#[test]
fn what_cannot_be_replayed_is_named_with_its_values() {
    let kind = Kind::Functional;
    let folder = record(kind, true, |served| drop(copy(served, "a", 5001, 1, None)));
    let at = |name: &str| folder.path().join(name);
    let text = fs::read_to_string(at("journal")).unwrap();
    let refused = |bytes: &[u8], data: Option<&Path>| {
        fs::write(at("other"), bytes).unwrap();
        let replayed = replay(kind, &at("other"), &at("outputs"), data);
        replayed.unwrap_err().to_string()
    };
    // Damage.
    let third = text.match_indices('\n').nth(2).unwrap().0;
    let mut damaged = text.clone().into_bytes();
    damaged[third - 3] ^= 1;
    let told = refused(&damaged, None);
    assert!(
        told.contains("line 3, at byte") && told.contains("its checksum is"),
        "{told}"
    );
    let lines: Vec<&str> = text.lines().collect();
    let missing = [&lines[..4], &lines[5..]].concat().join("\n") + "\n";
    let told = refused(missing.as_bytes(), None);
    assert!(
        told.contains("line 5") && told.contains("damaged"),
        "{told}"
    );
    // No journal, and one of another version.
    for (bytes, part) in [
        (&b""[..], "it is empty"),
        (&b"0123"[..], "its first line has 4 bytes and no end"),
        (&b"hello there\n"[..], "checksum"),
    ] {
        let told = refused(bytes, None);
        assert!(
            told.contains("not a journal") && told.contains(part),
            "{told}"
        );
    }
    let other = Journal::create(&at("newer"), None).unwrap();
    let newer = Header {
        format: FORMAT + 1,
        version: "7.1".to_owned(),
        ..header(kind)
    };
    other.begin(newer).unwrap();
    other.end(None);
    let told = replay(kind, &at("newer"), &at("outputs"), None)
        .unwrap_err()
        .to_string();
    assert!(
        told.contains("format 2 (tombolo 7.1)") && told.contains("format 1"),
        "{told}"
    );
    // Another card.
    let told = Replay::open(&at("journal"))
        .unwrap()
        .check(&Kind::Rtl.same());
    let told = told.unwrap_err().to_string();
    assert!(
        told.contains("card: functional was recorded, and this is simulated"),
        "{told}"
    );
    // A file that has changed, or is gone.
    fs::write(at("a.in"), vec![9; 5001]).unwrap();
    let told = refused(text.as_bytes(), None);
    assert!(
        told.contains("a.in") && told.contains("5001 bytes") && told.contains("has SHA-256"),
        "{told}"
    );
    fs::write(at("a.in"), [9; 12]).unwrap();
    let told = refused(text.as_bytes(), None);
    assert!(told.contains("a.in has 12 bytes"), "{told}");
    fs::remove_file(at("a.in")).unwrap();
    let told = refused(text.as_bytes(), None);
    assert!(told.contains("No such file"), "{told}");
    // The copy of it replays.
    let replayed = replay(kind, &at("journal"), &at("outputs"), Some(&at("data"))).unwrap();
    assert!(replayed.is_same());
}

/// If another process changes a file between two clients, each gets the content at its time.
#[test]
fn a_file_that_changes_between_clients_changes_in_the_replay() {
    let kind = Kind::Functional;
    let folder = record(kind, true, |served| {
        copy(served, "a", 70_001, 1, None);
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(served.path("a.in"))
            .unwrap();
        file.write_all(&[3; 999]).unwrap();
        drop(file);
        let card = served.open();
        let space = card.create_space().unwrap();
        let from = space
            .map_file(served.path("a.in"), MapOptions::read_only())
            .unwrap();
        let output = served.path("b.out");
        let to = space
            .map_file(&output, MapOptions::create(from.bytes()))
            .unwrap();
        let slot = card.load_anywhere(kernel("copy"), &space).unwrap();
        set_copy(&slot, &from, &to);
        slot.run().unwrap();
        to.unmap().unwrap();
    });
    let at = |name: &str| folder.path().join(name);
    let replayed = replay(kind, &at("journal"), &at("outputs"), Some(&at("data"))).unwrap();
    assert!(
        replayed.is_same(),
        "{:?} {:?}",
        replayed.different_reply,
        replayed.written
    );
    let sizes = replayed.written.iter().map(|file| file.content.0);
    assert_eq!(sizes.collect::<Vec<_>>(), [70_001, 71_000]);
}

/// A record that differs is found: the check is no decoration.
#[test]
fn a_changed_record_is_found() {
    let kind = Kind::Functional;
    let folder = record(kind, true, |served| drop(copy(served, "a", 5001, 1, None)));
    let at = |name: &str| folder.path().join(name);
    let changed = |change: &dyn Fn(&mut JournalEntry)| {
        let (mut reader, header) = JournalReader::open(&at("journal")).unwrap();
        let _ = fs::remove_file(at("changed"));
        let journal = Journal::create(&at("changed"), None).unwrap();
        journal.begin(header).unwrap();
        while let Some(mut entry) = reader.entry().unwrap() {
            change(&mut entry);
            journal.append(entry);
        }
        journal.end(None);
        replay(kind, &at("changed"), &at("outputs"), Some(&at("data")))
    };
    assert!(changed(&|_| {}).unwrap().is_same());
    let reply = changed(&|entry| {
        if let JournalEntry::Reply(_, 2, sum) = entry {
            *sum = "0".repeat(16);
        }
    });
    let told = reply.unwrap().different_reply.unwrap();
    assert!(told.contains("request 2 of client 1"), "{told}");
    let written = changed(&|entry| {
        if let JournalEntry::Written(_, bytes, _) = entry {
            *bytes += 1;
        }
    });
    let written = written.unwrap();
    assert!(!written.is_same() && written.different_reply.is_none());
    let report = changed(&|entry| {
        if let JournalEntry::Report(report) = entry {
            report.hash = "another".to_owned();
        }
    });
    assert!(!report.unwrap().is_same());
    let time = changed(&|entry| {
        if let JournalEntry::In(_, _, time, tombolo_daemon::Taken::Begin(1, 3, _)) = entry {
            *time += 1;
        }
    });
    let told = time.unwrap_err().to_string();
    assert!(
        told.contains("differs") && told.contains("virtual time at"),
        "{told}"
    );
    // A request that is left out.
    let place = changed(&|entry| {
        if let JournalEntry::In(round, _, _, tombolo_daemon::Taken::Moved(_)) = entry {
            *round += 1000;
        }
    });
    let told = place.unwrap_err().to_string();
    assert!(told.contains("nothing is left to do"), "{told}");
}
