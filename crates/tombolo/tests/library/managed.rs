//! Can a program drive a kernel whose registers only it knows, and are its faults served while it waits?

use simcard::SimCard;
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
    let engine = simcard::home().join("kernels/dma_engine");
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

    // Not in time: it goes on, and is done later.
    output.sync().unwrap();
    slot.write_register(STATUS, COMPLETE).unwrap();
    go();
    let short = Some(Picoseconds::from_micros(1));
    let error = slot
        .wait_register(STATUS, COMPLETE, COMPLETE, short)
        .unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }), "{error}");
    slot.wait_register(STATUS, COMPLETE, COMPLETE, LONG)
        .unwrap();
    slot.write_register(STATUS, COMPLETE).unwrap();
    let error = slot.wait_interrupt(short).unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }), "{error}");

    // By interrupt.
    slot.write_register(CONTROL, 1 << 12).unwrap();
    go();
    slot.join(LONG).unwrap();
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

/// As every program does that maps the registers of a device.
#[test]
fn a_program_that_polls_makes_progress() {
    let card = SimCard::open(SimOptions::named("f1").unwrap(), |_| {}).unwrap();
    let card = Card::new(Box::new(card), OwnerOptions::default()).unwrap();
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let content: Vec<u8> = (0..70_001u32).map(|n| (n % 251) as u8 | 1).collect();
    fs::write(&from, &content).unwrap();
    let space = card.create_space().unwrap();
    let input = space.map_file(&from, MapOptions::read_only()).unwrap();
    let output = MapOptions::create(input.bytes());
    let output = space.map_file(&to, output).unwrap();
    let slot = |kernel: &str| {
        let kernel = simcard::home().join("kernels").join(kernel);
        card.load(SlotId(0), &kernel, &space).unwrap()
    };
    let poll = |slot: &tombolo::Slot, offset, mask| {
        for _ in 0..100_000 {
            let word = slot.read_register(offset)?;
            if word & mask != 0 {
                return Ok(word);
            }
        }
        panic!("it polls for ever");
    };
    let engine = slot("dma_engine");
    engine.set_pointer("source", input.address()).unwrap();
    engine.set_pointer("destination", output.address()).unwrap();
    engine.write_register(LENGTH, content.len() as u32).unwrap();
    poll(&engine, STATUS, COMPLETE).unwrap();
    output.sync().unwrap();
    assert!(fs::read(&to).unwrap() == content);
    assert!(card.report().unwrap().paging.faults >= 2);

    // What goes wrong ends the loop.
    engine.write_register(STATUS, COMPLETE).unwrap();
    let nowhere = VirtAddr::new(0x7000_0000_0000).unwrap();
    engine.set_pointer("source", nowhere).unwrap();
    engine.write_register(LENGTH, content.len() as u32).unwrap();
    let error = poll(&engine, STATUS, COMPLETE).unwrap_err();
    assert!(matches!(error, Error::Access(_)), "{error}");
    engine.start().unwrap();

    // A kernel with ap_start is polled too: done is bit 1, and its end is told by `join` nevertheless.
    let copy = slot("copy");
    copy.set_pointer("input", input.address()).unwrap();
    copy.set_pointer("output", output.address()).unwrap();
    copy.set("bytes", 4096).unwrap();
    copy.start().unwrap();
    poll(&copy, 0x18, u32::MAX).unwrap();
    copy.join(LONG).unwrap();
    output.unmap().unwrap();
}
