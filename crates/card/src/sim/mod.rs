//! The simulated card: Verilated shell and kernels in deterministic virtual time.

pub mod build;
mod config;
mod interface;
mod model;
mod signals;

pub use config::{ShellConfig, Translator};
pub use model::{Instance, Model, ModelFailure};
