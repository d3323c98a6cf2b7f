//! Is a kernel that runs left alone by those who load others, and does its schedule go with it?

use std::fs;
use tempfile::TempDir;
use tombolo::{
    Card, Continue, Error, ErrorCode, FunctionalCard, FunctionalConfig, MapOptions, Priority,
    SlotId, SlotSchedule,
};

#[test]
fn a_running_kernel_is_not_replaced() {
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::write(&from, vec![7; 100_000]).unwrap();
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap();
    let space = card.create_space().unwrap();
    let input = space.map_file(&from, MapOptions::read_only()).unwrap();
    let output = space
        .map_file(&to, MapOptions::create(input.bytes()))
        .unwrap();
    let kernels = card::sim::home().join("kernels");
    let slot = card.load(SlotId(0), &kernels.join("copy"), &space).unwrap();
    slot.set_pointer("input", input.address()).unwrap();
    slot.set_pointer("output", output.address()).unwrap();
    slot.set("bytes", input.bytes()).unwrap();
    slot.start().unwrap();
    let refused = card.load(SlotId(0), &kernels.join("vadd"), &space);
    let Err(Error::SlotState { rule, .. }) = refused.map(drop) else {
        panic!("it was replaced");
    };
    assert!(rule.contains("is running"), "{rule}");
    slot.wait(None, |_| Continue::Yes).unwrap();
    output.unmap().unwrap();
    assert!(fs::read(&to).unwrap() == vec![7; 100_000]);
    card.load(SlotId(0), &kernels.join("vadd"), &space).unwrap();
}

#[test]
fn a_schedule_ends_with_its_kernel() {
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap();
    let space = card.create_space().unwrap();
    let kernel = card::sim::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &kernel, &space).unwrap();
    assert_eq!(card.report().unwrap().shares, []);
    slot.set_priority(Priority::High).unwrap();
    let usual = SlotSchedule::default();
    for (wrong, told) in [
        (
            SlotSchedule {
                weight: 16,
                ..usual
            },
            "weight 16",
        ),
        (SlotSchedule { weight: 0, ..usual }, "weight 0"),
        (SlotSchedule { floor: 91, ..usual }, "floor 91"),
        (
            SlotSchedule {
                floor: 255,
                ..usual
            },
            "floor 255",
        ),
    ] {
        let error = slot.set_schedule(wrong).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Schedule, "{error}");
        assert!(error.to_string().contains(told), "{error}");
    }
    for wrong in ["", "highest", "High", "4"] {
        assert_eq!(Priority::named(wrong), None);
    }
    let report = card.report().unwrap();
    assert_eq!(report.shares[0].schedule, Priority::High.into());
    assert!(report.to_string().contains("slot 0 (high): 0 B read"));
    slot.close().unwrap();
    let error = slot.set_priority(Priority::Low).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Gone, "{error}");
}
