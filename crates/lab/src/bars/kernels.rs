//! Kernels of FSRF's workloads against independent libraries.

use super::{speed, Failure};
use crate::row::{Row, Target};
use std::process::Command;

/// Random cases of each kernel.
const CASES: &str = "1000";

/// Cases in which a kernel's definition, which its RTL and its functional model equal bit for bit (`kernels/pgrnk`,
/// `crates/funcard/tests`), gives something else than an independent library.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    let output = Command::new(speed::python(&home))
        .arg(home.join("kernels/pgrnk/reference.py"))
        .arg(CASES)
        .output()?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the reference of pgrnk: {told}").into());
    }
    let wrong: f64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
    Ok(vec![Row::new(
        "kernels.reference_wrong",
        wrong,
        "",
        Target::Exactly(0.0),
    )])
}
