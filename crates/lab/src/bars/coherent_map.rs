//! Coherent lines at ordinary addresses (CCKit, section 3.4), under threads, a core and a kernel; and the CPU's own
//! lines, which the card caches (section 3.2).

use super::Failure;
use crate::row::{Row, Target};
use tombolo::{
    Card, CoherentMemory, Continue, OwnerOptions, ShellConfig, SimOptions, Slot, SlotId,
};

#[path = "../../../tombolo/tests/common/line_cores.rs"]
mod line_cores;
#[path = "../../../tombolo/tests/common/line_threads.rs"]
mod line_threads;

const LINE_BYTES: u64 = 128;
const ACCESSES: u64 = 1_000_000;
/// Exact operations of cores.
const OPERATIONS: u64 = 1_000_000;
/// Lines of card memory for them, four times as many as the directory has places for, and those in which a kernel counts.
const LINES: u64 = 4096;
const COUNTED: u64 = 256;

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent();
    let card = Card::simulated(options, OwnerOptions::default(), |_| {})?;
    let found = line_threads::beside_a_kernel(&card, ACCESSES);
    let unexplained = found.unexplained as f64;
    let accesses = found.accesses as f64;
    Ok(vec![
        Row::new(
            "coherent.map_unexplained",
            unexplained,
            "accesses",
            Target::Exactly(0.0),
        ),
        Row::new(
            "coherent.map_accesses",
            accesses,
            "accesses",
            Target::AtLeast(ACCESSES as f64),
        ),
    ])
}

/// The directory in the shell, small, with card memory behind it: a million operations of cores, beside a kernel that locks
/// the same lines, reads and writes them.
pub fn in_the_shell() -> Result<Vec<Row>, Failure> {
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent();
    let kernel = options.home.join("kernels/memory_table");
    let owner = OwnerOptions {
        home_bytes: LINES * LINE_BYTES,
        ..OwnerOptions::default()
    };
    let card = Card::simulated(options, owner, |_| {})?;
    let memory = card.home_memory()?;
    let space = card.create_space()?;
    let slot = card.load(SlotId(0), &kernel, &space)?;
    // More than it can do in that time: it is stopped.
    let arguments = [
        ("base", 0),
        ("rows", COUNTED),
        ("updates", u64::from(u32::MAX)),
        ("inflight", 4),
    ];
    for (argument, value) in arguments {
        slot.set(argument, value)?;
    }
    slot.start()?;
    let mut unexplained = line_cores::unexplained(&memory, OPERATIONS);
    slot.close()?;
    // It counts in the lines' word 1, in their order: the counts differ by one at most, and by what is under way.
    let mut counts = Vec::new();
    for line in 0..COUNTED {
        let bytes = memory.load(line * LINE_BYTES)?;
        counts.push(u64::from_le_bytes(bytes[8..16].try_into()?));
    }
    let (least, most) = (counts.iter().min(), counts.iter().max());
    let spread = most.unwrap_or(&0) - least.unwrap_or(&0);
    unexplained += u64::from(spread > 1 || most == Some(&0));
    Ok(vec![
        Row::new(
            "coherent.shell_unexplained",
            unexplained as f64,
            "accesses",
            Target::Exactly(0.0),
        ),
        Row::new(
            "coherent.shell_kernel_updates",
            counts.iter().sum::<u64>() as f64,
            "lines",
            Target::Shown,
        ),
    ])
}

/// Starts kernel `host_counter`, one line under way at a time or several; modes are those of its kernel.toml.
fn start(
    slot: &Slot,
    base: u64,
    rows: u64,
    updates: u64,
    inflight: u64,
    mode: u64,
) -> Result<(), Failure> {
    let arguments = [
        ("base", base),
        ("rows", rows),
        ("updates", updates),
        ("inflight", inflight),
        ("mode", mode),
        ("result", RESULT),
    ];
    for (argument, value) in arguments {
        slot.set(argument, value)?;
    }
    Ok(slot.start()?)
}

/// The controller alone, 339.9 and 18.6 ns, and a register of 3.1 ns each way at the slot; of a miss one more at the link.
const MISS_NS: f64 = 349.3;
const HIT_NS: f64 = 24.9;
/// What the kernel counts goes to this line.
const RESULT: u64 = (LINES + COUNTED) * LINE_BYTES;

/// Nanoseconds of an access of the kernel, from its port to its port, with one under way.
fn latency(
    slot: &Slot,
    memory: &CoherentMemory,
    base: u64,
    mode: u64,
    period_ns: f64,
) -> Result<f64, Failure> {
    const ACCESSES: u64 = 64;
    start(slot, base, ACCESSES, ACCESSES, 1, mode)?;
    slot.wait(None, |_| Continue::Yes)?;
    let result = memory.load(RESULT)?;
    let cycles = u64::from_le_bytes(result[..8].try_into()?);
    Ok(cycles as f64 * period_ns / ACCESSES as f64)
}

/// The CPU's own lines: what an access of the card takes, and a million operations of cores beside a kernel that adds to
/// words of the same lines under holds.
pub fn of_the_cpu() -> Result<Vec<Row>, Failure> {
    const LOAD: u64 = 1;
    const STORE: u64 = 2;
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent_host();
    let period_ns = options.platform.clock().period_ps.get() as f64 / 1e3;
    let kernel = options.home.join("kernels/host_counter");
    let card = Card::simulated(options, OwnerOptions::default(), |_| {})?;
    let memory = card.host_lines()?;
    let space = card.create_space()?;
    let slot = card.load(SlotId(0), &kernel, &space)?;
    let (fresh, other) = (1 << 24, 1 << 25);
    let load = latency(&slot, &memory, fresh, LOAD, period_ns)?;
    let hit = latency(&slot, &memory, fresh, LOAD, period_ns)?;
    let store = latency(&slot, &memory, other, STORE, period_ns)?;
    // More than it can do in that time: it is stopped.
    start(&slot, 0, COUNTED, u64::from(u32::MAX), 8, 0)?;
    let used = memory.part(0, LINES * LINE_BYTES)?;
    let mut unexplained = line_cores::unexplained(&used, OPERATIONS);
    slot.close()?;
    // It adds 1 to the lines' word 1, in their order: the counts differ by one at most.
    let mut counts = Vec::new();
    for line in 0..COUNTED {
        let bytes = memory.load(line * LINE_BYTES)?;
        counts.push(u64::from_le_bytes(bytes[8..16].try_into()?));
    }
    let (least, most) = (counts.iter().min(), counts.iter().max());
    let spread = most.unwrap_or(&0) - least.unwrap_or(&0);
    unexplained += u64::from(spread > 1 || most == Some(&0));
    Ok(vec![
        Row::new("coherent.host_load_ns", load, "ns", Target::AtMost(MISS_NS)),
        Row::new(
            "coherent.host_store_ns",
            store,
            "ns",
            Target::AtMost(MISS_NS),
        ),
        Row::new("coherent.host_hit_ns", hit, "ns", Target::AtMost(HIT_NS)),
        Row::new(
            "coherent.host_unexplained",
            unexplained as f64,
            "accesses",
            Target::Exactly(0.0),
        ),
        Row::new(
            "coherent.host_kernel_updates",
            counts.iter().sum::<u64>() as f64,
            "lines",
            Target::Shown,
        ),
    ])
}
