//! Measurement of the cost of traps on this machine.

use super::records::Trapped;
use super::{TrapQueue, TrapWay, View};
use std::io;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};
use timing::host::TrapFigures;
use units::HostAccess;
use units::{PageSize, Picoseconds};

const ROUNDS: usize = 301;
const SYSTEM_PAGE: usize = 4096;
const SMALL: usize = 32 << 10;
const LARGE: usize = 2 << 20;

/// Medians of one round for a number of bytes.
struct Measured {
    protect: Duration,
    open: Duration,
    trap: Duration,
}

/// Measures the cost of taking a page of shared memory from a program, of trapping its access, and of giving the page
/// back: medians of some hundred rounds, in about a second of wall time.
///
/// # Errors
/// Shared memory is unavailable.
pub fn measure_traps() -> io::Result<TrapFigures> {
    measure_traps_with(TrapWay::Protect)
}

/// The same for memory with this trap method.
///
/// # Errors
/// Such memory is unavailable; the text names the remedy.
pub fn measure_traps_with(way: TrapWay) -> io::Result<TrapFigures> {
    let (small, _) = measure(SMALL, PageSize::KIB_4, way)?;
    // Too short for a piece that changes in one step.
    let (large, _) = measure(LARGE - SYSTEM_PAGE, PageSize::KIB_4, way)?;
    let (huge, has_huge) = measure(LARGE, PageSize::MIB_2, way)?;
    let pages = ((LARGE - SYSTEM_PAGE - SMALL) / SYSTEM_PAGE) as u32;
    // A line through both points, never below zero.
    let line = |small: Duration, large: Duration| {
        let page = large.saturating_sub(small) / pages;
        let call = small.saturating_sub(page * (SMALL / SYSTEM_PAGE) as u32);
        (picoseconds(call), picoseconds(page))
    };
    let (protect_ps, protect_page_ps) = line(small.protect, large.protect);
    let (open_ps, open_page_ps) = line(small.open, large.open);
    Ok(TrapFigures {
        trap_ps: picoseconds(small.trap),
        protect_ps,
        protect_page_ps,
        open_ps,
        open_page_ps,
        protect_huge_ps: has_huge.then(|| picoseconds(huge.protect).saturating_sub(protect_ps)),
        open_huge_ps: has_huge.then(|| picoseconds(huge.open).saturating_sub(open_ps)),
        service_ps: Picoseconds::ZERO,
    })
}

fn picoseconds(time: Duration) -> Picoseconds {
    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 1000);
    Picoseconds::new(nanoseconds.saturating_mul(1000))
}

/// Measures one size, in a block with such pages; also returns whether the system mapped it as one page.
fn measure(bytes: usize, page: PageSize, way: TrapWay) -> io::Result<(Measured, bool)> {
    let view: Arc<OnceLock<Weak<View>>> = Arc::default();
    let (opened, told) = channel();
    let opened = Mutex::new(opened);
    let queue = {
        let view = view.clone();
        TrapQueue::open(move |trapped: Trapped| {
            let Some(view) = view.get().and_then(Weak::upgrade) else {
                return;
            };
            let begin = Instant::now();
            let open = view.protect(0, bytes as u64, HostAccess::ReadWrite);
            let took = begin.elapsed();
            // Without an answer the access fails, as it should if the page cannot be opened.
            if open.is_ok() {
                let opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = opened.send(took);
                drop(opened);
                trapped.ticket.serve();
            }
        })?
    };
    let (memory, _) = View::trapped(bytes, page, way, Arc::new(queue))?;
    let memory = Arc::new(memory);
    let _ = view.set(Arc::downgrade(&memory));
    let (mut protect, mut open, mut trap) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // Every page is resident, as after any use.
        for page in 0..bytes / SYSTEM_PAGE {
            // SAFETY: in the view, which no other code uses.
            unsafe { memory.start().add(page * SYSTEM_PAGE).write_volatile(1) };
        }
        let begin = Instant::now();
        memory.protect(0, bytes as u64, HostAccess::None)?;
        let taken = Instant::now();
        // SAFETY: as above; the access waits for the trap queue.
        unsafe { memory.start().write_volatile(2) };
        let back = taken.elapsed();
        let opening = told.recv().map_err(io::Error::other)?;
        protect.push(taken - begin);
        open.push(opening);
        trap.push(back.saturating_sub(opening));
    }
    let measured = Measured {
        protect: median(protect),
        open: median(open),
        trap: median(trap),
    };
    Ok((measured, memory.has_huge_pages()))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cost_is_seen() {
        for way in [TrapWay::Protect, TrapWay::InThread, TrapWay::Userfault] {
            let figures = match measure_traps_with(way) {
                Ok(figures) => figures,
                // Not every user has the right.
                Err(error) if way != TrapWay::Protect => {
                    assert!(error.to_string().contains("userfaultfd"), "{error}");
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            assert!(figures.trap_ps > Picoseconds::ZERO, "{way}");
            assert!(figures.protect(1 << 21) > Picoseconds::ZERO, "{way}");
            assert!(figures.open(1 << 21) > Picoseconds::ZERO, "{way}");
            assert_eq!(figures.service_ps, Picoseconds::ZERO);
        }
    }
}
