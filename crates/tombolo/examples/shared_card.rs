//! Four kernels on one card, each in an address space of its own. One breaks a rule of AXI: its owner gets an error
//! with the rule, the others continue undisturbed, and its slot gets another kernel.
//!
//! `cargo run --release --example shared_card -- some-file folder-for-results`
//!
//! `folder-for-results/shared_card.pftrace` shows all of it on a timeline: open it at
//! <https://ui.perfetto.dev>.

use std::path::{Path, PathBuf};
use tombolo::{
    AddressSpace, Card, Continue, Error, MapOptions, Mapping, OwnerOptions, ShellConfig,
    SimOptions, Slot, SlotId, Timeline,
};

/// A kernel at work on a file, and what keeps its memory alive.
struct Job {
    name: &'static str,
    slot: Slot,
    output: Mapping,
    _input: Mapping,
    _space: AddressSpace,
}

/// Starts a kernel of `kernels/` that reads a file and writes another.
fn start(card: &Card, slot: u8, name: &'static str, from: &Path, to: &Path) -> Result<Job, Error> {
    let space = card.create_space()?;
    let input = space.map_file(from, MapOptions::read_only())?;
    let bytes = if name == "sum" { 64 } else { input.bytes() };
    let output = space.map_file(to, MapOptions::create(bytes))?;
    let slot = card.load(SlotId(slot), Path::new("kernels").join(name), &space)?;
    slot.set_pointer("input", input.address())?;
    slot.set_pointer("output", output.address())?;
    slot.set("bytes", input.bytes() / 64 * 64)?; // `sum` takes whole rows
    if name == "aes256ctr" {
        slot.set_bytes("key", &[7; 32])?;
        slot.set_bytes("iv", &[9; 16])?;
    }
    slot.start()?;
    Ok(Job {
        name,
        slot,
        output,
        _input: input,
        _space: space,
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut names = std::env::args().skip(1).map(PathBuf::from);
    let (Some(file), Some(folder)) = (names.next(), names.next()) else {
        return Err("give the name of a file and a folder for the results".into());
    };
    let mut options = SimOptions::named("f1")?;
    options.shell = ShellConfig {
        slots: 4,
        channels: 4,
        queues: 5,
        ..ShellConfig::default()
    };
    let timeline = Timeline::create(&folder.join("shared_card.pftrace"))?;
    options.timeline = Some(timeline.clone());
    let card = Card::simulated(options, OwnerOptions::default(), |step| println!("{step}"))?;

    let results = |name: &str| folder.join(name);
    let honest = [
        start(&card, 0, "copy", &file, &results("copied"))?,
        start(&card, 1, "aes256ctr", &file, &results("encrypted"))?,
        start(&card, 2, "sum", &file, &results("sums"))?,
    ];

    // The fourth author's kernel reads across a 4 KiB boundary, which AXI forbids.
    let space = card.create_space()?;
    let memory = space.map_file(&file, MapOptions::read_only())?;
    let broken = Path::new("crates/tombolo/tests/kernels/attacker");
    let slot = card.load(SlotId(3), broken, &space)?;
    slot.set("mode", 5)?;
    slot.set_pointer("address", memory.address())?;
    slot.start()?;
    match slot.wait(None, |_| Continue::Yes) {
        Ok(()) => return Err("the broken kernel was not noticed".into()),
        Err(told) => println!("slot 3, told to its owner: {told}"),
    }

    // Its slot and its space are as good as new.
    drop((slot, memory, space));
    let again = start(&card, 3, "copy", &file, &results("copied-by-slot-3"))?;
    for job in honest.into_iter().chain([again]) {
        job.slot.wait(None, |_| Continue::Yes)?;
        job.output.unmap()?;
        println!("{}: done", job.name);
    }
    println!("{}", card.report()?);
    drop(card);
    timeline.finish()?;
    Ok(())
}
