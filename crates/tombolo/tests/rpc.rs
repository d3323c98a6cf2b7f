//! Does a program get the right bytes from a kernel behind the directory, and does the CPU go on when the
//! kernel does not? On the RTL of the whole shell, platform `enzian`.

use coherence::oracle::Oracle;
use tombolo::{Card, Error, OwnerOptions, Rpc, ShellConfig, SimOptions, Slot, SlotId};

const BASE: u64 = 0x1000_0000;
const LINES: u64 = 64;
const LINE: u64 = 128;
const ECHO: u64 = 0;
const CHECKSUM: u64 = 1;
const SILENT: u64 = 2;

fn coherent_card() -> Card {
    let mut options = SimOptions::named("enzian").expect("platform");
    options.shell = ShellConfig::coherent();
    options.channel_bytes = Some(64 << 20);
    Card::simulated(options, OwnerOptions::default(), |_| {}).expect("card")
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

fn word(line: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(line[8 * place..8 * place + 8].try_into().expect("eight"))
}

#[test]
fn calls_bring_the_right_bytes_and_a_silent_kernel_is_cut_off() {
    let kernel = card::sim::home().join("kernels/rpc");
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
    for call in 0..2 {
        let arguments = stamped(1000 + call);
        let result = rpc.call(&arguments).expect("call");
        let words = (0..16).map(|place| word(&arguments, place));
        let sum = words.clone().fold(0, u64::wrapping_add);
        assert_eq!(word(&result, 0), sum);
        assert_eq!(word(&result, 1), words.fold(0, |all, word| all ^ word));
        assert_eq!(result[16..], [0; 112]);
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
