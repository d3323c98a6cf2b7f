//! The first program of the README: copies a file through a kernel on the simulated card.
//!
//! `cargo run --release --example first -- in.bin out.bin`; a third word is the name of another card.

use tombolo::{Card, MapOptions, SlotId};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut names = std::env::args().skip(1);
    let (Some(from), Some(to)) = (names.next(), names.next()) else {
        return Err("give the names of an input and an output file".into());
    };
    let card = Card::open(names.next().unwrap_or("f1".into()))?;
    let space = card.create_space()?;
    let input = space.map_file(&from, MapOptions::read_only())?;
    let output = space.map_file(&to, MapOptions::create(input.bytes()))?;

    let slot = card.load(SlotId(0), "kernels/copy", &space)?;
    slot.set_mapping("input", &input)?;
    slot.set_mapping("output", &output)?;
    slot.set("bytes", input.bytes())?;
    slot.run()?;

    output.unmap()?; // the bytes are in the file now
    println!("{}", card.report()?);
    Ok(())
}
