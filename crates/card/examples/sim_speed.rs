//! How fast the simulated card runs: nanoseconds of this machine for each evaluated cycle.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use timing::platform::Platform;
use tombolo_card::command::{Command, CommandId, Operation};
use tombolo_card::memory::HostMemory;
use tombolo_card::sim::{platform_directories, SimCard, SimOptions};
use tombolo_card::Card;
use units::CardAddr;

fn main() -> Result<(), Box<dyn Error>> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let platform = Platform::named("f1", &platform_directories(&home))?;
    let mut card = SimCard::open(SimOptions::new(platform), |progress| {
        eprintln!("{progress:?}")
    })?;
    let bytes = 8 << 20;
    let memory = Arc::new(HostMemory::allocate(2 * bytes)?);
    let at = card.map_host(memory.clone())?;
    let to = CardAddr::new(0).ok_or("address")?;
    let size = bytes as u64;
    for (name, operation) in [
        (
            "copy in",
            Operation::CopyIn {
                from: at,
                to,
                bytes: size,
            },
        ),
        (
            "copy out",
            Operation::CopyOut {
                from: to,
                to: at.offset(size),
                bytes: size,
            },
        ),
    ] {
        let before = card.statistics()?;
        let start = Instant::now();
        card.submit(Command {
            id: CommandId(1),
            operation,
            fence: false,
            notify: true,
        })?;
        card.wait(None)?;
        let wall = start.elapsed();
        let after = card.statistics()?;
        let cycles = after.cycles - before.cycles;
        let evaluated = after.evaluated_cycles - before.evaluated_cycles;
        println!(
            "{name}: {cycles} cycles ({evaluated} evaluated), {:.0} ns per evaluated cycle, {:.0} kHz, {:.1} MB/s",
            wall.as_nanos() as f64 / evaluated as f64,
            cycles as f64 / wall.as_secs_f64() / 1e3,
            bytes as f64 / wall.as_secs_f64() / 1e6,
        );
    }
    Ok(())
}
