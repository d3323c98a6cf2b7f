//! A model for the event loop of the simulated card: a shared library with one C interface for any RTL.

pub(crate) mod compile;
pub(crate) mod ports;
pub(crate) mod sleep;
pub(crate) mod verilate;
