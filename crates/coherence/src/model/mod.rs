//! The directory's RTL as a loadable model.

mod build;
mod ffi;
mod library;
mod loaded;

pub use build::{build, build_changed, DirectoryGeometry, ModelError};
pub use ffi::{DirectoryModel, Registers, Row, SliceInputs, SliceOutputs};
pub use library::Mutation;
pub(crate) use library::Recipe;
pub(crate) use loaded::{outcome, Loaded};
