//! Cores take work from a queue on the card with plain loads: no lock, no atomic, no poll, no interrupt.
//!
//!     cargo run --release --example work_queue
//!
//! Kernel `kernels/work_queue` stands behind the directory. A core loads a line of its own; the kernel answers with
//! the next item, or, while there is none, keeps the load waiting. The first run builds the shell's model, which takes
//! a minute or two.

#[path = "../common/command.rs"]
mod command;
mod queue;

use command::{command, Failure};
use queue::{Queue, CONSUMERS};
use std::process::ExitCode;

/// Items of a run.
const ITEMS: u64 = 400;
/// Cycles from an item that is taken to the next one, in the slow run: six microseconds.
const SLOW: u64 = 2000;

const USAGE: &str = "\
Usage: cargo run --release --example work_queue

Cores take items from kernel work_queue with plain loads.
The first run builds the shell's model, which takes a minute or two.";

fn main() -> ExitCode {
    command(std::env::args_os(), USAGE, 0, |_| run())
}

fn run() -> Result<(), Failure> {
    let mut queue = Queue::new()?;
    let mut wrong = 0;
    println!("cores   million items/s   ns an item   items of each core");
    for consumers in [1, 2, 4, 8, CONSUMERS] {
        let run = queue.run(consumers, ITEMS, 0)?;
        let (least, most) = (run.taken.iter().min(), run.taken.iter().max());
        println!(
            "{consumers:5}   {:15.2}   {:10.1}   {} to {}",
            1000.0 / run.ns,
            run.ns,
            least.unwrap_or(&0),
            most.unwrap_or(&0)
        );
        wrong += run.wrong;
    }

    // Cores that wait cost nothing: a load is under way, and that is all.
    let run = queue.run(4, 50, SLOW)?;
    let cycles = run.ns / queue.cycle_ns()?;
    println!(
        "\nan item every {SLOW} cycles, four cores wait: one of them has it every {cycles:.0} cycles; {} loads in vain",
        run.in_vain
    );
    wrong += run.wrong;
    println!("{wrong} items lost, taken twice or wrong");
    match wrong {
        0 => Ok(()),
        _ => Err("items are not what was queued".into()),
    }
}
