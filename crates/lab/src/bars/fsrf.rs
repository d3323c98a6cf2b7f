//! FSRF's evaluation: how much of table 2 is reproduced with its own and its rivals' configurations, and then ours
//! beside them in the same run. Cells are kept (`tombolo lab fsrf` uses the same), so a second run takes seconds.

use super::Failure;
use crate::experiment::{Cell, Experiment, Outcome, Size, Temperature};
use crate::row::{Row, Target};

/// Names of [`reproduced`].
pub const REPRODUCED: &[&str] = &["fsrf.repro.cells", "fsrf.repro.within_25"];
/// Names of [`fairness`].
pub const FAIRNESS: &[&str] = &["fsrf.fairness", "fsrf.fairness.shared_channels"];
/// Names of [`hot_stream`].
pub const HOT_STREAM: &[&str] = &["fsrf.hot_stream.over_layouts"];
/// Names of [`hot_random`].
pub const HOT_RANDOM: &[&str] = &["fsrf.hot_random.share_of_physical"];

fn experiment(name: &str) -> Result<Experiment, Failure> {
    Ok(Experiment::read(
        &card::sim::home().join("experiments"),
        name,
    )?)
}

/// Runs cells, and says what each gives.
fn run(experiment: &Experiment, cells: &[Cell<'_>]) -> Result<Vec<Outcome>, Failure> {
    let outcomes = experiment.run(cells, |cell, outcome| match outcome {
        Ok(outcome) => eprintln!(
            "{}: {:.0} MiB/s, deviation {:.2} %{}",
            cell.name(),
            outcome.mib_per_s,
            outcome.deviation * 100.0,
            cell.published()
                .map_or(String::new(), |paper| format!(" (paper {paper})"))
        ),
        Err(error) => eprintln!("{}: {error}", cell.name()),
    });
    outcomes.into_iter().collect()
}

/// Workloads of the bar: one of the streams, and the two that are none.
const JUDGED: [&str; 3] = ["aes", "rng_read", "gups"];

/// The share of cells within a quarter of the paper's, of those that are claimed and small.
pub fn reproduced() -> Result<Vec<Row>, Failure> {
    let experiment = experiment("fsrf-table2")?;
    let mut cells = experiment.cells();
    cells.retain(|cell| {
        experiment.claims(cell)
            && cell.size == Size::Small
            && JUDGED.contains(&cell.workload.name.as_str())
    });
    let outcomes = run(&experiment, &cells)?;
    let within = cells.iter().zip(&outcomes).filter(|(cell, outcome)| {
        let paper = cell.published().unwrap_or(f64::NAN);
        (outcome.mib_per_s / paper - 1.0).abs() <= 0.25
    });
    let share = within.count() as f64 / cells.len() as f64;
    Ok(vec![
        Row::new(REPRODUCED[0], cells.len() as f64, "cells", Target::Shown),
        Row::new(REPRODUCED[1], share, "share", Target::AtLeast(0.8)),
    ])
}

/// The cell with two, three and four applications.
fn counts<'a>(cell: &Cell<'a>) -> [Cell<'a>; 3] {
    [2, 3, 4].map(|applications| Cell {
        applications,
        ..*cell
    })
}

/// The cell with its output a bank further each time: of f1-mig, that is eight rows, 512 bytes.
fn layouts<'a>(cell: &Cell<'a>) -> [Cell<'a>; 4] {
    [0, 8, 16, 24].map(|shift_rows| Cell {
        shift_rows,
        ..*cell
    })
}

/// The largest deviation of runtimes of two, three and four equal applications with data on the card: on channels
/// of their own, and striped over shared ones.
pub fn fairness() -> Result<Vec<Row>, Failure> {
    let experiment = experiment("fsrf-table2")?;
    let mut rows = Vec::new();
    for (name, system) in FAIRNESS.iter().zip(["tombolo", "coyote-2m"]) {
        let mut cells = experiment.cells();
        cells.retain(|cell| {
            cell.system.name == system
                && (cell.temperature, cell.size) == (Temperature::Hot, Size::Small)
                && ["aes", "rng_read"].contains(&cell.workload.name.as_str())
        });
        let cells: Vec<Cell<'_>> = cells.iter().flat_map(counts).collect();
        let deviations = run(&experiment, &cells)?.into_iter().map(|o| o.deviation);
        let worst = deviations.fold(0.0, f64::max) * 100.0;
        rows.push(Row::new(name, worst, "%", Target::AtMost(1.1)));
    }
    Ok(rows)
}

/// Streams with data on the card against physical addresses, over layouts: the output a bank further each time.
pub fn hot_stream() -> Result<Vec<Row>, Failure> {
    let experiment = experiment("fsrf-table2")?;
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
    Ok(vec![Row::new(
        HOT_STREAM[0],
        share,
        "share",
        Target::AtLeast(0.98),
    )])
}

/// Reads of 64 bytes in a set of eight times the reach of Coyote's 2 MiB TLB, data on the card.
pub fn hot_random() -> Result<Vec<Row>, Failure> {
    let experiment = experiment("fsrf-random")?;
    let mut cells = experiment.cells();
    cells.retain(|cell| {
        ["tombolo", "physical"].contains(&cell.system.name.as_str()) && cell.size == Size::Large
    });
    let outcomes = run(&experiment, &cells)?;
    let share = outcomes[0].mib_per_s / outcomes[1].mib_per_s;
    Ok(vec![Row::new(
        HOT_RANDOM[0],
        share,
        "share",
        Target::AtLeast(0.95),
    )])
}
