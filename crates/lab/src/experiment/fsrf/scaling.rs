//! Figure 6 and the fairness of section 6.4: one to four concurrent applications.

use crate::experiment::{Cell, Experiment, Size, Temperature};

/// Workloads of the figure: one streaming, one not.
pub const WORKLOADS: [&str; 2] = ["aes", "rng_read"];
/// Systems: the paper's and ours.
pub const SYSTEMS: [&str; 2] = ["fsrf", "tombolo"];
/// Numbers of applications.
pub const COUNTS: [u8; 4] = [1, 2, 3, 4];

/// Cells of the figure; those of four applications are shared with the table.
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
    // Hot cells first, since they are fast.
    all.sort_by_key(|cell| cell.temperature != Temperature::Hot);
    all
}
