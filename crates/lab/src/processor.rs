//! What processes have taken of the processors.

use std::time::Duration;

/// What this process has taken, without its children.
pub(crate) fn own() -> Duration {
    usage(libc::RUSAGE_SELF)
}

/// What all children of this process have taken that have ended.
pub(crate) fn of_children() -> Duration {
    usage(libc::RUSAGE_CHILDREN)
}

/// In user mode and in the system's.
fn usage(whose: libc::c_int) -> Duration {
    // SAFETY: plain numbers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a place for the result.
    if unsafe { libc::getrusage(whose, &mut usage) } != 0 {
        return Duration::ZERO;
    }
    let of = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    of(usage.ru_utime) + of(usage.ru_stime)
}
