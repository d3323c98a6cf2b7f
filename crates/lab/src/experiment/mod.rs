//! Experiments of the papers: cells of system, workload, size and temperature, with the published value beside
//! ours.
//!
//! An experiment is a file in `experiments/`; the systems it compares are presets, scaled (`presets/`).
//! A cell runs on a simulated card of its own, so cells run beside each other and each is deterministic.

mod cache;
pub mod cckit;
mod description;
pub mod fleximem;
mod hot;
mod run;
mod table;
pub mod vfpio;
mod warm;
mod workload;

pub use description::{DescriptionError, Experiment, Size, System, Temperature, Workload};
pub use run::{Cell, Outcome};

use units::Picoseconds;

/// Why a cell could not be run.
pub type Failure = crate::bars::Failure;

/// What was measured of one application of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// From its start to its interrupt.
    pub(crate) time: Picoseconds,
    /// Bytes that it read and wrote in that time.
    pub(crate) bytes: u64,
}
