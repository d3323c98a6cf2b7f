//! An experiment as a table for people, and as comma-separated values.

use super::{Cell, Experiment, Outcome, Size, Temperature};
use std::fmt::Write;

impl Experiment {
    /// A row a workload and system, a column a temperature and size: ours, and the paper's in parentheses.
    pub fn table(&self, outcomes: &[(Cell<'_>, Option<Outcome>)]) -> String {
        let mut text = format!("{}: ours (the paper's)\n", self.title);
        let _ = writeln!(
            text,
            "capacities 1/{} of the paper's, platform {}",
            1u64 << self.scale_log2,
            self.platform
        );
        for difference in &self.known_differences {
            let _ = writeln!(text, "  known to differ: {difference}");
        }
        let _ = write!(text, "\n{:<10}{:<11}", "workload", "system");
        let columns = || {
            Temperature::ALL
                .into_iter()
                .flat_map(|t| Size::ALL.map(|s| (t, s)))
        };
        for (temperature, size) in columns() {
            let column = format!("{} {}", temperature.name(), size.name());
            let _ = write!(text, "{column:>20}");
        }
        text.push('\n');
        for workload in &self.workloads {
            for system in &self.systems {
                let _ = write!(text, "{:<10}{:<11}", workload.name, system.name);
                for (temperature, size) in columns() {
                    let found = outcomes.iter().find(|(cell, _)| {
                        cell.workload.name == workload.name
                            && cell.system.name == system.name
                            && (cell.temperature, cell.size) == (temperature, size)
                    });
                    let value = match found {
                        None => String::new(),
                        Some((cell, outcome)) => {
                            let ours = outcome.as_ref().map_or("failed".to_owned(), |outcome| {
                                format!("{:.0}", outcome.mib_per_s)
                            });
                            let paper = cell.published().map_or("-".to_owned(), |p| format!("{p}"));
                            format!("{ours} ({paper})")
                        }
                    };
                    let _ = write!(text, "{value:>20}");
                }
                text.truncate(text.trim_end().len());
                text.push('\n');
            }
        }
        text
    }

    /// A line a cell.
    pub fn comma_separated(&self, outcomes: &[(Cell<'_>, Option<Outcome>)]) -> String {
        let mut text =
            "workload,system,temperature,size,mib_per_s,paper_mib_per_s,deviation\n".to_owned();
        for (cell, outcome) in outcomes {
            let number =
                |value: Option<f64>| value.map_or(String::new(), |value| format!("{value}"));
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{}",
                cell.workload.name,
                cell.system.name,
                cell.temperature.name(),
                cell.size.name(),
                number(outcome.as_ref().map(|outcome| outcome.mib_per_s)),
                number(cell.published()),
                number(outcome.as_ref().map(|outcome| outcome.deviation)),
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_cell_and_one_that_the_paper_lacks_are_seen() {
        let folder = card::sim::home().join("experiments");
        let experiment = Experiment::read(&folder, "fsrf-table2").unwrap();
        let outcomes: Vec<_> = experiment
            .cells()
            .into_iter()
            .enumerate()
            .map(|(number, cell)| {
                let outcome = Outcome {
                    mib_per_s: number as f64,
                    deviation: 0.25,
                };
                (cell, (number != 0).then_some(outcome))
            })
            .collect();
        let table = experiment.table(&outcomes);
        assert!(table.contains("failed (8300)"), "{table}");
        let physical = table
            .lines()
            .find(|line| line.contains("physical"))
            .unwrap();
        assert_eq!(physical.matches('(').count(), 2, "{physical}");
        let values = experiment.comma_separated(&outcomes);
        assert_eq!(values.lines().count(), 1 + outcomes.len());
        assert!(
            values.contains("aes,tombolo,warm,small,,8300,\n"),
            "{values}"
        );
        assert!(
            values.contains("aes,tombolo,warm,large,1,9000,0.25\n"),
            "{values}"
        );
    }
}
