//! Progress on a terminal; nothing when there is none.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;
use tombolo::Progress;

/// A spinner for building models.
pub fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// A bar for bytes that cross between files and card.
pub fn bytes(total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let style = "{bar:40} {bytes:>11} of {total_bytes} paged  {wide_msg}";
    // The template is a constant; a wrong one would show in the first run.
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar
}

/// Moves a bar.
pub fn show(bar: &ProgressBar, progress: Progress) {
    let done = progress.bytes_in + progress.bytes_out;
    bar.set_length(bar.length().unwrap_or(0).max(done));
    bar.set_position(done);
    bar.set_message(format!(
        "{} of virtual time, {} faults",
        progress.now, progress.faults
    ));
}
