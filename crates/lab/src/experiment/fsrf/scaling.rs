//! Figure 6 and the fairness of section 6.4: one to four applications beside each other.

use crate::experiment::{Cell, Experiment, Size, Temperature};

/// Workloads of the figure: one of the streams, and one that is none.
pub const WORKLOADS: [&str; 2] = ["aes", "rng_read"];
/// Systems: the paper's, and ours beside it.
pub const SYSTEMS: [&str; 2] = ["fsrf", "tombolo"];
/// Numbers of applications.
pub const COUNTS: [u8; 4] = [1, 2, 3, 4];

/// Cells of the figure; those of four applications are the table's.
pub fn cells<'a>(experiment: &'a Experiment) -> Vec<Cell<'a>> {
    let mut cells = experiment.cells();
    cells.retain(|cell| {
        cell.size == Size::Large
            && WORKLOADS.contains(&cell.workload.name.as_str())
            && SYSTEMS.contains(&cell.system.name.as_str())
    });
    let counted = |cell: &Cell<'a>| {
        COUNTS.map(|applications| Cell {
            applications,
            ..*cell
        })
    };
    let mut all: Vec<Cell<'a>> = cells.iter().flat_map(counted).collect();
    // Hot ones are quick: they come first.
    all.sort_by_key(|cell| cell.temperature != Temperature::Hot);
    all
}
