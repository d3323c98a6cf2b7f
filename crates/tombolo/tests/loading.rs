//! Is a kernel that runs left alone by those who load others?

use std::fs;
use tempfile::TempDir;
use tombolo::{Card, Continue, Error, FunctionalCard, FunctionalConfig, MapOptions, SlotId};

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
