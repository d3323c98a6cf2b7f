//! The directory's RTL as a loadable model.

mod build;
mod ffi;

pub use build::{build, Geometry, ModelError};
pub use ffi::{Model, Registers, Row, SliceInputs, SliceOutputs};
