//! Materialised view (CCKit, section 5.6 and figure 9): a commit of n orders that the CPU has appended, with the view
//! updated or rebuilt. sqlite answers the same query over the same orders.

use super::Failure;
use crate::row::Row;
use orders::{orders, Orders, LINE};
use std::fmt::Write;
use std::process::Command;

#[path = "../../../tombolo/examples/view/orders.rs"]
mod orders;

/// Number of customers at scale factor 0.01.
const CUSTOMERS: u64 = 1500;
const SIZES: [usize; 5] = [100, 1000, 2500, 10_000, 50_000];
const ANEW: [usize; 3] = [100, 1000, 10_000];
/// Bandwidth of the coherent link in bytes per second.
const LINK: f64 = 21_474_836_480.0;

/// Reads `customer price` lines; prints the query's result. Only the sum is selected, as in the paper; the query orders
/// by customer.
const SQLITE: &str = "
import sqlite3, sys
table = sqlite3.connect(':memory:')
table.execute('CREATE TABLE ORDERS (O_CUSTKEY INTEGER, O_TOTALPRICE INTEGER)')
table.executemany('INSERT INTO ORDERS VALUES (?, ?)', (line.split() for line in open(sys.argv[1])))
query = 'SELECT SUM(O_TOTALPRICE) FROM ORDERS GROUP BY O_CUSTKEY ORDER BY O_CUSTKEY'
for (total,) in table.execute(query):
    print(total)
";

/// Result of the query from sqlite.
fn sqlite(tuples: &[orders::Order], folder: &std::path::Path) -> Result<Vec<u64>, Failure> {
    let mut text = String::new();
    for order in tuples {
        writeln!(text, "{} {}", order.customer, order.price)?;
    }
    let path = folder.join("orders.txt");
    std::fs::write(&path, text)?;
    let output = Command::new("python3")
        .arg("-c")
        .arg(SQLITE)
        .arg(&path)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let printed = String::from_utf8(output.stdout)?;
    printed.lines().map(|line| Ok(line.parse()?)).collect()
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let all_rows = SIZES.iter().sum::<usize>() + ANEW.iter().sum::<usize>();
    let mut table = Orders::new(all_rows as u64, CUSTOMERS)?;
    let mut next = orders(CUSTOMERS, 16);
    let mut all = Vec::new();
    let mut wrong = 0;
    let mut rows = Vec::new();
    for (anew, sizes) in [(false, SIZES.as_slice()), (true, ANEW.as_slice())] {
        table.recompute(anew)?;
        for &size in sizes {
            let batch: Vec<_> = (0..size).map(|_| next()).collect();
            table.append(&batch)?;
            all.extend(batch);
            let commit = table.commit()?;
            let ns = commit.took.get() as f64 / 1000.0;
            let share = (size as u64 * LINE) as f64 / (ns * 1e-9) / LINK;
            let view: Vec<u64> = table.view()?.into_values().map(|(_, sum)| sum).collect();
            wrong += u64::from(commit.tuples != all.len() as u64 || commit.refused != 0);
            wrong += u64::from(view != sqlite(&all, folder.path())?);
            if anew {
                let name = format!("app.view.anew_ns.{size}");
                rows.push(Row::new(&name, ns, "ns"));
                let name = format!("app.view.anew_cycles.{size}");
                rows.push(Row::new(&name, commit.cycles as f64, "cycles"));
                continue;
            }
            let name = format!("app.view.share_of_link.{size}");
            rows.push(Row::new(&name, share, "of the link"));
        }
    }
    rows.push(Row::new("app.view.wrong", wrong as f64, "views"));
    Ok(rows)
}
