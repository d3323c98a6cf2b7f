//! What the daemon's process has open.

use std::path::Path;
use wire::DaemonStatus;

/// Entries of a folder of `/proc` that count; 0 where it cannot be read.
fn entries(folder: &str, counts: impl Fn(&Path) -> bool) -> u32 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let count = entries.filter(|entry| counts(&entry.path())).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The kernel's threads for io_uring come and go as it likes, and are none of the process's own.
fn is_own(thread: &Path) -> bool {
    let name = std::fs::read_to_string(thread.join("comm")).unwrap_or_default();
    !name.starts_with("iou-")
}

/// What it has now.
pub(crate) fn status(connections: u32) -> DaemonStatus {
    DaemonStatus {
        process: std::process::id(),
        connections,
        // But for the one that counts.
        descriptors: entries("/proc/self/fd", |_| true).saturating_sub(1),
        threads: entries("/proc/self/task", is_own),
    }
}
