//! Output of an experiment as a readable table, and as comma-separated values.

use super::claims::{self, Count};
use super::description::APPLICATIONS;
use super::{Cell, Experiment, Outcome, Size, Temperature};
use crate::csv;
use std::fmt::Write;

/// A throughput, with one decimal if it has few digits before the point.
pub(super) fn digits(value: f64) -> String {
    let places = if value < 10.0 { 2 } else { 0 };
    format!("{value:.places$}")
}

impl Experiment {
    /// One row per workload and system, one column per temperature and size: ours, and the paper's in parentheses.
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
        // Columns with at least one cell.
        let has = |at| {
            let mut cells = outcomes.iter().map(|(cell, _)| cell);
            cells.any(|cell| (cell.temperature, cell.size) == at)
        };
        let all = Temperature::ALL.map(|t| Size::ALL.map(|s| (t, s)));
        let columns = || all.into_iter().flatten().filter(|at| has(*at));
        for (temperature, size) in columns() {
            let column = format!("{} {}", temperature.name(), size.short());
            let _ = write!(text, "{column:>20}");
        }
        text.push('\n');
        for workload in &self.workloads {
            for system in &self.systems {
                let of = |cell: &Cell<'_>| {
                    (&cell.workload.name, &cell.system.name) == (&workload.name, &system.name)
                };
                if !outcomes.iter().any(|(cell, _)| of(cell)) {
                    continue;
                }
                let _ = write!(text, "{:<10}{:<11}", workload.name, system.name);
                for (temperature, size) in columns() {
                    let found = outcomes.iter().find(|(cell, _)| {
                        of(cell) && (cell.temperature, cell.size) == (temperature, size)
                    });
                    let value = match found {
                        None => String::new(),
                        Some((cell, outcome)) => {
                            let ours = outcome
                                .as_ref()
                                .map_or("failed".to_owned(), |outcome| digits(outcome.mib_per_s));
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

    /// Share that agrees with the paper: its published values, each counted once, and table 2 normalised to the better
    /// Coyote, as in figure 5. Empty without published values.
    pub fn verdict(&self, outcomes: &[(Cell<'_>, Option<Outcome>)]) -> String {
        let Some(section) = claims::section(self, outcomes) else {
            return String::new();
        };
        let mut text = format!("\n{}", claims::text(&section));
        let _ = writeln!(
            text,
            "\nfigure 5: the better Coyote = 1, ours (the paper's), geometric means"
        );
        for system in &self.systems {
            if system.name.starts_with("coyote") {
                continue;
            }
            let _ = write!(text, "{:<11}", system.name);
            for temperature in Temperature::ALL {
                for size in Size::ALL {
                    let at = (temperature, size);
                    let means = self.normalised(outcomes, &system.name, at);
                    let value = means.map_or(String::new(), |(ours, paper)| {
                        let paper = paper.map_or("-".to_owned(), |paper| format!("{paper:.2}"));
                        format!(
                            "{} {}: {ours:.2} ({paper})",
                            temperature.name(),
                            size.short()
                        )
                    });
                    let _ = write!(text, "{value:>28}");
                }
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }

    /// Geometric means of a system's throughput relative to the better Coyote's, ours and the paper's, over the
    /// workloads that were run on both.
    pub(super) fn normalised(
        &self,
        outcomes: &[(Cell<'_>, Option<Outcome>)],
        system: &str,
        at: (Temperature, Size),
    ) -> Option<(f64, Option<f64>)> {
        let (mut ours, mut paper, mut count) = (0.0, Some(0.0), 0);
        for workload in &self.workloads {
            let of = |system: &str| {
                let found = outcomes.iter().find(|(cell, _)| {
                    cell.workload.name == workload.name
                        && cell.system.name == system
                        && (cell.temperature, cell.size) == at
                });
                found?.1.as_ref().map(|outcome| outcome.mib_per_s)
            };
            let (Some(own), Some(large), Some(small)) =
                (of(system), of("coyote-2m"), of("coyote-4k"))
            else {
                continue;
            };
            ours += (own / large.max(small)).ln();
            let printed = |system: &str| workload.published(system, at.0, at.1);
            let ratio =
                || Some(printed(system)? / printed("coyote-2m")?.max(printed("coyote-4k")?));
            paper = paper.and_then(|sum: f64| Some(sum + ratio()?.ln()));
            count += 1;
        }
        let mean = |sum: f64| (sum / f64::from(count)).exp();
        (count > 0).then(|| (mean(ours), paper.map(mean)))
    }

    /// One line per cell.
    pub fn comma_separated(&self, outcomes: &[(Cell<'_>, Option<Outcome>)]) -> String {
        let mut text =
            "workload,system,temperature,size,applications,mib_per_s,paper_mib_per_s,deviation,\
             printed_value,state,why\n"
                .to_owned();
        let count = Count::new(self, outcomes);
        for (cell, outcome) in outcomes {
            let number =
                |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            // Only cells of the table: figure 6 has others of the same system and workload.
            let described = count
                .as_ref()
                .filter(|_| cell.applications == APPLICATIONS)
                .and_then(|count| claims::described(self, count, cell))
                .unwrap_or_default();
            let cells = [
                cell.workload.name.clone(),
                cell.system.name.clone(),
                cell.temperature.name().to_owned(),
                cell.size.name().to_owned(),
                cell.applications.to_string(),
                number(outcome.as_ref().map(|outcome| outcome.mib_per_s)),
                number(cell.published()),
                number(outcome.as_ref().map(|outcome| outcome.deviation)),
            ];
            text.push_str(&csv::line(cells.into_iter().chain(described)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_cell_and_one_that_the_paper_lacks_are_seen() {
        let folder = simcard::home().join("experiments");
        let experiment = Experiment::read(&folder, "fsrf-table2").unwrap();
        let outcomes: Vec<_> = experiment
            .cells()
            .into_iter()
            .enumerate()
            .map(|(number, cell)| {
                let outcome = Outcome {
                    mib_per_s: number as f64,
                    deviation: 0.25,
                    each: Vec::new(),
                    processor_seconds: 0.0,
                    cycles: 0,
                    deviations: Vec::new(),
                };
                (cell, (number != 0).then_some(outcome))
            })
            .collect();
        let table = experiment.table(&outcomes);
        let first = outcomes[0].0.name();
        assert!(first.starts_with("aes.tombolo.cold"), "{first}");
        assert!(table.contains("failed (-)"), "{table}");
        let physical = table
            .lines()
            .find(|line| line.contains("physical"))
            .unwrap();
        assert_eq!(physical.matches('(').count(), 2, "{physical}");
        let values = experiment.comma_separated(&outcomes);
        assert_eq!(values.lines().count(), 1 + outcomes.len());
        assert!(
            values.contains("aes,tombolo,cold,small,4,,,,,,\n"),
            "{values}"
        );
        assert!(
            values.contains("aes,tombolo,cold,large,4,1,,0.25,,,\n"),
            "{values}"
        );
    }

    /// The paper's own figures count as published, and a deviating one does not.
    #[test]
    fn the_verdict_is_of_published_values() {
        let folder = simcard::home().join("experiments");
        let experiment = Experiment::read(&folder, "fsrf-table2").unwrap();
        let mut outcomes: Vec<_> = experiment
            .cells()
            .into_iter()
            .map(|cell| {
                // Two published values that one simulation stands for, too far apart for one result.
                let shared = ["nw.amorphos.cold", "nw.amorphos.warm"]
                    .iter()
                    .any(|name| cell.name().starts_with(name));
                let paper = cell.published().filter(|_| !shared);
                let outcome = paper.map(|mib_per_s| Outcome {
                    mib_per_s,
                    deviation: 0.0,
                    each: Vec::new(),
                    processor_seconds: 0.0,
                    cycles: 0,
                    deviations: Vec::new(),
                });
                (cell, outcome)
            })
            .collect();
        let verdict = experiment.verdict(&outcomes);
        assert!(verdict.contains("  as published: predicted"), "{verdict}");
        let fsrf = verdict.lines().find(|line| line.starts_with("fsrf"));
        let fsrf = fsrf.unwrap();
        assert!(fsrf.contains("hot large: 2.88 (2.88)"), "{fsrf}");
        let off = |cell: &Cell<'_>| cell.name() == "rng_read.fsrf.warm_large";
        let off = outcomes.iter_mut().find(|(cell, _)| off(cell));
        off.unwrap().1.as_mut().unwrap().mib_per_s *= 1.3;
        let verdict = experiment.verdict(&outcomes);
        assert!(
            verdict.contains("  partly as published: predicted"),
            "{verdict}"
        );
        let values = experiment.comma_separated(&outcomes);
        let line = values
            .lines()
            .find(|line| line.starts_with("gups,coyote-4k,hot,large"));
        let line = line.unwrap();
        assert!(line.contains(",calibrated,service_fault_ps in "), "{line}");
    }
}
