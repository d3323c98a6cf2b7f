//! Experiments of papers: cells of system, workload, size and temperature, with the published value and ours.
//!
//! An experiment is a file in `experiments/`; the systems that it compares are scaled presets (`presets/`). Each cell
//! runs on a separate simulated card, so cells run concurrently and each is deterministic.

mod cache;
pub mod cckit;
pub mod claims;
mod description;
mod evaluation;
pub mod fleximem;
mod folder_hash;
pub mod fsrf;
mod graph;
mod hot;
mod outcome;
mod part;
mod published;
mod refit;
mod run;
pub mod sweep;
mod table;
mod triangles;
pub mod vfpio;
mod warm;
mod work;
mod workers;
mod workload;

pub use description::{DescriptionError, Experiment, Size, System, Temperature, Workload};
pub use evaluation::{made, Evaluation, CSV_HEAD};
pub use outcome::Outcome;
pub use part::{fleximem_parts, vfpio_parts, PaperPart, PartFigures, PartOutcome};
pub use published::{rankings, ComparedValue};
pub use run::Cell;
pub use work::Work;
pub use workers::{Farm, Workers};

/// Why a cell could not be run.
pub use crate::failure::Failure;
