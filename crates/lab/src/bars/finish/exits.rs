//! Runs of a C program that returns from `main` without closing anything (`crates/capi/tests/finish_exit.c`).

use super::{Failure, FinishCase};
use std::path::Path;
use std::process::Command;

/// Runs the program; returns the bytes, or its error output.
pub(super) fn run(
    program: &Path,
    kernel: &Path,
    to: &Path,
    case: &FinishCase,
) -> Result<Result<u64, tombolo::Error>, Failure> {
    let output = Command::new(program)
        .arg(if case.simulated { "f1" } else { "functional" })
        .args([kernel, to])
        .arg(case.page.bytes().to_string())
        .args([case.bytes, case.seed.into(), case.mode].map(|number| number.to_string()))
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() && said.is_empty() {
        true => Ok(Ok(case.bytes)),
        // No mode violates a rule, so none may fail.
        false => Err(format!("{case:?}: {}: {said}", output.status).into()),
    }
}
