//! Does a report list what its run used and virtual time does not contain?

use tempfile::TempDir;
use tombolo::{
    Card, FunctionalCard, FunctionalConfig, MapOptions, OwnerOptions, SimOptions, SlotId,
};

/// The list before anything has run, and behind a file that was copied into another.
fn not_included(card: &Card) -> [Vec<String>; 2] {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("in"), [7; 4096]).unwrap();
    let before = card.report().unwrap().not_included;
    let space = card.create_space().unwrap();
    let input = space.map_file(path("in"), MapOptions::read_only()).unwrap();
    let output = MapOptions::create(4096);
    let output = space.map_file(path("out"), output).unwrap();
    let copy = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), copy, &space).unwrap();
    slot.set_pointer("input", input.address()).unwrap();
    slot.set_pointer("output", output.address()).unwrap();
    slot.set("bytes", 4096).unwrap();
    slot.run().unwrap();
    output.unmap().unwrap();

    let report = card.report().unwrap();
    let line = format!("not in these times: {}", report.not_included.join(", "));
    assert_eq!(report.to_string().contains(&line), report.has_time());
    let mut same = report.clone();
    same.not_included.clear();
    assert_eq!(same.hash(), report.hash());
    [before, report.not_included]
}

#[test]
fn what_a_run_used_is_listed() {
    let options = SimOptions::named("f1").unwrap();
    let card = Card::simulated(options, OwnerOptions::default(), |_| {}).unwrap();
    let [before, after] = not_included(&card);
    let has = |list: &[String], what: &str| list.iter().any(|one| one.contains(what));
    assert!(has(&before, "interrupts") && has(&after, "interrupts"));
    for what in ["fdatasync", "submission of file I/O"] {
        assert!(!has(&before, what) && has(&after, what), "{what}");
    }
    // No memory was shared.
    assert!(!has(&after, "traps"), "{after:?}");
}

#[test]
fn a_card_without_time_lists_nothing() {
    let card = FunctionalCard::new(FunctionalConfig::default());
    let card = Card::new(Box::new(card), OwnerOptions::default()).unwrap();
    assert_eq!(not_included(&card), [vec![], Vec::<String>::new()]);
}
