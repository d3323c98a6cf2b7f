//! Do the kernels with streams give the same on every card and from every device, and what others give? The
//! functional card's models are the judges of the RTL here; `kernels/*/test_*.py` judge the RTL by other programs.

use card::sim::SimCard;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use tombolo::{
    Card, Continue, FunctionalCard, FunctionalConfig, MapOptions, OwnerOptions, ShellConfig,
    SimOptions, SlotId,
};

/// What a kernel is given.
struct Case {
    kernel: &'static str,
    arguments: Vec<(&'static str, Vec<u8>)>,
    /// Bytes in; none: it takes nothing.
    bytes: usize,
    /// More than comes out.
    room: u64,
}

fn number(value: u64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

fn data(bytes: usize) -> Vec<u8> {
    (0..bytes as u64)
        .map(|i| ((i % 1000).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as u8)
        .collect()
}

/// Every kernel, with an odd size.
fn cases() -> Vec<Case> {
    let case = |kernel, arguments: &[(&'static str, Vec<u8>)], bytes, room| Case {
        kernel,
        arguments: arguments.to_vec(),
        bytes,
        room,
    };
    vec![
        case("perf_stream", &[], 10_001, 10_001),
        case("matmul", &[], 2 * 32_768, 2 * 16_384),
        case("gzip", &[], 20_011, 20_011),
        case("sha3", &[("mode", number(1))], 5_003, 32),
        case("sha3", &[("mode", number(0))], 136, 32),
        case("sha256_stream", &[("lanes", number(1))], 1_001, 32),
        case("md5_stream", &[("lanes", number(3))], 10_007, 48),
        case(
            "aes256ctr_stream",
            &[("key", vec![7; 32]), ("iv", vec![255; 16])],
            4_099,
            4_099,
        ),
        case(
            "rng_stream",
            &[("bytes", number(9_001)), ("state", (1..33).collect())],
            0,
            9_001,
        ),
        case(
            "nw",
            &[
                ("query", data(64)),
                ("query_bytes", number(50)),
                ("target_bytes", number(70)),
                ("match", number(3)),
                ("mismatch", number(-2i64 as u64)),
                ("gap", number(-4i64 as u64)),
            ],
            7_001,
            4 * 101,
        ),
    ]
}

fn folder_of(kernel: &str) -> PathBuf {
    card::sim::home().join("kernels").join(kernel)
}

fn functional() -> Card {
    let card = FunctionalCard::new(FunctionalConfig {
        slots: 2,
        streams_per_slot: 1,
        queues: 3,
        seed: Some(1),
        ..FunctionalConfig::default()
    });
    Card::new(Box::new(card), OwnerOptions::default()).unwrap()
}

/// The shell of `streams.rs`.
fn simulated() -> Card {
    let mut options = SimOptions::named("u280").unwrap();
    options.shell = ShellConfig {
        slots: 2,
        streams_per_slot: 1,
        queues: 3,
        ..ShellConfig::default()
    };
    let card = SimCard::open(options, |_| {}).unwrap();
    Card::new(Box::new(card), OwnerOptions::default()).unwrap()
}

/// Runs a case twice, from a file to a file and from memory of the program to such memory; what came out.
fn run(card: &Card, case: &Case) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let space = card.create_space().unwrap();
    let slot = card
        .load(SlotId(0), &folder_of(case.kernel), &space)
        .unwrap();
    for (name, value) in &case.arguments {
        slot.set_bytes(name, value).unwrap();
    }
    let output = slot.open_stream("out").unwrap();
    let input = (case.bytes > 0).then(|| slot.open_stream("in").unwrap());
    let given = data(case.bytes);
    let starts = !case.arguments.is_empty();
    let go = || {
        if starts {
            slot.start().unwrap();
        }
        let moved = output.wait(None, |_| Continue::Yes).unwrap();
        assert!(moved.last, "{}: {moved:?}", case.kernel);
        if let Some(input) = &input {
            let taken = input.wait(None, |_| Continue::Yes).unwrap();
            assert_eq!(taken.bytes, case.bytes as u64, "{}", case.kernel);
        }
        if starts {
            slot.wait(None, |_| Continue::Yes).unwrap();
        }
        moved.bytes as usize
    };

    let (source, result) = (folder.path().join("in"), folder.path().join("out"));
    let to = space
        .map_file(&result, MapOptions::create(case.room))
        .unwrap();
    output.write(to.all()).unwrap();
    if let Some(input) = &input {
        fs::write(&source, &given).unwrap();
        let from = space.map_file(&source, MapOptions::read_only()).unwrap();
        input.read(from.all()).unwrap();
    }
    let count = go();
    to.unmap().unwrap();
    let mut of_files = fs::read(&result).unwrap();
    of_files.truncate(count);

    let to = space.alloc(case.room as usize).unwrap();
    let from = space.alloc(case.bytes.max(1)).unwrap();
    output.write(to.part(0, case.room).unwrap()).unwrap();
    if let Some(input) = &input {
        for (to, byte) in from.slice::<AtomicU8>().iter().zip(&given) {
            to.store(*byte, Relaxed);
        }
        let whole = from.part(0, case.bytes as u64).unwrap();
        input.read(whole).unwrap();
    }
    let count = go();
    let bytes = to.slice::<AtomicU8>()[..count].iter();
    let of_memory: Vec<u8> = bytes.map(|byte| byte.load(Relaxed)).collect();
    let kernel = case.kernel;
    assert!(of_files == of_memory, "{kernel}: files and memory differ");
    of_files
}

fn gunzip(file: &[u8]) -> Vec<u8> {
    let mut child = Command::new("gunzip")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let written = file.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&written));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    output.stdout
}

#[test]
fn every_kernel_on_the_functional_card_from_files_and_from_memory() {
    let card = functional();
    for case in cases() {
        let made = run(&card, &case);
        if case.kernel == "gzip" {
            assert!(gunzip(&made) == data(case.bytes));
        }
    }
}

/// Ports of 8, 32, 64, 256 and 1088 bits: the RTL gives what the models give. `vio.kernels.lost` does the rest.
#[test]
fn kernels_of_other_widths_give_the_same_as_rtl() {
    let (models, rtl) = (functional(), simulated());
    for case in cases() {
        if ["sha3", "nw", "rng_stream", "gzip"].contains(&case.kernel) {
            assert!(run(&models, &case) == run(&rtl, &case), "{}", case.kernel);
        }
    }
}
