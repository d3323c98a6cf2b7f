//! No lost data and no out-of-range writes: random files, ranges, page sizes, kernels, spaces and slots on cards with
//! too little memory for them. Whole files are compared, including bytes that must not change.
//!
//! Faults injected outside the card must be detected: a write-back that is one byte too long, an address that the
//! kernel rounds, a file that is truncated before its mapping is refused.

mod case;
mod run;

use super::Failure;
use crate::progress::Progress;
use crate::row::Row;
use case::{Scale, StrangerCase};
use run::{run, InjectedFault, INJECTED_FAULTS};
use simcard::SimCard;
use tombolo::{FunctionalCard, FunctionalConfig, ShellConfig, SimOptions};

const FUNCTIONAL_RUNS: u64 = 2000;
const RTL_RUNS: u64 = 200;
const SLOTS: u8 = 4;
const CHANNELS: u8 = 4;

const ON_FUNCTIONAL: Scale = Scale {
    bytes: 400_000,
    large_pages: true,
};
const ON_RTL: Scale = Scale {
    bytes: 40_000,
    large_pages: false,
};

fn functional(seed: u64, case: &StrangerCase) -> Box<dyn card::Card> {
    Box::new(FunctionalCard::new(FunctionalConfig {
        slots: SLOTS,
        channels: CHANNELS,
        channel_bytes: case.channel_bytes,
        queues: 5,
        // Half of the cases run in call order, half in another order that the contract allows.
        seed: (seed % 2 == 1).then_some(seed),
        ..FunctionalConfig::default()
    }))
}

fn rtl(case: &StrangerCase) -> Result<Box<dyn card::Card>, Failure> {
    let mut options = SimOptions::named("f1")?;
    // Compares the asserting model with the model for users.
    options.asserting = false;
    options.witness = true;
    options.shell = ShellConfig {
        slots: SLOTS,
        channels: CHANNELS,
        queues: 5,
        ..ShellConfig::default()
    };
    options.channel_bytes = Some(case.channel_bytes);
    Ok(Box::new(SimCard::open(options, |_| {})?))
}

/// Runs one case; returns the discrepancy, if any.
fn one(seed: u64, on_rtl: bool, fault: Option<InjectedFault>) -> Result<Option<String>, Failure> {
    let scale = if on_rtl { ON_RTL } else { ON_FUNCTIONAL };
    let case = StrangerCase::new(seed, SLOTS, scale);
    let card = if on_rtl {
        rtl(&case)?
    } else {
        functional(seed, &case)
    };
    let folder = tempfile::tempdir()?;
    run(&case, card, folder.path(), fault).map_err(|error| {
        format!("seed {seed}: {error}; {} bytes of card", case.card_bytes()).into()
    })
}

/// Runs the cases of `runs` seeds; returns the number of wrong ones.
fn sweep(runs: u64, on_rtl: bool) -> Result<u64, Failure> {
    let work = if on_rtl { "sweep on RTL" } else { "sweep" };
    let mut progress = Progress::of(work);
    let mut wrong = 0;
    for seed in 0..runs {
        progress.at(&format!("{seed} of {runs} runs, {wrong} wrong"));
        if let Some(what) = one(seed, on_rtl, None)? {
            eprintln!("{work}, seed {seed}: {what}");
            wrong += 1;
        }
    }
    Ok(wrong)
}

/// Number of seeds until an injected fault is detected; `None` if it never is.
fn finds(fault: InjectedFault, seeds: u64) -> Result<Option<u64>, Failure> {
    for seed in 0..seeds {
        if one(seed, false, Some(fault))?.is_some() {
            return Ok(Some(seed));
        }
    }
    Ok(None)
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut missed = 0;
    for fault in INJECTED_FAULTS {
        let found = finds(fault, 50)?;
        eprintln!("{fault:?}: found by seed {found:?}");
        missed += u64::from(found.is_none());
    }
    let wrong = sweep(FUNCTIONAL_RUNS, false)? + sweep(RTL_RUNS, true)?;
    let row = |name: &str, value: u64, unit: &str| Row::new(name, value as f64, unit);
    Ok(vec![
        row("stranger.sweep_mismatches", wrong, "runs"),
        row("stranger.sweep_runs_functional", FUNCTIONAL_RUNS, "runs"),
        row("stranger.sweep_runs_rtl", RTL_RUNS, "runs"),
        row("stranger.sweep_plants_missed", missed, "plants"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hold_what_they_should_and_nothing_else() {
        assert_eq!(sweep(150, false).unwrap(), 0);
    }

    #[test]
    fn files_hold_what_they_should_on_rtl() {
        assert_eq!(sweep(3, true).unwrap(), 0);
    }

    #[test]
    fn planted_mistakes_are_found() {
        for fault in INJECTED_FAULTS {
            assert!(finds(fault, 50).unwrap().is_some(), "{fault:?}");
        }
    }
}
