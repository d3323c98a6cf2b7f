//! Output of the experiment as a readable table, and as comma-separated values.

use super::{Cckit, Figure, Measurements};
use crate::claim::{Claim, Judged};
use crate::csv;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Three significant digits, or all digits before the decimal point.
pub(super) fn number(value: f64) -> String {
    let digits = match value.abs() {
        100.0.. => 0,
        10.0..100.0 => 1,
        1.0..10.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Text of a cell; a dash if the value is missing.
pub(super) fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

/// Target, verdict, and state of the published value.
pub(super) fn bar(judged: &Judged) -> String {
    let target = judged.claim.as_ref().and_then(Claim::target);
    let state = judged.published().map(|published| published.state.name());
    let words = match (target, state) {
        (Some(target), _) => target.to_string(),
        (None, Some(state)) => state.to_owned(),
        (None, None) => return String::new(),
    };
    let verdict = format!("{words} {}", judged.verdict());
    match (target, state) {
        (Some(_), Some(state)) => format!("{verdict}; {state}"),
        _ => verdict,
    }
}

impl Cckit {
    /// Each figure as a table, followed by the verdict.
    pub fn table(&self, figures: &[&Figure], outcome: &Measurements) -> String {
        let mut text = format!("{}\nplatform {}\n", self.title, self.platform);
        for difference in &self.known_differences {
            let _ = writeln!(text, "  known to differ: {difference}");
        }
        let (mut bars, mut missed) = (0, Vec::new());
        for figure in figures {
            let _ = writeln!(
                text,
                "\n{}\n{:<28}{:>12}{:>10}{:>8}  bar",
                figure.title, figure.unit, "ours", "paper", "ratio"
            );
            let mut reasons = BTreeSet::new();
            for point in &figure.points {
                let Some(judged) = outcome.row(&point.row) else {
                    let _ = writeln!(text, "{:<28}{:>12}", point.label, "not measured");
                    continue;
                };
                bars += usize::from(judged.met.is_some());
                if judged.met == Some(false) {
                    missed.push(judged.row.name.as_str());
                }
                let (ours, published) = (judged.row.value, judged.published());
                let paper = published.map(|published| published.value);
                let line = format!(
                    "{:<28}{:>12}{:>10}{:>8}  {}",
                    point.label,
                    number(ours),
                    or_dash(paper.map(number)),
                    or_dash(paper.map(|paper| format!("{:.2}", ours / paper))),
                    bar(judged),
                );
                let _ = writeln!(text, "{}", line.trim_end());
                let why = published.filter(|published| !published.why.is_empty());
                reasons.extend(why.map(|one| format!("{}: {}", one.state.name(), one.why)));
            }
            for reason in reasons {
                let _ = writeln!(text, "  {reason}");
            }
        }
        let _ = writeln!(text, "\n{} of {bars} bars met", bars - missed.len());
        for name in missed {
            let _ = writeln!(text, "  missed: {name}");
        }
        for failure in &outcome.failures {
            let _ = writeln!(text, "  failed: {failure}");
        }
        text
    }

    /// One line per point: figure, point, unit, ours, the paper's.
    pub fn comma_separated(&self, figures: &[&Figure], outcome: &Measurements) -> String {
        let mut text = "figure,point,unit,ours,paper,row\n".to_owned();
        for figure in figures {
            for point in &figure.points {
                let ours = outcome.row(&point.row);
                let ours = ours.map(|judged| judged.row.value.to_string());
                let paper = self.rows.published(&point.row);
                let paper = paper.map(|paper| paper.to_string());
                text.push_str(&csv::line([
                    &figure.name,
                    &point.label,
                    &figure.unit,
                    &ours.unwrap_or_default(),
                    &paper.unwrap_or_default(),
                    &point.row,
                ]));
            }
        }
        text
    }
}
