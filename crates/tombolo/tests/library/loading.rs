//! Is a kernel that runs left alone by those who load others, and does its schedule go with it?

use std::fs;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
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
    let kernels = simcard::home().join("kernels");
    let slot = card.load(SlotId(0), kernels.join("copy"), &space).unwrap();
    slot.set_pointer("input", input.address()).unwrap();
    slot.set_pointer("output", output.address()).unwrap();
    slot.set("bytes", input.bytes()).unwrap();
    slot.start().unwrap();
    let refused = card.load(SlotId(0), kernels.join("vadd"), &space);
    let Err(Error::SlotState { rule, .. }) = refused.map(drop) else {
        panic!("it was replaced");
    };
    assert!(rule.contains("is running"), "{rule}");
    slot.wait(None, |_| Continue::Yes).unwrap();
    output.unmap().unwrap();
    assert!(fs::read(&to).unwrap() == vec![7; 100_000]);
    card.load(SlotId(0), kernels.join("vadd"), &space).unwrap();
}

#[test]
fn a_schedule_ends_with_its_kernel() {
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap();
    let space = card.create_space().unwrap();
    let kernel = simcard::home().join("kernels/copy");
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

/// A buffer that is not aligned as the kernel wants it is refused, and the argument stays what it was.
#[test]
fn pointers_that_are_not_aligned_are_told() {
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap();
    let space = card.create_space().unwrap();
    let kernel = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &kernel, &space).unwrap();
    let memory = space.alloc(4096).unwrap();
    let words = memory.slice::<AtomicU8>();
    words[64].store(7, Relaxed);
    let at = |offset| memory.address().checked_add(offset).unwrap();
    slot.set_pointer("input", at(64)).unwrap();
    slot.set_pointer("output", memory.address()).unwrap();
    slot.set("bytes", 1).unwrap();
    for odd in [1, 63] {
        let error = slot.set_pointer("input", at(odd)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::MisalignedPointer, "{error}");
        assert!(error.to_string().contains("multiples of 64"), "{error}");
    }
    slot.start().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    assert_eq!(words[0].load(Relaxed), 7);
}

/// A mapping of another space or card is refused; its address would be that of other bytes.
#[test]
fn mappings_that_the_kernel_cannot_reach_are_told() {
    let open = || Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap();
    let (card, other_card) = (open(), open());
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, [7; 64]).unwrap();
    let map = |card: &Card| {
        let space = card.create_space().unwrap();
        let mapping = space.map_file(&file, MapOptions::read_only()).unwrap();
        (space, mapping)
    };
    let (here, elsewhere, abroad) = (map(&card), map(&card), map(&other_card));
    let kernel = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &kernel, &here.0).unwrap();
    let refused = slot.set_mapping("input", &elsewhere.1).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::OtherSpace, "{refused}");
    assert!(
        refused.to_string().contains("argument `input`"),
        "{refused}"
    );
    let refused = slot.set_mapping("input", &abroad.1).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::OtherCard, "{refused}");
    slot.set_mapping("input", &here.1).unwrap();
}
