//! The generated tables that the libraries run; `tombolo protocol generate` writes them, a test keeps them up to date.
//! A table that only tests use is in `protocols/generated`.

#[rustfmt::skip]
pub mod mesi;
