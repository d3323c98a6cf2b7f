//! Coherent lines at ordinary addresses (CCKit, section 3.4), under threads, a core and a kernel.

use super::Failure;
use crate::row::{Row, Target};
use tombolo::{Card, OwnerOptions, ShellConfig, SimOptions};

#[path = "../../../tombolo/tests/common/line_threads.rs"]
mod line_threads;

const ACCESSES: u64 = 1_000_000;

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent();
    let card = Card::simulated(options, OwnerOptions::default(), |_| {})?;
    let found = line_threads::beside_a_kernel(&card, ACCESSES);
    let unexplained = found.unexplained as f64;
    let accesses = found.accesses as f64;
    Ok(vec![
        Row::new(
            "coherent.map_unexplained",
            unexplained,
            "accesses",
            Target::Exactly(0.0),
        ),
        Row::new(
            "coherent.map_accesses",
            accesses,
            "accesses",
            Target::AtLeast(ACCESSES as f64),
        ),
    ])
}
