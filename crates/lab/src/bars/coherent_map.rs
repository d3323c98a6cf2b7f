//! Coherent lines at ordinary addresses (CCKit, section 3.4), under threads, a core and a kernel.

use super::Failure;
use crate::row::{Row, Target};
use tombolo::{Card, OwnerOptions, ShellConfig, SimOptions, SlotId};

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
