//! Ends of runs: everything that a kernel had issued when it signalled done reaches its destination, or its owner
//! receives an error.
//!
//! Random runs of `hasty` (`kernels/hasty`), whose mode selects when it signals done and which operations are then
//! outstanding, and of a similar kernel with streams ([`streams`]). Each run has a size, a page size, a way of
//! detecting its end, and an ending, one of which is the end of its process ([`exits`]). A run is lost if the bytes of
//! its file are wrong and no error was reported.

mod exits;
mod streams;

use super::guest::Installed;
use super::{vio, Failure};
use crate::random::Random;
use crate::row::Row;
use simcard::home;
use std::fs;
use std::path::{Path, PathBuf};
use streams::Sink;
use tombolo::{
    AddressSpace, Card, FunctionalCard, FunctionalConfig, MapOptions, Mapping, OwnerOptions,
    PageSize, Picoseconds, SimOptions, Slot, SlotId,
};

/// Figures produced.
pub const NAMES: &[&str] = &[
    "finish.lost",
    "finish.runs_functional",
    "finish.runs_simulated",
    "finish.runs_streams",
    "finish.runs_exits",
];

const FUNCTIONAL_RUNS: u64 = 1900;
const SIMULATED_RUNS: u64 = 240;
/// Runs per card.
const RUNS_OF_A_CARD: u64 = 20;
const SEED: u64 = 0x7461_696c;
const MOST_BYTES: u64 = 64 << 10;
const LONG: Option<Picoseconds> = Some(Picoseconds::from_millis(50));

const CONTROL: u32 = 0x00;
const GLOBAL_ENABLE: u32 = 0x04;
const ENABLE: u32 = 0x08;
const STATUS: u32 = 0x0c;
const START: u32 = 1;
const DONE: u32 = 2;

const HASTY: u64 = 1;
const TRICKLES: u64 = 4;

/// The kernel, by how it signals done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DoneSignal {
    Interrupt,
    Polled,
    Chain,
    /// Its registers are known to its program only.
    Managed,
}

/// Actions of a program after its run.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Sync,
    Unmap,
    CloseSlot,
    CloseSpace,
    DropCard,
}

const ENDINGS: [Ending; 5] = [
    Ending::Sync,
    Ending::Unmap,
    Ending::CloseSlot,
    Ending::CloseSpace,
    Ending::DropCard,
];

/// Destination of the output.
#[derive(Clone, Copy, Debug)]
enum Output {
    Memory,
    Stream(Sink),
    /// Memory of a program that ends without closing anything.
    OfProcess,
}

/// Number of runs, and of those lost.
#[derive(Clone, Copy, Debug, Default)]
struct RunCount {
    runs: u64,
    streams: u64,
    exits: u64,
    lost: u64,
}

/// Parameters of one run.
#[derive(Clone, Copy, Debug)]
struct FinishCase {
    /// On the simulated card.
    simulated: bool,
    output: Output,
    tells: DoneSignal,
    /// Which of the waiting calls detects the end.
    way: u64,
    mode: u64,
    seed: u32,
    bytes: u64,
    page: PageSize,
    /// Number of consecutive runs; the ending follows the last.
    repeats: u64,
    ending: Ending,
}

impl FinishCase {
    fn choose(random: &mut Random, simulated: bool) -> Self {
        // Equally many short and long runs.
        let bytes = 1 + random.next() % (1 << random.below(17)).min(MOST_BYTES);
        let (output, mode, tells) = match random.below(8) {
            0..=2 => {
                let sink = Sink::choose(random, bytes);
                let tells = random.of(&[DoneSignal::Interrupt, DoneSignal::Polled]);
                (Output::Stream(sink), sink.mode(random, bytes), tells)
            }
            3 => (
                Output::OfProcess,
                Self::mode(random, bytes),
                DoneSignal::Interrupt,
            ),
            _ => {
                let tells = match simulated {
                    true => random.of(&[
                        DoneSignal::Interrupt,
                        DoneSignal::Polled,
                        DoneSignal::Chain,
                        DoneSignal::Managed,
                    ]),
                    false => random.of(&[DoneSignal::Interrupt, DoneSignal::Polled]),
                };
                (Output::Memory, Self::mode(random, bytes), tells)
            }
        };
        Self {
            simulated,
            output,
            tells,
            way: random.below(3),
            mode,
            seed: random.next() as u32,
            bytes,
            page: random
                .of(&[0, 2, 4, 9].map(PageSize::from_class))
                .unwrap_or(PageSize::KIB_4),
            repeats: 1 + random.below(3),
            ending: random.of(&ENDINGS),
        }
    }

    /// A random mode of `hasty`.
    fn mode(random: &mut Random, bytes: u64) -> u64 {
        let mut mode = random.below(16) | random.below(5) << 8;
        if random.below(4) != 0 {
            mode |= HASTY;
        }
        if mode & HASTY == 0 || bytes > 4096 {
            mode &= !TRICKLES;
        }
        mode
    }

    /// Size of the file in bytes; a file in memory is large enough for what the kernel reads.
    fn file_bytes(&self) -> u64 {
        match self.output {
            Output::Stream(sink) => sink.room(),
            Output::Memory | Output::OfProcess => self.bytes.max(1024),
        }
    }

    /// Whether a run lost nothing; a run with a stream must also report the right byte count.
    fn is_right(&self, result: &Result<u64, tombolo::Error>, found: &[u8]) -> bool {
        let Output::Stream(sink) = self.output else {
            let (output, rest) = found.split_at(self.bytes as usize);
            // No mode violates a rule, so no run fails.
            return result.is_ok()
                && output == content(self.seed, self.bytes)
                && is_untouched(rest);
        };
        sink.is_right(self, result, found)
    }
}

/// Expected contents: word `k` is `seed + k * 0x9e3779b9`.
fn content(seed: u32, bytes: u64) -> Vec<u8> {
    let words = 0..bytes.div_ceil(4) as u32;
    let words = words.map(|word| seed.wrapping_add(word.wrapping_mul(0x9e37_79b9)));
    let mut content: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    content.truncate(bytes as usize);
    content
}

/// Fill byte of files before a run.
const BEFORE: u8 = 0x5a;

fn is_untouched(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == BEFORE)
}

/// Creates the folder of a kernel that signals done in this way.
fn kernel(folder: &Path, tells: DoneSignal) -> Result<PathBuf, Failure> {
    let original = home().join("kernels/hasty");
    let place = folder.join(format!("{tells:?}"));
    if place.exists() {
        return Ok(place);
    }
    let mut text = fs::read_to_string(original.join("kernel.toml"))?;
    let changes: &[(&str, &str)] = match tells {
        DoneSignal::Interrupt => &[],
        DoneSignal::Polled => &[("interrupt = true", "interrupt = false")],
        DoneSignal::Chain => &[("ap_ctrl_hs", "ap_ctrl_chain")],
        DoneSignal::Managed => &[("ap_ctrl_hs", "user_managed")],
    };
    let sources = "sources = [\"kernel_control_registers.sv\", \"hasty.sv\"]";
    let library = [
        ("libraries = [\"lib\"]\n", ""),
        ("sources = [\"hasty.sv\"]", sources),
    ];
    change(&mut text, changes)?;
    change(&mut text, &library)?;
    fs::create_dir_all(&place)?;
    fs::write(place.join("kernel.toml"), text)?;
    fs::copy(original.join("hasty.sv"), place.join("hasty.sv"))?;
    copy_library(&place, &["kernel_control_registers.sv", "tmb_ports.svh"])?;
    Ok(place)
}

/// Replaces text in a kernel's description.
fn change(text: &mut String, changes: &[(&str, &str)]) -> Result<(), Failure> {
    for (old, new) in changes {
        if !text.contains(old) {
            return Err(format!("the kernel's description has no `{old}` any more").into());
        }
        *text = text.replace(old, new);
    }
    Ok(())
}

fn copy_library(place: &Path, files: &[&str]) -> Result<(), Failure> {
    for file in files {
        fs::copy(home().join("kernels/lib").join(file), place.join(file))?;
    }
    Ok(())
}

/// Starts a run and detects its end.
fn run_once(card: &Card, slot: &Slot, case: &FinishCase) -> Result<(), tombolo::Error> {
    if case.tells != DoneSignal::Managed {
        slot.start()?;
        if case.way == 0 {
            card.wait_any(&[slot], LONG)?;
        }
        return slot.join(LONG);
    }
    let interrupts = u32::from(case.way == 0);
    slot.write_register(GLOBAL_ENABLE, interrupts)?;
    slot.write_register(ENABLE, interrupts)?;
    slot.write_register(CONTROL, START)?;
    match case.way {
        0 => {
            slot.wait_interrupt(LONG)?;
            let status = slot.read_register(STATUS)?;
            slot.write_register(STATUS, status)
        }
        1 => slot.wait_register(CONTROL, DONE, DONE, LONG).map(drop),
        // The program reads the register directly, which serves no faults; a run this small needs none.
        _ if case.mode & HASTY != 0 && case.mode & TRICKLES == 0 && case.bytes <= 4096 => {
            while slot.read_register(CONTROL)? & DONE == 0 {}
            Ok(())
        }
        _ => slot.wait_register(CONTROL, DONE, DONE, LONG).map(drop),
    }
}

/// Executes a run; returns whether success was reported.
fn run(
    card: &Card,
    space: &AddressSpace,
    kernel: &Path,
    to: &Path,
    case: &FinishCase,
) -> Result<(), tombolo::Error> {
    let options = MapOptions::read_write().page_size(case.page);
    let output = space.map_file(to, options)?;
    let slot = card.load(SlotId(0), kernel, space)?;
    slot.set_mapping("output", &output)?;
    slot.set_mapping("source", &output)?;
    slot.set("bytes", case.bytes)?;
    slot.set("mode", case.mode)?;
    for run in (0..case.repeats).rev() {
        slot.set("seed", u64::from(case.seed.wrapping_sub(run as u32)))?;
        run_once(card, &slot, case)?;
    }
    end(case.ending, &slot, output, space)
}

/// Performs the program's actions after its run.
fn end(
    ending: Ending,
    slot: &Slot,
    output: Mapping,
    space: &AddressSpace,
) -> Result<(), tombolo::Error> {
    match ending {
        Ending::Sync => output.sync(),
        Ending::Unmap => output.unmap(),
        Ending::CloseSlot => {
            slot.close()?;
            output.sync()
        }
        Ending::CloseSpace => space.close(),
        Ending::DropCard => Ok(()),
    }
}

/// The program that ends without closing anything.
struct Programs {
    /// Owns the installed library.
    _installed: Installed,
    exits: PathBuf,
}

impl Programs {
    fn new() -> Result<Self, Failure> {
        let installed = Installed::new()?;
        let exits = installed.program("cc", "finish_exit.c", &[])?;
        Ok(Self {
            _installed: installed,
            exits,
        })
    }
}

fn open(simulated: bool, streams: bool, random: &mut Random) -> Result<Card, Failure> {
    if simulated {
        let options = match streams {
            true => vio::streaming_slots()?,
            false => SimOptions::named("f1")?,
        };
        return Ok(Card::simulated(options, OwnerOptions::default(), |_| {})?);
    }
    let mut config = FunctionalConfig {
        seed: (random.below(4) != 0).then(|| random.next()),
        streams_per_slot: 1,
        ..FunctionalConfig::default()
    };
    config.kernels.register(streams::MODEL);
    Ok(Card::functional(FunctionalCard::new(config))?)
}

/// Executes `runs` cases and counts the lost ones; without programs, none that ends a process.
fn lost(
    runs: u64,
    simulated: bool,
    seed: u64,
    programs: Option<&Programs>,
) -> Result<RunCount, Failure> {
    let folder = tempfile::tempdir()?;
    let mut random = Random(seed);
    let mut count = RunCount::default();
    // One card for each kind of output.
    let mut cards: [Option<Card>; 2] = [None, None];
    while count.runs < runs {
        if count.runs % RUNS_OF_A_CARD == 0 {
            cards = [None, None];
        }
        let mut case = FinishCase::choose(&mut random, simulated);
        if programs.is_none() && matches!(case.output, Output::OfProcess) {
            case.output = Output::Memory;
        }
        let to = folder.path().join(format!("to{}", count.runs));
        fs::write(&to, vec![BEFORE; case.file_bytes() as usize])?;
        let streams = matches!(case.output, Output::Stream(_));
        let place = &mut cards[usize::from(streams)];
        let mut card = || -> Result<Card, Failure> {
            if place.is_none() {
                *place = Some(open(simulated, streams, &mut random)?);
            }
            place.clone().ok_or_else(|| "no card".into())
        };
        let result = match case.output {
            Output::OfProcess => {
                count.exits += 1;
                let kernel = kernel(folder.path(), case.tells)?;
                match programs {
                    Some(programs) => exits::run(&programs.exits, &kernel, &to, &case)?,
                    None => Ok(0),
                }
            }
            Output::Stream(sink) => {
                count.streams += 1;
                let kernel = streams::kernel(folder.path(), sink, case.tells)?;
                let card = card()?;
                let space = card.create_space()?;
                streams::run(&card, &space, &kernel, &to, (&case, sink))
            }
            Output::Memory => {
                let kernel = kernel(folder.path(), case.tells)?;
                let card = card()?;
                let space = card.create_space()?;
                run(&card, &space, &kernel, &to, &case).map(|()| case.bytes)
            }
        };
        count.runs += 1;
        if matches!(case.ending, Ending::DropCard) {
            cards = [None, None];
        }
        if !case.is_right(&result, &fs::read(&to)?) {
            eprintln!("run {}: {result:?}: {case:?}", count.runs);
            count.lost += 1;
        }
        fs::remove_file(&to)?;
    }
    Ok(count)
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let programs = Programs::new()?;
    let functional = lost(FUNCTIONAL_RUNS, false, SEED, Some(&programs))?;
    let simulated = lost(SIMULATED_RUNS, true, SEED, Some(&programs))?;
    let runs = |name, count: u64| Row::new(name, count as f64, "runs");
    Ok(vec![
        runs(NAMES[0], functional.lost + simulated.lost),
        runs(NAMES[1], functional.runs),
        runs(NAMES[2], simulated.runs),
        runs(NAMES[3], functional.streams + simulated.streams),
        runs(NAMES[4], functional.exits + simulated.exits),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_runs_lose_nothing() {
        assert_eq!(lost(150, false, 1, None).unwrap().lost, 0);
        assert_eq!(lost(12, true, 1, None).unwrap().lost, 0);
    }
}
