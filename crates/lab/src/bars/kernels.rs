//! Kernels of FSRF's workloads, compared with independent libraries.

use super::{languages, Failure};
use crate::row::Row;
use crate::tools;
use std::process::Command;

/// Number of random cases per kernel.
const CASES: &str = "1000";

/// Number of cases in which a kernel's reference differs from an independent library. Its RTL and its functional model
/// equal the reference bit for bit (tests of the kernels' folders, `crates/funcard/tests`). The RTL of `sha256_hls` is
/// compared with the library itself, which leaves its functional model.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    let mut wrong = 0.0;
    for script in [
        "pgrnk/reference.py",
        "triangles/against_networkx.py",
        "nw_pairs/against_biopython.py",
        "flow/against_numpy.py",
        "dnn/dnn_against_numpy.py",
        "dnn_float/dnn_float_against_numpy.py",
    ] {
        wrong += wrong_cases(Command::new(tools::python(&home)), script)?;
    }
    wrong += wrong_cases(languages::python()?, "sha256_hls/against_hashlib.py")?;
    Ok(vec![Row::new("kernels.reference_wrong", wrong, "")])
}

/// Number of wrong cases that a script of `kernels/` prints.
fn wrong_cases(mut python: Command, script: &str) -> Result<f64, Failure> {
    let output = python
        .arg(simcard::home().join("kernels").join(script))
        .arg(CASES)
        .output()?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{script}: {told}").into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}
