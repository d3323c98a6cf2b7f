//! Time of `tombolo lab all`.

use super::fsrf;
use crate::experiment::cckit::Cckit;
use crate::experiment::fleximem::FlexiMem;
use crate::experiment::vfpio::Vfpio;
use crate::experiment::{fleximem_parts, vfpio_parts, Failure, PaperPart, PartOutcome, Workers};
use crate::row::Row;

/// Names of [`minutes`].
pub const MINUTES: &[&str] = &["lab.all_minutes"];

/// Minutes on two cores for the four papers with empty result caches and all models built, from the processor time of
/// their work.
pub fn minutes() -> Result<Vec<Row>, Failure> {
    let folder = simcard::home().join("experiments");
    let workers = Workers::processes(super::the_command()?);
    let (fleximem, vfpio) = (FlexiMem::read(&folder)?, Vfpio::read(&folder)?);
    let cckit = Cckit::read(&folder, super::ALL)?;
    let mut seconds = 0.0;
    // Parts of one paper share a command.
    for parts in [
        fleximem_parts(&fleximem).to_vec(),
        vfpio_parts(&vfpio),
        cckit.parts(&cckit.figures(false)),
    ] {
        let told = |part: &PaperPart<'_>, outcome: &Result<PartOutcome, Failure>| match outcome {
            Ok(outcome) => eprintln!("{}: {:.0} s", part.name(), outcome.processor_seconds),
            Err(error) => eprintln!("{}: {error}", part.name()),
        };
        for outcome in workers.parts(&parts, told) {
            seconds += outcome?.processor_seconds;
        }
    }
    let figures = fsrf::minutes()?.into_iter().take(1);
    let fsrf: f64 = figures
        .chain(fsrf::figure_minutes()?)
        .map(|row| row.value)
        .sum();
    Ok(vec![Row::new(
        MINUTES[0],
        fsrf + seconds / 2.0 / 60.0,
        "min",
    )])
}
