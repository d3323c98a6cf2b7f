//! How fast the application takes lines from the CPU.

use super::{directory, touch, Bar, MOST_CYCLES};
use crate::cache::Access;
use crate::home::{Directory, Operation, OperationKind};
use crate::line::{PlainLine, BYTES, WORDS};
use crate::model::DirectoryGeometry;
use crate::platform::Platform;
use crate::system::{System, SystemError};

/// Lines of the clean-invalidate measurements: 8 MiB, as in the paper.
const INVALIDATED: u64 = (8 << 20) / BYTES;

fn clean_invalidate(line: PlainLine, tag: u8) -> Operation {
    let kind = OperationKind::CleanInvalidate;
    Operation {
        kind,
        tag,
        line,
        parts: 0,
        data: Box::new([0; WORDS]),
    }
}

/// Clean-invalidates the lines 0.. as fast as the application can: one a clock. Returns seconds.
fn invalidate_all(system: &mut System<Directory>, lines: u64) -> Result<f64, SystemError> {
    let slices = system.home.operations.len();
    let mut tags: Vec<Vec<u8>> = vec![(0..64).collect(); slices];
    // The application walks the lines in order; a line whose slice is full waits in its own queue.
    let (mut next, mut done, mut waiting) = (0, 0, vec![None; slices]);
    let start = system.now_ps();
    while done < lines {
        let mut issued = false;
        for _ in 0..slices {
            if next < lines {
                let slot = &mut waiting[system.home.slice_of(PlainLine(next))];
                if slot.is_none() {
                    *slot = Some(PlainLine(next));
                    next += 1;
                }
            }
        }
        // One operation a clock, the slice with more free tags first.
        let mut order: Vec<usize> = (0..slices).collect();
        order.sort_by_key(|&slice| std::cmp::Reverse(tags[slice].len()));
        for slice in order {
            if issued || !system.home.operations[slice].is_empty() {
                continue;
            }
            let Some(line) = waiting[slice] else { continue };
            let Some(tag) = tags[slice].pop() else {
                continue;
            };
            system.home.operations[slice].push_back(clean_invalidate(line, tag));
            waiting[slice] = None;
            issued = true;
        }
        system.cycle()?;
        for acknowledge in system.home.acknowledged.drain(..) {
            tags[acknowledge.slice].push(acknowledge.tag);
            done += 1;
        }
        if system.cycles() > MOST_CYCLES {
            let what = format!("{} invalidations", lines - done);
            return Err(SystemError::Stuck {
                cycles: MOST_CYCLES,
                what,
            });
        }
    }
    Ok((system.now_ps() - start) as f64 * 1e-12)
}

/// `directory.clean_invalidate_*`.
///
/// # Errors
/// [`SystemError`].
pub fn invalidations(
    platform: &Platform,
    geometry: DirectoryGeometry,
) -> Result<Vec<Bar>, SystemError> {
    let mut system = directory(platform, geometry)?;
    let lines = || (0..INVALIDATED).map(PlainLine);
    touch(&mut system, platform, Access::Load, lines())?;
    let shared = system.cache.len() as u64;
    let seconds = invalidate_all(&mut system, INVALIDATED)?;
    let rate = INVALIDATED as f64 / seconds / 1e6;

    let store = Access::Store {
        parts: 0xf,
        stamp: 9,
    };
    touch(&mut system, platform, store, lines())?;
    let seconds = invalidate_all(&mut system, INVALIDATED)?;
    let dirty = INVALIDATED as f64 / seconds / platform.lines_per_second();

    touch(&mut system, platform, Access::Load, lines().take(64))?;
    let mut total = 0;
    for line in lines().take(64) {
        let slice = system.home.slice_of(line);
        system.home.operations[slice].push_back(clean_invalidate(line, 0));
        while system.home.acknowledged.is_empty() {
            system.cycle()?;
        }
        system.home.acknowledged.clear();
        let moments = system.home.moments;
        total += moments.acknowledge_out - moments.operation_in;
    }
    let latency = (total * platform.clock_ps) as f64 / 64.0 / 1000.0;
    Ok(vec![
        Bar::new("directory.clean_invalidate_mlines_s", rate, "M/s"),
        Bar::new(
            "directory.clean_invalidate_shared_lines",
            shared as f64,
            "lines",
        ),
        Bar::new("directory.clean_invalidate_dirty.share_of_link", dirty, ""),
        Bar::new("directory.clean_invalidate_ns", latency, "ns"),
    ])
}
