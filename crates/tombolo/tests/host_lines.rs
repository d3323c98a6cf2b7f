//! Whole system: kernels that cache lines of the CPU's own memory, concurrently with cores that change the same lines.

use std::path::{Path, PathBuf};
use tombolo::{
    Card, CoherentMemory, Continue, Error, OwnerOptions, ShellConfig, SimOptions, Slot, SlotId,
};

#[path = "common/line_cores.rs"]
mod line_cores;

const LINE: u64 = 128;
/// Of the CPU's memory; a kernel may use no more.
const BYTES: u64 = 1 << 20;
/// Offset of the kernel's counters.
const RESULT: u64 = BYTES - LINE;
/// As `kernels/host_counter` has them.
const ADD: u64 = 0;
const STORE: u64 = 2;

fn card_with(shell: ShellConfig) -> Card {
    let mut options = SimOptions::named("enzian").expect("platform");
    options.shell = shell;
    options.channel_bytes = Some(64 << 20);
    let owner = OwnerOptions {
        host_line_bytes: BYTES,
        ..OwnerOptions::default()
    };
    Card::simulated(options, owner, |_| {}).expect("card")
}

fn card_with_slices(slices: u8) -> Card {
    let mut shell = ShellConfig::coherent_host();
    shell.directory.as_mut().expect("a directory").slices = slices;
    card_with(shell)
}

fn word(line: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(line[8 * place..8 * place + 8].try_into().expect("eight"))
}

fn start(slot: &Slot, rows: u64, updates: u64, inflight: u64, mode: u64) {
    let arguments = [
        ("base", 0),
        ("rows", rows),
        ("updates", updates),
        ("inflight", inflight),
        ("mode", mode),
        ("result", RESULT),
    ];
    for (argument, value) in arguments {
        slot.set(argument, value).expect("argument");
    }
    slot.start().expect("start");
}

/// A kernel of the tests in a folder of its own: libraries are a kernel's neighbours.
fn test_kernel(folder: &Path, name: &str) -> PathBuf {
    let kernel = folder.join(name);
    std::fs::create_dir(&kernel).expect("a folder");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let kernels = simcard::home().join("kernels");
    let engine = kernels.join("host_counter/host_counter_engine.sv");
    let own = tests.join(name).read_dir().expect("the kernel");
    let files = own.map(|file| file.expect("a file").path());
    for file in files.chain([engine]) {
        let copy = kernel.join(file.file_name().expect("a name"));
        std::fs::copy(file, copy).expect("copy");
    }
    std::os::unix::fs::symlink(kernels.join("lib"), folder.join("lib")).expect("link");
    kernel
}

fn counts(memory: &CoherentMemory, rows: u64, place: usize) -> Vec<u64> {
    let line = |row| memory.load(row * LINE).expect("load");
    (0..rows).map(|row| word(&line(row), place)).collect()
}

/// The kernel, cores with atomic instructions, and cores with loads and stores under a lock: no addition is lost, in as many
/// lines as the cache has and in more; what a kernel had when it went, held or changed, is in memory.
#[test]
fn no_addition_is_lost() {
    const FEW: u64 = 6;
    const MANY: u64 = 400;
    let kernel = simcard::home().join("kernels/host_counter");
    let card = card_with(ShellConfig::coherent_host());
    let memory = card.host_lines().expect("memory");
    let space = card.create_space().expect("space");
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    start(&slot, FEW, 50 * FEW, 4, ADD);
    let lock = MANY * LINE;
    for _ in 0..20 {
        for row in 0..FEW {
            memory.on_core(1).add(row * LINE + 8, 1).expect("add");
            let locked = memory.on_core(2);
            while locked.compare_exchange(lock, 0, 1).expect("lock") != 0 {}
            let line = locked.load(row * LINE).expect("load");
            let count = (word(&line, 0) + 1).to_le_bytes();
            locked.store(row * LINE, &count).expect("store");
            locked.store(lock, &[0]).expect("unlock");
        }
    }
    slot.wait(None, |_| Continue::Yes).expect("done");
    assert_eq!(counts(&memory, FEW, 1), [70; FEW as usize]);
    assert_eq!(counts(&memory, FEW, 0), [20; FEW as usize]);

    // More lines than the cache has: they give their places to each other.
    start(&slot, MANY, 2 * MANY, 8, ADD);
    for row in 0..MANY {
        memory.add((MANY - 1 - row) * LINE + 8, 1).expect("add");
    }
    slot.wait(None, |_| Continue::Yes).expect("done");
    let many = counts(&memory, MANY, 1);
    assert!(many[..FEW as usize].iter().all(|count| *count == 73));
    assert!(
        many[FEW as usize..].iter().all(|count| *count == 3),
        "{many:?}"
    );

    // A kernel that goes in the middle: its additions are whole and in memory, and the next one adds to them.
    start(&slot, FEW, 1 << 30, 6, ADD);
    for _ in 0..10 {
        for row in 0..FEW {
            memory.add(row * LINE + 8, 1).expect("add");
        }
    }
    let stopped = slot.wait(None, |_| Continue::Stop);
    assert!(stopped.is_err(), "it was in the middle");
    drop(slot);
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    let before = counts(&memory, FEW, 1);
    assert!(before.iter().all(|count| *count >= 83), "{before:?}");
    let spread = before.iter().max().expect("six") - before.iter().min().expect("six");
    assert!(spread <= 1, "{before:?}");
    start(&slot, FEW, FEW, 1, ADD);
    slot.wait(None, |_| Continue::Yes).expect("done");
    let after: Vec<u64> = before.iter().map(|count| count + 1).collect();
    assert_eq!(counts(&memory, FEW, 1), after);

    // Plain stores.
    start(&slot, FEW, FEW, 8, STORE);
    slot.wait(None, |_| Continue::Yes).expect("done");
    assert_eq!(counts(&memory, FEW, 2), [6, 5, 4, 3, 2, 1]);
    assert_eq!(counts(&memory, FEW, 1), after);
}

/// Two slices: each line has its port, and a line at the other one is against the rules.
#[test]
fn two_slices_serve_the_lines_of_each() {
    const ROWS: u64 = 100;
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = test_kernel(folder.path(), "host_counter_two");
    let card = card_with_slices(2);
    let memory = card.host_lines().expect("memory");
    let space = card.create_space().expect("space");
    let one = simcard::home().join("kernels/host_counter");
    let error = card.load(SlotId(0), &one, &space).expect_err("one port");
    assert!(error.to_string().contains("2 slices"), "{error}");
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    start(&slot, ROWS, 4 * ROWS, 8, ADD);
    for row in 0..ROWS {
        memory.add(row * LINE + 8, 1).expect("add");
    }
    slot.wait(None, |_| Continue::Yes).expect("done");
    assert_eq!(counts(&memory, ROWS, 1), [5; ROWS as usize]);
}

/// A line at the port of the other slice is against the rules: kernel `host_counter_two`, whose first engine does the lines of
/// the second. The CPU goes on.
#[test]
fn a_line_at_the_wrong_port_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = test_kernel(folder.path(), "host_counter_two");
    let file = kernel.join("host_counter_two.sv");
    let rtl = std::fs::read_to_string(&file).expect("read");
    let crossed = rtl.replace(".Slice(0)", ".Slice(1)");
    assert_ne!(rtl, crossed);
    std::fs::write(&file, crossed).expect("write");
    let card = card_with_slices(2);
    let memory = card.host_lines().expect("memory");
    let space = card.create_space().expect("space");
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    for round in 1..=3 {
        start(&slot, 4, 4, 1, ADD);
        memory.add(9 * LINE, 1).expect("the CPU goes on");
        let error = slot.wait(None, |_| Continue::Yes);
        let error = error.expect_err("a wrong port");
        let text = error.to_string();
        assert!(matches!(error, Error::Home(_)), "round {round}: {text}");
        let rule = "of the CPU, which belongs to another slice";
        assert!(text.contains(rule), "round {round}: {text}");
        assert!(text.contains("slot 0"), "round {round}: {text}");
    }
    assert_eq!(word(&memory.load(9 * LINE).expect("load"), 0), 3);
}

/// Loads and stores of three cores concurrent with the kernel, checked by the oracle, which knows neither protocol nor
/// controller.
#[test]
fn what_cores_load_is_explained() {
    const ROWS: u64 = 64;
    let kernel = simcard::home().join("kernels/host_counter");
    let card = card_with(ShellConfig::coherent_host());
    let memory = card.host_lines().expect("memory");
    let space = card.create_space().expect("space");
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    start(&slot, ROWS, u64::from(u32::MAX), 8, ADD);
    let used = memory.part(0, 4 * ROWS * LINE).expect("part");
    assert_eq!(line_cores::unexplained(&used, 20_000), 0);
    slot.close().expect("close");
    let counts = counts(&memory, ROWS, 1);
    let (least, most) = (counts.iter().min(), counts.iter().max());
    let (least, most) = (least.expect("some"), most.expect("some"));
    assert!(*least > 0 && most - least <= 1, "{counts:?}");
}

/// A kernel that breaks a rule is named with slot, line and rule. The CPU goes on, and has what the kernel stored.
#[test]
fn what_a_kernel_does_against_the_rules_has_a_name_and_ends_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = test_kernel(folder.path(), "host_liar");
    let card = card_with(ShellConfig::coherent_host());
    let memory = card.host_lines().expect("memory");
    let space = card.create_space().expect("space");
    let beyond = BYTES;
    let crimes = [
        (1, 0, "an access to line 0x380 of the CPU that is not known"),
        (
            2,
            0x8000,
            "an access to line 0x8000 of the CPU with the tag of one that is under way",
        ),
        (
            3,
            beyond,
            "an access to line 0x100000, which is beyond what it may use of the CPU's memory",
        ),
        (
            3,
            0xff_ffff_ff80,
            "an access to line 0xffffffff80, which is beyond",
        ),
        // It has done nothing wrong before the hold is too old.
        (
            0,
            0,
            "did not release its hold of line 0x380 of the CPU in time",
        ),
    ];
    for (round, (crime, other, rule)) in (1..).zip(crimes) {
        let slot = card.load(SlotId(0), &kernel, &space).expect("load");
        card.set_hold_patience(2000).expect("patience");
        memory.store(7 * LINE, &[0; 8]).expect("store");
        for (argument, value) in [("line", 7 * LINE), ("other", other), ("crime", crime)] {
            slot.set(argument, value).expect("argument");
        }
        slot.start().expect("start");
        let mut error = slot.wait(None, |_| Continue::Yes).err();
        // The CPU goes on, whatever the kernel did; time passes.
        for fresh in 0..400 {
            memory.add(9 * LINE, 1).expect("add");
            memory.load(LINE * (400 * round + fresh)).expect("load");
        }
        // A rule that is broken when no run is waited for is told at the end.
        error = error.or(slot.close().err());
        let error = error.unwrap_or_else(|| panic!("crime {crime} was not seen"));
        let text = error.to_string();
        assert!(matches!(error, Error::Home(_)), "crime {crime}: {text}");
        assert!(text.contains(rule), "crime {crime}: {text}");
        assert!(text.contains("slot 0"), "crime {crime}: {text}");
        assert_eq!(memory.add(9 * LINE, 0).expect("add"), 400 * round);
        assert_eq!(word(&memory.load(7 * LINE).expect("load"), 0), 0xc0_ffee);
    }

    // A hold that a core waits for is broken long before its time; the kernel that has it may go with it.
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    card.set_hold_patience(0).expect("patience");
    for (argument, value) in [("line", 7 * LINE), ("other", 0), ("crime", 0)] {
        slot.set(argument, value).expect("argument");
    }
    slot.start().expect("start");
    slot.wait(None, |_| Continue::Yes).expect("done");
    let began = memory.now().expect("now");
    memory.store(7 * LINE, &[1; 8]).expect("store");
    let took = (memory.now().expect("now") - began).get();
    assert!((3_000_000..6_000_000).contains(&took), "{took} ps");
    slot.close().expect("close");

    // Releasing what is not held is none, and an honest kernel finds everything in order.
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    for (argument, value) in [("line", 7 * LINE), ("crime", 5)] {
        slot.set(argument, value).expect("argument");
    }
    slot.start().expect("start");
    slot.wait(None, |_| Continue::Yes).expect("done");
    assert_eq!(word(&memory.load(7 * LINE).expect("load"), 0), 0xc0_ffee);
    drop(slot);
    let honest = simcard::home().join("kernels/host_counter");
    let slot = card.load(SlotId(0), &honest, &space).expect("load");
    start(&slot, 4, 40, 4, ADD);
    slot.wait(None, |_| Continue::Yes).expect("done");
    assert_eq!(counts(&memory, 4, 1), [10; 4]);
}

/// An unsupported request is refused, and the message names the remedy.
#[test]
fn a_shell_without_the_cache_says_so() {
    let kernel = simcard::home().join("kernels/host_counter");
    let card = card_with(ShellConfig::coherent());
    assert!(matches!(card.host_lines(), Err(Error::NoHostLines)));
    let space = card.create_space().expect("space");
    let error = card.load(SlotId(0), &kernel, &space).expect_err("no cache");
    assert!(error.to_string().contains("[cache]"), "{error}");
    let shell = ShellConfig {
        cache: ShellConfig::coherent_host().cache,
        ..ShellConfig::default()
    };
    assert!(shell
        .broken_rule()
        .is_some_and(|rule| rule.contains("directory")));

    let card = card_with(ShellConfig::coherent_host());
    let memory = card.host_lines().expect("memory");
    assert!(memory.add(4, 1).is_err(), "not a word's place");
    assert!(memory.map().is_err());
    assert!(memory.record(&[(0, "zero")]).is_err());
    assert!(matches!(
        memory.load(BYTES),
        Err(Error::CoherentOffset { .. })
    ));
}
