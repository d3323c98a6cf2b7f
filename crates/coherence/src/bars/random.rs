//! The random test at length, and whether it sees faults of the RTL.

use super::Bar;
use crate::model::{DirectoryGeometry, Mutation};
use crate::mutants::{try_mutant, MutantResult, MUTANTS};
use crate::platform::Platform;
use crate::system::SystemError;
use crate::torture::{self, DirectoryPlan};

/// Parameters of the random test, of every hundred operations: geometry, lines, jitter, share, seeds.
const RANDOM: [(DirectoryGeometry, u64, u64, u64, &[u64]); 3] = [
    (DirectoryGeometry::SMALL, 48, 200_000, 15, &[42, 43, 44, 45]),
    // More lines than places: recalls.
    (DirectoryGeometry::SMALL, 400, 200_000, 10, &[46, 47]),
    // Every unit of the paper's directory, and arrivals spread over ten round trips.
    (DirectoryGeometry::WIDE, 400, 400_000, 10, &[48, 49]),
];

/// `directory.random_ops_unexplained`.
///
/// # Errors
/// [`SystemError`].
pub fn random_operations(platform: &Platform, operations: u64) -> Result<Vec<Bar>, SystemError> {
    let (mut done, mut unexplained, mut wide) = (0, 0, 0);
    for (geometry, lines, jitter_ps, share, seeds) in RANDOM {
        for &seed in seeds {
            let plan = DirectoryPlan {
                geometry,
                operations: operations * share / 100,
                lines,
                card_operations: 24,
                round_trip_ps: 40_000,
                jitter_ps,
                resets: 0,
                seed,
            };
            let report = torture::run(&plan, &platform.link)?;
            if let Some(first) = &report.first {
                tracing::error!("seed {seed}: {first}");
            }
            done += report.cpu + report.card;
            unexplained += report.unexplained;
            if geometry == DirectoryGeometry::WIDE {
                wide += report.cpu + report.card;
            }
        }
    }
    let name = "directory.random_ops_unexplained";
    Ok(vec![
        Bar::new("directory.random_ops", done as f64, "operations"),
        Bar::new("directory.random_ops_64_units", wide as f64, "operations"),
        Bar::new(name, unexplained as f64, ""),
    ])
}

/// `directory.wide_ids.random_ops_unexplained`: six bits for a request's number, more lines than the 64 units have places,
/// and arrivals spread over ten round trips, so that many requests wait.
///
/// # Errors
/// [`SystemError`].
pub fn wide_requests(platform: &Platform, operations: u64) -> Result<Vec<Bar>, SystemError> {
    let plan = DirectoryPlan {
        geometry: DirectoryGeometry::WIDE.with_wide_requests(),
        operations,
        lines: 1000,
        card_operations: 24,
        round_trip_ps: 40_000,
        jitter_ps: 400_000,
        resets: 0,
        seed: 51,
    };
    let report = torture::run(&plan, &platform.link)?;
    if let Some(first) = &report.first {
        tracing::error!("{first}");
    }
    let done = (report.cpu + report.card) as f64;
    let name = "directory.wide_ids.random_ops_unexplained";
    Ok(vec![
        Bar::new("directory.wide_ids.random_ops", done, "operations"),
        Bar::new(name, report.unexplained as f64, ""),
    ])
}

/// Seeds with which a mutant is hunted, until one finds it.
const HUNTS: std::ops::RangeInclusive<u64> = 1..=4;

/// `directory.rtl_mutants_survived`. `judged` hears what became of each.
///
/// # Errors
/// [`SystemError`].
pub fn mutants(
    platform: &Platform,
    judged: &mut dyn FnMut(&Mutation, &MutantResult),
) -> Result<Vec<Bar>, SystemError> {
    let mut survived = 0;
    for mutant in MUTANTS {
        let mut fate = MutantResult::Survived;
        for seed in HUNTS {
            let plan = DirectoryPlan {
                geometry: DirectoryGeometry::SMALL,
                operations: 60_000,
                lines: 48,
                card_operations: 24,
                round_trip_ps: 40_000,
                jitter_ps: 200_000,
                resets: 60,
                seed,
            };
            fate = try_mutant(mutant, &plan, &platform.link)?;
            if fate != MutantResult::Survived {
                break;
            }
        }
        judged(&mutant, &fate);
        survived += u32::from(fate == MutantResult::Survived);
    }
    let (tried, name) = (MUTANTS.len() as f64, "directory.rtl_mutants_survived");
    Ok(vec![
        Bar::new("directory.rtl_mutants", tried, "mutants"),
        Bar::new(name, f64::from(survived), "mutants"),
    ])
}
