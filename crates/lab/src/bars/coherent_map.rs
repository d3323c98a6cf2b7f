//! Coherent lines at ordinary addresses (CCKit, section 3.4), accessed by threads, a core and a kernel; and the CPU's
//! own lines, cached by the card (section 3.2).

use super::Failure;
use crate::row::Row;
use tombolo::{
    Card, CoherentMemory, Continue, OwnerOptions, ShellConfig, SimOptions, Slot, SlotId,
};

#[path = "../../../tombolo/tests/common/line_cores.rs"]
mod line_cores;
#[path = "../../../tombolo/tests/common/line_threads.rs"]
mod line_threads;

const LINE_BYTES: u64 = 128;
const ACCESSES: u64 = 1_000_000;
/// Core operations that are checked exactly.
const OPERATIONS: u64 = 1_000_000;
/// Lines of card memory that they access, four times the directory's capacity, and the lines in which a kernel counts.
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
        Row::new("coherent.map_unexplained", unexplained, "accesses"),
        Row::new("coherent.map_accesses", accesses, "accesses"),
    ])
}

/// A small directory in the shell, backed by card memory: a million core operations, concurrently with a kernel that
/// locks, reads and writes the same lines.
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
    // More iterations than it can complete in that time; it is stopped.
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
    // It increments word 1 of each line in order, so the counts differ by at most one plus the outstanding operations.
    let mut counts = Vec::new();
    for line in 0..COUNTED {
        let bytes = memory.load(line * LINE_BYTES)?;
        counts.push(u64::from_le_bytes(bytes[8..16].try_into()?));
    }
    let (least, most) = (counts.iter().min(), counts.iter().max());
    let spread = most.unwrap_or(&0) - least.unwrap_or(&0);
    unexplained += u64::from(spread > 1 || most == Some(&0));
    Ok(vec![
        Row::new("coherent.shell_unexplained", unexplained as f64, "accesses"),
        Row::new(
            "coherent.shell_kernel_updates",
            counts.iter().sum::<u64>() as f64,
            "lines",
        ),
    ])
}

/// Starts kernel `host_counter` with one or several outstanding lines; its kernel.toml lists the modes.
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

/// The line that receives the kernel's count.
const RESULT: u64 = (LINES + COUNTED) * LINE_BYTES;

/// Latency of a kernel access in nanoseconds, from port to port, with one outstanding.
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

/// The CPU's own lines: access latency from the card, and a million core operations concurrently with a kernel that
/// adds to words of the same lines under holds.
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
    // More iterations than it can complete in that time; it is stopped.
    start(&slot, 0, COUNTED, u64::from(u32::MAX), 8, 0)?;
    let used = memory.part(0, LINES * LINE_BYTES)?;
    let mut unexplained = line_cores::unexplained(&used, OPERATIONS);
    slot.close()?;
    // It increments word 1 of each line in order, so the counts differ by at most one.
    let mut counts = Vec::new();
    for line in 0..COUNTED {
        let bytes = memory.load(line * LINE_BYTES)?;
        counts.push(u64::from_le_bytes(bytes[8..16].try_into()?));
    }
    let (least, most) = (counts.iter().min(), counts.iter().max());
    let spread = most.unwrap_or(&0) - least.unwrap_or(&0);
    unexplained += u64::from(spread > 1 || most == Some(&0));
    Ok(vec![
        Row::new("coherent.host_load_ns", load, "ns"),
        Row::new("coherent.host_store_ns", store, "ns"),
        Row::new("coherent.host_hit_ns", hit, "ns"),
        Row::new("coherent.host_unexplained", unexplained as f64, "accesses"),
        Row::new(
            "coherent.host_kernel_updates",
            counts.iter().sum::<u64>() as f64,
            "lines",
        ),
    ])
}
