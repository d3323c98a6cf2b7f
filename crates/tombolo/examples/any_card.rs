//! Copies a file in several ways on a card that is named, a device behind vfio-pci above all: through two slots at once,
//! through streams, or with a kernel that is driven by its own registers.
//!
//! `cargo run --release --example any_card -- WAY CARD IN OUT`; WAY is `two_slots` (the kernel `copy` in slots 0 and 1; each
//! writes a half of OUT), `streams` (`loopback`) or `registers` (`dma_engine`), in slot 0.

use tombolo::{AddressSpace, Card, Continue, MapOptions, Slot, SlotId, VirtAddr};

type Failure = Box<dyn std::error::Error>;

/// Registers of `dma_engine`.
const STATUS: u32 = 0x04;
const LENGTH: u32 = 0x18;
const COMPLETE: u32 = 1 << 12;

fn two_slots(card: &Card, space: &AddressSpace, from: &str, to: &str) -> Result<(), Failure> {
    let input = space.map_file(from, MapOptions::read_only())?;
    let output = space.map_file(to, MapOptions::create(input.bytes()))?;
    let half = input.bytes() / 2 / 64 * 64; // the kernel wants whole rows
    let at = |base: VirtAddr, offset| VirtAddr::new(base.get() + offset).ok_or("an address");
    let mut slots: Vec<Slot> = Vec::new();
    for (number, offset, bytes) in [(0, 0, half), (1, half, input.bytes() - half)] {
        let slot = card.load(SlotId(number), "kernels/copy", space)?;
        slot.set_pointer("input", at(input.address(), offset)?)?;
        slot.set_pointer("output", at(output.address(), offset)?)?;
        slot.set("bytes", bytes)?;
        slots.push(slot);
    }
    for slot in &slots {
        slot.start()?;
    }
    for slot in &slots {
        slot.join(None)?;
    }
    output.unmap()?;
    Ok(())
}

fn streams(card: &Card, space: &AddressSpace, from: &str, to: &str) -> Result<(), Failure> {
    let input = space.map_file(from, MapOptions::read_only())?;
    let output = space.map_file(to, MapOptions::create(input.bytes()))?;
    let slot = card.load(SlotId(0), "kernels/loopback", space)?;
    let (into, out) = (slot.open_stream("in")?, slot.open_stream("out")?);
    out.write(output.all())?;
    into.read(input.all())?;
    let moved = out.wait(None, |_| Continue::Yes)?;
    output.unmap()?;
    println!("{} bytes, end of packet: {}", moved.bytes, moved.last);
    Ok(())
}

fn registers(card: &Card, space: &AddressSpace, from: &str, to: &str) -> Result<(), Failure> {
    let input = space.map_file(from, MapOptions::read_only())?;
    let output = space.map_file(to, MapOptions::create(input.bytes()))?;
    let slot = card.load(SlotId(0), "kernels/dma_engine", space)?;
    slot.set_pointer("source", input.address())?;
    slot.set_pointer("destination", output.address())?;
    slot.write_register(LENGTH, u32::try_from(input.bytes())?)?; // the length starts it
    slot.wait_register(STATUS, COMPLETE, COMPLETE, None)?;
    slot.write_register(STATUS, COMPLETE)?;
    output.unmap()?;
    Ok(())
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [way, card, from, to] = words.as_slice() else {
        return Err(
            "give a way (two_slots, streams, registers), a card, an input and an output file"
                .into(),
        );
    };
    let copy = match way.as_str() {
        "two_slots" => two_slots,
        "streams" => streams,
        "registers" => registers,
        other => return Err(format!("{other}: two_slots, streams or registers").into()),
    };
    let card = Card::open(card)?;
    let space = card.create_space()?;
    copy(&card, &space, from, to)
}
