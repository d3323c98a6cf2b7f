//! The directory controller: what `coherence::bars` measures on the Verilated RTL, and what the RTL
//! costs on a card.

use super::Failure;
use crate::row::{Row, Target};
use coherence::bars::{self, Bar};
use coherence::model::Geometry;
use coherence::platform::Platform;
use serde::Deserialize;
use std::process::{Command, Stdio};

/// Operations of the random test.
const OPERATIONS: u64 = 10_000_000;

/// LUTs of a VU9P (CCKit's card).
const VU9P_LUTS: f64 = 1_182_240.0;

fn rows(bars: Vec<Bar>) -> Vec<Row> {
    let row = |bar: Bar| Row {
        command: format!("make bench ONLY={}", bar.name),
        name: bar.name,
        value: bar.value,
        unit: bar.unit.to_owned(),
        target: bar.target,
        met: bar.met,
    };
    bars.into_iter().map(row).collect()
}

pub fn latencies() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    Ok(rows(bars::latencies(&platform, Geometry::PAPER)?))
}

pub fn streams() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    Ok(rows(bars::streams(&platform, Geometry::PAPER)?))
}

pub fn choices() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    Ok(rows(bars::choices(&platform, Geometry::COMPACT)?))
}

pub fn invalidations() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    Ok(rows(bars::invalidations(&platform, Geometry::PAPER)?))
}

pub fn random_operations() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    Ok(rows(bars::random_operations(&platform, OPERATIONS)?))
}

pub fn mutants() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    Ok(rows(bars::mutants(&platform)?))
}

/// What `tools/synthesis` says, as far as it is used here.
#[derive(Deserialize)]
struct Synthesis {
    lut: f64,
    ff: f64,
    bram36: f64,
    latches: f64,
    longest_path: LongestPath,
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct LongestPath {
    levels: f64,
}

fn synthesize(arguments: &[&str]) -> Result<Synthesis, Failure> {
    let mut command = Command::new(card::sim::home().join("tools/synthesis"));
    command.args(arguments).stderr(Stdio::inherit());
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("tools/synthesis {}: failed", arguments.join(" ")).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// `synth.directory.*`: two slices of 32 units and the registers. A slice is mapped with its units
/// apart, and they are alike, so one stands for all.
pub fn synthesis() -> Result<Vec<Row>, Failure> {
    let list = "rtl/directory/tmb_directory.f";
    let slice = ["--top", "tmb_directory_slice", "-f", list];
    let slice = synthesize(&[&slice[..], &["--once", "tmb_directory_unit"]].concat())?;
    let registers = synthesize(&["--top", "tmb_directory_registers", "-f", list])?;
    let sum = |part: fn(&Synthesis) -> f64| 2.0 * part(&slice) + part(&registers);
    let levels = |synthesis: &Synthesis| synthesis.longest_path.levels;
    let warnings = slice.warnings.len() + registers.warnings.len();
    let row = |part: &str, value: f64, unit: &str, target: Target| {
        Row::new(&format!("synth.directory.{part}"), value, unit, target)
    };
    let share = 100.0 * sum(|s| s.lut) / VU9P_LUTS;
    let longest = levels(&slice).max(levels(&registers));
    Ok(vec![
        row("lut", sum(|s| s.lut), "LUT", Target::Shown),
        row("lut_percent_of_vu9p", share, "%", Target::Beside(6.86)),
        row("ff", sum(|s| s.ff), "FF", Target::Shown),
        row("bram36", sum(|s| s.bram36), "BRAM36", Target::Shown),
        row("path_levels", longest, "LUT levels", Target::AtMost(10.0)),
        row("latches", sum(|s| s.latches), "", Target::Exactly(0.0)),
        row("warnings", warnings as f64, "", Target::Exactly(0.0)),
    ])
}
