//! Cost of virtual I/O for a kernel, compared with dedicated memory ports.

use super::Failure;
use crate::experiment::vfpio::Vfpio;
use crate::row::Row;
use tombolo::{Card, OwnerOptions};

/// Figure produced.
pub const NAMES: &[&str] = &["vio.share_of_wired"];

/// The smallest share over the kernels that exist in both forms, of 64 bytes per cycle, over 4 MiB on the card.
pub fn share_of_wired() -> Result<Vec<Row>, Failure> {
    let experiment = Vfpio::read(&simcard::home().join("experiments"))?;
    let mut least = f64::INFINITY;
    for one in experiment
        .application
        .iter()
        .filter(|one| one.wired.is_some())
    {
        let options = experiment.options()?;
        let card = Card::simulated(options, OwnerOptions::default(), |_| {})?;
        let (card_rate, wired) = experiment.against_wired(&card, one)?;
        eprintln!(
            "{}: {card_rate:.1} MiB/s, through ports of its own {wired:.1}",
            one.name
        );
        least = least.min(card_rate / wired);
    }
    Ok(vec![Row::new(NAMES[0], least, "of wired")])
}
