//! Virtual I/O: the switch between stream ports, standalone and as a program sees it.

use super::Failure;
use crate::row::Row;
use crate::tools;
use std::process::Command;
use tombolo::{
    Card, Continue, MapOptions, OwnerOptions, Picoseconds, ShellConfig, SimOptions, Slot, SlotId,
};

/// The switch standalone: random traffic in its bench.
pub fn switch() -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    let output = Command::new(tools::python(&home))
        .arg(home.join("rtl/stream/tests/switch_figures.py"))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = text
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let [lost, cycles, packets, rate] = figures[..] else {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the bench of the switch: {text}{told}").into());
    };
    Ok(vec![
        Row::new("vio.lost", lost, "packets"),
        Row::new("vio.packets", packets, "packets"),
        Row::new("vio.switch_cycles", cycles, "cycles"),
        Row::new("slot_to_slot.rows_per_cycle", rate, "rows"),
    ])
}

/// Bytes sent through two kernels.
const BYTES: u64 = 4 << 20;

/// The u280 with two slots that have one stream pair each.
pub fn streaming_slots() -> Result<SimOptions, Failure> {
    let mut options = SimOptions::named("u280")?;
    options.shell = ShellConfig {
        slots: 2,
        streams_per_slot: 1,
        queues: 3,
        ..ShellConfig::default()
    };
    Ok(options)
}

/// Virtual I/O from a program, on the u280: duration of a change of connections that the host waits for, and a file
/// through two kernels compared with the same file through one.
pub fn program() -> Result<Vec<Row>, Failure> {
    let card = Card::simulated(streaming_slots()?, OwnerOptions::default(), |_| {})?;
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("in");
    std::fs::write(&source, vec![7; BYTES as usize])?;
    let space = card.create_space()?;
    let from = space.map_file(&source, MapOptions::read_only())?;
    let to = space.map_file(folder.path().join("out"), MapOptions::create(BYTES))?;
    let kernel = simcard::home().join("kernels/loopback");
    let a = card.load(SlotId(0), &kernel, &space)?;
    let b = card.load(SlotId(1), &kernel, &space)?;
    let now = || card.describe().map(|(_, now)| now);
    let time = |input: &Slot, output: &Slot| -> Result<Picoseconds, Failure> {
        let (input, output) = (input.open_stream("in")?, output.open_stream("out")?);
        let mut last = Picoseconds::ZERO;
        // The second run has no faults.
        for _ in 0..2 {
            let begins = now()?;
            output.write(to.all())?;
            input.read(from.all())?;
            let moved = output.wait(None, |_| Continue::Yes)?;
            if moved.bytes != BYTES {
                return Err(format!("{} of {BYTES} bytes", moved.bytes).into());
            }
            input.wait(None, |_| Continue::Yes)?;
            last = now()? - begins;
        }
        input.close()?;
        output.close()?;
        Ok(last)
    };
    let alone = time(&a, &a)?;
    let before = time(&b, &b)?;
    let mut longest = Picoseconds::ZERO;
    for _ in 0..5 {
        let begins = now()?;
        let joined = card.connect(&a, "out", &b, "in")?;
        longest = longest.max(now()? - begins);
        let begins = now()?;
        joined.disconnect()?;
        longest = longest.max(now()? - begins);
    }
    let _joined = card.connect(&a, "out", &b, "in")?;
    let both = time(&a, &b)?;
    eprintln!("one kernel {alone} and {before}, two in line {both}");
    let share = alone.as_seconds() / both.as_seconds();
    let name = "slot_to_slot.share_of_one_kernel";
    Ok(vec![
        Row::new("vio.switch_us", longest.as_seconds() * 1e6, "us"),
        Row::new(name, share, "ratio"),
    ])
}
