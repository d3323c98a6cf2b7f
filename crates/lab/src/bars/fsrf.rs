//! FSRF's table 2, cell by cell, beside what it prints. The experiment says what still differs from the paper's
//! set-up: until that is calibrated, no figure is a claim.

use super::Failure;
use crate::experiment::Experiment;
use crate::row::{Row, Target};

/// A bar a cell.
pub const NAMES: &[&str] = &[
    "fsrf.table2.aes.tombolo.warm_small",
    "fsrf.table2.aes.tombolo.warm_large",
    "fsrf.table2.aes.tombolo.hot_small",
    "fsrf.table2.aes.tombolo.hot_large",
    "fsrf.table2.aes.coyote-2m.warm_small",
    "fsrf.table2.aes.coyote-2m.warm_large",
    "fsrf.table2.aes.coyote-2m.hot_small",
    "fsrf.table2.aes.coyote-2m.hot_large",
    "fsrf.table2.aes.coyote-4k.warm_small",
    "fsrf.table2.aes.coyote-4k.warm_large",
    "fsrf.table2.aes.coyote-4k.hot_small",
    "fsrf.table2.aes.coyote-4k.hot_large",
    "fsrf.table2.aes.physical.hot_small",
    "fsrf.table2.aes.physical.hot_large",
    "fsrf.table2.rng_read.tombolo.warm_small",
    "fsrf.table2.rng_read.tombolo.warm_large",
    "fsrf.table2.rng_read.tombolo.hot_small",
    "fsrf.table2.rng_read.tombolo.hot_large",
    "fsrf.table2.rng_read.coyote-2m.warm_small",
    "fsrf.table2.rng_read.coyote-2m.warm_large",
    "fsrf.table2.rng_read.coyote-2m.hot_small",
    "fsrf.table2.rng_read.coyote-2m.hot_large",
    "fsrf.table2.rng_read.coyote-4k.warm_small",
    "fsrf.table2.rng_read.coyote-4k.warm_large",
    "fsrf.table2.rng_read.coyote-4k.hot_small",
    "fsrf.table2.rng_read.coyote-4k.hot_large",
    "fsrf.table2.rng_read.physical.hot_small",
    "fsrf.table2.rng_read.physical.hot_large",
    "fsrf.table2.gups.tombolo.warm_small",
    "fsrf.table2.gups.tombolo.warm_large",
    "fsrf.table2.gups.tombolo.hot_small",
    "fsrf.table2.gups.tombolo.hot_large",
    "fsrf.table2.gups.coyote-2m.warm_small",
    "fsrf.table2.gups.coyote-2m.warm_large",
    "fsrf.table2.gups.coyote-2m.hot_small",
    "fsrf.table2.gups.coyote-2m.hot_large",
    "fsrf.table2.gups.coyote-4k.warm_small",
    "fsrf.table2.gups.coyote-4k.warm_large",
    "fsrf.table2.gups.coyote-4k.hot_small",
    "fsrf.table2.gups.coyote-4k.hot_large",
    "fsrf.table2.gups.physical.hot_small",
    "fsrf.table2.gups.physical.hot_large",
    "fsrf.table2.sha.tombolo.warm_small",
    "fsrf.table2.sha.tombolo.warm_large",
    "fsrf.table2.sha.tombolo.hot_small",
    "fsrf.table2.sha.tombolo.hot_large",
    "fsrf.table2.sha.coyote-2m.warm_small",
    "fsrf.table2.sha.coyote-2m.warm_large",
    "fsrf.table2.sha.coyote-2m.hot_small",
    "fsrf.table2.sha.coyote-2m.hot_large",
    "fsrf.table2.sha.coyote-4k.warm_small",
    "fsrf.table2.sha.coyote-4k.warm_large",
    "fsrf.table2.sha.coyote-4k.hot_small",
    "fsrf.table2.sha.coyote-4k.hot_large",
    "fsrf.table2.sha.physical.hot_small",
    "fsrf.table2.sha.physical.hot_large",
    "fsrf.table2.md5.tombolo.warm_small",
    "fsrf.table2.md5.tombolo.warm_large",
    "fsrf.table2.md5.tombolo.hot_small",
    "fsrf.table2.md5.tombolo.hot_large",
    "fsrf.table2.md5.coyote-2m.warm_small",
    "fsrf.table2.md5.coyote-2m.warm_large",
    "fsrf.table2.md5.coyote-2m.hot_small",
    "fsrf.table2.md5.coyote-2m.hot_large",
    "fsrf.table2.md5.coyote-4k.warm_small",
    "fsrf.table2.md5.coyote-4k.warm_large",
    "fsrf.table2.md5.coyote-4k.hot_small",
    "fsrf.table2.md5.coyote-4k.hot_large",
    "fsrf.table2.md5.physical.hot_small",
    "fsrf.table2.md5.physical.hot_large",
    "fsrf.table2.hll.tombolo.warm_small",
    "fsrf.table2.hll.tombolo.warm_large",
    "fsrf.table2.hll.tombolo.hot_small",
    "fsrf.table2.hll.tombolo.hot_large",
    "fsrf.table2.hll.coyote-2m.warm_small",
    "fsrf.table2.hll.coyote-2m.warm_large",
    "fsrf.table2.hll.coyote-2m.hot_small",
    "fsrf.table2.hll.coyote-2m.hot_large",
    "fsrf.table2.hll.coyote-4k.warm_small",
    "fsrf.table2.hll.coyote-4k.warm_large",
    "fsrf.table2.hll.coyote-4k.hot_small",
    "fsrf.table2.hll.coyote-4k.hot_large",
    "fsrf.table2.hll.physical.hot_small",
    "fsrf.table2.hll.physical.hot_large",
    "fsrf.table2.conv.tombolo.warm_small",
    "fsrf.table2.conv.tombolo.warm_large",
    "fsrf.table2.conv.tombolo.hot_small",
    "fsrf.table2.conv.tombolo.hot_large",
    "fsrf.table2.conv.coyote-2m.warm_small",
    "fsrf.table2.conv.coyote-2m.warm_large",
    "fsrf.table2.conv.coyote-2m.hot_small",
    "fsrf.table2.conv.coyote-2m.hot_large",
    "fsrf.table2.conv.coyote-4k.warm_small",
    "fsrf.table2.conv.coyote-4k.warm_large",
    "fsrf.table2.conv.coyote-4k.hot_small",
    "fsrf.table2.conv.coyote-4k.hot_large",
    "fsrf.table2.conv.physical.hot_small",
    "fsrf.table2.conv.physical.hot_large",
];

pub fn measure() -> Result<Vec<Row>, Failure> {
    let experiment = Experiment::read(&card::sim::home().join("experiments"), "fsrf-table2")?;
    let cells = experiment.cells();
    let outcomes = experiment.run(&cells, |cell, outcome| match outcome {
        Ok(outcome) => eprintln!("{}: {:.0} MiB/s", cell.name(), outcome.mib_per_s),
        Err(error) => eprintln!("{}: {error}", cell.name()),
    });
    let rows = cells.iter().zip(outcomes).map(|(cell, outcome)| {
        let name = format!("fsrf.table2.{}", cell.name());
        let target = cell.published().map_or(Target::Shown, Target::Beside);
        Ok(Row::new(&name, outcome?.mib_per_s, "MiB/s", target))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_a_bar() {
        let folder = card::sim::home().join("experiments");
        let experiment = Experiment::read(&folder, "fsrf-table2").unwrap();
        let cells = experiment.cells();
        let names = cells
            .iter()
            .map(|cell| format!("fsrf.table2.{}", cell.name()));
        assert_eq!(names.collect::<Vec<_>>(), NAMES);
    }
}
