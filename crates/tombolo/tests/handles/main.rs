//! Does a handle that outlived its object reach nothing, and least of all other data?

mod torture;

use std::fs;
use tempfile::TempDir;
use tombolo::{
    Card, Continue, Error, ErrorCode, FunctionalCard, FunctionalConfig, InjectedFault, MapOptions,
    Picoseconds, RunState, SlotId,
};

fn functional() -> Card {
    Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap()
}

/// The next space has the same number in the shell, its first mapping the same address.
#[test]
fn a_mapping_that_outlived_its_space_ends_no_other() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (old_bytes, new_bytes) = (vec![1; 5000], vec![2; 5000]);
    fs::write(path("a"), &old_bytes).unwrap();
    fs::write(path("b"), &new_bytes).unwrap();
    let card = functional();
    let space = card.create_space().unwrap();
    let old = space.map_file(path("a"), MapOptions::read_only()).unwrap();
    let forgotten = space.map_file(path("a"), MapOptions::read_only()).unwrap();
    drop(space);
    let space = card.create_space().unwrap();
    let new = space.map_file(path("b"), MapOptions::read_only()).unwrap();
    assert_eq!(new.address(), old.address());
    for result in [old.sync(), old.prefetch(), old.unmap()] {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Gone { .. }), "{error}");
        assert!(
            error.to_string().contains("its address space ended"),
            "{error}"
        );
    }
    drop(forgotten);
    let output = space
        .map_file(path("o"), MapOptions::create(new.bytes()))
        .unwrap();
    let kernel = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &kernel, &space).unwrap();
    slot.set_pointer("input", new.address()).unwrap();
    slot.set_pointer("output", output.address()).unwrap();
    slot.set("bytes", new.bytes()).unwrap();
    slot.start().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    output.unmap().unwrap();
    new.unmap().unwrap();
    assert!(fs::read(path("o")).unwrap() == new_bytes);
}

#[test]
fn a_slot_from_before_another_load_drives_nothing() {
    let card = functional();
    let space = card.create_space().unwrap();
    let kernel = simcard::home().join("kernels/copy");
    let old = card.load(SlotId(0), &kernel, &space).unwrap();
    let new = card.load(SlotId(0), &kernel, &space).unwrap();
    new.set("bytes", 64).unwrap();
    let results = [
        old.set("bytes", 7),
        old.start(),
        old.read_register(0).map(drop),
        old.wait(None, |_| Continue::Yes),
    ];
    for result in results {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Gone { .. }), "{error}");
    }
    drop(old);
    new.read_register(0).unwrap();
    drop(space);
    let error = new.start().unwrap_err();
    assert!(matches!(error, Error::Gone { .. }), "{error}");
}

#[test]
fn a_space_of_another_card_is_refused() {
    let (here, there) = (functional(), functional());
    let space = there.create_space().unwrap();
    let kernel = simcard::home().join("kernels/copy");
    let refused = here.load(SlotId(0), &kernel, &space).err().unwrap();
    assert!(matches!(refused, Error::OtherCard), "{refused}");
}

#[test]
fn random_operations_with_handles_dropped_in_any_order() {
    let found = torture::run(20_000, 3, 1, None);
    assert_eq!(found.wrong, 0, "{found:?}");
    assert!(found.stale > 500, "{found:?}");
}

/// The judge must detect errors: it finds each injected one.
#[test]
fn injected_faults_are_found() {
    for injected in [InjectedFault::StaleMapping, InjectedFault::StaleSlot] {
        let found = torture::run(3_000, 2, 2, Some(injected));
        assert!(found.wrong > 0, "{injected:?} was not found: {found:?}");
    }
}

/// Closing returns failures that dropping can only log; a handle that is closed twice, or used after, is refused.
#[test]
fn closed_twice_and_used_after() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    let card = functional();
    let space = card.create_space().unwrap();
    let mapping = space.map_file(&path, MapOptions::create(100)).unwrap();
    let kernel = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &kernel, &space).unwrap();
    let gone = |result: Result<(), Error>| assert_eq!(result.unwrap_err().code(), ErrorCode::Gone);
    mapping.unmap().unwrap();
    gone(mapping.unmap());
    gone(mapping.sync());
    slot.close().unwrap();
    gone(slot.close());
    gone(slot.start());
    space.close().unwrap();
    gone(space.close());
    gone(space.map_file(&path, MapOptions::read_only()).map(drop));
    gone(card.load(SlotId(0), &kernel, &space).map(drop));
    let left = card.create_space().unwrap();
    let mapping = left.map_file(&path, MapOptions::read_only()).unwrap();
    card.close().unwrap();
    gone(card.close());
    gone(card.describe().map(drop));
    gone(mapping.unmap());
    gone(left.close());
}

/// Waiting for several kernels at once; each reports its own end.
#[test]
fn the_first_of_several_that_is_done() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let card = Card::functional(FunctionalCard::new(FunctionalConfig {
        slots: 2,
        ..FunctionalConfig::default()
    }))
    .unwrap();
    let space = card.create_space().unwrap();
    let kernel = simcard::home().join("kernels/copy");
    fs::write(path("in"), vec![3; 40_000]).unwrap();
    let input = space.map_file(path("in"), MapOptions::read_only()).unwrap();
    let output = space
        .map_file(path("out"), MapOptions::create(40_000))
        .unwrap();
    let slots = [0, 1].map(|n| card.load(SlotId(n), &kernel, &space).unwrap());
    for (slot, bytes) in slots.iter().zip([40_000, 64]) {
        slot.set_pointer("input", input.address()).unwrap();
        slot.set_pointer("output", output.address()).unwrap();
        slot.set("bytes", bytes).unwrap();
    }
    let both = [&slots[0], &slots[1]];
    let idle = card.wait_any(&both, None).unwrap_err();
    assert_eq!(idle.code(), ErrorCode::SlotState);
    assert_eq!(
        card.wait_any(&[], None).unwrap_err().code(),
        ErrorCode::Deadline
    );
    slots[0].start().unwrap();
    slots[1].start().unwrap();
    assert_eq!(card.wait_any(&both, None).unwrap(), 1);
    assert!(matches!(
        slots[1].poll(Picoseconds::ZERO),
        Ok(RunState::Done(_))
    ));
    assert!(matches!(
        slots[0].poll(Picoseconds::ZERO),
        Ok(RunState::Running(_))
    ));
    let none = card.wait_any(&both[..1], Some(Picoseconds::from_nanos(20)));
    assert_eq!(none.unwrap_err().code(), ErrorCode::Deadline);
    slots[0].join(None).unwrap();
    output.unmap().unwrap();
    assert!(fs::read(path("out")).unwrap() == fs::read(path("in")).unwrap());
}
