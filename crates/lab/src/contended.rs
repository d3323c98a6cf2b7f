//! Three slots on the one memory channel of an F1 card; data and page tables are on the card.

use crate::direct::{Bench, Lane};
use crate::failure::Failure;
use card::Card;
use simcard::SimOptions;
use units::{Priority, SlotId, SlotSchedule};

const SLOTS: u8 = 3;
/// The slots.
pub const ALL: [u8; 3] = [0, 1, 2];
/// Bytes of a chunk.
pub const CHUNK: u64 = 16 << 10;

/// All alike.
pub const PLAIN: [Priority; 3] = [Priority::Normal; 3];
/// Slot 0 goes first.
pub const FIRST: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Normal];

fn options() -> Result<SimOptions, Failure> {
    let mut options = SimOptions::named("f1")?;
    // One more than work.
    options.shell.slots = SLOTS + 1;
    options.shell.channels = 1;
    options.shell.queues = 5;
    Ok(options)
}

/// Opens the card with a kernel in each of its three slots.
pub fn open(kernel: &str, bytes: u64) -> Result<Bench, Failure> {
    let lanes = (0..SLOTS.into()).map(Lane::shared).collect();
    Bench::open_lanes(options()?, kernel, bytes, lanes)
}

/// Schedules the slots.
pub fn schedule(bench: &mut Bench, schedules: [SlotSchedule; 3]) -> Result<(), Failure> {
    for (slot, schedule) in (0..).zip(schedules) {
        bench.card().schedule_slot(SlotId(slot), schedule)?;
    }
    Ok(())
}

/// Gives the slots these priorities, and nothing else.
pub fn prioritize(bench: &mut Bench, priorities: [Priority; 3]) -> Result<(), Failure> {
    schedule(bench, priorities.map(SlotSchedule::from))
}

/// Slots with that kernel, each with so many chunks outstanding.
pub fn perf(bytes: u64, window: u64, pause: u64) -> Result<Bench, Failure> {
    let mut bench = open("perf", bytes)?;
    for slot in ALL {
        bench.set_argument_of(slot, "chunk", CHUNK)?;
        bench.set_argument_of(slot, "window", window)?;
        bench.set_argument_of(slot, "pause", pause)?;
    }
    Ok(bench)
}
