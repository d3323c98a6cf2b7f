//! Configurations of the shell: every slot copies a separate file in a separate space, all concurrently.

use super::Failure;
use crate::row::Row;
use std::fs;
use std::path::Path;
use tombolo::{Card, Continue, MapOptions, OwnerOptions, ShellConfig, SimOptions, SlotId};

/// A configuration of the shell.
#[derive(Clone, Copy, Debug)]
struct Shape {
    slots: u8,
    ports_per_slot: u8,
    channels: u8,
}

const fn shape(slots: u8, ports_per_slot: u8, channels: u8) -> Shape {
    Shape {
        slots,
        ports_per_slot,
        channels,
    }
}

const SHAPES: [Shape; 4] = [
    shape(1, 2, 2),
    shape(4, 2, 4),
    shape(2, 8, 4),
    shape(16, 2, 2),
];
const BYTES: usize = 20_000;

fn copies_in(shape: Shape, folder: &Path) -> Result<bool, Failure> {
    let Shape {
        slots,
        ports_per_slot,
        channels,
    } = shape;
    let mut options = SimOptions::named("f1")?;
    options.shell = ShellConfig {
        slots,
        ports_per_slot,
        channels,
        spaces: slots.max(4),
        queues: slots + 1,
        ..ShellConfig::default()
    };
    let card = Card::simulated(options, OwnerOptions::default(), |_| {})?;
    let kernel = simcard::home().join("kernels/copy");
    let mut jobs = Vec::new();
    for number in 0..slots {
        let content: Vec<u8> = (0..BYTES)
            .map(|place| ((place * (2 * usize::from(number) + 3)) >> 3) as u8)
            .collect();
        let from = folder.join(format!("{number}.in"));
        let to = folder.join(format!("{number}.out"));
        fs::write(&from, &content)?;
        let space = card.create_space()?;
        let input = space.map_file(&from, MapOptions::read_only())?;
        let output = space.map_file(&to, MapOptions::create(input.bytes()))?;
        let slot = card.load(SlotId(number), &kernel, &space)?;
        slot.set_pointer("input", input.address())?;
        slot.set_pointer("output", output.address())?;
        slot.set("bytes", input.bytes())?;
        slot.start()?;
        jobs.push((slot, input, output, to, content, space));
    }
    let mut good = true;
    for (slot, _input, output, to, content, _space) in jobs {
        slot.wait(None, |_| Continue::Yes)?;
        output.unmap()?;
        good &= fs::read(&to)? == content;
    }
    Ok(good)
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut good = 0;
    for shape in SHAPES {
        let folder = tempfile::tempdir()?;
        let right = copies_in(shape, folder.path())?;
        eprintln!("{shape:?}: {right}");
        good += usize::from(right);
    }
    Ok(vec![Row::new("slots.shapes", good as f64, "shapes")])
}
