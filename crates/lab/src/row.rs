//! A figure with a name and a target.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One row of `bench/results.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the bar.
    pub name: String,
    /// Measured value, in `unit`.
    pub value: f64,
    /// Unit of the value.
    pub unit: String,
    /// The target in words.
    pub target: String,
    /// Whether the target is met; always true without a target.
    pub met: bool,
    /// Command that measures it.
    pub command: String,
    /// Commit of the measured tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Day of the measurement (UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// Target of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// Exactly this.
    Exactly(f64),
    /// No target; shown together with the paper's value.
    Beside(f64),
    /// No target; shown only.
    Shown,
}

impl Row {
    /// A figure with its target; computes whether it is met.
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

    /// A Boolean figure, as 1 or 0, which should be 1.
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
