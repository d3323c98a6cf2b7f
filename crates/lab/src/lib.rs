//! Every figure that the project promises, and the papers' experiments compared with their published values.
//!
//! `make bench` measures the bars; `tombolo lab fsrf` runs an experiment:
//!
//! ```
//! use tombolo_lab::experiment::Experiment;
//!
//! let folder = simcard::home().join("experiments");
//! let experiment = Experiment::read(&folder, "fsrf-table2")?;
//! let names: Vec<String> = experiment.cells().iter().map(|cell| cell.name()).collect();
//! assert!(names.contains(&"rng_read.coyote-4k.hot_large".to_owned()));
//! # Ok::<(), tombolo_lab::experiment::DescriptionError>(())
//! ```

mod bar;
mod bars;
pub mod bench;
pub mod cases;
pub mod claim;
mod contended;
mod csv;
mod direct;
mod driver;
pub mod experiment;
mod failure;
mod input;
mod processor;
mod progress;
mod random;
mod results;
mod row;
mod stale;
mod synthesis;
mod tools;
mod traffic;
mod tree;
mod verdict;

pub use bar::Bar;
pub use bars::ALL as BARS;
