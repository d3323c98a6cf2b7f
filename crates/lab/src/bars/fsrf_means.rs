//! Geometric means of FSRF's text (section 6.3 and abstract) over table 2: the paper's own system relative to the others,
//! all of them as simulated here. Results are cached and shared with `tombolo lab fsrf`.

use super::fsrf::{experiment, run};
use super::Failure;
use crate::experiment::fsrf::{geometric, TABLE};
use crate::experiment::{Cell, Experiment, Size, Temperature};
use crate::row::Row;
use std::collections::{BTreeMap, BTreeSet};

/// Names of [`hot`], means first.
pub const HOT: &[&str] = &[
    "fsrf.geomeans.hot_stream.coyote",
    "fsrf.geomeans.hot_stream.amorphos",
    "fsrf.geomeans.hot_stream.physical",
    "fsrf.geomeans.hot_large.coyote",
    "fsrf.geomeans.hot_large.amorphos",
    "fsrf.geomeans.hot_large.physical",
    "fsrf.geomeans.hot.physical",
    "fsrf.geomeans.hot_stream.gib_per_s",
    "fsrf.geomeans.hot.rankings_wrong",
];
/// Names of [`loaded`], means first.
pub const LOADED: &[&str] = &[
    "fsrf.geomeans.loaded_small.coyote",
    "fsrf.geomeans.loaded_small.amorphos",
    "fsrf.geomeans.loaded_large.coyote",
    "fsrf.geomeans.oversubscribed.coyote",
    "fsrf.geomeans.loaded.rankings_wrong",
];

const HOT_ONLY: &[Temperature] = &[Temperature::Hot];
const TO_BE_LOADED: &[Temperature] = &[Temperature::Cold, Temperature::Warm];
const FITTING: &[Size] = &[Size::Small, Size::Large];

/// Workloads of a mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Workloads {
    Streams,
    /// All but streams.
    Others,
    All,
}

impl Workloads {
    fn has(self, cell: &Cell<'_>) -> bool {
        let streams = cell.workload.paper == "geom stream";
        match self {
            Self::Streams => streams,
            Self::Others => !streams,
            Self::All => true,
        }
    }
}

/// A mean of the paper's system over another one.
struct Mean {
    workloads: Workloads,
    temperatures: &'static [Temperature],
    sizes: &'static [Size],
    /// The other system; `coyote`: the better of its two page sizes, by workload and column.
    over: &'static str,
}

/// Those of the text for hot data, in the order of [`HOT`].
const HOT_MEANS: [Mean; 7] = {
    const fn mean(workloads: Workloads, sizes: &'static [Size], over: &'static str) -> Mean {
        Mean {
            workloads,
            temperatures: HOT_ONLY,
            sizes,
            over,
        }
    }
    [
        mean(Workloads::Streams, FITTING, "coyote"),
        mean(Workloads::Streams, FITTING, "amorphos"),
        mean(Workloads::Streams, FITTING, "physical"),
        mean(Workloads::Others, &[Size::Large], "coyote"),
        mean(Workloads::Others, &[Size::Large], "amorphos"),
        mean(Workloads::Others, &[Size::Large], "physical"),
        mean(Workloads::All, FITTING, "physical"),
    ]
};

/// Those for data that has to be loaded, in the order of [`LOADED`].
const LOADED_MEANS: [Mean; 4] = {
    const fn mean(workloads: Workloads, sizes: &'static [Size], over: &'static str) -> Mean {
        Mean {
            workloads,
            temperatures: TO_BE_LOADED,
            sizes,
            over,
        }
    }
    [
        mean(Workloads::All, &[Size::Small], "coyote"),
        mean(Workloads::All, &[Size::Small], "amorphos"),
        mean(Workloads::Others, &[Size::Large], "coyote"),
        mean(Workloads::Others, &[Size::Oversubscribed], "coyote"),
    ]
};

/// Throughputs by workload, system and column.
type Throughputs<'a> = BTreeMap<(&'a str, &'a str, Temperature, Size), f64>;

/// Throughputs of cells: ours, and the paper's of the same cells.
struct Table<'a> {
    cells: Vec<Cell<'a>>,
    ours: Throughputs<'a>,
    paper: Throughputs<'a>,
}

impl<'a> Table<'a> {
    fn new(cells: Vec<Cell<'a>>, ours: impl IntoIterator<Item = f64>) -> Self {
        let key = |cell: &Cell<'a>| {
            let names = (cell.workload.name.as_str(), cell.system.name.as_str());
            (names.0, names.1, cell.temperature, cell.size)
        };
        let paper = cells
            .iter()
            .filter_map(|cell| Some((key(cell), cell.published()?)));
        Self {
            ours: cells.iter().map(key).zip(ours).collect(),
            paper: paper.collect(),
            cells,
        }
    }

    /// Runs the cells with a published value at these temperatures.
    fn measure(experiment: &'a Experiment, temperatures: &[Temperature]) -> Result<Self, Failure> {
        let mut cells = experiment.cells();
        cells.retain(|cell| cell.published().is_some() && temperatures.contains(&cell.temperature));
        let outcomes = run(experiment, &cells)?;
        Ok(Self::new(
            cells,
            outcomes.into_iter().map(|one| one.mib_per_s),
        ))
    }

    /// Names of workloads.
    fn workloads(&self, of: Workloads) -> BTreeSet<&'a str> {
        let cells = self.cells.iter().filter(|cell| of.has(cell));
        cells.map(|cell| cell.workload.name.as_str()).collect()
    }

    /// The mean over workloads and columns in which both systems have a value.
    fn mean(&self, of: &Mean, throughputs: &Throughputs<'a>) -> f64 {
        let mut ratios = Vec::new();
        for workload in self.workloads(of.workloads) {
            for temperature in of.temperatures {
                for size in of.sizes {
                    let at = |system| {
                        let value = throughputs.get(&(workload, system, *temperature, *size));
                        value.copied()
                    };
                    let other = match of.over {
                        "coyote" => at("coyote-2m")
                            .zip(at("coyote-4k"))
                            .map(|(large, small)| large.max(small)),
                        other => at(other),
                    };
                    let ratio = at("fsrf").zip(other).map(|(own, other)| own / other);
                    ratios.extend(ratio);
                }
            }
        }
        geometric(ratios).unwrap_or(f64::NAN)
    }

    /// Columns with values.
    fn columns(&self) -> BTreeSet<(Temperature, Size)> {
        let cells = self.cells.iter();
        cells.map(|cell| (cell.temperature, cell.size)).collect()
    }

    /// Each system's mean throughput in a column, over the workloads that all of its systems run.
    fn levels(
        &self,
        of: Workloads,
        (temperature, size): (Temperature, Size),
        throughputs: &Throughputs<'a>,
    ) -> BTreeMap<&'a str, f64> {
        let here = throughputs
            .keys()
            .filter(|key| (key.2, key.3) == (temperature, size));
        let systems: BTreeSet<&str> = here.map(|key| key.1).collect();
        let mut levels = BTreeMap::new();
        for system in &systems {
            let mut values = Vec::new();
            for workload in self.workloads(of) {
                let at = |system| {
                    throughputs
                        .get(&(workload, system, temperature, size))
                        .copied()
                };
                let all: Option<Vec<f64>> = systems.iter().map(|system| at(system)).collect();
                if all.is_some() {
                    values.extend(at(system));
                }
            }
            levels.extend(geometric(values).map(|mean| (*system, mean)));
        }
        levels
    }

    /// Number of columns, of streams and of the others, whose means rank any two systems in the opposite order to the
    /// paper's.
    fn rankings_wrong(&self) -> usize {
        let mut wrong = 0;
        for (name, of) in [
            ("streams", Workloads::Streams),
            ("others", Workloads::Others),
        ] {
            for at in self.columns() {
                let (ours, paper) = (
                    self.levels(of, at, &self.ours),
                    self.levels(of, at, &self.paper),
                );
                let swapped: Vec<String> = pairs(&paper)
                    .filter(|(fast, slow)| match (ours.get(fast), ours.get(slow)) {
                        (Some(fast), Some(slow)) => fast <= slow,
                        _ => false,
                    })
                    .map(|(fast, slow)| format!("{fast} below {slow}"))
                    .collect();
                if !swapped.is_empty() {
                    let (temperature, size) = (at.0.name(), at.1.name());
                    eprintln!("{name}, {temperature} {size}: {}", swapped.join(", "));
                    wrong += 1;
                }
            }
        }
        wrong
    }

    /// Rows of the means with these names. The paper's mean over the same cells of its table is printed for comparison.
    fn rows(&self, names: &[&'static str], means: &[Mean]) -> Vec<Row> {
        let pairs = names.iter().zip(means);
        let row = |(name, mean): (&&'static str, &Mean)| {
            let (ours, paper) = (self.mean(mean, &self.ours), self.mean(mean, &self.paper));
            eprintln!("{name}: {ours:.3}; the same cells of the paper's table: {paper:.3}");
            Row::new(name, ours, "ratio")
        };
        pairs.map(row).collect()
    }
}

/// Pairs of systems with different means, the faster one first.
fn pairs<'b>(levels: &'b BTreeMap<&'b str, f64>) -> impl Iterator<Item = (&'b str, &'b str)> {
    levels.iter().flat_map(move |(fast, high)| {
        let slower = levels.iter().filter(move |(_, low)| high > low);
        slower.map(move |(slow, _)| (*fast, *slow))
    })
}

/// Means over cells with data on the card, and wrong rankings of the systems.
pub fn hot() -> Result<Vec<Row>, Failure> {
    let experiment = experiment(TABLE)?;
    let table = Table::measure(&experiment, HOT_ONLY)?;
    let mut rows = table.rows(HOT, &HOT_MEANS);
    let own: Option<Vec<f64>> = FITTING
        .iter()
        .map(|size| {
            let at = (Temperature::Hot, *size);
            let levels = table.levels(Workloads::Streams, at, &table.ours);
            levels.get("fsrf").copied()
        })
        .collect();
    let own = own.and_then(geometric).ok_or("no streams")?;
    let wrong = table.rankings_wrong() as f64;
    let [.., throughput, ranking] = HOT else {
        return Err("no names".into());
    };
    rows.push(Row::new(throughput, own / 1024.0, "GiB/s"));
    rows.push(Row::new(ranking, wrong, ""));
    Ok(rows)
}

/// Means over cells with data that has to be loaded, and wrong rankings of the systems.
pub fn loaded() -> Result<Vec<Row>, Failure> {
    let experiment = experiment(TABLE)?;
    let table = Table::measure(&experiment, TO_BE_LOADED)?;
    let mut rows = table.rows(LOADED, &LOADED_MEANS);
    let wrong = table.rankings_wrong() as f64;
    let [.., ranking] = LOADED else {
        return Err("no names".into());
    };
    rows.push(Row::new(ranking, wrong, ""));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read() -> Experiment {
        Experiment::read(&simcard::home().join("experiments"), TABLE).unwrap()
    }

    /// The published values as ours, modified by `change`.
    fn table<'a>(experiment: &'a Experiment, change: impl Fn(&Cell<'a>) -> f64) -> Table<'a> {
        let mut cells = experiment.cells();
        cells.retain(|cell| cell.published().is_some());
        let values: Vec<f64> = cells
            .iter()
            .map(|cell| cell.published().unwrap() * change(cell))
            .collect();
        Table::new(cells, values)
    }

    /// The paper's table gives the means of its text, so they are over these cells.
    #[test]
    fn the_table_gives_the_means_of_the_text() {
        let experiment = read();
        let table = table(&experiment, |_| 1.0);
        let claims = crate::claim::Claims::of_checkout().unwrap();
        let means = HOT
            .iter()
            .zip(&HOT_MEANS)
            .chain(LOADED.iter().zip(&LOADED_MEANS));
        let mut compared = 0;
        for (name, mean) in means {
            let claim = claims.iter().find(|(known, _)| known == name).unwrap().1;
            let published = claim.published.as_ref().unwrap();
            if published.state == crate::claim::State::Predicted {
                let found = table.mean(mean, &table.ours);
                let ratio = found / published.value;
                assert!((ratio - 1.0).abs() < 0.06, "{name}: {found}");
                compared += 1;
            }
        }
        assert_eq!(compared, 9);
        assert_eq!(table.rankings_wrong(), 0);
    }

    #[test]
    fn a_system_in_another_place_is_a_wrong_ranking() {
        let experiment = read();
        let slow = |cell: &Cell<'_>| {
            let column = (cell.temperature, cell.size) == (Temperature::Hot, Size::Large);
            let streams = Workloads::Streams.has(cell);
            match column && streams && cell.system.name == "fsrf" {
                true => 0.5,
                false => 1.0,
            }
        };
        let table = table(&experiment, slow);
        assert_eq!(table.rankings_wrong(), 1);
        let [mean, ..] = &HOT_MEANS;
        // Half in one of two columns.
        let share = table.mean(mean, &table.ours) / table.mean(mean, &table.paper);
        assert!((share - 0.5f64.sqrt()).abs() < 1e-9, "{share}");
    }
}
