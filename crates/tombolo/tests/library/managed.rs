//! Can a program drive a kernel whose registers only it knows, and are its faults served while it waits?

use card::sim::SimCard;
use std::fs;
use tempfile::TempDir;
use tombolo::{Card, Error, MapOptions, OwnerOptions, Picoseconds, SimOptions, SlotId, VirtAddr};

const CONTROL: u32 = 0x00;
const STATUS: u32 = 0x04;
const LENGTH: u32 = 0x18;
const COMPLETE: u32 = 1 << 12;
const LONG: Option<Picoseconds> = Some(Picoseconds::from_millis(100));

#[test]
fn a_dma_engine_is_driven_by_its_registers() {
    let card = SimCard::open(SimOptions::named("f1").unwrap(), |_| {}).unwrap();
    let card = Card::new(Box::new(card), OwnerOptions::default()).unwrap();
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let content: Vec<u8> = (0..5001u32).map(|n| (n % 251) as u8 | 1).collect();
    fs::write(&from, &content).unwrap();
    let space = card.create_space().unwrap();
    let input = space.map_file(&from, MapOptions::read_only()).unwrap();
    let output = MapOptions::create(input.bytes());
    let output = space.map_file(&to, output).unwrap();
    let engine = card::sim::home().join("kernels/dma_engine");
    let slot = card.load(SlotId(0), &engine, &space).unwrap();
    slot.set_pointer("source", input.address()).unwrap();
    slot.set_pointer("destination", output.address()).unwrap();
    let go = || slot.write_register(LENGTH, content.len() as u32).unwrap();

    // It faults twice at least, and the program waits for a register.
    go();
    let status = slot
        .wait_register(STATUS, COMPLETE, COMPLETE, LONG)
        .unwrap();
    assert_eq!(status & 2, 2, "idle");
    output.sync().unwrap();
    assert!(fs::read(&to).unwrap() == content);
    assert!(card.report().unwrap().paging.faults >= 2);

    // Not in time: the slot is held, and begins anew with its arguments.
    slot.write_register(STATUS, COMPLETE).unwrap();
    go();
    let short = Some(Picoseconds::from_micros(1));
    let error = slot
        .wait_register(STATUS, COMPLETE, COMPLETE, short)
        .unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }), "{error}");
    assert!(slot.write_register(LENGTH, 1).is_err());
    slot.start().unwrap();

    // By interrupt.
    slot.write_register(CONTROL, 1 << 12).unwrap();
    go();
    assert_eq!(slot.wait_interrupt(LONG).unwrap(), 1);
    let status = slot.read_register(STATUS).unwrap();
    assert_eq!(status & COMPLETE, COMPLETE);
    slot.write_register(STATUS, COMPLETE).unwrap();

    // An access that fails ends the wait, and the slot can be used again.
    let nowhere = VirtAddr::new(0x7000_0000_0000).unwrap();
    slot.set_pointer("source", nowhere).unwrap();
    go();
    let error = slot
        .wait_register(STATUS, COMPLETE, COMPLETE, LONG)
        .unwrap_err();
    assert!(matches!(error, Error::Access(_)), "{error}");
    slot.set_pointer("source", input.address()).unwrap();
    slot.start().unwrap();
    go();
    slot.wait_register(STATUS, COMPLETE, COMPLETE, LONG)
        .unwrap();
    output.unmap().unwrap();
    assert!(fs::read(&to).unwrap() == content);
}
