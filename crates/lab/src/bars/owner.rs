//! The owner of a card and its clients.

use super::Failure;
use crate::row::{Row, Target};

#[path = "../../../tombolo/tests/handles/torture.rs"]
mod torture;

const OPERATIONS: u64 = 1_000_000;

/// Handles dropped in any order and used after their objects have ended, by three threads.
pub fn stale_handles() -> Result<Vec<Row>, Failure> {
    let found = torture::run(OPERATIONS, 3, 20_261_122, None);
    let planted = torture::run(10_000, 3, 1, Some(tombolo::Planted::StaleMapping));
    if planted.wrong == 0 {
        return Err("the planted mistake was not found".into());
    }
    Ok(vec![
        Row::new(
            "owner.stale_handles_wrong_bytes",
            found.wrong as f64,
            "findings",
            Target::Exactly(0.0),
        ),
        Row::new(
            "owner.stale_handles_operations",
            found.operations as f64,
            "operations",
            Target::AtLeast(OPERATIONS as f64),
        ),
    ])
}
