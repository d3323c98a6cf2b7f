//! Comparison of two reports, figure by figure.

use serde_json::Value;
use std::fmt;

/// A figure of two reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name as in the JSON: `paging.faults`.
    pub name: String,
    /// Value in the first report.
    pub first: f64,
    /// Value in the second report.
    pub second: f64,
}

/// Figures of two reports that differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Number of figures that both have.
    pub figures: usize,
    /// Those that differ, in the order of the reports.
    pub differ: Vec<Figure>,
    /// Differences that make the times of two runs incomparable: another platform, another kernel.
    pub warnings: Vec<String>,
    bounds: [Option<String>; 2],
}

/// A JSON document that is no report of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAReport;

impl fmt::Display for NotAReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a report: it has no `runs` and `statistics`; write one with `tombolo run … --json FILE`")
    }
}

impl std::error::Error for NotAReport {}

/// Figures that are not compared: hashes and texts, those that depend on the simulator's speed alone, and derived ones.
const LEFT_OUT: [&str; 4] = ["statistics.evaluated_cycles", "bound", "units", "card"];

fn collect(at: &str, value: &Value, found: &mut Vec<(String, f64)>) {
    if LEFT_OUT.contains(&at) {
        return;
    }
    let below = |name: &str| match at {
        "" => name.to_owned(),
        at => format!("{at}.{name}"),
    };
    match value {
        Value::Number(number) => found.extend(number.as_f64().map(|n| (at.to_owned(), n))),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| collect(&below(name), value, found)),
        Value::Array(all) => all
            .iter()
            .enumerate()
            .for_each(|(number, value)| collect(&below(&number.to_string()), value, found)),
        _ => {}
    }
}

impl Comparison {
    /// Compares two reports as JSON (`tombolo run --json`).
    ///
    /// # Errors
    /// One of them is no report.
    pub fn of(first: &Value, second: &Value) -> Result<Self, NotAReport> {
        for one in [first, second] {
            if !(one["runs"].is_array() && one["statistics"].is_object()) {
                return Err(NotAReport);
            }
        }
        let [ours, theirs] = [first, second].map(|report| {
            let mut found = Vec::new();
            // The most important figures come first.
            for name in ["runs", "time"] {
                collect(name, &report[name], &mut found);
            }
            collect("", report, &mut found);
            let mut seen = std::collections::HashSet::new();
            found.retain(|(name, _)| seen.insert(name.clone()));
            found
        });
        let lookup: std::collections::HashMap<&str, f64> = theirs
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        let mut both = 0;
        let mut differ = Vec::new();
        for (name, one) in ours {
            let Some(other) = lookup.get(name.as_str()) else {
                continue;
            };
            both += 1;
            if one != *other {
                differ.push(Figure {
                    name,
                    first: one,
                    second: *other,
                });
            }
        }
        let mut warnings = Vec::new();
        for (name, what) in [
            ("platform", "platforms"),
            ("platform_hash", "figures of the platform"),
            ("host_hash", "host files"),
        ] {
            if first[name] != second[name] && warnings.is_empty() {
                warnings.push(format!(
                    "{what} differ: {} and {}",
                    first[name], second[name]
                ));
            }
        }
        let kernels = |report: &Value| -> Vec<Value> {
            let runs = report["runs"].as_array();
            runs.map_or_else(Vec::new, |runs| {
                runs.iter().map(|run| run["kernel"].clone()).collect()
            })
        };
        if kernels(first) != kernels(second) {
            warnings.push("kernels differ".to_owned());
        }
        let bounds =
            [first, second].map(|report| report["bound"]["by"].as_str().map(str::to_owned));
        Ok(Self {
            figures: both,
            differ,
            warnings,
            bounds,
        })
    }
}

impl Figure {
    /// The second as a multiple of the first, unless that is zero.
    pub fn factor(&self) -> Option<f64> {
        (self.first != 0.0).then(|| self.second / self.first)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        if let [Some(first), Some(second)] = &self.bounds {
            match first == second {
                true => writeln!(f, "both bound by {first}")?,
                false => writeln!(f, "bound by {first}, then by {second}")?,
            }
        }
        let width = self.differ.iter().map(|one| one.name.len()).max();
        let width = width.unwrap_or(0);
        for figure in &self.differ {
            write!(
                f,
                "{:<width$} {:>16} {:>16}",
                figure.name, figure.first, figure.second
            )?;
            match figure.factor() {
                Some(factor) => writeln!(f, "  × {factor:.3}")?,
                None => writeln!(f)?,
            }
        }
        let same = self.figures - self.differ.len();
        write!(f, "{} figures differ, {same} are equal", self.differ.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(time: u64, faults: u64, platform: &str) -> Value {
        json!({
            "runs": [{ "kernel": "copy", "slot": 0, "time": time, "cycles": time / 4 }],
            "paging": { "faults": faults, "evictions": 0 },
            "statistics": { "evaluated_cycles": time, "channels": [{ "rows_read": 7 }] },
            "platform": platform,
            "bound": { "by": if faults > 3 { "paging" } else { "port" }, "gain": 2.0 },
        })
    }

    #[test]
    fn what_differs_is_listed_time_first() {
        let compared = Comparison::of(&report(400, 8, "f1"), &report(200, 0, "f1")).unwrap();
        let names: Vec<&str> = compared
            .differ
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(names, ["runs.0.cycles", "runs.0.time", "paging.faults"]);
        assert_eq!(compared.differ[1].factor(), Some(0.5));
        let text = compared.to_string();
        assert!(
            text.starts_with("bound by paging, then by port\n"),
            "{text}"
        );
        assert!(text.ends_with("3 figures differ, 3 are equal"), "{text}");
        assert!(compared.warnings.is_empty());
    }

    #[test]
    fn nothing_differs_of_a_report_and_itself() {
        let one = report(400, 8, "f1");
        let compared = Comparison::of(&one, &one).unwrap();
        assert!(compared.differ.is_empty() && compared.figures == 6);
        assert!(compared.to_string().starts_with("both bound by paging\n"));
    }

    #[test]
    fn what_cannot_be_compared_is_said() {
        let compared = Comparison::of(&report(400, 8, "f1"), &report(400, 8, "u280")).unwrap();
        assert_eq!(compared.warnings.len(), 1);
        assert_eq!(
            Comparison::of(&json!({}), &report(1, 1, "f1")),
            Err(NotAReport)
        );
        assert_eq!(Comparison::of(&json!([1]), &json!(null)), Err(NotAReport));
    }

    #[test]
    fn a_figure_from_zero_has_no_factor() {
        let compared = Comparison::of(&report(400, 0, "f1"), &report(400, 5, "f1")).unwrap();
        assert_eq!(compared.differ[0].factor(), None);
        assert!(!compared.to_string().contains('×'));
    }
}
