//! FSRF's evaluation in addition to its table 2: figures 6 to 9 and the fairness of section 6.4, combined in a page.

mod mix;
mod page;
mod scaling;
mod transfer;

pub use mix::Mix;
pub use transfer::{Rates, Transfer};

use super::{Cell, Experiment, Outcome, Work};

/// Experiment of the table, to which the figures belong.
pub const TABLE: &str = "fsrf-table2";
/// Experiment of the table with its constants fitted to other values.
pub const REFIT: &str = "fsrf-refit";
/// Experiment of figure 8.
pub const READS: &str = "fsrf-figure8";

/// Cells of figure 6.
pub fn scaling(experiment: &Experiment) -> Vec<Cell<'_>> {
    scaling::cells(experiment)
}

/// A part of the evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Table 2, and figure 5, which is derived from it.
    Table2,
    /// Figure 6 and fairness.
    Figure6,
    /// Figure 7.
    Figure7,
    /// Figure 8.
    Figure8,
    /// Figure 9.
    Figure9,
}

impl Part {
    /// All parts, in the paper's order.
    pub const ALL: [Self; 5] = [
        Self::Table2,
        Self::Figure6,
        Self::Figure7,
        Self::Figure8,
        Self::Figure9,
    ];

    /// Work of the part; `experiment` is the table's, except for figure 8.
    pub fn work(self, experiment: &Experiment) -> Vec<Work<'_>> {
        match self {
            Self::Table2 | Self::Figure8 => {
                experiment.cells().into_iter().map(Work::Cell).collect()
            }
            Self::Figure6 => scaling(experiment).into_iter().map(Work::Cell).collect(),
            Self::Figure7 => Mix::all(experiment).into_iter().map(Work::Mix).collect(),
            Self::Figure9 => Transfer::all().into_iter().map(Work::Transfer).collect(),
        }
    }
}

/// The experiment's work with this name.
pub fn find<'a>(experiment: &'a Experiment, name: &str) -> Option<Work<'a>> {
    let parts: &[Part] = match experiment.name.as_str() {
        TABLE => &Part::ALL,
        _ => &[Part::Table2],
    };
    let mut all = parts.iter().flat_map(|part| part.work(experiment));
    let found = all.find(|work| work.name() == name);
    // The bars have additional cells: other layouts, and other numbers of applications and runs.
    found.or_else(|| experiment.cell(name).map(Work::Cell))
}

/// Measured parts; omitted parts are empty.
#[derive(Default)]
pub struct FsrfFigures<'a> {
    /// Cells of table 2.
    pub table: Vec<(Cell<'a>, Option<Outcome>)>,
    /// Cells of figure 6.
    pub scaling: Vec<(Cell<'a>, Option<Outcome>)>,
    /// Figure 7.
    pub mixes: Vec<(Mix<'a>, Option<Outcome>)>,
    /// Cells of figure 8.
    pub reads: Vec<(Cell<'a>, Option<Outcome>)>,
    /// Figure 9.
    pub transfers: Vec<(Transfer, Option<Outcome>)>,
}

impl<'a> FsrfFigures<'a> {
    /// Adds the outcomes of a part.
    pub fn add(&mut self, part: Part, done: impl IntoIterator<Item = (Work<'a>, Option<Outcome>)>) {
        for (work, outcome) in done {
            match (work, part) {
                (Work::Cell(cell), Part::Figure6) => self.scaling.push((cell, outcome)),
                (Work::Cell(cell), Part::Figure8) => self.reads.push((cell, outcome)),
                (Work::Cell(cell), _) => self.table.push((cell, outcome)),
                (Work::Mix(mix), _) => self.mixes.push((mix, outcome)),
                (Work::Transfer(transfer), _) => self.transfers.push((transfer, outcome)),
            }
        }
    }
}

pub(crate) use page::geometric;
pub use page::study;
