//! A bar: a named figure with a target.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One row of `bench/results.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the bar.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// What it should be, in words.
    pub target: String,
    /// Whether it is; figures without a target are always met.
    pub met: bool,
    /// What measures it.
    pub command: String,
    /// The commit of the tree that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The day of the measurement (UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// What a figure is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// Exactly this.
    Exactly(f64),
    /// Printed beside the paper's figure.
    Beside(f64),
    /// Printed only.
    Shown,
}

impl Row {
    /// A figure and its target.
    pub fn new(name: &str, value: f64, unit: &str, target: Target) -> Self {
        let (words, met) = match target {
            Target::AtLeast(bound) => (format!("≥ {bound}"), value >= bound),
            Target::AtMost(bound) => (format!("≤ {bound}"), value <= bound),
            Target::Exactly(wanted) => (format!("= {wanted}"), value == wanted),
            Target::Beside(paper) => (format!("paper {paper}"), true),
            Target::Shown => ("shown".to_owned(), true),
        };
        Self {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            target: words,
            met: met && value.is_finite(),
            command: format!("make bench ONLY={name}"),
            commit: None,
            date: None,
        }
    }

    /// A yes or no, as 1 or 0.
    pub fn holds(name: &str, value: bool) -> Self {
        Self::new(
            name,
            f64::from(u8::from(value)),
            "bool",
            Target::Exactly(1.0),
        )
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let met = if self.met { "met" } else { "MISSED" };
        let value = if self.value.fract() == 0.0 {
            format!("{:.0}", self.value)
        } else {
            format!("{:.4}", self.value)
        };
        write!(
            f,
            "{:<36}{value:>14} {:<10} {:<12}{met}",
            self.name, self.unit, self.target
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_decide() {
        assert!(Row::new("a", 0.97, "", Target::AtLeast(0.97)).met);
        assert!(!Row::new("a", 0.96, "", Target::AtLeast(0.97)).met);
        assert!(!Row::new("a", f64::NAN, "", Target::Shown).met);
        assert!(!Row::holds("a", false).met);
    }
}
