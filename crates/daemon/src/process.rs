//! Resources of the daemon's process.

use std::path::Path;
use wire::DaemonStatus;

/// Number of matching entries of a `/proc` folder; 0 if it cannot be read.
fn entries(folder: &str, counts: impl Fn(&Path) -> bool) -> u32 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let count = entries.filter(|entry| counts(&entry.path())).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// False for the kernel's io_uring threads, which come and go and are not the process's own.
fn is_own(thread: &Path) -> bool {
    let name = std::fs::read_to_string(thread.join("comm")).unwrap_or_default();
    !name.starts_with("iou-")
}

/// The current status.
pub(crate) fn status(connections: u32) -> DaemonStatus {
    DaemonStatus {
        process: std::process::id(),
        connections,
        // Without the descriptor used for counting.
        descriptors: entries("/proc/self/fd", |_| true).saturating_sub(1),
        threads: entries("/proc/self/task", is_own),
    }
}
