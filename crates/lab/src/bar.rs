//! A bar: a measurement, and the rows that it gives.

use crate::failure::Failure;
use crate::row::Row;

/// What measures one or more figures.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// The figures.
    pub names: &'static [&'static str],
    /// Measures them.
    pub measure: fn() -> Result<Vec<Row>, Failure>,
}
