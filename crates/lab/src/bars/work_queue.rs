//! Work queue, an application of Tombolo: items per second that cores take from a queue behind the directory with plain
//! loads, and the cost of one.

use super::Failure;
use crate::row::Row;
use queue::{Queue, CONSUMERS};

#[path = "../../../tombolo/examples/work_queue/queue.rs"]
mod queue;

/// Rows produced.
pub const NAMES: &[&str] = &[
    "app.work_queue.mitems_s.1",
    "app.work_queue.mitems_s.2",
    "app.work_queue.mitems_s.4",
    "app.work_queue.mitems_s.8",
    "app.work_queue.mitems_s.16",
    "app.work_queue.take_ns",
    "app.work_queue.late_cycles",
    "app.work_queue.wrong",
];

const ITEMS: u64 = 1600;
/// Cycles between awaited items.
const PACE: u64 = 2000;
const AWAITED: u64 = 50;

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut queue = Queue::new()?;
    let row =
        |name: &str, value, unit: &str| Row::new(&format!("app.work_queue.{name}"), value, unit);
    let mut rows = Vec::new();
    let mut wrong = 0;
    let mut take = 0.0;
    for consumers in [1, 2, 4, 8, CONSUMERS] {
        let run = queue.run(consumers, ITEMS, 0)?;
        wrong += run.wrong;
        if consumers == 1 {
            take = run.ns;
        }
        let name = format!("mitems_s.{consumers}");
        rows.push(row(&name, 1000.0 / run.ns, "M items/s"));
    }
    rows.push(row("take_ns", take, "ns"));
    // The queue counts from the removal of one item to the next; the excess over the pace is time in which an item was
    // ready.
    let awaited = queue.run(4, AWAITED, PACE)?;
    wrong += awaited.wrong + awaited.in_vain;
    let late = awaited.ns / queue.cycle_ns()? - PACE as f64;
    rows.push(row("late_cycles", late, "cycles"));
    rows.push(row("wrong", wrong as f64, "items"));
    Ok(rows)
}
