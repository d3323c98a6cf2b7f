//! Measures the bars of the directory and prints them.
//!
//! `tombolo-coherence-bench [--compact] [streams|choices|latency|invalidate|random[=N]|mutants]...`,
//! by default all.

use std::process::ExitCode;

use coherence::bars::{self, Bar};
use coherence::model::Geometry;
use coherence::platform::Platform;
use coherence::system::SystemError;

fn measure(what: &str, geometry: Geometry) -> Result<Vec<Bar>, SystemError> {
    let platform = Platform::enzian()?;
    let (name, argument) = what.split_once('=').unwrap_or((what, ""));
    match name {
        "streams" => bars::streams(&platform, geometry),
        "choices" => bars::choices(&platform, geometry),
        "mutants" => bars::mutants(&platform),
        "latency" => bars::latencies(&platform, geometry),
        "invalidate" => bars::invalidations(&platform, geometry),
        "random" => bars::random_operations(&platform, argument.parse().unwrap_or(10_000_000)),
        _ => Ok(Vec::new()),
    }
}

fn main() -> ExitCode {
    let mut geometry = Geometry::PAPER;
    let mut wanted = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--compact" => geometry = Geometry::COMPACT,
            _ => wanted.push(argument),
        }
    }
    if wanted.is_empty() {
        let all = "latency invalidate streams choices random mutants";
        wanted = all.split(' ').map(str::to_owned).collect();
    }
    let mut all_met = true;
    for what in wanted {
        match measure(&what, geometry) {
            Ok(bars) => {
                for bar in bars {
                    all_met &= bar.met;
                    println!("{bar}");
                }
            }
            Err(error) => {
                eprintln!("{what}: {error}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::from(u8::from(!all_met))
}
