//! Figures of the cache controller for lines whose home is the CPU.

use super::Failure;
use crate::row::Row;
use coherence::cache_controller::bars::{random_operations, speed};
use coherence::cache_controller::mutants::{judge, MUTANTS};
use coherence::platform::Platform;

/// Random accesses from both sides, in total over all seeds and sizes.
const RANDOM: u64 = 10_000_000;
/// Maximum number of random accesses before a fault in the controller must be detected.
const SURVIVED: u64 = 1_270_000;

pub fn measure() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    let speed = speed(&platform)?;
    let rate = "accesses/cycle";
    Ok(vec![
        Row::new("cache_controller.load_latency_ns", speed.load_ns, "ns"),
        Row::new("cache_controller.store_latency_ns", speed.store_ns, "ns"),
        Row::new("cache_controller.hit_latency_ns", speed.hit_ns, "ns"),
        Row::new(
            "cache_controller.hit_loads_per_cycle",
            speed.loads_per_cycle,
            rate,
        ),
        Row::new(
            "cache_controller.hit_stores_per_cycle",
            speed.stores_per_cycle,
            rate,
        ),
        Row::new(
            "cache_controller.miss_share_of_link",
            speed.share_of_link,
            "share",
        ),
    ])
}

pub fn random() -> Result<Vec<Row>, Failure> {
    let reports = random_operations(&Platform::enzian()?, RANDOM)?;
    let (mut unexplained, mut done, mut increments, mut lost) = (0, 0, 0, 0);
    for report in &reports {
        if let Some(first) = &report.first {
            eprintln!("cache_controller: {first}");
        }
        unexplained += report.unexplained;
        done += report.card + report.cpu;
        increments += report.card_increments + report.cpu_increments;
        lost += report.lost;
    }
    let shown = |name, value: u64| Row::new(name, value as f64, "");
    Ok(vec![
        Row::new(
            "cache_controller.random_ops_unexplained",
            unexplained as f64,
            "observations",
        ),
        Row::new("cache_controller.random_ops", done as f64, "accesses"),
        shown("cache_controller.random_increments", increments),
        shown("cache_controller.random_lost", lost),
    ])
}

pub fn mutants() -> Result<Vec<Row>, Failure> {
    let platform = Platform::enzian()?;
    let mut survived = 0;
    for mutant in MUTANTS {
        let verdict = judge(mutant, SURVIVED, &platform.link)?;
        survived += u64::from(verdict.found.is_none());
        match verdict.found {
            Some((said, after)) => {
                eprintln!("cache_controller: {}: {said} ({after})", verdict.what)
            }
            None => eprintln!("cache_controller: {}: SURVIVED", verdict.what),
        }
    }
    Ok(vec![
        Row::new("cache_controller.mutants", MUTANTS.len() as f64, ""),
        Row::new("cache_controller.mutants_survived", survived as f64, ""),
    ])
}
