//! Figures of coherence protocols.

use super::Failure;
use crate::progress::Progress;
use crate::row::Row;
use protocol::bench::{self, Figure};

/// Number of single-point mutations of each protocol.
const MUTANTS: usize = 400;

pub fn measure() -> Result<Vec<Row>, Failure> {
    let folder = simcard::home().join("protocols");
    let mut progress = Progress::of("protocol");
    let figures = bench::all(&folder, MUTANTS, &mut |point| progress.at(point))?;
    Ok(figures.iter().map(row).collect())
}

/// Figures of a protocol with owners.
pub fn owners() -> Result<Vec<Row>, Failure> {
    let folder = simcard::home().join("protocols");
    let mut progress = Progress::of("protocol");
    let figures = bench::owners(&folder, MUTANTS, &mut |point| progress.at(point))?;
    Ok(figures.iter().map(row).collect())
}

fn row(figure: &Figure) -> Row {
    Row::new(figure.name, figure.value, figure.unit)
}
