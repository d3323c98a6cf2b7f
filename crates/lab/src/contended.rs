//! Three slots on the only memory channel of an F1 card; data and page tables are on the card.

use crate::direct::{Bench, Lane};
use crate::failure::Failure;
use card::Card;
use simcard::SimOptions;
use units::{Priority, SlotId, SlotSchedule};

const SLOTS: u8 = 3;
/// Numbers of the contending slots.
pub const ALL: [u8; 3] = [0, 1, 2];
/// Size of a chunk in bytes.
pub const CHUNK: u64 = 16 << 10;

/// Equal priorities.
pub const PLAIN: [Priority; 3] = [Priority::Normal; 3];
/// Slot 0 has priority.
pub const FIRST: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Normal];

fn options() -> Result<SimOptions, Failure> {
    let mut options = SimOptions::named("f1")?;
    // One more slot than is used.
    options.shell.slots = SLOTS + 1;
    options.shell.channels = 1;
    options.shell.queues = 5;
    Ok(options)
}

/// Opens the card with a kernel in each of the three slots.
pub fn open(kernel: &str, bytes: u64) -> Result<Bench, Failure> {
    let lanes = (0..SLOTS.into()).map(Lane::shared).collect();
    Bench::open_lanes(options()?, kernel, bytes, lanes)
}

/// Sets the schedules of the slots.
pub fn schedule(bench: &mut Bench, schedules: [SlotSchedule; 3]) -> Result<(), Failure> {
    for (slot, schedule) in (0..).zip(schedules) {
        bench.card().schedule_slot(SlotId(slot), schedule)?;
    }
    Ok(())
}

/// Sets the priorities of the slots, and leaves the rest at its default.
pub fn prioritize(bench: &mut Bench, priorities: [Priority; 3]) -> Result<(), Failure> {
    schedule(bench, priorities.map(SlotSchedule::from))
}

/// Slots with the perf kernel, each with `window` chunks outstanding.
pub fn perf(bytes: u64, window: u64, pause: u64) -> Result<Bench, Failure> {
    let mut bench = open("perf", bytes)?;
    for slot in ALL {
        bench.set_argument_of(slot, "chunk", CHUNK)?;
        bench.set_argument_of(slot, "window", window)?;
        bench.set_argument_of(slot, "pause", pause)?;
    }
    Ok(bench)
}
