//! Are preloaded data on the card, correct, and loaded at zero virtual time; and does the report show it?

use simcard::SimCard;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Card, Continue, Error, FunctionalCard, FunctionalConfig, MapOptions,
    OwnerOptions, PageSize, Picoseconds, SimOptions, SlotId, SpacePlacement, Stripe, VirtAddr,
};

/// Two pages of 2 MiB and a bit.
const BYTES: u64 = (4 << 20) + 12_345;

fn pattern(seed: usize) -> Vec<u8> {
    (0..BYTES as usize)
        .map(|n| (n * 7 + n / 4096 + seed) as u8)
        .collect()
}

fn simulated() -> Card {
    let card = SimCard::open(SimOptions::named("f1").unwrap(), |_| {}).unwrap();
    Card::new(Box::new(card), OwnerOptions::default()).unwrap()
}

/// Copies a file with input and output preloaded; returns the faults and the report.
fn copied(card: &Card, space: &AddressSpace, folder: &Path, hot: u64) -> (u64, String) {
    let path = |name: &str| folder.join(name);
    fs::write(path("in"), pattern(1)).unwrap();
    let before = card.report().unwrap();
    let input = space.map_file(path("in"), MapOptions::read_only()).unwrap();
    let output = MapOptions::create(BYTES).hot();
    let output = space.map_file(path("out"), output).unwrap();
    let slot = card
        .load(SlotId(0), simcard::home().join("kernels/copy"), space)
        .unwrap();
    slot.set_pointer("input", input.address()).unwrap();
    slot.set_pointer("output", output.address()).unwrap();
    slot.set("bytes", BYTES).unwrap();
    assert_eq!(input.make_hot().unwrap(), hot);
    // At once: what was installed is there.
    slot.start().unwrap();
    let error = input.make_hot().unwrap_err();
    assert!(matches!(error, Error::SlotState { .. }), "{error}");
    slot.wait(None, |_| Continue::Yes).unwrap();
    let report = card.report().unwrap();
    let time = report.time - before.time - report.runs.last().unwrap().time;
    // Over the link it would take 300 us.
    assert!(hot == 0 || time < Picoseconds::from_micros(80), "{time}");
    output.unmap().unwrap();
    input.unmap().unwrap();
    assert!(fs::read(path("out")).unwrap() == pattern(1));
    let report = card.report().unwrap();
    (
        report.paging.faults - before.paging.faults,
        report.to_string(),
    )
}

/// Of small pages there are more table entries than a queue of the card holds.
#[test]
fn many_small_pages_are_made_hot() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("in");
    let bytes = 5000 << 12;
    let content: Vec<u8> = (0..bytes).map(|n| (n * 5 + n / 4096) as u8).collect();
    fs::write(&path, &content).unwrap();
    let card = simulated();
    let space = card.create_space().unwrap();
    let small = MapOptions::read_only().page_size(PageSize::KIB_4);
    let input = space.map_file(&path, small).unwrap();
    assert_eq!(input.make_hot().unwrap(), bytes as u64);
    assert_eq!(input.make_hot().unwrap(), 0);
    let output = space.alloc(1 << 16).unwrap();
    let slot = card
        .load(SlotId(0), simcard::home().join("kernels/copy"), &space)
        .unwrap();
    let last = (bytes - (1 << 16)) as u64;
    let from = VirtAddr::new(input.address().get() + last).unwrap();
    slot.set_pointer("input", from).unwrap();
    slot.set_pointer("output", output.address()).unwrap();
    slot.set("bytes", 1 << 16).unwrap();
    slot.run().unwrap();
    output.take(0, 1 << 16, false).unwrap();
    let found = output.slice::<AtomicU8>().iter();
    let found: Vec<u8> = found.map(|byte| byte.load(Ordering::Relaxed)).collect();
    assert!(found[..1 << 16] == content[last as usize..]);
    space.close().unwrap();
}

#[test]
fn hot_data_is_there_without_the_time_of_loading_it() {
    let folder = TempDir::new().unwrap();
    let card = simulated();
    let stripe = Stripe::new(4096, 2).unwrap();
    let striped = SpacePlacement::Interleaved { first: 0, stripe };
    // Whole pages are filled.
    let filled = BYTES.next_multiple_of(2 << 20);
    for space in [card.create_space(), card.create_space_on(striped)] {
        let space = space.unwrap();
        let (faults, said) = copied(&card, &space, folder.path(), filled);
        assert_eq!(faults, 0, "{said}");
        assert!(
            said.contains("without the time that loading takes"),
            "{said}"
        );
        space.close().unwrap();
    }
}

#[test]
fn a_card_that_cannot_loads_hot_data_as_ever() {
    let folder = TempDir::new().unwrap();
    let card = FunctionalCard::new(FunctionalConfig::default());
    let card = Card::functional(card).unwrap();
    let space = card.create_space().unwrap();
    let (faults, said) = copied(&card, &space, folder.path(), 0);
    assert_eq!(faults, 0, "{said}");
    assert!(!said.contains("hot:"), "{said}");
}

#[test]
fn what_stays_in_host_memory_is_never_hot() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("in");
    fs::write(&path, pattern(2)).unwrap();
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap();
    let space = card.create_space().unwrap();
    let both = MapOptions::read_only().direct().hot();
    let error = space.map_file(&path, both).unwrap_err().to_string();
    assert!(error.contains("leave out one of the two"), "{error}");
}
