//! Compares published values with ours, each value exactly once.

use super::{TableClaims, ValueState};
use crate::experiment::{Cell, Experiment, Outcome, Size, Temperature};

type Outcomes<'a> = [(Cell<'a>, Option<Outcome>)];

/// Published values that are compared with one of our results.
#[derive(Clone, Debug, PartialEq)]
pub struct Value<'a> {
    /// Name of the row in the paper.
    pub row: &'a str,
    /// Name of the system.
    pub system: &'a str,
    /// Columns: several if one simulation represents all of them.
    pub columns: Vec<(Temperature, Size)>,
    /// The paper's value in each column.
    pub paper: Vec<f64>,
    /// Our value: the geometric mean of the row's workloads; `None` if one of them was not measured.
    pub ours: Option<f64>,
    /// ValueState of the value; calibrated if one of the columns is.
    pub state: ValueState<'a>,
    /// Known reasons for a deviation.
    pub reasons: Vec<&'a str>,
    /// Inputs of the simulation by workload, which identify equal values.
    simulated: Vec<String>,
}

impl<'a> Value<'a> {
    /// The value of a row, a system and a column; `None` if the paper has none, or the column is not run.
    fn compare(
        experiment: &'a Experiment,
        claims: &'a TableClaims,
        (row, system): (&'a str, &'a str),
        at: (Temperature, Size),
        outcomes: &Outcomes<'_>,
    ) -> Option<Self> {
        let column = format!("{}_{}", at.0.name(), at.1.name());
        let paper = *claims.published(row)?.get(system)?.get(&column)?;
        if !claims.runs(row, &column) {
            return None;
        }
        let cells = experiment.cells().into_iter().filter(|cell| {
            (cell.workload.paper.as_str(), cell.system.name.as_str()) == (row, system)
                && (cell.temperature, cell.size) == at
        });
        let (mut logs, mut whole) = (Vec::new(), true);
        let (mut simulated, mut reasons) = (Vec::new(), Vec::new());
        for cell in cells {
            let found = outcomes.iter().find(|(one, _)| one.name() == cell.name());
            match found.and_then(|(_, outcome)| outcome.as_ref()) {
                Some(outcome) => logs.push(outcome.mib_per_s.ln()),
                None => whole = false,
            }
            simulated.push(cell.made_of().unwrap_or_else(|_| cell.name()));
            reasons.extend(experiment.why(&cell));
        }
        reasons.sort_unstable();
        reasons.dedup();
        let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let place = (row, system, column.as_str());
        Some(Self {
            row,
            system,
            columns: vec![at],
            paper: vec![paper],
            ours: (whole && !logs.is_empty()).then_some(mean),
            state: claims.state(place),
            reasons,
            simulated,
        })
    }

    /// The ratio to the paper's values that is farthest from 1.
    pub fn ratio(&self) -> Option<f64> {
        let ours = self.ours?;
        let ratios = self.paper.iter().map(|paper| ours / paper);
        ratios.max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()))
    }

    /// Whether it deviates from each published value by at most `within`.
    pub(super) fn is_within(&self, within: f64) -> Option<bool> {
        Some((self.ratio()? - 1.0).abs() <= within)
    }

    fn merge(&mut self, other: Self) {
        if self.state == ValueState::Predicted {
            self.state = other.state;
        }
        self.columns.extend(other.columns);
        self.paper.extend(other.paper);
        self.reasons.extend(other.reasons);
        self.reasons.sort_unstable();
        self.reasons.dedup();
    }
}

/// Share of reproduced values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Number of reproduced values.
    pub holds: usize,
    /// Number of values compared.
    pub of: usize,
}

impl Share {
    /// The share as a number; NaN if nothing was compared.
    pub fn value(self) -> f64 {
        self.holds as f64 / self.of as f64
    }

    fn add(&mut self, holds: bool) {
        self.holds += usize::from(holds);
        self.of += 1;
    }
}

/// Ranking of the systems in a row and column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranking<'a> {
    pub(super) row: &'a str,
    pub(super) at: (Temperature, Size),
    /// Pairs of systems in the opposite order to the paper's; the one faster in the paper comes first.
    pub(super) swapped: Vec<(&'a str, &'a str)>,
}

/// Counts over a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Count<'a> {
    /// Compared values, in table order.
    pub values: Vec<Value<'a>>,
    /// Predicted values within the bound.
    pub predicted: Share,
    /// The same, for the paper's own system.
    pub own: Share,
    /// The same, for the other systems.
    pub rivals: Share,
    /// Values that a constant was fitted to and that are within the bound.
    pub fitted: Share,
    /// Published values that a constant was fitted to, and others of the same simulation.
    pub calibrated: usize,
    /// Published values that are not comparable, or whose comparison cannot fail.
    pub apart: usize,
    /// Published values of rows that are run, and of those that are not.
    pub printed: (usize, usize),
    /// Rankings of systems, one per row and column.
    pub ranking: Share,
    pub(super) rankings: Vec<Ranking<'a>>,
}

/// Columns of a table.
fn columns() -> impl Iterator<Item = (Temperature, Size)> {
    let all = Temperature::ALL.map(|t| Size::ALL.map(|s| (t, s)));
    all.into_iter().flatten()
}

/// Rankings of rows and columns in which all systems were measured. Equal published values have no order.
fn rankings<'a>(claims: &TableClaims, each: &[Value<'a>]) -> Vec<Ranking<'a>> {
    let mut rankings = Vec::new();
    for row in claims.rows_that_run() {
        for at in columns() {
            let of = each
                .iter()
                .filter(|value| value.row == row && value.columns == [at]);
            let measured: Option<Vec<(&Value<'a>, f64)>> =
                of.map(|value| Some((value, value.ours?))).collect();
            let Some(measured) = measured else { continue };
            let Some((first, _)) = measured.first() else {
                continue;
            };
            let swapped = measured.iter().flat_map(|(fast, ours)| {
                let slower = measured
                    .iter()
                    .filter(move |(slow, other)| fast.paper > slow.paper && ours <= other);
                slower.map(|(slow, _)| (fast.system, slow.system))
            });
            rankings.push(Ranking {
                row: first.row,
                at,
                swapped: swapped.collect(),
            });
        }
    }
    rankings
}

impl<'a> Count<'a> {
    /// Compares an experiment's published values with measured ones; `None` without claims.
    pub fn new(experiment: &'a Experiment, outcomes: &Outcomes<'_>) -> Option<Self> {
        let claims = experiment.claims.as_ref()?;
        let each: Vec<Value<'a>> = claims
            .rows_that_run()
            .flat_map(|row| experiment.systems.iter().map(move |system| (row, system)))
            .flat_map(|(row, system)| columns().map(move |at| (row, system.name.as_str(), at)))
            .filter_map(|(row, system, at)| {
                Value::compare(experiment, claims, (row, system), at, outcomes)
            })
            .collect();
        let rankings = rankings(claims, &each);
        Some(Self::of(claims, each, rankings))
    }

    fn of(claims: &TableClaims, each: Vec<Value<'a>>, rankings: Vec<Ranking<'a>>) -> Self {
        let mut values: Vec<Value<'a>> = Vec::new();
        for value in each {
            let same = |one: &&mut Value<'a>| {
                (one.row, one.system, &one.simulated) == (value.row, value.system, &value.simulated)
            };
            match values.iter_mut().find(same) {
                Some(one) => one.merge(value),
                None => values.push(value),
            }
        }
        let stated = |state: fn(ValueState<'_>) -> bool| {
            let values = values.iter().filter(|value| state(value.state));
            values.map(|value| value.columns.len()).sum::<usize>()
        };
        let calibrated = stated(|state| matches!(state, ValueState::Calibrated(_)));
        let apart = stated(|state| {
            matches!(
                state,
                ValueState::NotComparable(_) | ValueState::Identity(_)
            )
        });
        let mut count = Self {
            predicted: Share::default(),
            own: Share::default(),
            rivals: Share::default(),
            fitted: Share::default(),
            calibrated,
            apart,
            printed: (claims.printed(true), claims.printed(false)),
            ranking: Share::default(),
            rankings,
            values,
        };
        for value in &count.values {
            let Some(within) = value.is_within(claims.within()) else {
                continue;
            };
            match value.state {
                ValueState::Predicted => {}
                ValueState::Calibrated(_) => {
                    count.fitted.add(within);
                    continue;
                }
                _ => continue,
            }
            count.predicted.add(within);
            match value.system == claims.own_system() {
                true => count.own.add(within),
                false => count.rivals.add(within),
            }
        }
        for ranking in &count.rankings {
            count.ranking.add(ranking.swapped.is_empty());
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::fsrf::TABLE;

    fn read() -> Experiment {
        Experiment::read(&simcard::home().join("experiments"), TABLE).unwrap()
    }

    /// Outcomes with the paper's values, modified by `change`.
    fn outcomes<'a>(
        experiment: &'a Experiment,
        change: impl Fn(&Cell<'a>) -> f64,
    ) -> Vec<(Cell<'a>, Option<Outcome>)> {
        let cells = experiment.cells().into_iter().map(|cell| {
            let outcome = cell.published().map(|paper| Outcome {
                mib_per_s: paper * change(&cell),
                deviation: 0.0,
                deviations: Vec::new(),
                each: Vec::new(),
                processor_seconds: 0.0,
                cycles: 0,
            });
            (cell, outcome)
        });
        cells.collect()
    }

    fn counted<'a>(experiment: &'a Experiment, change: impl Fn(&Cell<'a>) -> f64) -> Count<'a> {
        Count::new(experiment, &outcomes(experiment, change)).unwrap()
    }

    /// Predicted values that deviate by more than the bound.
    fn outside<'a>(count: &Count<'a>) -> Vec<(&'a str, &'a str, Temperature)> {
        let within = |value: &Value<'_>| value.ratio().is_none_or(|r| (r - 1.0).abs() <= 0.25);
        let predicted = count
            .values
            .iter()
            .filter(|v| v.state == ValueState::Predicted);
        let outside: Vec<_> = predicted
            .filter(|value| !within(value))
            .map(|value| (value.row, value.system, value.columns[0].0))
            .collect();
        assert_eq!(count.predicted.of - count.predicted.holds, outside.len());
        outside
    }

    #[test]
    fn one_value_one_count() {
        let experiment = read();
        let count = counted(&experiment, |_| 1.0);
        assert_eq!(count.printed, (242, 14));
        let columns: usize = count.values.iter().map(|value| value.columns.len()).sum();
        assert_eq!(columns, 242);
        // Seven streams of four systems are fewer than 28 values.
        let streams = |value: &&Value<'_>| value.row == "geom stream";
        let streams: Vec<_> = count.values.iter().filter(streams).collect();
        let columns: usize = streams.iter().map(|value| value.columns.len()).sum();
        assert_eq!(columns, 32);
        // If data is loaded in pages of 2 MiB or more, small and large share a simulation: cold and warm of three
        // systems.
        let both = streams.iter().filter(|value| value.columns.len() == 2);
        assert_eq!(both.count(), 6);
        let calibrated = count.values.iter();
        let calibrated =
            calibrated.filter(|value| matches!(value.state, ValueState::Calibrated(_)));
        assert_eq!(
            count.predicted.of + calibrated.count(),
            count.values.len(),
            "each value is counted once, as one thing"
        );
        assert_eq!(count.predicted.of, count.own.of + count.rivals.of);
        assert_eq!(
            outside(&count),
            [
                ("nw", "amorphos", Temperature::Cold),
                ("nw", "amorphos", Temperature::Warm)
            ],
            "one simulation, for published values that are farther apart than the bound"
        );
        assert_eq!((count.ranking.holds, count.ranking.of), (60, 60));
    }

    #[test]
    fn a_calibrated_value_is_never_reproduced() {
        let experiment = read();
        let all = counted(&experiment, |_| 1.0);
        // One for each fitted value, plus AmorphOS's cold large streams, which share a simulation with the small ones.
        assert_eq!(all.calibrated, 23);
        let fitted = |cell: &Cell<'_>| cell.name() == "gups.coyote-4k.hot_large";
        let off = counted(&experiment, |cell| if fitted(cell) { 2.0 } else { 1.0 });
        assert_eq!(off.predicted, all.predicted);
        // The same column of a value without a fitted constant.
        let free = |cell: &Cell<'_>| cell.name() == "gups.coyote-4k.hot_small";
        let off = counted(&experiment, |cell| if free(cell) { 2.0 } else { 1.0 });
        assert_eq!(off.predicted.holds, all.predicted.holds - 1);
        assert_eq!(off.predicted.of, all.predicted.of);
    }

    /// Compares the paper's mean with ours: one deviating stream shifts a mean without necessarily missing the bound.
    #[test]
    fn streams_are_compared_as_a_mean() {
        let experiment = read();
        let of = |cell: &Cell<'_>, names: &[&str]| {
            (cell.system.name.as_str(), cell.temperature, cell.size)
                == ("fsrf", Temperature::Hot, Size::Large)
                && names.contains(&cell.workload.name.as_str())
        };
        let all = counted(&experiment, |_| 1.0).predicted.holds;
        let one = |cell: &Cell<'_>| if of(cell, &["aes"]) { 0.5 } else { 1.0 };
        assert_eq!(counted(&experiment, one).predicted.holds, all);
        let three = ["aes", "conv", "hll"];
        let three = |cell: &Cell<'_>| if of(cell, &three) { 0.5 } else { 1.0 };
        assert_eq!(counted(&experiment, three).predicted.holds, all - 1);
        // A mean without one of its workloads is not reported.
        let mut lacks = outcomes(&experiment, |_| 1.0);
        lacks.retain(|(cell, _)| cell.name() != "sha.fsrf.hot_large");
        let lacks = Count::new(&experiment, &lacks).unwrap();
        assert_eq!(
            lacks.predicted.of,
            counted(&experiment, |_| 1.0).predicted.of - 1
        );
    }

    #[test]
    fn systems_in_another_order_are_wrong() {
        let experiment = read();
        // 54 k compared with the 57 k of physical addresses: within a quarter, and ranked ahead of it.
        let faster = |cell: &Cell<'_>| match cell.name() == "rng_read.fsrf.hot_large" {
            true => 1.1,
            false => 1.0,
        };
        let count = counted(&experiment, faster);
        assert_eq!(outside(&count), outside(&counted(&experiment, |_| 1.0)));
        assert_eq!((count.ranking.holds, count.ranking.of), (59, 60));
        let wrong = count.rankings.iter().find(|one| !one.swapped.is_empty());
        assert_eq!(wrong.unwrap().swapped, [("physical", "fsrf")]);
    }

    /// A constant that is renamed or removed must not leave its cells marked as calibrated.
    #[test]
    fn constants_are_where_the_claims_say() {
        let experiment = read();
        let count = counted(&experiment, |_| 1.0);
        for value in &count.values {
            if let ValueState::Calibrated(constant) = value.state {
                let text = std::fs::read_to_string(simcard::home().join(&constant.file)).unwrap();
                let key = format!("\n{} = ", constant.name);
                assert!(
                    text.contains(&key),
                    "{}: no `{}`",
                    constant.file,
                    constant.name
                );
            }
        }
    }
}
