//! The directory controller: figures of `coherence::bars` on the Verilated RTL, and the area of the RTL.

use super::Failure;
use crate::row::Row;
use crate::synthesis::{synthesize, Report};
use coherence::bars::{self, Bar};
use coherence::model::DirectoryGeometry;
use coherence::mutants::MutantResult;
use coherence::platform::Platform;
use coherence::torture::{self, DirectoryPlan};
use std::time::Instant;

/// Operations of the random test.
const OPERATIONS: u64 = 10_000_000;

/// Operations of the random test with six-bit request numbers.
const WIDE_OPERATIONS: u64 = 1_000_000;

/// LUTs of a VU9P (CCKit's card).
const VU9P_LUTS: f64 = 1_182_240.0;

pub(super) fn rows(bars: Vec<Bar>) -> Vec<Row> {
    bars.into_iter()
        .map(|bar| Row::new(&bar.name, bar.value, bar.unit))
        .collect()
}

pub fn latencies() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    Ok(rows(bars::latencies(&platform, DirectoryGeometry::PAPER)?))
}

pub fn streams() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    Ok(rows(bars::streams(&platform, DirectoryGeometry::PAPER)?))
}

/// More than 64 outstanding requests.
pub fn request_numbers() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    let mut rows = rows(bars::request_numbers(&platform, DirectoryGeometry::PAPER)?);
    rows.extend(self::rows(bars::wide_requests(&platform, WIDE_OPERATIONS)?));
    Ok(rows)
}

pub fn choices() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    Ok(rows(bars::choices(&platform, DirectoryGeometry::COMPACT)?))
}

pub fn invalidations() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    Ok(rows(bars::invalidations(
        &platform,
        DirectoryGeometry::PAPER,
    )?))
}

pub fn random_operations() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    Ok(rows(bars::random_operations(&platform, OPERATIONS)?))
}

/// Speed of the directory's model: all 64 units, with link, CPU and checker of the random test.
pub fn speed() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    let run = |operations| {
        let plan = DirectoryPlan {
            geometry: DirectoryGeometry::WIDE,
            operations,
            lines: 400,
            card_operations: 24,
            round_trip_ps: 40_000,
            jitter_ps: 400_000,
            resets: 0,
            seed: 50,
        };
        torture::run(&plan, &platform.link)
    };
    // Builds the model.
    run(100)?;
    let began = Instant::now();
    let cycles = run(50_000)?.cycles as f64;
    let speed = cycles / began.elapsed().as_secs_f64() / 1000.0;
    let name = "directory.sim_khz";
    Ok(vec![Row::new(name, speed, "kHz")])
}

pub fn mutants() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    let bars = bars::mutants(&platform, &mut |mutant, fate| match fate {
        MutantResult::Found(how) => eprintln!("directory: {}: {how}", mutant.what),
        MutantResult::Survived => eprintln!("directory: {}: SURVIVED", mutant.what),
    })?;
    Ok(rows(bars))
}

/// `synth.directory.*`: two slices of 32 units and the registers. A slice is mapped without its units; these are
/// identical, so only one is mapped.
pub fn synthesis() -> Result<Vec<Row>, Failure> {
    let list = "rtl/directory/tmb_directory.f";
    let slice = synthesize(list, "tmb_directory_slice", &["tmb_directory_unit"])?;
    let registers = synthesize(list, "tmb_directory_registers", &[])?;
    let sum = |part: fn(&Report) -> f64| 2.0 * part(&slice) + part(&registers);
    let levels = |report: &Report| report.longest_path.levels;
    let warnings = slice.warnings.len() + registers.warnings.len();
    let row = |part: &str, value: f64, unit: &str| {
        Row::new(&format!("synth.directory.{part}"), value, unit)
    };
    let share = 100.0 * sum(|s| s.lut) / VU9P_LUTS;
    let longest = levels(&slice).max(levels(&registers));
    Ok(vec![
        row("lut", sum(|s| s.lut), "LUT"),
        row("lut_percent_of_vu9p", share, "%"),
        row("ff", sum(|s| s.ff), "FF"),
        row("bram36", sum(|s| s.bram36), "BRAM36"),
        row("path_levels", longest, "LUT levels"),
        row("latches", sum(|s| s.latches), ""),
        row("warnings", warnings as f64, ""),
    ])
}
