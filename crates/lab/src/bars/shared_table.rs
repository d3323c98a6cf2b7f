//! Shared table (CCKit, section 5.4 and figure 7): rows per second of a core that counts in every row, while a kernel
//! locks and changes part of them.

use super::Failure;
use crate::row::Row;
use contention::{Table, ROWS};

#[path = "../../../tombolo/examples/contended_table/contention.rs"]
mod contention;

const PERCENT: [u64; 8] = [1, 2, 5, 10, 25, 50, 75, 100];

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut table = Table::new()?;
    // Uncontended cost of a row that the CPU must fetch, and of one that it holds.
    let away = table.scan()?;
    let here = table.scan()?;
    let rate = 1000.0 / here;
    let row =
        |name: &str, value, unit: &str| Row::new(&format!("app.shared_table.{name}"), value, unit);
    let mut rows = vec![row("mrows_s.0", rate, "M rows/s")];
    let mut worst = 0.0_f64;
    for percent in PERCENT {
        let taken = (ROWS * percent).div_ceil(100);
        let cost = table.contend(taken)?;
        let share = taken as f64 / ROWS as f64;
        let form = (1.0 - share) * here + share * away;
        worst = worst.max((form / cost - 1.0).abs());
        let rate = 1000.0 / cost;
        rows.push(row(&format!("mrows_s.{percent}"), rate, "M rows/s"));
    }
    let off = 100.0 * worst;
    rows.push(row("off_closed_form", off, "%"));
    let wrong = table.wrong()? as f64;
    rows.push(row("wrong", wrong, "rows"));
    Ok(rows)
}
