//! Progress of long work on standard error: updated in place on a terminal, otherwise printed periodically.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Minimum interval between lines without a terminal.
const PAUSE: Duration = Duration::from_secs(10);

/// Reports the progress of a piece of work.
pub struct Progress {
    work: &'static str,
    in_place: bool,
    last: Option<Instant>,
}

impl Progress {
    /// Creates a report for this work.
    pub fn of(work: &'static str) -> Self {
        Self {
            work,
            in_place: std::io::stderr().is_terminal(),
            last: None,
        }
    }

    /// Reports the present position.
    pub fn at(&mut self, point: &str) {
        let work = self.work;
        if self.in_place {
            eprint!("\r\x1b[K{work}: {point}");
            // The line is incomplete, so it must be flushed; errors are ignored.
            let _ = std::io::stderr().flush();
        } else if self.is_due(Instant::now()) {
            eprintln!("{work}: {point}");
        }
    }

    /// Whether enough time has passed since the last line.
    fn is_due(&mut self, now: Instant) -> bool {
        let due = self.last.is_none_or(|last| now - last >= PAUSE);
        if due {
            self.last = Some(now);
        }
        due
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.in_place {
            eprint!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_ten_seconds_apart() {
        let mut progress = Progress::of("work");
        let start = Instant::now();
        let seconds = [0, 1, 9, 10, 19, 20, 45, 54, 55];
        let due = seconds.map(|at| progress.is_due(start + Duration::from_secs(at)));
        let wanted = [true, false, false, true, false, true, true, false, true];
        assert_eq!(due, wanted);
    }
}
