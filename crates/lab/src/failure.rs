//! What a measurement fails with.

use std::error::Error;

/// Anything that can be printed.
pub type Failure = Box<dyn Error + Send + Sync>;
