//! How long single reads take.

use super::{baseline, directory, Bar, REGION};
use crate::cache::{Access, Outcome};
use crate::line::PlainLine;
use crate::model::DirectoryGeometry;
use crate::platform::Platform;
use crate::random::Random;
use crate::system::{Home, System, SystemError};

/// Mean latency of dependent loads, in nanoseconds.
fn load_latency<H: Home>(system: &mut System<H>, loads: u64) -> Result<f64, SystemError> {
    let mut random = Random::new(3);
    let mut total = 0;
    for _ in 0..loads {
        let line = PlainLine(random.below(REGION)).fold();
        let start = system.now_ps();
        if system.cache.access(line, Access::Load, 0) != Outcome::Started {
            continue;
        }
        system.cache.completed.clear();
        while system.cache.completed.is_empty() {
            system.cycle()?;
        }
        total += system.now_ps() - start;
    }
    Ok(total as f64 / loads as f64 / 1000.0)
}

/// `directory.latency_ns`, `directory.vs_two_cpus` and the latencies behind them.
///
/// # Errors
/// [`SystemError`].
pub fn latencies(
    platform: &Platform,
    geometry: DirectoryGeometry,
) -> Result<Vec<Bar>, SystemError> {
    let mut system = directory(platform, geometry)?;
    let ours = load_latency(&mut system, 200)?;
    let moments = system.home.moments;
    let cycles = moments.data_out - moments.message_in - (moments.row_in - moments.read_out);
    let own = cycles as f64 * platform.clock_ps as f64 / 1000.0;
    let theirs = load_latency(&mut baseline(platform)?, 200)?;
    Ok(vec![
        Bar::new("directory.latency_ns", own, "ns"),
        Bar::new("directory.read_ns", ours, "ns"),
        Bar::new("directory.two_cpus_read_ns", theirs, "ns"),
        Bar::new("directory.vs_two_cpus", ours / theirs, "x"),
    ])
}
