//! Cost of a small file in proportion to its size: a page is no larger than its contents need.

use super::Failure;
use crate::input::write_input;
use crate::row::Row;
use std::path::Path;
use tombolo::{Card, Continue, MapOptions, PageSize, SimOptions, SlotId};

pub const NAMES: &[&str] = &[
    "small.copy_4k.cycles",
    "small.copy_64k.cycles",
    "small.copy_1m.cycles",
    "small.copy_1m.2mib_cycles",
];

/// Cycles from the opening of a card to a complete copy of a file of this size.
fn copy(folder: &Path, bytes: u64, page: Option<PageSize>) -> Result<f64, Failure> {
    let (input, output) = (folder.join("in"), folder.join("out"));
    write_input(&input, bytes)?;
    let options = SimOptions::named("f1")?;
    let card = Card::simulated(options, Default::default(), |_| {})?;
    let space = card.create_space()?;
    let with_page = |options: MapOptions| match page {
        Some(page) => options.page_size(page),
        None => options,
    };
    let source = space.map_file(&input, with_page(MapOptions::read_only()))?;
    let target = space.map_file(&output, with_page(MapOptions::create(bytes)))?;
    let folder = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &folder, &space)?;
    slot.set_pointer("input", source.address())?;
    slot.set_pointer("output", target.address())?;
    slot.set("bytes", bytes)?;
    slot.start()?;
    slot.wait(None, |_| Continue::Yes)?;
    target.unmap()?;
    source.unmap()?;
    let cycles = card.report()?.statistics.cycles;
    match std::fs::read(&input)? == std::fs::read(&output)? {
        true => Ok(cycles as f64),
        false => Err(format!("a copy of {bytes} bytes is another one").into()),
    }
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let cycles = |bytes, page| copy(folder.path(), bytes, page);
    let shown = |name, value| Row::new(name, value, "cycles");
    Ok(vec![
        Row::new("small.copy_4k.cycles", cycles(4 << 10, None)?, "cycles"),
        shown("small.copy_64k.cycles", cycles(64 << 10, None)?),
        shown("small.copy_1m.cycles", cycles(1 << 20, None)?),
        shown(
            "small.copy_1m.2mib_cycles",
            cycles(1 << 20, Some(PageSize::MIB_2))?,
        ),
    ])
}
