//! A core and a kernel contend for the rows of a table (CCKit, section 5.4).
//!
//!     cargo run --release --example contended_table
//!
//! Kernel `kernels/shared_table` locks rows and counts in them; a core scans the whole table and counts in each
//! row. The more rows the kernel takes, the more of the core's accesses have to fetch them back. The first run
//! builds the shell's model, which takes a minute or two.

#[path = "../common/command.rs"]
mod command;
mod contention;

use command::{command, Failure};
use contention::{Table, ROWS};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo run --release --example contended_table

Lets a core and kernel shared_table contend for rows, from none to all of them.
The first run builds the shell's model, which takes a minute or two.";

fn main() -> ExitCode {
    command(std::env::args_os(), USAGE, 0, |_| run())
}

fn run() -> Result<(), Failure> {
    let mut table = Table::new()?;
    // The first pass brings every row to the CPU.
    let away = table.scan()?;
    let here = table.scan()?;
    println!("a row that the CPU has: {here:.1} ns; one that it has to fetch: {away:.1} ns\n");
    println!("rows taken   million rows/s   by these two");
    for percent in [1, 2, 5, 10, 25, 50, 75, 100] {
        let rows = (ROWS * percent).div_ceil(100);
        let cost = table.contend(rows)?;
        let share = rows as f64 / ROWS as f64;
        let form = (1.0 - share) * here + share * away;
        let (rate, expected) = (1000.0 / cost, 1000.0 / form);
        println!("{:9.1}%   {rate:14.2}   {expected:12.2}", 100.0 * share);
    }

    // Nothing is lost, whoever changed a row last.
    let wrong = table.wrong()?;
    let counted: u64 = table.updates.iter().sum();
    let passes = table.passes;
    println!("\n{passes} passes of the core, {counted} updates of the kernel: {wrong} rows wrong");
    match wrong {
        0 => Ok(()),
        _ => Err("rows are not what was counted".into()),
    }
}
