//! User scenarios: how many of `tests/cases` fail.

use super::{the_command, Failure};
use crate::cases::{self, CaseOutcome};
use crate::row::Row;

/// Figures produced.
pub const NAMES: &[&str] = &["stranger.cases", "stranger.cases_count"];

/// Number of failing cases, and of all cases. A case that is skipped counts as failed.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let folder = cases::folder();
    let list = cases::read(&folder)?;
    let outcomes = cases::run(&the_command()?, &folder, &list, 2);
    let mut failed = 0.0;
    for (case, outcome) in list.iter().zip(outcomes) {
        match outcome {
            CaseOutcome::Held => continue,
            CaseOutcome::Skipped(program) => eprintln!("case {}: needs {program}", case.name),
            CaseOutcome::Failed(what) => eprintln!("case {}: {what}", case.name),
        }
        failed += 1.0;
    }
    let count = list.len() as f64;
    Ok(vec![
        Row::new(NAMES[0], failed, "cases"),
        Row::new(NAMES[1], count, "cases"),
    ])
}
