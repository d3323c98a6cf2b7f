//! How what goes wrong with models becomes an error of the card.

use card::CardError;
use verilated::BuildError;

/// RTL did not become a model that runs.
pub(crate) fn not_built(error: BuildError) -> CardError {
    CardError::Build(Box::new(error))
}
