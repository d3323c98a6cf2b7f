//! Random bursts through a slot's port, on the simulated shell and on the functional card, while pages are mapped and
//! evicted: every response and every byte is compared with a model that is independent of both cards.
//!
//! `program` generates the bursts and their expected results; `host` is a small pager that evicts at random, far more
//! often than a practical one; `player` is the functional card's model of the kernel.

mod host;
mod player;
mod program;

use super::Failure;
use crate::row::Row;
use card::kernel::KernelPackage;
use card::Card;
use funcard::{FunctionalCard, FunctionalConfig, Registry};
use host::Host;
use program::{Model, PAGES, PAGE_BYTES};
use simcard::{SimCard, SimOptions};

/// Bursts per run of the kernel: list and results fit one page of 2 MiB.
const RUN: u64 = 8192;
const BURSTS: u64 = 102_400;
/// Frames for the pages: fewer than half as many.
const FRAMES: usize = 22;

/// Results of the bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct BurstOutcome {
    bursts: u64,
    mismatches: u64,
    faults: u64,
    /// Invalidations, with write-back if dirty, and downgrades.
    evictions: u64,
    protections: u64,
    /// Clock edges evaluated.
    edges: u64,
}

fn kernel() -> Result<KernelPackage, Failure> {
    Ok(KernelPackage::open(
        &simcard::home().join("kernels/burst_player"),
    )?)
}

/// Executes `bursts` random bursts.
fn play(card: impl Card + card::Loader, bursts: u64, seed: u64) -> Result<BurstOutcome, Failure> {
    let mut model = Model::new(seed);
    let mut host = Host::new(card, &kernel()?, model.memory(), FRAMES, seed)?;
    let mut outcome = BurstOutcome::default();
    while outcome.bursts < bursts {
        let count = RUN.min(bursts - outcome.bursts);
        let (list, expected) = model.draw(count);
        let results = host.run(&list)?;
        outcome.mismatches += program::compare(&expected, &results);
        outcome.bursts += count;
    }
    let memory = host.memory()?;
    let wrong = memory.iter().zip(model.memory()).filter(|(a, b)| a != b);
    outcome.mismatches += wrong.count() as u64;
    assert_eq!(memory.len() as u64, PAGES * PAGE_BYTES);
    outcome.faults = host.faults;
    outcome.evictions = host.evictions;
    outcome.protections = host.protections;
    outcome.edges = host.edges()?;
    Ok(outcome)
}

fn simulated(bursts: u64, seed: u64) -> Result<BurstOutcome, Failure> {
    let mut options = SimOptions::named("f1")?;
    // Compares the asserting model with the one for users: their outputs must be equal at every edge.
    options.asserting = false;
    options.witness = true;
    play(SimCard::open(options, |_| {})?, bursts, seed)
}

/// Number of edges at which both models of the shell had equal pins.
pub fn in_lockstep(bursts: u64) -> Result<u64, Failure> {
    Ok(simulated(bursts, 2)?.edges)
}

fn functional(bursts: u64, seed: u64) -> Result<BurstOutcome, Failure> {
    let mut kernels = Registry::default();
    kernels.register(player::MODEL);
    let config = FunctionalConfig {
        kernels,
        seed: Some(seed),
        ..FunctionalConfig::default()
    };
    play(FunctionalCard::new(config), bursts, seed)
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let shell = simulated(BURSTS, 1)?;
    eprintln!("axi, simulated shell: {shell:?}");
    let functional = functional(BURSTS, 1)?;
    eprintln!("axi, functional card: {functional:?}");
    let count = |name: &str, value: u64| Row::new(name, value as f64, "");
    Ok(vec![
        count("axi.random_mismatches", shell.mismatches),
        count("axi.random_bursts", shell.bursts),
        count("axi.random_faults", shell.faults),
        count("axi.random_evictions", shell.evictions),
        count("axi.functional_mismatches", functional.mismatches),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bursts_on_the_simulated_shell_agree_with_the_model() {
        let outcome = simulated(2_000, 7).unwrap();
        assert_eq!(outcome.mismatches, 0, "{outcome:?}");
        assert!(outcome.evictions > 100, "{outcome:?}");
    }

    #[test]
    fn random_bursts_on_the_functional_card_agree_with_the_model() {
        for seed in 0..3 {
            let outcome = functional(4_000, seed).unwrap();
            assert_eq!(outcome.mismatches, 0, "{outcome:?}");
            assert!(outcome.evictions > 100, "{outcome:?}");
        }
    }

    /// The check detects a lost page write, at the end or during the run, unless all of the page is overwritten.
    #[test]
    fn a_lost_page_is_a_mismatch() {
        let mut noticed = 0;
        for seed in 0..24 {
            let mut model = Model::new(seed);
            let mut kernels = Registry::default();
            kernels.register(player::MODEL);
            let card = FunctionalCard::new(FunctionalConfig {
                kernels,
                ..FunctionalConfig::default()
            });
            let (kernel, memory) = (kernel().unwrap(), model.memory());
            let mut host = Host::new(card, &kernel, memory, FRAMES, seed).unwrap();
            let (list, expected) = model.draw(300);
            let at_the_end = seed % 4 == 0;
            host.lose_one = !at_the_end;
            let results = host.run(&list).unwrap();
            host.lose_one |= at_the_end;
            let memory = host.memory().unwrap();
            assert!(!host.lose_one, "seed {seed}: nothing was lost");
            if program::compare(&expected, &results) > 0 || memory != model.memory() {
                noticed += 1;
            } else {
                assert!(!at_the_end, "seed {seed}");
                // No lost write may be present.
                let there = host.lost.iter().filter(|(at, lost)| memory[*at] == *lost);
                assert!(there.count() * 16 < host.lost.len().max(32), "seed {seed}");
            }
        }
        assert!(noticed >= 16, "{noticed} of 24");
    }
}
