//! Hostile kernels: their effect on neighbours, and the errors that their owner receives.
//!
//! The attacker is a kernel with modes (`crates/tombolo/tests/kernels/attacker`), in slot 0; an honest copy kernel runs
//! concurrently in slot 1. An attack does harm if the honest kernel fails, copies wrong bytes or takes more than
//! [`TOLERATED`] of its time next to a kernel that follows the rules and faults on its own page (link and host are
//! shared), if the attacker's owner receives a wrong error, or if slot 0 cannot be reused.

use super::Failure;
use crate::row::Row;
use std::fs;
use std::path::{Path, PathBuf};
use tombolo::{
    AddressSpace, Card, Continue, MapOptions, Mapping, OwnerOptions, PageSize, Picoseconds,
    ShellConfig, SimOptions, Slot, SlotId, SpacePlacement,
};

const BYTES: u64 = 512 << 10;
const BOOTY_BYTES: u64 = 1 << 20;
/// Maximum duration of an attack.
const TIMEOUT: Picoseconds = Picoseconds::from_micros(200);
const TOLERATED: f64 = 1.10;

/// A mode of the attacker, and the error that its owner must receive; `""` for success.
struct Attack {
    name: &'static str,
    mode: u64,
    told: &'static str,
    /// The host removes the attacker's mapping while it runs.
    unmaps: bool,
}

/// An attack whose mapping the host removes meanwhile.
const fn attack_unmapped(name: &'static str, mode: u64, told: &'static str) -> Attack {
    Attack {
        unmaps: true,
        ..attack(name, mode, told)
    }
}

const fn attack(name: &'static str, mode: u64, told: &'static str) -> Attack {
    Attack {
        name,
        mode,
        told,
        unmaps: false,
    }
}

/// Legitimate load of a neighbour: reads or writes within its own mapping.
const NEIGHBOURS: [Attack; 2] = [
    attack("an honest reader", 9, ""),
    attack("an honest writer", WRITE + 9, ""),
];

const WRITE: u64 = 32;
const OTHER: u64 = 64;

const ATTACKS: &[Attack] = &[
    attack("FIXED read", 1, "type FIXED with 16 beats"),
    attack("WRAP read", 2, "type WRAP"),
    attack("reserved burst type, read", 3, "type reserved"),
    attack("128-byte beats, read", 4, "beats of 128 bytes"),
    attack("read across 4 KiB", 5, "crosses a 4 KiB boundary"),
    attack("read beyond 48 bits", 6, "addresses have 48 bits"),
    attack("read of a foreign address", 7, "a read at 0x"),
    attack("narrow reads of 256 beats", 8, ""),
    attack("reads with IDs of any kind", 9, ""),
    attack("R never taken", 10, "R not taken for at least 1023 cycles"),
    attack("AR withdrawn", 11, "withdrew ARVALID"),
    attack("AR changed", 12, "changed AR"),
    attack("read faults without end", 13, "a read at 0x"),
    attack("a flood of reads", 14, "was not done after"),
    attack("done before its reads are", 15, ""),
    attack("read past the last address", 16, "addresses have 48 bits"),
    attack("read of 256 wide beats", 17, "crosses a 4 KiB boundary"),
    attack("FIXED write", WRITE + 1, "type FIXED with 16 beats"),
    attack("WRAP write", WRITE + 2, "type WRAP"),
    attack("reserved burst type, write", WRITE + 3, "type reserved"),
    attack("128-byte beats, write", WRITE + 4, "beats of 128 bytes"),
    attack("write across 4 KiB", WRITE + 5, "crosses a 4 KiB boundary"),
    attack("write beyond 48 bits", WRITE + 6, "addresses have 48 bits"),
    attack("write to a foreign address", WRITE + 7, "a write at 0x"),
    attack("narrow writes of 256 beats", WRITE + 8, ""),
    attack("writes with IDs of any kind", WRITE + 9, ""),
    attack(
        "B never taken",
        WRITE + 10,
        "B not taken for at least 1023 cycles",
    ),
    attack("AW withdrawn", WRITE + 11, "withdrew AWVALID"),
    attack("AW changed", WRITE + 12, "changed AW"),
    attack("write faults without end", WRITE + 13, "a write at 0x"),
    attack("a flood of writes", WRITE + 14, "was not done after"),
    attack("done before its writes are", WRITE + 15, ""),
    attack(
        "write past the last address",
        WRITE + 16,
        "addresses have 48 bits",
    ),
    attack(
        "addresses without data",
        WRITE + 18,
        "beat 1 of 16 of the burst",
    ),
    attack(
        "data without addresses",
        WRITE + 19,
        "no AW was sent for it",
    ),
    attack(
        "WLAST early",
        WRITE + 20,
        "sent WLAST at beat 3 of a burst of 16",
    ),
    attack(
        "a beat too many",
        WRITE + 21,
        "sent beat 16 of a burst of 16",
    ),
    attack("WLAST never", WRITE + 22, "sent beat 16 of a burst of 16"),
    attack("W withdrawn", WRITE + 23, "withdrew WVALID"),
    attack("W changed", WRITE + 24, "changed W"),
    attack("writes without strobes", WRITE + 25, ""),
    attack(
        "done, and its data never come",
        WRITE + 27,
        "the kernel says that it is done",
    ),
    attack_unmapped("reads after the mapping ended", 14, "a read at 0x"),
    attack_unmapped(
        "writes after the mapping ended",
        WRITE + 14,
        "a write at 0x",
    ),
    attack(
        "interrupts without end",
        OTHER,
        "raised its interrupt 16 times",
    ),
    attack("an interrupt that stays", OTHER + 1, "was not done after"),
    attack(
        "deaf to control reads",
        OTHER + 2,
        "left a read of its control register",
    ),
    attack(
        "deaf to control writes",
        OTHER + 3,
        "left a write of its control register",
    ),
    attack(
        "control errors, interrupts",
        OTHER + 4,
        "answered a write with an error",
    ),
    attack("a kernel that ends itself", OTHER + 5, "failed"),
    attack(
        "a kernel that hangs",
        OTHER + 6,
        "no access of it is under way",
    ),
];

/// The subset that the tests run.
#[cfg(test)]
const SELECTION: &[&str] = &[
    "read across 4 KiB",
    "R never taken",
    "write faults without end",
    "WLAST early",
    "W changed",
    "writes after the mapping ended",
    "done before its writes are",
    "done, and its data never come",
    "interrupts without end",
    "deaf to control reads",
];

fn kernel(name: &str) -> PathBuf {
    let home = simcard::home();
    match name {
        "attacker" => home.join("crates/tombolo/tests/kernels/attacker"),
        name => home.join("kernels").join(name),
    }
}

fn options() -> Result<SimOptions, Failure> {
    let mut options = SimOptions::named("f1")?;
    options.asserting = true;
    options.shell = ShellConfig {
        slots: 4,
        channels: 4,
        queues: 5,
        ..ShellConfig::default()
    };
    Ok(options)
}

fn open(options: SimOptions) -> Result<Card, Failure> {
    let owner = OwnerOptions {
        page_size: Some(PageSize::MIB_2),
        ..OwnerOptions::default()
    };
    Ok(Card::simulated(options, owner, |_| {})?)
}

/// A file copy by the honest kernel.
struct Copy {
    slot: Slot,
    output: Mapping,
    from: PathBuf,
    to: PathBuf,
    _input: Mapping,
}

impl Copy {
    fn start(
        card: &Card,
        slot: SlotId,
        space: &AddressSpace,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let name = format!("copy{}", slot.0);
        let (from, to) = (folder.join(format!("{name}.in")), folder.join(name));
        let content: Vec<u8> = (0..BYTES).map(|n| ((n * n) >> 7) as u8).collect();
        fs::write(&from, content)?;
        let input = space.map_file(&from, MapOptions::read_only())?;
        let output = space.map_file(&to, MapOptions::create(BYTES))?;
        let slot = card.load(slot, kernel("copy"), space)?;
        slot.set_pointer("input", input.address())?;
        slot.set_pointer("output", output.address())?;
        slot.set("bytes", BYTES)?;
        slot.start()?;
        Ok(Self {
            slot,
            output,
            from,
            to,
            _input: input,
        })
    }

    /// Waits for the end; returns whether the bytes are right.
    fn finish(self) -> Result<bool, Failure> {
        let timeout = Picoseconds::from_millis(20);
        self.slot.wait(Some(timeout), |_| Continue::Yes)?;
        self.output.unmap()?;
        Ok(fs::read(self.from)? == fs::read(self.to)?)
    }
}

/// Result of a run with or without an attack.
struct AttackOutcome {
    /// Cycles of the honest kernel.
    cycles: u64,
    /// Error that the attacker's owner received.
    told: String,
}

fn run(attack: Option<&Attack>) -> Result<AttackOutcome, Failure> {
    let folder = tempfile::tempdir()?;
    let card = open(options()?)?;
    let evil = card.create_space_on(SpacePlacement::Channel(0))?;
    let good = card.create_space_on(SpacePlacement::Channel(1))?;
    let file = folder.path().join("booty");
    let booty = evil.map_file(&file, MapOptions::create(BOOTY_BYTES))?;
    let attacker = card.load(SlotId(0), kernel("attacker"), &evil)?;
    if let Some(attack) = attack {
        attacker.set("mode", attack.mode)?;
        attacker.set_pointer("address", booty.address())?;
        attacker.start()?;
    }
    let honest = Copy::start(&card, SlotId(1), &good, folder.path())?;
    let mut left = None;
    if attack.is_some_and(|attack| attack.unmaps) {
        booty.unmap()?;
        left = Some(fs::read(&file)?);
    }
    if !honest.finish()? {
        return Err("the honest kernel copied other bytes".into());
    }
    let told = match attack {
        None => String::new(),
        Some(_) => match attacker.wait(Some(TIMEOUT), |_| Continue::Yes) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        },
    };
    if let Some(attack) = attack {
        if !attack.unmaps {
            booty.sync()?;
        }
        let found = fs::read(&file)?;
        check_booty(attack, &found)?;
        if left.is_some_and(|left| left != found) {
            return Err("its file has changed behind the end of its mapping".into());
        }
    }
    let runs = card.report()?.runs;
    let honest = runs.iter().find(|run| run.kernel == "copy");
    let cycles = honest.ok_or("the honest kernel left no report")?.cycles;
    // Runs the same kernel again, and then an honest one in its slot.
    attacker.set("mode", 0)?;
    attacker.start()?;
    attacker.wait(Some(TIMEOUT), |_| Continue::Yes)?;
    if !Copy::start(&card, SlotId(0), &evil, folder.path())?.finish()? {
        return Err("slot 0 copied other bytes afterwards".into());
    }
    Ok(AttackOutcome { cycles, told })
}

/// Bytes that an attack may write: at the start of its mapping, and those per burst.
struct WritableBytes {
    bytes: usize,
    burst: usize,
    /// All of it is written: its owner receives success.
    whole: bool,
}

impl WritableBytes {
    fn of(attack: &Attack) -> Self {
        let (bytes, burst) = match attack.mode.checked_sub(WRITE) {
            Some(8) => (16 * 256, 256),
            Some(9) => (64 * 1024, 1024),
            Some(15) => (1024, 1024),
            // The same burst repeatedly.
            Some(10..=12) => (1024, 1024),
            Some(14) => (4096, 4096),
            _ => (0, 1),
        };
        Self {
            bytes,
            burst,
            whole: attack.told.is_empty(),
        }
    }
}

/// Checks that the attacker's writable file contains what its bursts wrote, and nothing else.
fn check_booty(attack: &Attack, found: &[u8]) -> Result<(), Failure> {
    let loot = WritableBytes::of(attack);
    let place = found.iter().enumerate().position(|(at, byte)| {
        let word = (0xbad0_u64 << 48 | (at / loot.burst) as u64).to_le_bytes();
        match at < loot.bytes {
            false => *byte != 0,
            true if loot.whole => *byte != word[at % 8],
            // From any of its bursts, or unwritten.
            true => at % 8 >= 2 && *byte != 0 && *byte != word[at % 8],
        }
    });
    match place {
        None => Ok(()),
        Some(at) => Err(format!("byte {at} of its file is {:#04x}", found[at]).into()),
    }
}

/// Harm that an attack did, if any.
fn harm(attack: &Attack, allowed: u64) -> Option<String> {
    let outcome = match run(Some(attack)) {
        Ok(outcome) => outcome,
        Err(failure) => return Some(failure.to_string()),
    };
    let share = outcome.cycles as f64 / allowed as f64;
    eprintln!(
        "{:<30} {share:.3}  {}",
        attack.name,
        if outcome.told.is_empty() {
            "done"
        } else {
            &outcome.told
        }
    );
    let told = match attack.told {
        "" => outcome.told.is_empty(),
        words => outcome.told.contains(words),
    };
    if !told {
        return Some(format!("the owner was not told `{}`", attack.told));
    }
    (share > TOLERATED).then(|| format!("the honest kernel took {share:.3} of its time"))
}

fn harmful<'a>(attacks: impl Iterator<Item = &'a Attack>) -> Result<usize, Failure> {
    let alone = run(None)?.cycles;
    let mut allowed = alone;
    for neighbour in &NEIGHBOURS {
        allowed = allowed.max(run(Some(neighbour))?.cycles);
    }
    eprintln!(
        "the honest kernel takes {alone} cycles alone, {allowed} beside one that keeps the rules"
    );
    let mut count = 0;
    for attack in attacks {
        if let Some(harm) = harm(attack, allowed) {
            eprintln!("{}: {harm}", attack.name);
            count += 1;
        }
    }
    Ok(count)
}

pub fn measure_attacks() -> Result<Vec<Row>, Failure> {
    let count = harmful(ATTACKS.iter())?;
    Ok(vec![
        Row::new("isolation.attacks", count as f64, "harmful"),
        Row::new("isolation.attacks_tried", ATTACKS.len() as f64, "attacks"),
    ])
}

/// Bytes that the honest kernel copies repeatedly.
const HOT_BYTES: u64 = 2 << 20;
const HOT_RUNS: usize = 8;
/// Mode that reads a row of every page of a file larger than memory.
const THRASH: u64 = 26;
const THRASHED_BYTES: u64 = 64 << 20;

/// Cycles of an honest kernel with resident pages on channel 1, and faults of an attacker on channel 0, if it attacks.
fn hot(attacks: bool) -> Result<(u64, u64), Failure> {
    let folder = tempfile::tempdir()?;
    let mut options = options()?;
    // A quarter of the attacker's data.
    options.channel_bytes = Some(THRASHED_BYTES / 4);
    let card = open(options)?;
    let evil = card.create_space_on(SpacePlacement::Channel(0))?;
    let good = card.create_space_on(SpacePlacement::Channel(1))?;
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::write(&from, vec![0x5a; HOT_BYTES as usize])?;
    let input = good.map_file(&from, MapOptions::read_only())?;
    let output = good.map_file(&to, MapOptions::create(HOT_BYTES))?;
    let booty = folder.path().join("booty");
    let booty = evil.map_file(&booty, MapOptions::create(THRASHED_BYTES))?;
    let honest = card.load(SlotId(1), kernel("copy"), &good)?;
    honest.set_pointer("input", input.address())?;
    honest.set_pointer("output", output.address())?;
    honest.set("bytes", HOT_BYTES)?;
    let attacker = card.load(SlotId(0), kernel("attacker"), &evil)?;
    let mut faults = 0;
    for run in 0..=HOT_RUNS {
        honest.start()?;
        honest.wait(None, |_| Continue::Yes)?;
        if run == 0 && attacks {
            attacker.set("mode", THRASH)?;
            attacker.set_pointer("address", booty.address())?;
            attacker.start()?;
        }
        if run == 0 {
            faults = card.report()?.paging.faults;
        }
    }
    let report = card.report()?;
    let cycles = report.runs[1..].iter().map(|run| run.cycles).sum();
    output.unmap()?;
    if fs::read(&to)? != fs::read(&from)? {
        return Err("the honest kernel copied other bytes".into());
    }
    Ok((cycles, report.paging.faults - faults))
}

pub fn measure_slowdown() -> Result<Vec<Row>, Failure> {
    let (alone, none) = hot(false)?;
    let (attacked, faults) = hot(true)?;
    eprintln!(
        "alone {alone} cycles, beside {faults} faults {attacked} cycles ({:.0} cycles a fault)",
        attacked as f64 / faults.max(1) as f64
    );
    if none != 0 || faults < 20 {
        return Err(format!("{faults} faults during the attack, {none} without").into());
    }
    let slowdown = attacked as f64 / alone as f64 - 1.0;
    Ok(vec![Row::new(
        "isolation.others_slowdown",
        slowdown,
        "ratio",
    )])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_attacks_do_no_harm() {
        let selected = ATTACKS
            .iter()
            .filter(|attack| SELECTION.contains(&attack.name));
        assert_eq!(selected.clone().count(), SELECTION.len());
        assert_eq!(harmful(selected).unwrap(), 0);
    }
}
