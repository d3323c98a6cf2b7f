//! Random events against the pager in a simulated world.

use super::Failure;
use crate::row::{Row, Target};

pub fn measure() -> Result<Vec<Row>, Failure> {
    Ok(vec![Row::new(
        "pager.random_events",
        0.0,
        "events",
        Target::AtLeast(1e6),
    )])
}
