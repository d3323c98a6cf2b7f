//! Error type of measurements.

use std::error::Error;

/// Any printable error.
pub type Failure = Box<dyn Error + Send + Sync>;
