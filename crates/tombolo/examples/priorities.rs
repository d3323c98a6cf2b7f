//! Three kernels want the same memory channel; one of them is important.
//!
//! `cargo run --release --example priorities`
//!
//! Each reads 2 MiB in chunks of 16 KiB, two at a time, first in turn, then with slot 0 before the others.

use tombolo::{Card, Continue, MapOptions, Priority, ShellConfig, SimOptions, SlotId};

const BYTES: usize = 2 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = SimOptions::named("f1")?;
    options.shell = ShellConfig {
        slots: 3,
        channels: 1,
        queues: 4,
        ..ShellConfig::default()
    };
    let kernel = options.home.join("kernels/perf");
    let card = Card::simulated(options, Default::default(), |step| eprintln!("{step}"))?;
    let folder = std::env::temp_dir().join(format!("priorities-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut slots = Vec::new();
    let mut mapped = Vec::new();
    for number in 0..3 {
        let file = folder.join(format!("{number}"));
        std::fs::write(&file, vec![number; BYTES])?;
        let space = card.create_space()?;
        let input = space.map_file(&file, MapOptions::read_only())?;
        let output = space.map_file(file.with_extension("out"), MapOptions::create(64))?;
        let slot = card.load(SlotId(number), &kernel, &space)?;
        slot.set_pointer("input", input.address())?;
        slot.set_pointer("output", output.address())?;
        slot.set("bytes", BYTES as u64)?;
        slot.set("chunk", 16 << 10)?;
        slot.set("window", 2)?;
        slot.set("pause", 0)?;
        slots.push(slot);
        mapped.push((space, input, output));
    }
    // The first run brings the pages to the card.
    for name in ["(pages come to the card)", "in turn", "slot 0 first"] {
        if name == "slot 0 first" {
            slots[0].set_priority(Priority::High)?; // at any time, also while it runs
        }
        for slot in &slots {
            slot.start()?;
        }
        for slot in &slots {
            slot.wait(None, |_| Continue::Yes)?;
        }
        let runs = card.report()?.runs;
        let mut cycles: Vec<(u8, u64)> = runs[runs.len() - 3..]
            .iter()
            .map(|run| (run.slot, run.cycles))
            .collect();
        cycles.sort_unstable();
        println!("{name:<25} cycles of each slot: {cycles:?}");
    }
    println!("{}", card.report()?);
    drop((slots, mapped, card));
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
