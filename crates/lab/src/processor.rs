//! Processor time of processes.

use std::time::Duration;

/// Processor time of this process, without its children.
pub(crate) fn own() -> Duration {
    usage(libc::RUSAGE_SELF)
}

/// Processor time of all children of this process that have ended.
pub(crate) fn of_children() -> Duration {
    usage(libc::RUSAGE_CHILDREN)
}

/// Does work; returns its result with the processor seconds that it took, with children that ended meanwhile.
pub(crate) fn seconds_of<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let spent = || (own() + of_children()).as_secs_f64();
    let before = spent();
    let done = work()?;
    Ok((done, spent() - before))
}

/// User and system time.
fn usage(whose: libc::c_int) -> Duration {
    // SAFETY: plain numbers, for which all zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` points to memory for the result.
    if unsafe { libc::getrusage(whose, &mut usage) } != 0 {
        return Duration::ZERO;
    }
    let of = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    of(usage.ru_utime) + of(usage.ru_stime)
}
