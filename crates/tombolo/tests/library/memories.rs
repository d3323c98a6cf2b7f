//! HBM and DRAM on one card: does a file lie in the memory it was placed in, and nowhere else?

use std::path::Path;
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Card, Continue, Error, FunctionalCard, FunctionalConfig, MapOptions, MemoryKind,
    OwnerOptions, Report, SimOptions, SlotId, SpacePlacement,
};

const BYTES: u64 = (2 << 20) + 77;
const CHANNEL: u64 = 6 << 20;

fn both() -> Card {
    let mut options = SimOptions::named("u280-both").unwrap();
    options.channel_bytes = Some(CHANNEL);
    Card::simulated(options, OwnerOptions::default(), |_| {}).unwrap()
}

fn data() -> Vec<u8> {
    let byte = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    (0..BYTES).map(byte).collect()
}

/// Copies a file into another, each in its memory; the cycles of a second run, whose pages are on the card.
fn copy(card: &Card, folder: &Path, from: MemoryKind, to: MemoryKind) -> (u64, Report) {
    let space = card.create_space().unwrap();
    let input = MapOptions::read_only().memory(from);
    let input = space.map_file(folder.join("in"), input).unwrap();
    let output = folder.join(format!("{from}-{to}"));
    let made = MapOptions::create(BYTES).memory(to);
    let made = space.map_file(&output, made).unwrap();
    let kernel = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &kernel, &space).unwrap();
    slot.set_pointer("input", input.address()).unwrap();
    slot.set_pointer("output", made.address()).unwrap();
    slot.set("bytes", BYTES).unwrap();
    let mut cycles = 0;
    for _ in 0..2 {
        let before = card.describe().unwrap();
        slot.start().unwrap();
        slot.wait(None, |_| Continue::Yes).unwrap();
        let time = card.describe().unwrap().1 - before.1;
        cycles = time.get() / before.0.clock_period.get();
    }
    let report = card.report().unwrap();
    made.unmap().unwrap();
    input.unmap().unwrap();
    assert!(std::fs::read(output).unwrap() == data());
    (cycles, report)
}

#[test]
fn a_file_lies_in_the_memory_it_is_placed_in() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("in"), data()).unwrap();
    let card = both();
    let (description, _) = card.describe().unwrap();
    let kinds: Vec<_> = description.memories.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [MemoryKind::Hbm, MemoryKind::Ddr]);
    // Channel 0 is HBM, channel 1 is DDR. Rows of the kernel and of the copies from the host and back; page tables are
    // anywhere.
    let rows = |report: &Report| {
        let of = &report.statistics.channels;
        [0, 1].map(|channel| [of[channel].rows_read, of[channel].rows_written])
    };
    let mut before = [[0; 2]; 2];
    let twice = 2 * BYTES / 64;
    for (from, to) in [
        (MemoryKind::Hbm, MemoryKind::Ddr),
        (MemoryKind::Ddr, MemoryKind::Hbm),
    ] {
        let (cycles, report) = copy(&card, folder.path(), from, to);
        let now = rows(&report);
        let [hbm, ddr] = [0, 1].map(|at| [0, 1].map(|way| now[at][way] - before[at][way]));
        let (source, target) = match from {
            MemoryKind::Hbm => (hbm, ddr),
            MemoryKind::Ddr => (ddr, hbm),
        };
        eprintln!("{from} to {to}: {cycles} cycles, hbm {hbm:?}, ddr {ddr:?}");
        assert!(source[0] >= twice, "the input is not read where it lies");
        assert!(
            target[1] >= twice,
            "the output is not written where it lies"
        );
        // The kernel reads nothing in the other memory, and writes nothing in this one.
        // (The whole page of the output is saved between the runs, once.)
        assert!(target[0] < twice * 3 / 4, "{target:?}");
        // It is filled once, whole pages with what lies behind the end, and has the page table perhaps.
        assert!(source[1] < 3 * (BYTES / 64), "{source:?}");
        let told = report.policies.join("\n");
        assert!(told.contains(&format!("placed in {from}")), "{told}");
        let text = report.to_string();
        assert!(
            text.contains("channel 0 (hbm)") && text.contains("channel 1 (ddr)"),
            "{text}"
        );
        before = rows(&card.report().unwrap());
    }
}

/// More than its memory holds: pages leave that memory and no other.
#[test]
fn a_memory_that_is_full_gives_up_its_own_pages() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("in"), data()).unwrap();
    let card = both();
    let (_, report) = copy(&card, folder.path(), MemoryKind::Hbm, MemoryKind::Hbm);
    assert!(report.paging.evictions > 0);
    let ddr = &report.statistics.channels[1];
    assert!(ddr.rows_read + ddr.rows_written < BYTES / 64, "{ddr:?}");
}

fn refused(space: &AddressSpace, path: &Path, options: MapOptions, rule: &str) {
    let error = match space.map_file(path, options) {
        Err(error) => error,
        Ok(_) => panic!("{rule}: was mapped"),
    };
    assert!(
        matches!(error, Error::Unmappable { .. } | Error::Pager(_)),
        "{error:?}"
    );
    assert!(error.to_string().contains(rule), "{rule}: {error}");
}

#[test]
fn places_that_are_not_there_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("in");
    std::fs::write(&path, data()).unwrap();
    let hbm = MapOptions::read_only().memory(MemoryKind::Hbm);
    let card = both();
    let space = card.create_space().unwrap();
    refused(&space, &path, hbm.direct(), "leave out direct");
    let mapping = space.map_file(&path, hbm).unwrap();
    let ddr = MapOptions::read_only().memory(MemoryKind::Ddr);
    refused(&space, &path, ddr, "with pages in hbm");
    // A mapping that says nothing shows the same pages.
    space.map_file(&path, MapOptions::read_only()).unwrap();
    drop(mapping);
    let placed = SpacePlacement::Channel(0);
    let placed = card.create_space_on(placed).unwrap();
    let other = folder.path().join("other");
    std::fs::write(&other, data()).unwrap();
    refused(&placed, &other, hbm, "leave out one of both");
    // A card of one kind says which it has; one without timing has none.
    let options = SimOptions::named("f1").unwrap();
    let card = Card::simulated(options, OwnerOptions::default(), |_| {}).unwrap();
    refused(&card.create_space().unwrap(), &path, hbm, "has ddr");
    let card = FunctionalCard::new(FunctionalConfig::default());
    let card = Card::functional(card).unwrap();
    refused(&card.create_space().unwrap(), &path, hbm, "says nothing of");
}
