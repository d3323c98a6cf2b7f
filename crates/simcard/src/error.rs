//! Conversion of model errors to card errors.

use card::CardError;
use verilated::BuildError;

/// The error for RTL that could not be built into a model.
pub(crate) fn not_built(error: BuildError) -> CardError {
    CardError::Build(Box::new(error))
}
