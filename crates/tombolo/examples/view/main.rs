//! A table of orders behind the directory, and a view over it that the card keeps (CCKit, section 5.6):
//!
//!     SELECT SUM(O_TOTALPRICE) FROM ORDERS GROUP BY O_CUSTKEY ORDER BY O_CUSTKEY;
//!
//!     cargo run --release --example view
//!
//! The program appends orders through its caches and commits by a load; then the view is up to date, with no
//! flush or fence. Kernel `kernels/view` calls the new lines home, adds them, or makes the view anew from the
//! whole table, as the paper's does. The first run builds the shell's model, which takes some minutes.

#[path = "../common/command.rs"]
mod command;
mod orders;

use command::{command, Failure};
use orders::{orders, Order, Orders, LINE};
use std::collections::BTreeMap;
use std::process::ExitCode;

const CUSTOMERS: u64 = 1500;
/// Orders of a transaction.
const SIZES: [usize; 6] = [1, 10, 100, 1000, 2500, 10_000];
/// Bytes a second of the coherent link.
const LINK: f64 = 21_474_836_480.0;

const USAGE: &str = "\
Usage: cargo run --release --example view

Appends orders to a table behind the directory, commits, and compares kernel view's materialised view with its own.
The first run builds the shell's model, which takes some minutes.";

fn main() -> ExitCode {
    command(std::env::args_os(), USAGE, 0, |_| run())
}

fn run() -> Result<(), Failure> {
    let rows = 2 * SIZES.iter().sum::<usize>() as u64;
    let mut table = Orders::new(rows, CUSTOMERS)?;
    let mut next = orders(CUSTOMERS, 16);
    let mut all = Vec::new();
    let mut wrong = 0;
    println!("orders appended   in the table   view             ns     cycles   share of the link");
    for recompute in [false, true] {
        table.recompute(recompute)?;
        for size in SIZES {
            let batch: Vec<_> = (0..size).map(|_| next()).collect();
            table.append(&batch)?;
            all.extend(batch);
            let commit = table.commit()?;
            let ns = commit.took.get() as f64 / 1000.0;
            let share = (size as u64 * LINE) as f64 / (ns * 1e-9) / LINK;
            let how = if recompute { "anew" } else { "added to" };
            println!(
                "{size:15}   {:12}   {how:8}   {ns:9.0}   {:8}   {share:17.3}",
                commit.tuples, commit.cycles
            );
            wrong += u64::from(commit.tuples != all.len() as u64 || commit.refused != 0);
            wrong += u64::from(table.view()? != expected(&all));
        }
    }
    println!("\nviews that are not the query's result: {wrong}");
    match wrong {
        0 => Ok(()),
        _ => Err("the view is wrong".into()),
    }
}

/// The same view, made by the program.
fn expected(tuples: &[Order]) -> BTreeMap<u64, (u64, u64)> {
    let mut rows = BTreeMap::new();
    for order in tuples {
        let (orders, sum) = rows.entry(order.customer).or_insert((0, 0));
        *orders += 1;
        *sum += order.price;
    }
    rows
}
