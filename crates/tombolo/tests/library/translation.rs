//! Can the translation mode be set for each space independently, with the same bytes in each mode?

use std::fs;
use tempfile::TempDir;
use tombolo::{
    Card, Continue, FunctionalCard, FunctionalConfig, MapOptions, OwnerOptions, PageSize,
    SimOptions, SlotId, SpaceOptions, TranslationMode,
};

const PAGES: u64 = 64;

/// Statistics of a copy whose pages were all on the card, in a new space: hits in L1 TLBs, hits of walks, and faults.
fn copied(card: &Card, mode: TranslationMode) -> (u64, u64, u64) {
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let content: Vec<u8> = (0..PAGES * 4096).map(|n| (n ^ (n >> 9)) as u8).collect();
    fs::write(&from, &content).unwrap();
    let options = SpaceOptions::new().translation(mode);
    let space = card.create_space_with(options).unwrap();
    let input = space.map_file(&from, MapOptions::read_only()).unwrap();
    let output = MapOptions::create(input.bytes());
    let output = space.map_file(&to, output).unwrap();
    let kernel = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &kernel, &space).unwrap();
    slot.set_mapping("input", &input).unwrap();
    slot.set_mapping("output", &output).unwrap();
    slot.set("bytes", input.bytes()).unwrap();
    let here = space.asid().get();
    let mut counted = [(0, 0, 0); 2];
    for counts in &mut counted {
        slot.start().unwrap();
        slot.wait(None, |_| Continue::Yes).unwrap();
        let report = card.report().unwrap();
        let of_space = report.spaces.iter().find(|space| space.asid == here);
        let requesters = report.statistics.requesters.iter();
        let hits = requesters.map(|one| (one.l1_hits, one.walk_hits));
        let (l1, walks) = hits.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        *counts = (l1, walks, of_space.unwrap().faults);
    }
    output.unmap().unwrap();
    assert!(fs::read(&to).unwrap() == content, "{mode}");
    space.close().unwrap();
    let [first, second] = counted;
    (second.0 - first.0, second.1 - first.1, second.2 - first.2)
}

fn owner() -> OwnerOptions {
    OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        // The second copy would fault where the first was saved early.
        overlap: false,
        ..OwnerOptions::default()
    }
}

#[test]
fn each_space_of_the_shell_is_translated_in_its_own_way() {
    let options = SimOptions::named("f1").unwrap();
    let card = Card::simulated(options, owner(), |_| {}).unwrap();
    // Its TLBs reach all of it: what they hold of the first copy is enough for the second.
    let (hits, walks, faults) = copied(&card, TranslationMode::Both);
    assert!(hits > 0 && faults == 0, "{hits} {walks} {faults}");
    let (hits, walks, faults) = copied(&card, TranslationMode::Table);
    assert!(
        hits == 0 && walks >= 2 * PAGES && faults == 0,
        "{hits} {walks} {faults}"
    );
    let (hits, walks, _) = copied(&card, TranslationMode::Tlb);
    assert!(hits >= 2 * PAGES && walks == 0, "{hits} {walks}");
    // Its number was the same; the next is not translated as the last was.
    let (hits, walks, faults) = copied(&card, TranslationMode::Both);
    assert!(hits > 0 && faults == 0, "{hits} {walks} {faults}");
    let (hits, ..) = copied(&card, TranslationMode::Table);
    assert_eq!(hits, 0);
}

#[test]
fn without_the_table_the_host_is_asked_for_what_the_card_has() {
    let config = FunctionalConfig::default();
    let card = Card::new(Box::new(FunctionalCard::new(config)), owner()).unwrap();
    for (mode, asked) in [
        (TranslationMode::Both, false),
        (TranslationMode::Tlb, true),
        (TranslationMode::Table, false),
    ] {
        let (_, _, faults) = copied(&card, mode);
        assert_eq!(faults > 0, asked, "{mode}: {faults}");
    }
}
