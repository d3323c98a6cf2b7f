//! Output of the experiment as a readable table, and as comma-separated values.

use super::{Cckit, Figure, Measurements, Point};
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
fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

impl Point {
    fn ratio(&self, ours: f64) -> Option<f64> {
        self.paper.map(|paper| ours / paper)
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
            for point in &figure.points {
                let paper = or_dash(point.paper.map(number));
                let Some(row) = outcome.row(&point.row) else {
                    let _ = writeln!(text, "{:<28}{:>12}", point.label, "not measured");
                    continue;
                };
                let has_bar = row.target.starts_with(['≤', '≥', '=']);
                let met = match (has_bar, row.met) {
                    (false, _) => String::new(),
                    (true, true) => format!("{} met", row.target),
                    (true, false) => format!("{} MISSED", row.target),
                };
                bars += usize::from(has_bar);
                if has_bar && !row.met {
                    missed.push(row.name.as_str());
                }
                let line = format!(
                    "{:<28}{:>12}{:>10}{:>8}  {met}",
                    point.label,
                    number(row.value),
                    paper,
                    or_dash(point.ratio(row.value).map(|ratio| format!("{ratio:.2}"))),
                );
                let _ = writeln!(text, "{}", line.trim_end());
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
                let ours = outcome.row(&point.row).map(|row| row.value.to_string());
                let _ = writeln!(
                    text,
                    "{},\"{}\",{},{},{},{}",
                    figure.name,
                    point.label,
                    figure.unit,
                    ours.unwrap_or_default(),
                    point
                        .paper
                        .map(|paper| paper.to_string())
                        .unwrap_or_default(),
                    point.row
                );
            }
        }
        text
    }
}
