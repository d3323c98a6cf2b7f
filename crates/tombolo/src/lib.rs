//! Placeholder while parts arrive.
#![allow(missing_docs)]
pub mod io;
