//! FSRF's evaluation: how much of table 2 is reproduced with its own configuration and those of its competitors,
//! followed by ours in the same run. Results are cached and shared with `tombolo lab fsrf`, so a second run takes
//! seconds.

use super::Failure;
use crate::experiment::claims::Count;
use crate::experiment::fsrf::{Mix, Part, Rates, READS, REFIT, TABLE};
use crate::experiment::{Cell, Experiment, Outcome, Size, Temperature, Work, Workers};
use crate::row::Row;
use std::collections::HashSet;

/// Names of [`reproduced`].
pub const REPRODUCED: &[&str] = &[
    "fsrf.repro.within_25.values",
    "fsrf.repro.within_25.fsrf",
    "fsrf.repro.within_25.rivals",
    "fsrf.repro.within_25.calibrated",
    "fsrf.repro.within_25.not_comparable",
    "fsrf.repro.within_25.not_run",
    "fsrf.repro.ranking",
];
/// Names of [`refitted`].
pub const REFITTED: &[&str] = &["fsrf.repro.leave_out.values", "fsrf.repro.leave_out.fitted"];
/// Names of [`fairness`].
pub const FAIRNESS: &[&str] = &[
    "fsrf.fairness",
    "fsrf.fairness.one_run",
    "fsrf.fairness.shared_channels",
    "fsrf.fairness.shared_channels.one_run",
    "fsrf.fairness.drawn_places",
    "fsrf.fairness.drawn_places.one_run",
    "fsrf.fairness.warm",
    "fsrf.fairness.cold",
];
/// Names of [`hot_stream`].
pub const HOT_STREAM: &[&str] = &["fsrf.hot_stream.over_layouts"];
/// Names of [`hot_random`].
pub const HOT_RANDOM: &[&str] = &["fsrf.hot_random.share_of_physical"];

/// Names of [`figure9`]: all sizes, the largest, and all with components that do one operation at a time.
pub const FIGURE9: &[&str] = &[
    "fsrf.figure9.share_of_slowest",
    "fsrf.figure9.share_of_slowest_2m",
    "fsrf.figure9.share_of_slowest_serial",
];
/// Names of [`mix`].
pub const MIX: &[&str] = &["fsrf.mix.share_of_alone"];
/// Names of [`oversubscribed`].
pub const OVERSUBSCRIBED: &[&str] = &[
    "fsrf.oversubscribed.gups.warm",
    "fsrf.rival.gups.warm",
    "fsrf.oversubscribed.rng_read.warm",
    "fsrf.rival.rng_read.warm",
    "fsrf.oversubscribed.rng_write.warm",
    "fsrf.rival.rng_write.warm",
    "fsrf.oversubscribed.gups.cold",
    "fsrf.rival.gups.cold",
    "fsrf.oversubscribed.rng_read.cold",
    "fsrf.rival.rng_read.cold",
    "fsrf.oversubscribed.rng_write.cold",
    "fsrf.rival.rng_write.cold",
];
/// Names of [`worst_row`].
pub const WORST_ROW: &[&str] = &["fsrf.tombolo_vs_best_fsrf.worst_row"];
/// Names of [`minutes`].
pub const MINUTES: &[&str] = &[
    "fsrf.lab_minutes",
    "fsrf.lab_minutes.quick",
    "fsrf.lab_minutes.khz",
];
/// Names of [`figure_minutes`].
pub const FIGURE_MINUTES: &[&str] = &["fsrf.figure_minutes"];

pub(super) fn experiment(name: &str) -> Result<Experiment, Failure> {
    Ok(Experiment::read(
        &simcard::home().join("experiments"),
        name,
    )?)
}

/// Executes work, each piece in a process, and returns the outcomes.
fn work(experiment: &Experiment, work: &[Work<'_>]) -> Result<Vec<Outcome>, Failure> {
    let workers = Workers::processes(super::the_command()?);
    let outcomes = workers.all(experiment, work, |work, outcome| match outcome {
        Ok(outcome) => eprintln!(
            "{}: {:.1} MiB/s, deviation {:.2} %",
            work.name(),
            outcome.mib_per_s,
            outcome.deviation * 100.0,
        ),
        Err(error) => eprintln!("{}: {error}", work.name()),
    });
    outcomes.into_iter().collect()
}

/// Executes cells.
pub(super) fn run(experiment: &Experiment, cells: &[Cell<'_>]) -> Result<Vec<Outcome>, Failure> {
    let all: Vec<Work<'_>> = cells.iter().copied().map(Work::Cell).collect();
    work(experiment, &all)
}

/// The eighth row, in addition to the 280 cells.
const BESIDE: &str = "sha";

/// Published values of table 2, each counted once: the share within a quarter of the paper's value, among those that no
/// constant was fitted to. FSRF's own configurations and the others are reported separately.
pub fn reproduced() -> Result<Vec<Row>, Failure> {
    let experiment = experiment(TABLE)?;
    let mut cells = experiment.cells();
    cells.retain(|cell| cell.published().is_some());
    let count = counted(&experiment, cells)?;
    let (run, not_run) = count.printed;
    let apart = count.apart as f64 / run as f64;
    let values = [
        (count.predicted.value(), "share"),
        (count.own.value(), "share"),
        (count.rivals.value(), "share"),
        (count.calibrated as f64, "values"),
        (apart, "share"),
        (not_run as f64, "values"),
        (count.ranking.value(), "share"),
    ];
    let rows = REPRODUCED.iter().zip(values);
    let rows = rows.map(|(name, (value, unit))| Row::new(name, value, unit));
    Ok(rows.collect())
}

/// Runs cells and compares them with the published values.
fn counted<'a>(experiment: &'a Experiment, cells: Vec<Cell<'a>>) -> Result<Count<'a>, Failure> {
    let outcomes = run(experiment, &cells)?.into_iter().map(Some);
    let outcomes: Vec<_> = cells.into_iter().zip(outcomes).collect();
    Ok(Count::new(experiment, &outcomes).ok_or("no published values")?)
}

/// The values that constants were fitted to: the share within a quarter of the paper's once the constants are fitted to
/// other rows or systems, and with the constants as they are.
pub fn refitted() -> Result<Vec<Row>, Failure> {
    let (table, refit) = (experiment(TABLE)?, experiment(REFIT)?);
    let (of_refit, mut of_table) = (refit.cells(), table.cells());
    let names: HashSet<String> = of_refit.iter().map(Cell::name).collect();
    of_table.retain(|cell| names.contains(&cell.name()));
    let predicted = counted(&refit, of_refit)?.predicted;
    let fitted = counted(&table, of_table)?.fitted;
    let rows = REFITTED.iter().zip([predicted, fitted]);
    let rows = rows.map(|(name, share)| Row::new(name, share.value(), "share"));
    Ok(rows.collect())
}

/// The cell with two, three and four applications.
fn counts<'a>(cell: &Cell<'a>) -> [Cell<'a>; 3] {
    [2, 3, 4].map(|applications| Cell {
        applications,
        ..*cell
    })
}

/// The cell with its output displaced by one more bank each time: on f1-mig, by eight rows of 512 bytes.
fn layouts<'a>(cell: &Cell<'a>) -> [Cell<'a>; 4] {
    [0, 8, 16, 24].map(|shift_rows| Cell {
        shift_rows,
        ..*cell
    })
}

/// Number of runs over which the paper averages [section 6.2].
const RUNS: u8 = 5;

/// Equal applications, of which the runtimes are compared.
struct Equals {
    system: &'static str,
    temperature: Temperature,
    /// Whether the frames of the applications are adjacent, as the owner allocates them when applications start; else they
    /// are drawn.
    first_places: bool,
}

/// The rows of [`FAIRNESS`]: separate channels, and striped over shared ones with adjacent and with drawn frames, with resident
/// data, two rows each; then separate channels with data in files, where nothing is drawn: one run, one row.
const EQUALS: [Equals; 5] = {
    use Temperature::{Cold, Hot, Warm};
    const fn of(system: &'static str, temperature: Temperature, first_places: bool) -> Equals {
        Equals {
            system,
            temperature,
            first_places,
        }
    }
    [
        of("tombolo", Hot, false),
        of("coyote-2m", Hot, true),
        of("coyote-2m", Hot, false),
        of("tombolo", Warm, false),
        of("tombolo", Cold, false),
    ]
};

/// Largest deviation of runtimes of two, three and four equal applications. Runtimes are means over five runs, as in the
/// paper; the largest deviation within a single run is reported as well.
pub fn fairness() -> Result<Vec<Row>, Failure> {
    let experiment = experiment(TABLE)?;
    let mut deviations = Vec::new();
    for equals in &EQUALS {
        let runs = match equals.temperature {
            Temperature::Hot => RUNS,
            _ => 1,
        };
        let mut cells = experiment.cells();
        cells.retain(|cell| {
            cell.system.name == equals.system
                && (cell.temperature, cell.size) == (equals.temperature, Size::Small)
                && ["aes", "rng_read"].contains(&cell.workload.name.as_str())
        });
        let cells: Vec<Cell<'_>> = cells
            .iter()
            .flat_map(counts)
            .map(|cell| Cell {
                runs,
                first_places: equals.first_places,
                ..cell
            })
            .collect();
        let outcomes = run(&experiment, &cells)?;
        deviations.push(outcomes.iter().map(|o| o.deviation).fold(0.0, f64::max));
        if runs > 1 {
            let single = outcomes.iter().flat_map(|o| &o.deviations);
            deviations.push(single.copied().fold(0.0, f64::max));
        }
    }
    let rows = FAIRNESS.iter().zip(deviations);
    let rows = rows.map(|(name, deviation)| Row::new(name, deviation * 100.0, "%"));
    Ok(rows.collect())
}

/// Streams with resident data, relative to physical addressing, over layouts: the output displaced by one more bank
/// each time.
pub fn hot_stream() -> Result<Vec<Row>, Failure> {
    let experiment = experiment(TABLE)?;
    let mut share = Vec::new();
    for system in ["tombolo", "physical"] {
        let mut cells = experiment.cells();
        cells.retain(|cell| {
            (cell.workload.name.as_str(), cell.system.name.as_str()) == ("aes", system)
                && (cell.temperature, cell.size) == (Temperature::Hot, Size::Small)
        });
        let cells: Vec<Cell<'_>> = cells.iter().flat_map(layouts).collect();
        let outcomes = run(&experiment, &cells)?;
        let time: f64 = outcomes.iter().map(|o| 1.0 / o.mib_per_s).sum();
        share.push(1.0 / time);
    }
    let share = share[0] / share[1];
    Ok(vec![Row::new(HOT_STREAM[0], share, "share")])
}

/// 64-byte reads in a working set of eight times the reach of Coyote's 2 MiB TLB, with resident data.
pub fn hot_random() -> Result<Vec<Row>, Failure> {
    let experiment = experiment("fsrf-random")?;
    let mut cells = experiment.cells();
    cells.retain(|cell| {
        ["tombolo", "physical"].contains(&cell.system.name.as_str()) && cell.size == Size::Large
    });
    let outcomes = run(&experiment, &cells)?;
    let share = outcomes[0].mib_per_s / outcomes[1].mib_per_s;
    Ok(vec![Row::new(HOT_RANDOM[0], share, "share")])
}

/// Throughput of a cell, from the results.
fn of(
    cells: &[Cell<'_>],
    outcomes: &[Outcome],
    (workload, system): (&str, &str),
    at: (Temperature, Size),
) -> Option<f64> {
    let place = cells.iter().position(|cell| {
        (cell.workload.name.as_str(), cell.system.name.as_str()) == (workload, system)
            && (cell.temperature, cell.size) == at
    });
    Some(outcomes[place?].mib_per_s)
}

/// Ours relative to the better Coyote configuration of the same run, with data larger than card memory; and that
/// configuration relative to its published value: a rival that is too slow here would make a gain too large.
pub fn oversubscribed() -> Result<Vec<Row>, Failure> {
    let experiment = experiment(TABLE)?;
    let rows = [
        ("gups", Temperature::Warm),
        ("rng_read", Temperature::Warm),
        ("rng_write", Temperature::Warm),
        ("gups", Temperature::Cold),
        ("rng_read", Temperature::Cold),
        ("rng_write", Temperature::Cold),
    ];
    let mut cells = experiment.cells();
    cells.retain(|cell| {
        cell.size == Size::Oversubscribed
            && ["tombolo", "coyote-2m", "coyote-4k"].contains(&cell.system.name.as_str())
            && rows
                .iter()
                .any(|(workload, _)| *workload == cell.workload.name)
    });
    let outcomes = run(&experiment, &cells)?;
    let pair = |(names, (workload, temperature)): (&[&str], (&str, Temperature))| {
        let at = (temperature, Size::Oversubscribed);
        let of = |system| of(&cells, &outcomes, (workload, system), at).ok_or("no such cell");
        let rivals = ["coyote-2m", "coyote-4k"];
        let (ours, [large, small]) = (of("tombolo")?, [of(rivals[0])?, of(rivals[1])?]);
        let (rival, better) = match large > small {
            true => (rivals[0], large),
            false => (rivals[1], small),
        };
        let cell = cells.iter().find(|cell| {
            (cell.workload.name.as_str(), cell.system.name.as_str()) == (workload, rival)
                && (cell.temperature, cell.size) == at
        });
        let published = cell.and_then(Cell::published).ok_or("no published value")?;
        Ok::<_, Failure>([
            Row::new(names[0], ours / better, "ratio"),
            Row::new(names[1], better / published, "ratio"),
        ])
    };
    let pairs: Result<Vec<_>, _> = OVERSUBSCRIBED.chunks(2).zip(rows).map(pair).collect();
    Ok(pairs?.into_iter().flatten().collect())
}

/// Ours relative to FSRF with the TLB that it selected, in the row with the smallest ratio.
pub fn worst_row() -> Result<Vec<Row>, Failure> {
    let experiment = experiment(TABLE)?;
    let mut cells = experiment.cells();
    cells.retain(|cell| {
        ["tombolo", "fsrf"].contains(&cell.system.name.as_str()) && cell.workload.name != BESIDE
    });
    let outcomes = run(&experiment, &cells)?;
    let mut worst = f64::INFINITY;
    for cell in cells.iter().filter(|cell| cell.system.name == "tombolo") {
        let at = (cell.temperature, cell.size);
        let of = |system| of(&cells, &outcomes, (&cell.workload.name, system), at);
        let (Some(ours), Some(theirs)) = (of("tombolo"), of("fsrf")) else {
            continue;
        };
        eprintln!("{}: {:.3} of FSRF's", cell.name(), ours / theirs);
        worst = worst.min(ours / theirs);
    }
    Ok(vec![Row::new(WORST_ROW[0], worst, "share")])
}

/// The smallest share of its standalone throughput that one of our applications keeps while different ones run on
/// separate channels.
pub fn mix() -> Result<Vec<Row>, Failure> {
    let experiment = experiment(TABLE)?;
    let mut mixes = Mix::all(&experiment);
    mixes.retain(|mix| mix.system.name == "tombolo");
    let all: Vec<Work<'_>> = mixes.iter().cloned().map(Work::Mix).collect();
    let outcomes = work(&experiment, &all)?;
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for (mix, outcome) in mixes.iter().zip(outcomes) {
        match mix.is_whole() {
            true => together = outcome.each,
            false => alone.extend(outcome.each),
        }
    }
    let shares = together
        .iter()
        .zip(&alone)
        .map(|(beside, alone)| beside / alone);
    Ok(vec![Row::new(
        MIX[0],
        shares.fold(f64::INFINITY, f64::min),
        "share",
    )])
}

/// Figure 9: the smallest share of the slower component's standalone throughput.
pub fn figure9() -> Result<Vec<Row>, Failure> {
    let experiment = experiment(TABLE)?;
    let outcomes = work(&experiment, &Part::Figure9.work(&experiment))?;
    let rates: Option<Vec<Rates>> = outcomes.iter().map(Rates::of).collect();
    let rates = rates.ok_or("transfers without rates")?;
    let worst = |rates: &[Rates], serial| {
        let shares = rates.iter().flat_map(|rates| rates.shares(serial));
        shares.fold(f64::INFINITY, f64::min)
    };
    let largest = &rates[rates.len().saturating_sub(1)..];
    Ok(vec![
        Row::new(FIGURE9[0], worst(&rates, false), "share"),
        Row::new(FIGURE9[1], worst(largest, false), "share"),
        Row::new(FIGURE9[2], worst(&rates, true), "share"),
    ])
}

/// Processor time of the work, and number of simulated edges.
#[derive(Default)]
struct Spent {
    seconds: f64,
    cycles: u64,
}

impl Spent {
    fn add(&mut self, outcome: &Outcome) {
        self.seconds += outcome.processor_seconds;
        self.cycles += outcome.cycles;
    }

    /// Minutes on two processors.
    fn minutes(&self) -> f64 {
        self.seconds / 2.0 / 60.0
    }

    fn kilohertz(&self) -> f64 {
        self.cycles as f64 / self.seconds.max(1e-9) / 1e3
    }
}

/// Minutes on two cores for the lab with empty result caches and all models built, from the processor time of its
/// pieces: for all cells of the table, and for those of `--quick`.
pub fn minutes() -> Result<Vec<Row>, Failure> {
    let table = experiment(TABLE)?;
    let mut cells = table.cells();
    cells.retain(|cell| cell.workload.name != BESIDE);
    // Work with equal inputs is done only once.
    let mut met = HashSet::new();
    let (mut all, mut quick) = (Spent::default(), Spent::default());
    let cells: Vec<Work<'_>> = cells.into_iter().map(Work::Cell).collect();
    for (cell, outcome) in cells.iter().zip(work(&table, &cells)?) {
        if met.insert(cell.hash(&table.platform)?) {
            all.add(&outcome);
        }
        if matches!(cell, Work::Cell(cell) if cell.is_quick()) {
            quick.add(&outcome);
        }
    }
    Ok(vec![
        Row::new(MINUTES[0], all.minutes(), "min"),
        Row::new(MINUTES[1], quick.minutes(), "min"),
        Row::new(MINUTES[2], all.kilohertz(), "kHz"),
    ])
}

/// The same for figures 6 to 9, except cells of the table.
pub fn figure_minutes() -> Result<Vec<Row>, Failure> {
    let (table, reads) = (experiment(TABLE)?, experiment(READS)?);
    let of_table: Result<HashSet<String>, Failure> = Part::Table2
        .work(&table)
        .iter()
        .map(|cell| cell.hash(&table.platform))
        .collect();
    let mut met = of_table?;
    let mut figures = Spent::default();
    for part in [Part::Figure6, Part::Figure7, Part::Figure8, Part::Figure9] {
        let of = if part == Part::Figure8 {
            &reads
        } else {
            &table
        };
        let pieces = part.work(of);
        for (piece, outcome) in pieces.iter().zip(work(of, &pieces)?) {
            if met.insert(piece.hash(&of.platform)?) {
                figures.add(&outcome);
            }
        }
    }
    let minutes = figures.minutes();
    Ok(vec![Row::new(FIGURE_MINUTES[0], minutes, "min")])
}
