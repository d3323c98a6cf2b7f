//! Cost of a trap of 2 MiB, compared with FlexiMem's method: 4 KiB entries and a polling thread.

use super::uffd::{has_huge_pages, moved, write_protected};
use crate::bars::Failure;
use crate::row::Row;
use tombolo::{TrapFigures, TrapWay};
use units::Picoseconds;

const BYTES: u64 = 2 << 20;

fn micros(time: Picoseconds) -> f64 {
    time.as_seconds() * 1e6
}

/// Time to revoke 2 MiB from the program, to trap an access, and to return them.
fn of_two_mebibytes(figures: &TrapFigures) -> f64 {
    let huge = if figures.has_huge_pages() { BYTES } else { 0 };
    micros(figures.protect_with(BYTES, huge) + figures.trap_ps + figures.open_with(BYTES, huge))
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let theirs = write_protected(false)?.as_secs_f64() * 1e6;
    let figures = tombolo::measure_traps()?;
    let ours = of_two_mebibytes(&figures);
    let mut rows = vec![
        Row::new("shared.trap_gain.2m", theirs / ours, "x"),
        Row::new("shared.trap.2m.us", ours, "us"),
        Row::new("shared.trap.2m.small_entries_us", theirs, "us"),
    ];
    // The other methods, if this program is permitted to use them.
    for (name, way) in [
        ("userfault", TrapWay::Userfault),
        ("in_thread", TrapWay::InThread),
    ] {
        match tombolo::measure_traps_with(way) {
            Ok(figures) => {
                let name = format!("shared.trap.2m.{name}_us");
                let time = of_two_mebibytes(&figures);
                rows.push(Row::new(&name, time, "us"));
            }
            Err(error) => eprintln!("{way}: {error}"),
        }
    }
    if has_huge_pages() {
        // Memory without an alias, whose pages are moved out and back.
        match moved() {
            Ok(time) => rows.push(Row::new(
                "shared.trap.2m.move_us",
                time.as_secs_f64() * 1e6,
                "us",
            )),
            Err(error) => eprintln!("UFFDIO_MOVE: {error}"),
        }

        // The figure with huge pages, which memory files do not have here.
        let huge = write_protected(true)?.as_secs_f64() * 1e6;
        rows.push(Row::new("shared.trap.2m.huge_us", huge, "us"));
        let gain = theirs / huge;
        rows.push(Row::new("shared.trap_gain.2m.huge", gain, "x"));
    }
    Ok(rows)
}
