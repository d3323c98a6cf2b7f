//! A file through the streams of a kernel, into another file: ten lines of host program.
//!
//! `cargo run --release --example loopback -- in.bin out.bin`

use std::path::Path;
use tombolo::{Card, Continue, MapOptions, ShellConfig, SimOptions, SlotId};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut names = std::env::args().skip(1);
    let (Some(from), Some(to)) = (names.next(), names.next()) else {
        return Err("give the names of an input and an output file".into());
    };
    let mut options = SimOptions::named("u280")?;
    options.shell = ShellConfig {
        streams_per_slot: 1,
        ..ShellConfig::default()
    };
    let card = Card::simulated(options, Default::default(), |_| {})?;

    let space = card.create_space()?;
    let a = space.map_file(Path::new(&from), MapOptions::read_only())?;
    let b = space.map_file(Path::new(&to), MapOptions::create(a.bytes()))?;
    let slot = card.load(SlotId(0), Path::new("kernels/loopback"), &space)?;
    let input = slot.open_stream("in")?;
    let output = slot.open_stream("out")?;
    output.write(b.all())?; // from the kernel to the device
    input.read(a.all())?; // from the device to the kernel
    let moved = output.wait(None, |_| Continue::Yes)?;
    b.unmap()?; // the bytes are in the file now

    println!("{} bytes, end of packet: {}", moved.bytes, moved.last);
    println!("{}", card.report()?);
    Ok(())
}
