//! A file through two kernels, one behind the other, into another file. No memory is between the kernels.
//!
//! `cargo run --release --example pipeline -- in.bin out.bin`

use std::path::Path;
use tombolo::{
    Card, Continue, Error, FunctionalCard, FunctionalConfig, MapOptions, ShellConfig, SimOptions,
    SlotId,
};

/// Two slots with a stream in and one out; as a third word, `functional` is a card without RTL.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (Some(from), Some(to)) = (words.first(), words.get(1)) else {
        return Err("give the names of an input and an output file".into());
    };
    let card = match words.get(2).map(String::as_str) {
        Some("functional") => Card::functional(FunctionalCard::new(FunctionalConfig {
            streams_per_slot: 1,
            ..FunctionalConfig::default()
        }))?,
        _ => {
            let mut options = SimOptions::named("u280")?;
            options.shell = ShellConfig {
                slots: 2,
                streams_per_slot: 1,
                queues: 3,
                ..ShellConfig::default()
            };
            Card::simulated(options, Default::default(), |_| {})?
        }
    };
    let kernel = Path::new("kernels/loopback");
    let bytes = pipeline(&card, kernel, Path::new(from), Path::new(to))?;
    println!("{bytes} bytes");
    println!("{}", card.report()?);
    Ok(())
}

/// Sends a file through two of these kernels.
pub fn pipeline(card: &Card, kernel: &Path, from: &Path, to: &Path) -> Result<u64, Error> {
    let space = card.create_space()?;
    let from = space.map_file(from, MapOptions::read_only())?;
    let to = space.map_file(to, MapOptions::create(from.bytes()))?;
    let a = card.load(SlotId(0), kernel, &space)?;
    let b = card.load(SlotId(1), kernel, &space)?;
    let between = card.connect(&a, "out", &b, "in")?; // the switch: no memory between them
    let (input, output) = (a.open_stream("in")?, b.open_stream("out")?);
    output.write(to.all())?; // from b to the file
    input.read(from.all())?; // from the file to a
    let moved = output.wait(None, |_| Continue::Yes)?;
    between.disconnect()?; // at the end of a packet; both ports are free again
    to.unmap()?; // the bytes are in the file now
    Ok(moved.bytes)
}
