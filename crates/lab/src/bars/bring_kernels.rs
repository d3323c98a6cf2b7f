//! Kernels for other tools: how many run unchanged, with only a manifest or an import.

use super::{the_command, Failure};
use crate::cases::{self, Case, CaseOutcome};
use crate::row::Row;

/// Figures produced.
pub const NAMES: &[&str] = &["bring.kernels", "bring.kernels_failed"];

/// Whether the case runs a kernel, rather than expecting a refusal.
fn is_kernel(case: &Case) -> bool {
    !case.name.contains(".refused.")
}

/// Counts the kernels whose results are correct to the byte, and the failing cases, including refusals. A case that is
/// skipped counts as failed.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let folder = cases::bring_folder();
    let list = cases::read(&folder)?;
    let outcomes = cases::run(&the_command()?, &folder, &list, 2);
    let (mut run, mut failed) = (0.0, 0.0);
    for (case, outcome) in list.iter().zip(outcomes) {
        match outcome {
            CaseOutcome::Held if is_kernel(case) => run += 1.0,
            CaseOutcome::Held => {}
            CaseOutcome::Skipped(program) => eprintln!("case {}: needs {program}", case.name),
            CaseOutcome::Failed(what) => {
                eprintln!("case {}: {what}", case.name);
                failed += 1.0;
            }
        }
    }
    Ok(vec![
        Row::new(NAMES[0], run, "kernels"),
        Row::new(NAMES[1], failed, "cases"),
    ])
}
