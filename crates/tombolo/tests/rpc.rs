//! Does a program get the right bytes from a kernel behind the directory, and does the CPU go on when the
//! kernel does not? On the RTL of the whole shell, platform `enzian`.

#[path = "common/line_cores.rs"]
mod line_cores;
#[path = "common/line_threads.rs"]
mod line_threads;
#[path = "../examples/work_queue/queue.rs"]
mod queue;
#[path = "../examples/snapshot/record.rs"]
mod record;

use coherence::line::PlainLine;
use coherence::oracle::Oracle;
use line_threads::{share, word};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use tombolo::{
    Card, CoherentMemory, Error, OwnerOptions, Rpc, ShellConfig, SimOptions, Slot, SlotId,
};

const BASE: u64 = 0x1000_0000;
const LINES: u64 = 64;
const LINE: u64 = 128;
const ECHO: u64 = 0;
const CHECKSUM: u64 = 1;
const SILENT: u64 = 2;
const LOCKED: u64 = 3;

/// A card with a coherent CPU, with `home_bytes` bytes of its memory behind the directory.
fn open(shell: ShellConfig, home_bytes: u64) -> Result<Card, Error> {
    let mut options = SimOptions::named("enzian").expect("platform");
    options.shell = shell;
    options.channel_bytes = Some(64 << 20);
    let owner = OwnerOptions {
        home_bytes,
        ..OwnerOptions::default()
    };
    Card::simulated(options, owner, |_| {})
}

fn card_with_home(home_bytes: u64) -> Card {
    open(ShellConfig::coherent(), home_bytes).expect("card")
}

fn coherent_card() -> Card {
    card_with_home(0)
}

fn start(slot: &Slot, handler: u64, calls: u64) {
    for (argument, value) in [("base", BASE), ("handler", handler), ("calls", calls)] {
        slot.set(argument, value).expect("argument");
    }
    slot.start().expect("start");
}

/// A line whose four parts hold the stamps `4n + 1` to `4n + 4`.
fn stamped(n: u64) -> Vec<u8> {
    (0..16)
        .flat_map(|word| (4 * n + 1 + word / 4).to_le_bytes())
        .collect()
}

/// Twice as many lines as the kernel serves.
fn beyond_of(card: &Card) -> CoherentMemory {
    card.coherent_memory(BASE, 2 * LINES * LINE)
        .expect("memory")
}

/// The words of 24 lines fit in a write buffer, since those of a line merge, one more line does not, and nothing
/// merges over a flush.
fn stores_merge(memory: &CoherentMemory) {
    let first = 16;
    for line in first..first + 26 {
        memory.flush(line * LINE).expect("flush");
    }
    let lines = tombolo::WriteBuffer::LINES as u64;
    let mut buffer = memory.write_buffer();
    let began = memory.now().expect("time");
    for word in 0..16 {
        for line in first..first + lines {
            let at = line * LINE + 8 * word;
            buffer.store(at, &(at << 20).to_le_bytes()).expect("store");
        }
    }
    assert_eq!(memory.now().expect("time"), began, "nothing waits");
    let next = (first + lines) * LINE;
    buffer.store(next, &[1]).expect("store");
    let waited = memory.now().expect("time");
    assert!(waited > began, "it was full");
    buffer.fence().expect("fence");
    for line in first..first + lines {
        let bytes = memory.on_core(7).load(line * LINE).expect("load");
        for (word, value) in bytes.chunks(8).enumerate() {
            let at = line * LINE + 8 * word as u64;
            assert_eq!(
                value,
                (at << 20).to_le_bytes(),
                "word {word} of line {line}"
            );
        }
    }
    memory.flush(next).expect("flush");
    let mut buffer = memory.write_buffer();
    let began = memory.now().expect("time");
    for turn in 0..lines / 2 {
        buffer.store(next, &[turn as u8]).expect("store");
        buffer.flush(next).expect("flush");
    }
    assert_eq!(memory.now().expect("time"), began, "nothing waits");
    buffer.store(next, &[99]).expect("store");
    assert!(memory.now().expect("time") > began, "it was full");
    buffer.fence().expect("fence");
    assert_eq!(memory.on_core(7).load(next).expect("load")[0], 99);
}

#[test]
fn calls_bring_the_right_bytes_and_a_silent_kernel_is_cut_off() {
    let kernel = simcard::home().join("kernels/rpc");
    let card = coherent_card();
    let memory = card.coherent_memory(BASE, LINES * LINE).expect("memory");
    assert!(matches!(memory.load(0), Err(Error::NoHome)));
    assert!(memory.load(64).is_err(), "in the middle of a line");
    assert!(memory.load(LINES * LINE).is_err(), "behind the end");
    assert!(memory.store(120, &[0; 16]).is_err(), "across a line");
    assert!(card.coherent_memory(1 << 40, 128).is_err());

    let space = card.create_space().expect("space");
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    start(&slot, ECHO, 20);

    // Plain lines: a core's bytes are another's, and odd places keep their neighbours.
    let other = memory.on_core(1);
    assert_eq!(memory.load(5 * LINE).expect("load"), [0; 128]);
    memory
        .store(5 * LINE + 3, &[7, 8, 9, 10, 11])
        .expect("store");
    memory.prefetch(6 * LINE).expect("prefetch");
    let line = other.load(5 * LINE).expect("load");
    assert_eq!(line[..10], [0, 0, 0, 7, 8, 9, 10, 11, 0, 0]);

    // A flush: the line goes home with what was written, and a line that is not there costs no message.
    memory.record(&[(5 * LINE, "F")]).expect("record");
    memory.flush(5 * LINE).expect("flush");
    memory.flush(5 * LINE).expect("flush");
    assert_eq!(other.load(5 * LINE).expect("load"), line);
    assert!(memory.flush(64).is_err(), "in the middle of a line");
    let text = memory.history().expect("history").to_text();
    assert_eq!(text.matches("EvictDirty").count(), 1, "{text}");
    assert_eq!(text.matches("ReadShared").count(), 1, "{text}");

    // A write buffer: the core goes on, another sees the stores in order, and odd pieces meet in their line.
    let mut buffer = memory.write_buffer();
    let began = memory.now().expect("time");
    for piece in 0..16_u64 {
        let at = (40 + piece % 8) * LINE + 3 * piece;
        buffer.store(at, &[piece as u8; 3]).expect("store");
    }
    assert_eq!(memory.now().expect("time"), began, "nothing waits");
    let both = other.load(47 * LINE).expect("load");
    assert_eq!((&both[21..24], &both[45..48]), (&[7; 3][..], &[15; 3][..]));
    for line in 40..48 {
        buffer.store(line * LINE, &[9]).expect("store");
        buffer.flush(line * LINE).expect("flush");
    }
    assert!(memory.now().expect("time") > began, "it is full");
    buffer.fence().expect("fence");
    assert_eq!(other.load(40 * LINE).expect("load")[..3], [9, 0, 0]);
    assert!(buffer.store(126, &[0; 3]).is_err(), "across a line");
    stores_merge(&memory);
    let mut lost = beyond_of(&card).write_buffer();
    lost.store(LINES * LINE, &[1]).expect("begins");
    assert!(matches!(lost.fence(), Err(Error::Home(_))));
    lost.fence().expect("told once");

    // Lines that the kernel does not serve: it says so with an error, the program learns of it, and both go on.
    let beyond = beyond_of(&card);
    for _ in 0..2 {
        let errors = [
            beyond.load((LINES + 3) * LINE).expect_err("not served"),
            beyond
                .store((LINES + 3) * LINE + 8, &[1])
                .expect_err("not served"),
            beyond
                .load_exclusive((LINES + 3) * LINE)
                .expect_err("not served"),
        ];
        for error in errors {
            let text = error.to_string();
            assert!(matches!(error, Error::Home(_)), "{text}");
            assert!(
                text.contains("slot 0") && text.contains("0x10002180"),
                "{text}"
            );
            assert!(text.contains("SLVERR or DECERR"), "{text}");
        }
    }
    assert_eq!(other.load(5 * LINE).expect("load")[..10], line[..10]);

    // Calls, each a write of the kernel to the line that it answers with; judged as atomic registers.
    let mut oracle = Oracle::new();
    let mut rpc = Rpc::connect(memory.clone()).expect("connect");
    memory.record(&[(0, "A"), (LINE, "B")]).expect("record");
    for call in 0..20 {
        let arguments = stamped(call);
        let (request, answer) = (call % 2, 1 - call % 2);
        let began = oracle.begin();
        for part in 0..4 {
            oracle.write_begins((request, part), 4 * call + 1 + u64::from(part), began);
            oracle.write_ends((request, part), 4 * call + 1 + u64::from(part));
        }
        for part in 0..4 {
            // The kernel's stamps are the program's, in the other line.
            oracle.write_begins((answer, part), 4 * call + 1 + u64::from(part), began);
        }
        let result = rpc.call(&arguments).expect("call");
        for part in 0..4_u8 {
            oracle.read((answer, part), word(&result, 4 * usize::from(part)), began);
            oracle.write_ends((answer, part), 4 * call + 1 + u64::from(part));
        }
        oracle.end(began);
        assert_eq!(result[..], arguments[..], "call {call}");
    }
    assert_eq!(oracle.violations(), 0, "{:?}", oracle.first());
    slot.wait(None, |_| tombolo::Continue::Yes).expect("done");
    let history = memory.history().expect("history");
    let steps = history.steps();
    let count = |what: &str| steps.iter().filter(|step| step.what == what).count();
    assert_eq!(count("clean-invalidate"), 20);
    assert_eq!(count("load exclusive"), 2 * 20);
    let svg = history.to_svg("calls");
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));

    // The roles stay from run to run.
    start(&slot, CHECKSUM, 2);
    let mut rpc = rpc.pushing();
    memory.record(&[(0, "A"), (LINE, "B")]).expect("record");
    for call in 0..2 {
        let arguments = stamped(1000 + call);
        let result = rpc.call(&arguments).expect("call");
        let words = (0..16).map(|place| word(&arguments, place));
        let sum = words.clone().fold(0, u64::wrapping_add);
        assert_eq!(word(&result, 0), sum);
        assert_eq!(word(&result, 1), words.fold(0, |all, word| all ^ word));
        assert_eq!(result[16..], [0; 112]);
    }
    // The kernel had nothing to call home.
    let text = memory.history().expect("history").to_text();
    assert_eq!(text.matches("EvictDirty").count(), 2, "{text}");
    assert_eq!(text.matches("FwdInvalid").count(), 0, "{text}");
    slot.wait(None, |_| tombolo::Continue::Yes).expect("done");

    // Four contexts, of which each has a call under way, in turns that differ; one of them pushes.
    slot.set("contexts", 4).expect("argument");
    start(&slot, ECHO, 40);
    let mut contexts = vec![rpc];
    for context in 1..4 {
        let lines = memory.part(2 * context * LINE, 2 * LINE).expect("part");
        let context = Rpc::connect(lines).expect("connect");
        contexts.push(context);
    }
    let mut order = vec![0, 1, 2, 3];
    for round in 0..10 {
        order.swap(round % 4, (round / 2) % 4);
        let mut calls = Vec::new();
        for &context in &order {
            let arguments = stamped(2000 + 10 * round as u64 + context as u64);
            let call = contexts[context].begin_call(&arguments).expect("call");
            calls.push((call, arguments));
        }
        for (call, arguments) in calls {
            assert_eq!(call.wait().expect("call")[..], arguments[..]);
        }
    }
    slot.wait(None, |_| tombolo::Continue::Yes).expect("done");
    slot.set("contexts", 0).expect("argument");

    // A line that it refuses when the CPU writes it back is told to the next who asks. The kernel moves its lines on,
    // and the directory has eight places for lines so far apart.
    let wider = card.coherent_memory(BASE, 1 << 32).expect("memory");
    memory.store(21 * LINE, &[9]).expect("store");
    let mut lost = 0;
    for window in 1..=12 {
        let base = BASE + (window << 28);
        slot.write_register(0x10, base as u32).expect("register");
        match wider.load(base - BASE + 21 * LINE) {
            Ok(line) => assert_eq!(line, [0; 128], "the kernel never got it"),
            Err(error) => {
                lost += 1;
                let text = error.to_string();
                assert!(
                    text.contains("slot 0") && text.contains("is lost"),
                    "{text}"
                );
            }
        }
    }
    assert_eq!(lost, 1, "told once");
    slot.write_register(0x10, BASE as u32).expect("register");

    // Every line that the CPU has changed comes home to the kernel before its slot is reset.
    let changed = [("C", 20), ("D", 33), ("E", 46), ("F", 59)];
    for (_, line) in changed {
        memory.store(line * LINE, &[1, 2, 3]).expect("store");
    }
    let lines = changed.map(|(name, line)| (line * LINE, name));
    memory.record(&lines).expect("record");
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    let history = memory.history().expect("history");
    let text = history.to_text();
    assert_eq!(text.matches("AckDirty").count(), lines.len(), "{text}");
    assert_eq!(text.matches("-> kernel").count(), lines.len(), "{text}");

    // A kernel that never answers, and has a line locked, is cut off; so is what waits for the line. When the
    // kernel runs anew, nothing is locked.
    card.set_home_patience(2000).expect("patience");
    start(&slot, LOCKED, 0);
    memory.load_exclusive(0).expect("request line");
    let call = memory.begin_load_exclusive(LINE).expect("begin");
    // The CPU has the request line until the kernel locks it.
    let error = (0..1000)
        .find_map(|_| other.load(0).err())
        .expect("it is locked");
    assert!(matches!(error, Error::Home(_)), "{error}");
    assert!(error.to_string().contains("slot 0"), "{error}");
    let error = call.wait().expect_err("nobody answers");
    assert!(matches!(error, Error::Home(_)), "{error}");
    let error = slot.wait(None, |_| tombolo::Continue::Yes);
    assert!(matches!(error, Err(Error::Home(_))), "{error:?}");
    start(&slot, ECHO, 2);
    memory.load(0).expect("not locked any more");
    let mut rpc = Rpc::connect(memory.clone()).expect("connect");
    for call in 2..4 {
        let answer = rpc.call(&stamped(call)).expect("call");
        assert_eq!(answer[..], stamped(call)[..]);
    }
    slot.wait(None, |_| tombolo::Continue::Yes).expect("done");

    // A kernel that never answers is cut off; the error names slot and line, and the CPU goes on.
    card.set_home_patience(2000).expect("patience");
    start(&slot, SILENT, 0);
    let error = rpc.call(&stamped(1)).expect_err("nobody answers");
    let text = error.to_string();
    assert!(
        text.contains("slot 0") && text.contains("0x10000080"),
        "{text}"
    );
    let error = memory.load(9 * LINE).expect_err("cut off");
    assert!(error.to_string().contains("slot 0"), "{error}");
    let error = slot.wait(None, |_| tombolo::Continue::Yes);
    assert!(matches!(error, Err(Error::Home(_))), "{error:?}");
}

/// A kernel that breaks a rule is cut off: the error names the rule and the slot, the CPU gets its lines or an error,
/// and the next kernel of the slot finds everything as if nothing had been.
#[test]
fn what_a_kernel_does_against_the_rules_has_a_name_and_ends_there() {
    // Libraries are a kernel's neighbours.
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = folder.path().join("liar");
    std::fs::create_dir(&kernel).expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/liar");
    for name in ["kernel.toml", "liar.sv"] {
        std::fs::copy(source.join(name), kernel.join(name)).expect("copy");
    }
    let library = simcard::home().join("kernels/lib");
    std::os::unix::fs::symlink(library, folder.path().join("lib")).expect("link");
    let card = coherent_card();
    let memory = card.coherent_memory(BASE, LINES * LINE).expect("memory");
    let space = card.create_space().expect("space");
    let crimes = [
        (1, "which no read under way has"),
        (2, "otherwise than by two rows together"),
        (3, "which no write under way has"),
        (4, "an operation on line 0x10000380 that is not known"),
        (
            5,
            "an operation on line 0x10000380 with the tag of one that is under way",
        ),
        (7, "did not take, or answer, the write of line 0x1000"),
        (8, "did not answer the read of line 0x1000"),
        (9, "which no read under way has"),
        (10, "did not take, or answer, the write of line 0x1000"),
        // A circle: the acknowledgement waits for the write of the kernel's own line.
        (11, "did not take, or answer, the write of line 0x10000380"),
    ];
    for (crime, rule) in crimes {
        let slot = card.load(SlotId(0), &kernel, &space).expect("load");
        card.set_home_patience(2000).expect("patience");
        // The CPU has changed more lines than it may keep in one set, so that some go home.
        for line in 0..LINES / 2 {
            memory.store(line * LINE, &[1]).expect("store");
        }
        slot.set("line", BASE + 7 * LINE).expect("argument");
        slot.set("crime", crime).expect("argument");
        slot.start().expect("start");
        let mut errors = Vec::new();
        for line in LINES / 2..LINES {
            errors.extend(memory.load(line * LINE).err());
            errors.extend(memory.flush((line - LINES / 2) * LINE).err());
        }
        errors.extend(slot.wait(None, |_| tombolo::Continue::Yes).err());
        // What never comes is missed when the patience is over.
        if errors.is_empty() {
            let tries = |_| {
                let flushed = memory.flush(40 * LINE).err();
                flushed.or_else(|| memory.load(40 * LINE).err())
            };
            errors.extend((0..500).find_map(tries));
        }
        let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
        assert!(!texts.is_empty(), "crime {crime} was not seen");
        for (text, error) in texts.iter().zip(&errors) {
            assert!(matches!(error, Error::Home(_)), "crime {crime}: {text}");
        }
        assert!(texts[0].contains(rule), "crime {crime}: {}", texts[0]);
        assert!(texts[0].contains("slot 0"), "crime {crime}: {}", texts[0]);
    }
    // A line that is not locked may be unlocked: that is acknowledged, and changes nothing.
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    memory.store(7 * LINE, &[1]).expect("store");
    slot.set("line", BASE + 7 * LINE).expect("argument");
    slot.set("crime", 6).expect("argument");
    slot.start().expect("start");
    slot.wait(None, |_| tombolo::Continue::Yes).expect("done");
    assert_eq!(memory.load(7 * LINE).expect("load")[0], 1);

    // No circle: the kernel takes no write until its operation on a line that nobody changed is acknowledged. Writes of other
    // lines wait in the shell meanwhile, and hold up neither the acknowledgement nor the CPU.
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    for line in 0..LINES / 2 {
        memory.store(line * LINE, &[1]).expect("store");
    }
    memory.load(50 * LINE).expect("load");
    slot.set("line", BASE + 50 * LINE).expect("argument");
    slot.set("crime", 11).expect("argument");
    let lines = [(50 * LINE, "asked"), (31 * LINE, "other")];
    memory.record(&lines).expect("record");
    for line in 0..LINES / 2 {
        memory.flush(line * LINE).expect("flush");
    }
    slot.start().expect("start");
    slot.wait(None, |_| tombolo::Continue::Yes).expect("done");
    assert_eq!(
        memory.load(31 * LINE).expect("load"),
        [0; 128],
        "the kernel forgets"
    );
    let text = memory.history().expect("history").to_text();
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    let (acknowledged, written) = (place("clean-invalidate done"), place("-> kernel     write"));
    assert!(
        place("EvictDirty") < acknowledged && acknowledged < written,
        "{text}"
    );

    // Somebody honest.
    let kernel = simcard::home().join("kernels/rpc");
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    start(&slot, ECHO, 1);
    let mut rpc = Rpc::connect(memory).expect("connect");
    assert_eq!(rpc.call(&stamped(1)).expect("call")[..], stamped(1)[..]);
}

/// Only the CPU's cache itself takes a line from a page that a program is writing, to make room for another line. The
/// evicted line holds the program's bytes, and the program's next access finds the line gone.
#[test]
fn a_line_that_the_cache_evicts_takes_what_its_page_holds() {
    // A place for every line of the cache: the directory calls no line home.
    let card = open(ShellConfig::coherent_full(), 64 << 20).expect("card");
    let memory = card.home_memory().expect("memory");
    let (sets, ways) = (8192_u64, 16);
    let set_of = |line: u64| PlainLine(line).fold().0 % sets;
    let shown = 5;
    let same_set: Vec<u64> = (32..memory.bytes() / LINE)
        .filter(|line| set_of(*line) == set_of(shown))
        .take(ways)
        .collect();
    assert_eq!(same_set.len(), ways);
    let map = memory.part(0, 4096).expect("part").map().expect("map");
    let place = &map.words()[(shown * LINE / 8) as usize];
    place.store(41, Relaxed);
    memory.record(&[(shown * LINE, "shown")]).expect("record");
    place.store(42, Relaxed);
    for line in same_set {
        memory.load(line * LINE).expect("load");
    }
    let text = memory.history().expect("history").to_text();
    assert!(text.contains("EvictDirty"), "{text}");
    assert_eq!(place.load(Relaxed), 42);
    place.store(43, Relaxed);
    assert_eq!(word(&memory.load(shown * LINE).expect("load"), 0), 43);
}

/// A program that unmaps pages while their lines are dirty loses none of them, on the CPU nor on the way home.
#[test]
fn a_map_that_ends_with_dirty_lines_loses_none() {
    let card = card_with_home(1 << 20);
    let memory = card.home_memory().expect("memory");
    let pages = memory.part(8192, 3 * 4096).expect("part");
    for round in 1..=2_u64 {
        let map = pages.map().expect("map");
        for (place, word) in (0..).zip(map.words()) {
            word.store(place * round, Relaxed);
        }
        drop(map);
        for line in 0..pages.bytes() / LINE {
            // Some are called home before they are looked at.
            if line % 3 == 0 {
                pages.flush(line * LINE).expect("flush");
            }
            let bytes = pages.on_core(5).load(line * LINE).expect("load");
            for place in 0..16 {
                let expected = (16 * line + place as u64) * round;
                assert_eq!(word(&bytes, place), expected, "round {round}, line {line}");
            }
        }
    }
    // A second map of the same pages begins with what the first one left.
    let map = pages.map().expect("map");
    assert_eq!(map.words()[777].load(Relaxed), 2 * 777);
}

/// The kernel locks lines of the pages that the program has, and changes them: false sharing at its worst.
#[test]
fn a_kernel_changes_lines_of_mapped_pages() {
    let found = line_threads::beside_a_kernel(&coherent_card(), 20_000);
    assert!(found.accesses >= 20_000);
    assert_eq!(found.unexplained, 0);
}

#[test]
fn card_memory_serves_lines_without_a_kernel() {
    let open = |home_bytes| open(ShellConfig::coherent(), home_bytes);
    for impossible in [128, 64 << 20] {
        let error = open(impossible).expect_err("not possible");
        assert!(matches!(error, Error::HomeMemory { .. }), "{error}");
    }
    let none = open(0).expect("card");
    assert!(matches!(none.home_memory(), Err(Error::NoHomeMemory)));
    drop(none);

    // A line that is cleaned is in memory and still in the cache, to be read only.
    {
        let card = open(4096).expect("card");
        let memory = card.home_memory().expect("memory");
        let took = |access: &dyn Fn()| {
            let began = memory.now().expect("time");
            access();
            (memory.now().expect("time") - began).get() / 1000
        };
        let store = |byte| memory.store(LINE, &[byte]).expect("store");
        memory
            .clean(LINE)
            .expect("a line that the CPU does not have");
        store(1);
        assert!(took(&|| store(2)) < 30, "the line is the CPU's alone");
        memory.record(&[(LINE, "line")]).expect("record");
        memory.clean(LINE).expect("clean");
        memory.clean(LINE).expect("nothing to clean");
        assert!(took(&|| assert_eq!(memory.load(LINE).expect("load")[0], 2)) < 30);
        assert!(took(&|| store(3)) > 200, "others may have it");
        let text = memory.history().expect("history").to_text();
        assert_eq!(text.matches("CleanDirty").count(), 1, "{text}");
        let beside = memory.begin_store(LINE, &[4]).expect("store");
        let after = memory.begin_clean(LINE).expect("clean");
        beside.wait().expect("store");
        after.wait().expect("clean");
        assert!(took(&|| assert_eq!(memory.on_core(5).load(LINE).expect("load")[0], 4)) < 30);
    }

    // Four times as many lines as the directory has places, so that lines come home all the time.
    let lines = 4096_u64;
    let card = open(lines * LINE).expect("card");
    let memory = card.home_memory().expect("memory");
    assert_eq!(memory.bytes(), lines * LINE);
    assert_eq!(line_cores::unexplained(&memory, 6000), 0);

    let found = share(&memory, 20_000, || {});
    assert!(found.accesses >= 20_000);
    assert_eq!(found.unexplained, 0);

    // A kernel finds the place taken, and lines beyond the range are not there.
    let kernel = simcard::home().join("kernels/rpc");
    let space = card.create_space().expect("space");
    let error = card.load(SlotId(0), &kernel, &space);
    assert!(matches!(error, Err(Error::Home(_))), "{:?}", error.err());
    let beyond = card.coherent_memory(lines * LINE, LINE).expect("range");
    let error = beyond.load(0).expect_err("behind the end");
    assert!(matches!(error, Error::CoherentOffset { .. }), "{error}");
}

/// CCKit, figure 2: the directory in front of memory, and the kernel next to it.
#[test]
fn a_kernel_beside_card_memory_counts_in_its_lines() {
    const ROWS: u64 = 40;
    let kernel = simcard::home().join("kernels/memory_table");
    let none = coherent_card();
    let space = none.create_space().expect("space");
    let error = none.load(SlotId(0), &kernel, &space);
    assert!(matches!(error, Err(Error::NoHomeMemory)));
    drop((space, none));

    let card = card_with_home(1 << 20);
    let space = card.create_space().expect("space");
    let load = |updates| {
        let slot = card.load(SlotId(0), &kernel, &space).expect("load");
        let arguments = [
            ("base", 64 * LINE),
            ("rows", ROWS),
            ("updates", updates),
            ("inflight", 5),
        ];
        for (argument, value) in arguments {
            slot.set(argument, value).expect("argument");
        }
        slot.start().expect("start");
        slot
    };
    let slot = load(10 * ROWS);
    let memory = card.home_memory().expect("memory");
    let table = memory.part(64 * LINE, ROWS * LINE).expect("part");
    let add = |times: u64| {
        for _ in 0..times {
            for row in 0..ROWS {
                let line = table.load_exclusive(row * LINE).expect("load");
                let count = (word(&line, 0) + 1).to_le_bytes();
                table.store(row * LINE, &count).expect("store");
            }
        }
    };
    let counts = |place| -> Vec<u64> {
        let line = |row| table.load(row * LINE).expect("load");
        (0..ROWS).map(|row| word(&line(row), place)).collect()
    };
    add(10);
    slot.wait(None, |_| tombolo::Continue::Yes).expect("done");
    assert_eq!(counts(0), [10; ROWS as usize]);
    assert_eq!(counts(1), [10; ROWS as usize]);

    // A kernel that goes in the middle, with lines locked: memory has what the CPU wrote, nothing stays locked, and
    // every addition of the kernel is whole.
    let endless = load(1 << 30);
    add(3);
    let stopped = endless.wait(None, |_| tombolo::Continue::Stop);
    assert!(stopped.is_err(), "it was in the middle");
    let slot = load(0);
    assert_eq!(counts(0), [13; ROWS as usize]);
    let (before, written) = (counts(1), counts(2));
    assert!(before.iter().all(|count| *count >= 10), "{before:?}");
    assert_eq!(written, [0; ROWS as usize]);
    add(1);
    slot.wait(None, |_| tombolo::Continue::Yes).expect("done");
    assert_eq!(counts(0), [14; ROWS as usize]);
    assert_eq!(counts(1), before, "the kernel of before is gone");

    // Rows that memory does not have are told; the CPU goes on.
    slot.set("base", memory.bytes()).expect("argument");
    slot.set("updates", ROWS).expect("argument");
    slot.start().expect("start");
    let error = slot.join(None).expect_err("no such lines").to_string();
    assert!(
        error.contains("beyond the 1048576 bytes of card memory"),
        "{error}"
    );
    add(1);
    assert_eq!(counts(0), [15; ROWS as usize]);
}

/// Locks that the directory grants after the slot has begun to close, because a core had the line and its answer was under
/// way: none of them stays, however late it comes.
#[test]
fn a_lock_that_is_granted_while_its_slot_closes_is_released() {
    const ROWS: u64 = 48;
    const INFLIGHT: u64 = 16;
    let kernel = simcard::home().join("kernels/memory_table");
    let card = card_with_home(1 << 20);
    let space = card.create_space().expect("space");
    let memory = card.home_memory().expect("memory");
    for round in 0..6 {
        let slot = card.load(SlotId(0), &kernel, &space).expect("load");
        let arguments = [
            ("base", 0),
            ("rows", ROWS),
            ("updates", 1 << 30),
            ("inflight", INFLIGHT),
        ];
        for (argument, value) in arguments {
            slot.set(argument, value).expect("argument");
        }
        slot.start().expect("start");
        // The cores have what the kernel locks next.
        for row in 0..ROWS - round {
            let core = memory.on_core((row % 8) as u8);
            core.load_exclusive(row * LINE).expect("load");
        }
        let stopped = slot.wait(None, |_| tombolo::Continue::Stop);
        assert!(stopped.is_err(), "it was in the middle");
        for row in 0..ROWS {
            memory.load_exclusive(row * LINE).expect("no lock stays");
        }
    }
}

/// A kernel that writes lines that it has not locked: of kernel `memory_table` its locks are taken away. Each of its writes is
/// a quarter of a line, and goes by the directory: what the CPU has in the other quarters stays, and no rule is broken.
#[test]
fn a_kernel_that_locks_nothing_spoils_no_other_bytes() {
    const ROWS: u64 = 4;
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = folder.path().join("memory_table");
    std::fs::create_dir(&kernel).expect("a folder");
    let source = simcard::home().join("kernels/memory_table");
    std::fs::copy(source.join("kernel.toml"), kernel.join("kernel.toml")).expect("copy");
    let rtl = std::fs::read_to_string(source.join("memory_table.sv")).expect("read");
    // A clean in place of a lock; the unlocks are of lines that are not locked.
    let clean = rtl.replace("Lock = 3'd2,", "Lock = 3'd0,");
    assert_ne!(rtl, clean);
    std::fs::write(kernel.join("memory_table.sv"), clean).expect("write");
    let library = simcard::home().join("kernels/lib");
    std::os::unix::fs::symlink(library, folder.path().join("lib")).expect("link");

    let card = card_with_home(1 << 20);
    let space = card.create_space().expect("space");
    let memory = card.home_memory().expect("memory");
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    let arguments = [
        ("base", 0),
        ("rows", ROWS),
        ("updates", 50 * ROWS),
        ("inflight", 4),
    ];
    for (argument, value) in arguments {
        slot.set(argument, value).expect("argument");
    }
    slot.start().expect("start");
    for count in 1..=100_u64 {
        for row in 0..ROWS {
            let quarter = 1 + count % 3;
            memory
                .store(row * LINE + 32 * quarter, &count.to_le_bytes())
                .expect("store");
        }
    }
    slot.wait(None, |_| tombolo::Continue::Yes).expect("done");
    for row in 0..ROWS {
        let line = memory.load(row * LINE).expect("load");
        assert_eq!(word(&line, 1), 50, "the kernel's count");
        let own = [4, 8, 12].map(|place| word(&line, place));
        assert_eq!(own, [99, 100, 98], "the CPU's quarters");
    }
}

/// A program may end while lines are dirty and threads write more of them, with and without a map: the process goes at once, with
/// the code that it gives.
#[test]
fn a_program_that_exits_with_dirty_lines_ends() {
    const SIGN: &str = "TOMBOLO_TEST_EXITS";
    if std::env::var_os(SIGN).is_some() {
        let card = coherent_card();
        let kernel = simcard::home().join("kernels/rpc");
        let space = card.create_space().expect("space");
        let slot = card.load(SlotId(0), &kernel, &space).expect("load");
        start(&slot, ECHO, 0);
        let memory = card.coherent_memory(BASE, LINES * LINE).expect("memory");
        let map = memory.part(4096, 4096).expect("part").map().expect("a map");
        std::thread::scope(|scope| {
            scope.spawn(|| loop {
                for word in map.words() {
                    word.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            });
            for line in 2..20 {
                memory.store(line * LINE, &[7]).expect("store");
            }
            let _waits = memory.begin_store(40 * LINE, &[7]).expect("store");
            std::process::exit(7);
        });
    }
    let program = std::env::current_exe().expect("this program");
    let mut child = std::process::Command::new(program)
        .args(["a_program_that_exits_with_dirty_lines_ends", "--exact"])
        .env(SIGN, "yes")
        .spawn()
        .expect("a child");
    let began = std::time::Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("wait") {
            break status;
        }
        if began.elapsed().as_secs() > 300 {
            child.kill().expect("kill");
            panic!("the program does not end");
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert_eq!(status.code(), Some(7), "{status}");
}

#[test]
fn every_item_of_a_queue_is_taken_once() {
    let mut queue = queue::Queue::new().expect("queue");
    for (consumers, items, pace) in [(1, 20, 0), (queue::CONSUMERS, 100, 0), (3, 10, 300)] {
        let run = queue.run(consumers, items, pace).expect("run");
        assert_eq!((run.wrong, run.in_vain), (0, 0));
        assert_eq!(run.taken.iter().sum::<u64>(), items);
        let cycles = run.ns / queue.cycle_ns().expect("card");
        assert!(cycles > pace as f64, "{cycles} cycles an item");
    }
}

#[test]
fn a_record_is_read_whole_while_the_card_changes_it() {
    use record::{Record, Way};
    for (way, again) in [(Way::Snapshots, false), (Way::SequenceLock, true)] {
        let mut record = Record::new(way).expect("record");
        let mut retries = 0;
        for (readers, versions, changes, pace) in [(1, 20, 31, 0), (record::READERS, 20, 5, 200)] {
            let run = record.run(readers, versions, changes, pace).expect("run");
            assert_eq!(run.wrong, 0, "{way:?}: {run:?}");
            assert!(run.reads > 0);
            retries += run.retries;
        }
        assert_eq!(retries > 0, again, "{way:?}");
        let unchanged = record.unchanged_ns().expect("read");
        assert!(unchanged < 100.0, "{way:?}: {unchanged} ns");
        let changed = record.changed_ns(4).expect("read");
        assert!((300.0..2000.0).contains(&changed), "{way:?}: {changed} ns");
    }
}
