//! A file through two kernels, one behind the other, into another file. No memory is between the kernels.
//!
//! `cargo run --release --example pipeline -- in.bin out.bin`

use std::path::Path;
use tombolo::{Card, Continue, MapOptions, ShellConfig, SimOptions, SlotId};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut names = std::env::args().skip(1);
    let (Some(from), Some(to)) = (names.next(), names.next()) else {
        return Err("give the names of an input and an output file".into());
    };
    let mut options = SimOptions::named("u280")?;
    options.shell = ShellConfig {
        slots: 2,
        streams_per_slot: 1,
        queues: 3,
        ..ShellConfig::default()
    };
    let card = Card::simulated(options, Default::default(), |_| {})?;

    let space = card.create_space()?;
    let from = space.map_file(Path::new(&from), MapOptions::read_only())?;
    let to = space.map_file(Path::new(&to), MapOptions::create(from.bytes()))?;
    let a = card.load(SlotId(0), Path::new("kernels/loopback"), &space)?;
    let b = card.load(SlotId(1), Path::new("kernels/loopback"), &space)?;
    let _between = card.connect(&a, "out", &b, "in")?;
    let (input, output) = (a.open_stream("in")?, b.open_stream("out")?);
    output.write(to.all())?; // from b to the file
    input.read(from.all())?; // from the file to a
    let moved = output.wait(None, |_| Continue::Yes)?;
    to.unmap()?; // the bytes are in the file now

    println!("{} bytes, end of packet: {}", moved.bytes, moved.last);
    println!("{}", card.report()?);
    Ok(())
}
