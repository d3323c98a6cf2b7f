//! A bar: a measurement, with the rows that it produces.

use crate::failure::Failure;
use crate::row::Row;

/// A measurement of one or more figures.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Names of the figures it produces.
    pub names: &'static [&'static str],
    /// Measures them.
    pub measure: fn() -> Result<Vec<Row>, Failure>,
}
