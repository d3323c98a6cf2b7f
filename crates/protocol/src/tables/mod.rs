//! Generated tables for the runtime; `tombolo protocol generate` writes them, a test keeps them
//! up to date.

#[rustfmt::skip]
pub mod esi;
#[rustfmt::skip]
pub mod mesi;
