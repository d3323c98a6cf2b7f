//! What a trap of 2 MiB costs here, beside FlexiMem's way: entries of 4 KiB and a thread that polls.

use super::uffd::{has_huge_pages, write_protected};
use crate::bars::Failure;
use crate::row::{Row, Target};
use units::Picoseconds;

const BYTES: u64 = 2 << 20;

fn micros(time: Picoseconds) -> f64 {
    time.as_seconds() * 1e6
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let theirs = write_protected(false)?.as_secs_f64() * 1e6;
    let figures = tombolo::measure_traps()?;
    let ours = micros(
        figures.protect_with(BYTES, BYTES) + figures.trap_ps + figures.open_with(BYTES, BYTES),
    );
    let mut rows = vec![
        Row::new(
            "shared.trap_gain.2m",
            theirs / ours,
            "x",
            Target::AtLeast(10.0),
        ),
        Row::new("shared.trap.2m.us", ours, "us", Target::Shown),
        Row::new(
            "shared.trap.2m.small_entries_us",
            theirs,
            "us",
            Target::Shown,
        ),
    ];
    if has_huge_pages() {
        // What huge pages would give, which memory files do not have here.
        let huge = write_protected(true)?.as_secs_f64() * 1e6;
        rows.push(Row::new(
            "shared.trap.2m.huge_us",
            huge,
            "us",
            Target::Shown,
        ));
        let gain = theirs / huge;
        rows.push(Row::new(
            "shared.trap_gain.2m.huge",
            gain,
            "x",
            Target::Shown,
        ));
    }
    Ok(rows)
}
