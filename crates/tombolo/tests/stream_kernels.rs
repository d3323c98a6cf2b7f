//! Do the kernels with streams give the same on every card and from every device, and what others give? The
//! functional card's models are the judges of the RTL here; `kernels/*/test_*.py` judge the RTL by other programs.

#[path = "common/stream_card.rs"]
mod stream_card;

use simcard::SimCard;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use tombolo::{
    Card, Continue, FunctionalCard, FunctionalConfig, MapOptions, OwnerOptions, SlotId, Timeline,
};

/// Input of a kernel.
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
    simcard::home().join("kernels").join(kernel)
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

fn simulated() -> Card {
    let card = SimCard::open(stream_card::simulated(), |_| {}).unwrap();
    Card::new(Box::new(card), OwnerOptions::default()).unwrap()
}

/// Runs a case twice, from a file to a file and from memory of the program to such memory; what came out.
fn run(card: &Card, case: &Case) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let space = card.create_space().unwrap();
    let slot = card
        .load(SlotId(0), folder_of(case.kernel), &space)
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
    let _from = input.as_ref().map(|input| {
        fs::write(&source, &given).unwrap();
        let from = space.map_file(&source, MapOptions::read_only()).unwrap();
        input.read(from.all()).unwrap();
        from
    });
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

/// Ends of transfers, interrupts and faults have one price: a batch costs 0.5 us and each of its events 1.5 us.
#[test]
fn every_event_of_a_batch_has_one_price() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.pftrace");
    let mut options = stream_card::simulated();
    let timeline = Timeline::create(&path).unwrap();
    options.timeline = Some(timeline.clone());
    let card = SimCard::open(options, |_| {}).unwrap();
    let card = Card::new(Box::new(card), OwnerOptions::default()).unwrap();
    let space = card.create_space().unwrap();
    let slot = card.load(SlotId(0), folder_of("sha256_stream"), &space);
    let slot = slot.unwrap();
    slot.set("lanes", 128).unwrap();
    let (input, output) = (slot.open_stream("in"), slot.open_stream("out"));
    let (input, output) = (input.unwrap(), output.unwrap());
    fs::write(folder.path().join("in"), data(64 << 10)).unwrap();
    let from = space.map_file(folder.path().join("in"), MapOptions::read_only());
    let from = from.unwrap();
    let to = space.map_file(folder.path().join("out"), MapOptions::create(4096));
    let to = to.unwrap();
    // The second time nothing faults.
    for _ in 0..2 {
        output.write(to.all()).unwrap();
        slot.start().unwrap();
        input.read(from.all()).unwrap();
        output.wait(None, |_| Continue::Yes).unwrap();
        input.wait(None, |_| Continue::Yes).unwrap();
        slot.wait(None, |_| Continue::Yes).unwrap();
    }
    drop((from, to, input, output, slot, space));
    drop(card);
    timeline.finish().unwrap();
    let events = timeline::read::events(&fs::read(&path).unwrap()).unwrap();
    let served = events
        .iter()
        .filter(|event| event.track == "host/fault service");
    let spans: Vec<_> = served.map(|event| event.to - event.from).collect();
    assert!(spans.len() >= 4, "{spans:?}");
    let priced = |span: &u64| *span > 500 && (span - 500) % 1500 == 0;
    assert!(spans.iter().all(priced), "{spans:?}");
}

/// Three ports of 64 bits into the kernel share a stream, three out of it another: the second adds 1 to each word.
/// In turn, packets come back in their order.
const SHARED: &str = r#"
module shared (
  input  logic             ap_clk,
  input  logic             ap_rst_n,
  INS,
  OUTS
);
  assign {y0_tdata, y0_tkeep, y0_tlast, y0_tvalid} = {x0_tdata, x0_tkeep, x0_tlast, x0_tvalid};
  assign x0_tready = y0_tready;
  assign {y1_tdata, y1_tkeep, y1_tlast} = {x1_tdata + 64'd1, x1_tkeep, x1_tlast};
  assign y1_tvalid = x1_tvalid;
  assign x1_tready = y1_tready;
  assign {y2_tdata, y2_tkeep, y2_tlast, y2_tvalid} = {x2_tdata, x2_tkeep, x2_tlast, x2_tvalid};
  assign x2_tready = y2_tready;
endmodule
"#;

#[test]
fn ports_that_share_a_stream_take_packets_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let ports = |name: &str, data: &str, ready: &str| {
        let one = |n| {
            format!(
                "{data} logic [63:0] {name}{n}_tdata, {data} logic [7:0] {name}{n}_tkeep, {data} logic \
                 {name}{n}_tlast, {data} logic {name}{n}_tvalid, {ready} logic {name}{n}_tready"
            )
        };
        (0..3).map(one).collect::<Vec<_>>().join(", ")
    };
    let text = SHARED
        .replace("INS", &ports("x", "input", "output"))
        .replace("OUTS", &ports("y", "output", "input"));
    fs::write(folder.path().join("shared.sv"), text).unwrap();
    let manifest = |packets: &str| {
        let port = |name: &str, direction: &str, letter: &str| {
            format!(
                "[[port]]\nname = \"{name}\"\nkind = \"axi4_stream\"\ndirection = \"{direction}\"\n\
                 data_width = 64\nmembers = [\"{letter}0\", \"{letter}1\", \"{letter}2\"]\n{packets}\n"
            )
        };
        format!(
            "[kernel]\nname = \"shared\"\ntop = \"shared\"\nsources = [\"shared.sv\"]\n\
             control = \"ap_ctrl_none\"\n{}{}",
            port("in", "in", "x"),
            port("out", "out", "y")
        )
    };
    fs::write(folder.path().join("kernel.toml"), manifest("")).unwrap();
    let card = simulated();
    let space = card.create_space().unwrap();
    let slot = card.load(SlotId(0), folder.path(), &space).unwrap();
    let (input, output) = (
        slot.open_stream("in").unwrap(),
        slot.open_stream("out").unwrap(),
    );
    let (source, result) = (folder.path().join("a"), folder.path().join("b"));
    let given = data(30_000);
    fs::write(&source, &given).unwrap();
    let from = space.map_file(&source, MapOptions::read_only()).unwrap();
    let to = space.map_file(&result, MapOptions::create(30_000)).unwrap();
    let mut wanted = vec![0; 30_000];
    let mut at = 0;
    for (n, bytes) in [64usize, 800, 8, 1600, 72, 2400, 640]
        .into_iter()
        .enumerate()
    {
        input
            .read(from.slice(at as u64, bytes as u64).unwrap())
            .unwrap();
        output
            .write(to.slice(at as u64, bytes as u64).unwrap())
            .unwrap();
        for word in 0..bytes / 8 {
            let place = at + 8 * word;
            let value = u64::from_le_bytes(given[place..place + 8].try_into().unwrap());
            let value = value + u64::from(n % 3 == 1);
            wanted[place..place + 8].copy_from_slice(&value.to_le_bytes());
        }
        at += bytes;
    }
    let moved = output.sync(None).unwrap();
    assert!(
        moved.len() == 7 && moved.iter().all(|moved| moved.last),
        "{moved:?}"
    );
    input.sync(None).unwrap();
    to.unmap().unwrap();
    assert!(fs::read(&result).unwrap() == wanted);
}
