//! A measured figure.

use serde::{Deserialize, Serialize};

/// A measured figure. Its target and published value are the [`Claim`](crate::claim::Claim) of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the figure.
    pub name: String,
    /// Measured value, in `unit`.
    pub value: f64,
    /// Unit of the value.
    pub unit: String,
}

impl Row {
    /// A figure, with its value in `unit`.
    pub fn new(name: &str, value: f64, unit: &str) -> Self {
        Self {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
        }
    }

    /// A Boolean figure, as 1 or 0.
    pub fn holds(name: &str, value: bool) -> Self {
        Self::new(name, f64::from(u8::from(value)), "bool")
    }
}
