//! Ends of runs: what a kernel had handed over when it said that it was done is where it belongs, or its owner is
//! told that it is not.
//!
//! Random runs of `hasty` (`kernels/hasty`), whose mode chooses when it says that it is done and what is under way
//! then. Each run has a size, a page size, a way in which its end is learned, and an ending. A run is lost if the
//! bytes of its file are wrong and nobody was told.

use super::Failure;
use crate::row::{Row, Target};
use simcard::home;
use std::fs;
use std::path::{Path, PathBuf};
use tombolo::{
    AddressSpace, Card, FunctionalCard, FunctionalConfig, MapOptions, OwnerOptions, PageSize,
    Picoseconds, SimOptions, Slot, SlotId,
};

/// The figures.
pub const NAMES: &[&str] = &[
    "finish.lost",
    "finish.runs_functional",
    "finish.runs_simulated",
];

const FUNCTIONAL_RUNS: u64 = 1900;
const SIMULATED_RUNS: u64 = 240;
/// Runs of one card.
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

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// The kernel, by how it tells its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tells {
    Interrupt,
    Polled,
    Chain,
    /// Its program alone knows its registers.
    Managed,
}

/// What a program does when its run is over.
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

/// One run.
#[derive(Clone, Copy, Debug)]
struct Case {
    tells: Tells,
    /// Which of the calls that wait.
    way: u64,
    mode: u64,
    seed: u32,
    bytes: u64,
    page: PageSize,
    /// Runs one behind the other, and only the last is waited for with care.
    repeats: u64,
    ending: Ending,
}

impl Case {
    fn choose(random: &mut Random, simulated: bool) -> Self {
        let tells = match simulated {
            true => random.of(&[
                Tells::Interrupt,
                Tells::Polled,
                Tells::Chain,
                Tells::Managed,
            ]),
            false => random.of(&[Tells::Interrupt, Tells::Polled]),
        };
        // As many short ones as long ones.
        let bytes = 1 + random.next() % (1 << random.below(17)).min(MOST_BYTES);
        let mut mode = random.below(16) | random.below(5) << 8;
        if random.below(4) != 0 {
            mode |= HASTY;
        }
        if mode & HASTY == 0 || bytes > 4096 {
            mode &= !TRICKLES;
        }
        Self {
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

    fn content(&self) -> Vec<u8> {
        let words = 0..self.bytes.div_ceil(4) as u32;
        let words = words.map(|word| self.seed.wrapping_add(word.wrapping_mul(0x9e37_79b9)));
        let mut content: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        content.truncate(self.bytes as usize);
        content
    }
}

/// The folder of a kernel that tells its end so.
fn kernel(folder: &Path, tells: Tells) -> Result<PathBuf, Failure> {
    let original = home().join("kernels/hasty");
    let place = folder.join(format!("{tells:?}"));
    if place.exists() {
        return Ok(place);
    }
    let mut text = fs::read_to_string(original.join("kernel.toml"))?;
    let changes: &[(&str, &str)] = match tells {
        Tells::Interrupt => &[],
        Tells::Polled => &[("interrupt = true", "interrupt = false")],
        Tells::Chain => &[("ap_ctrl_hs", "ap_ctrl_chain")],
        Tells::Managed => &[("ap_ctrl_hs", "user_managed")],
    };
    let sources = "sources = [\"kernel_control_registers.sv\", \"hasty.sv\"]";
    let library = [
        ("libraries = [\"lib\"]\n", ""),
        ("sources = [\"hasty.sv\"]", sources),
    ];
    for (old, new) in changes.iter().chain(&library) {
        if !text.contains(old) {
            return Err(format!("kernels/hasty/kernel.toml has no `{old}` any more").into());
        }
        text = text.replace(old, new);
    }
    fs::create_dir_all(&place)?;
    fs::write(place.join("kernel.toml"), text)?;
    fs::copy(original.join("hasty.sv"), place.join("hasty.sv"))?;
    for file in ["kernel_control_registers.sv", "tmb_ports.svh"] {
        fs::copy(home().join("kernels/lib").join(file), place.join(file))?;
    }
    Ok(place)
}

/// Starts a run and learns that it is over.
fn run_once(card: &Card, slot: &Slot, case: &Case) -> Result<(), tombolo::Error> {
    if case.tells != Tells::Managed {
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
        // The program reads the register by itself, which serves no faults, and needs none for so little.
        _ if case.mode & HASTY != 0 && case.mode & TRICKLES == 0 && case.bytes <= 4096 => {
            while slot.read_register(CONTROL)? & DONE == 0 {}
            Ok(())
        }
        _ => slot.wait_register(CONTROL, DONE, DONE, LONG).map(drop),
    }
}

/// What a run came to: whether all was said to be well.
fn run(
    card: &Card,
    space: &AddressSpace,
    kernel: &Path,
    to: &Path,
    case: &Case,
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
    match case.ending {
        Ending::Sync => output.sync()?,
        Ending::Unmap => output.unmap()?,
        Ending::CloseSlot => {
            slot.close()?;
            output.sync()?;
        }
        Ending::CloseSpace => space.close()?,
        Ending::DropCard => {}
    }
    Ok(())
}

/// Runs as many cases; gives how many were lost.
fn lost(runs: u64, simulated: bool, seed: u64) -> Result<u64, Failure> {
    let folder = tempfile::tempdir()?;
    let mut random = Random(seed);
    let (mut done, mut lost) = (0, 0);
    while done < runs {
        let mut card = Some(match simulated {
            true => Card::simulated(SimOptions::named("f1")?, OwnerOptions::default(), |_| {})?,
            false => Card::functional(FunctionalCard::new(FunctionalConfig {
                seed: (random.below(4) != 0).then(|| random.next()),
                ..FunctionalConfig::default()
            }))?,
        });
        for _ in 0..RUNS_OF_A_CARD.min(runs - done) {
            let Some(open) = &card else { break };
            let case = Case::choose(&mut random, simulated);
            let to = folder.path().join(format!("to{done}"));
            // Enough for what it reads.
            let bytes = case.bytes.max(1024) as usize;
            fs::write(&to, vec![0x5a; bytes])?;
            let kernel = kernel(folder.path(), case.tells)?;
            let space = open.create_space()?;
            let result = run(open, &space, &kernel, &to, &case);
            done += 1;
            drop(space);
            if matches!(case.ending, Ending::DropCard) {
                card = None;
            }
            let found = fs::read(&to)?;
            let right = found[..case.bytes as usize] == case.content()
                && found[case.bytes as usize..]
                    .iter()
                    .all(|byte| *byte == 0x5a);
            match result {
                Ok(()) if right => {}
                Ok(()) => {
                    eprintln!("run {done}: bytes are wrong, and nobody was told: {case:?}");
                    lost += 1;
                }
                // No mode breaks a rule, so no run fails.
                Err(error) => {
                    eprintln!("run {done}: {error}: {case:?}");
                    lost += 1;
                }
            }
            fs::remove_file(&to)?;
        }
    }
    Ok(lost)
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let functional = lost(FUNCTIONAL_RUNS, false, SEED)?;
    let simulated = lost(SIMULATED_RUNS, true, SEED)?;
    let all = (functional + simulated) as f64;
    Ok(vec![
        Row::new(NAMES[0], all, "runs", Target::Exactly(0.0)),
        Row::new(
            NAMES[1],
            FUNCTIONAL_RUNS as f64,
            "runs",
            Target::AtLeast(1800.0),
        ),
        Row::new(
            NAMES[2],
            SIMULATED_RUNS as f64,
            "runs",
            Target::AtLeast(200.0),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_runs_lose_nothing() {
        assert_eq!(lost(150, false, 1).unwrap(), 0);
        assert_eq!(lost(12, true, 1).unwrap(), 0);
    }
}
