//! Models of card memory, PCIe, host and storage as pure functions of virtual time.
//!
//! Nothing here moves bytes, reads clocks or has threads: a caller says what was asked for and when,
//! and a model answers when it is done. Equal calls give equal answers.

pub mod dram;
pub mod host;
pub mod pcie;
pub mod platform;
