//! Does a run end only when all bytes that the kernel had handed over before its `done` are in place, however the end
//! was detected? The kernel is `hasty`, which reports its end too early.

use simcard::{home, SimCard};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Card, Error, FunctionalCard, FunctionalConfig, MapOptions, OwnerOptions,
    Picoseconds, SimOptions, Slot, SlotId,
};

const CONTROL: u32 = 0x00;
const START: u32 = 1;
const DONE: u32 = 2;

const HASTY: u64 = 1;
const READS: u64 = 2;
const TRICKLES: u64 = 4;
const DATA_FIRST: u64 = 8;
const DEAF: u64 = 16;
const MUTE: u64 = 32;

const LONG: Option<Picoseconds> = Some(Picoseconds::from_millis(10));

fn simulated() -> Card {
    let card = SimCard::open(SimOptions::named("f1").unwrap(), |_| {}).unwrap();
    Card::new(Box::new(card), OwnerOptions::default()).unwrap()
}

fn functional() -> Card {
    Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap()
}

/// `hasty`, with one line of its description replaced by another.
fn kernel(folder: &Path, line: &str, instead: &str) -> PathBuf {
    let original = home().join("kernels/hasty");
    let text = fs::read_to_string(original.join("kernel.toml")).unwrap();
    assert!(text.contains(line));
    let text = text.replace(line, instead);
    let text = text.replace("libraries = [\"lib\"]\n", "");
    let sources = "sources = [\"kernel_control_registers.sv\", \"hasty.sv\"]";
    let text = text.replace("sources = [\"hasty.sv\"]", sources);
    let place = folder.join("hasty");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("kernel.toml"), text).unwrap();
    fs::copy(original.join("hasty.sv"), place.join("hasty.sv")).unwrap();
    for file in ["kernel_control_registers.sv", "tmb_ports.svh"] {
        fs::copy(home().join("kernels/lib").join(file), place.join(file)).unwrap();
    }
    place
}

fn polled(folder: &Path) -> PathBuf {
    kernel(folder, "interrupt = true", "interrupt = false")
}

fn content(bytes: usize, seed: u32) -> Vec<u8> {
    let words = 0..bytes.div_ceil(4) as u32;
    let words = words.map(|word| seed.wrapping_add(word.wrapping_mul(0x9e37_79b9)));
    let mut content: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    content.truncate(bytes);
    content
}

/// A slot with the kernel, which writes to a file that is new.
struct Run {
    slot: Slot,
    output: tombolo::Mapping,
    to: PathBuf,
    bytes: usize,
    seed: u32,
}

impl Run {
    fn new(card: &Card, space: &AddressSpace, kernel: &Path, folder: &Path, bytes: usize) -> Self {
        let to = folder.join("to");
        fs::write(&to, vec![0x5a; bytes]).unwrap();
        let output = space.map_file(&to, MapOptions::read_write()).unwrap();
        let slot = card.load(SlotId(0), kernel, space).unwrap();
        slot.set_mapping("output", &output).unwrap();
        slot.set_mapping("source", &output).unwrap();
        slot.set("bytes", bytes as u64).unwrap();
        Self {
            slot,
            output,
            to,
            bytes,
            seed: 0,
        }
    }

    fn prepare(&mut self, mode: u64) {
        self.seed = self.seed.wrapping_add(0x0101_0107);
        self.slot.set("seed", self.seed.into()).unwrap();
        self.slot.set("mode", mode).unwrap();
    }

    fn check(&self, what: &str) {
        let found = fs::read(&self.to).unwrap();
        assert!(found == content(self.bytes, self.seed), "{what}");
    }
}

#[test]
fn what_was_taken_is_written_when_the_run_is_over() {
    for (card, name) in [(functional(), "functional"), (simulated(), "simulated")] {
        let folder = TempDir::new().unwrap();
        let space = card.create_space().unwrap();
        let kernels = [home().join("kernels/hasty"), polled(folder.path())];
        for (kernel, way) in kernels.iter().zip(["interrupt", "polling"]) {
            for bytes in [1, 4, 200, 5000, 1 << 16] {
                let mut run = Run::new(&card, &space, kernel, folder.path(), bytes);
                let modes = match bytes {
                    200 => vec![
                        HASTY,
                        0,
                        HASTY | READS,
                        HASTY | TRICKLES,
                        HASTY | TRICKLES | DATA_FIRST,
                        HASTY | DATA_FIRST,
                    ],
                    5000 => vec![
                        HASTY | 2 << 8,
                        HASTY | READS | 4 << 8,
                        HASTY | TRICKLES | 4 << 8,
                    ],
                    _ => vec![HASTY],
                };
                for mode in modes {
                    run.prepare(mode);
                    run.slot.start().unwrap();
                    match way {
                        "interrupt" => run.slot.join(LONG).unwrap(),
                        _ => assert_eq!(card.wait_any(&[&run.slot], LONG).unwrap(), 0),
                    }
                    if way == "polling" {
                        run.slot.join(LONG).unwrap();
                    }
                    run.output.sync().unwrap();
                    run.check(&format!("{name}, {way}, {bytes} bytes, mode {mode}"));
                }
                // And at once again, without a sync in between.
                run.prepare(HASTY);
                run.slot.start().unwrap();
                run.slot.join(LONG).unwrap();
                run.prepare(HASTY);
                run.slot.start().unwrap();
                run.slot.join(LONG).unwrap();
                run.slot.close().unwrap();
                run.output.unmap().unwrap();
                run.check("after close and unmap");
            }
        }
    }
}

/// A kernel that manages its own registers: its program defines the wait condition.
#[test]
fn a_register_and_an_interrupt_are_told_when_the_writes_are_there() {
    let card = simulated();
    let folder = TempDir::new().unwrap();
    let kernel = kernel(folder.path(), "ap_ctrl_hs", "user_managed");
    let space = card.create_space().unwrap();
    let mut run = Run::new(&card, &space, &kernel, folder.path(), 200);
    for (mode, ways) in [
        (HASTY, 0..3),
        (HASTY | TRICKLES, 0..3),
        (HASTY | DEAF, 2..3),
    ] {
        for way in ways {
            run.prepare(mode);
            let go = |enable: u32| {
                run.slot.write_register(4, enable).unwrap();
                run.slot.write_register(8, enable).unwrap();
                run.slot.write_register(CONTROL, START).unwrap();
            };
            match way {
                0 => {
                    go(0);
                    let word = run.slot.wait_register(CONTROL, DONE, DONE, LONG).unwrap();
                    assert_eq!(word & DONE, DONE);
                }
                1 => {
                    go(1);
                    assert_eq!(run.slot.wait_interrupt(LONG).unwrap(), 1);
                    run.slot.write_register(0xc, 1).unwrap();
                }
                // By itself: its program waits until it has been done for sure, and nobody serves its faults
                // until it asks for its bytes.
                _ => {
                    go(0);
                    while run.slot.read_register(CONTROL).unwrap() & DONE == 0 {}
                }
            }
            run.output.sync().unwrap();
            run.check(&format!("way {way}, mode {mode}"));
        }
    }
}

/// Data of a burst that never comes: the run does not end, and its port is named.
#[test]
fn a_port_that_never_comes_to_rest_is_named() {
    let card = simulated();
    let folder = TempDir::new().unwrap();
    let kernel = polled(folder.path());
    let space = card.create_space().unwrap();
    let mut run = Run::new(&card, &space, &kernel, folder.path(), 4);
    run.prepare(HASTY | TRICKLES | MUTE);
    run.slot.start().unwrap();
    let error = run.slot.join(LONG).unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("says that it is done"), "{text}");
    assert!(
        text.contains("port m_axi_gmem writes: 1 burst outstanding"),
        "{text}"
    );
}
