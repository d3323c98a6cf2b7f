//! Progress on the standard error: in place on a terminal, otherwise as occasional lines during long work.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use tombolo::{Picoseconds, Progress};

/// Time between lines without a terminal; shorter work prints none.
const PAUSE: Duration = Duration::from_secs(10);

/// Work in progress. Dropping it clears the display.
pub struct Work {
    bar: ProgressBar,
    lines: Option<Lines>,
}

/// A thread that prints the current step at intervals, even while the working thread is blocked.
struct Lines {
    at: Arc<Mutex<String>>,
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Work {
    fn new(bar: ProgressBar) -> Self {
        let in_place = std::io::stderr().is_terminal();
        let lines = (!in_place).then(|| {
            Lines::to(PAUSE, |line| {
                // If the standard error is closed, progress is not wanted.
                let _ = writeln!(std::io::stderr(), "tombolo: {line}");
            })
        });
        Self { bar, lines }
    }

    /// A spinner for building models.
    pub fn spinner() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(120));
        Self::new(bar)
    }

    /// A bar for bytes paged between files and card.
    pub fn bytes(total: u64) -> Self {
        let bar = ProgressBar::new(total);
        let style = "{bar:40} {bytes:>11} of {total_bytes} paged  {wide_msg}";
        // The template is a constant; a wrong one would show in the first run.
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        Self::new(bar)
    }

    /// Sets the current step.
    pub fn say(&self, at: impl Into<String>) {
        let at = at.into();
        if let Some(lines) = &self.lines {
            lines
                .at
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone_from(&at);
        }
        self.bar.set_message(at);
    }

    /// Prints a line that stays.
    #[cfg(feature = "lab")]
    pub fn line(&self, text: std::fmt::Arguments<'_>) {
        self.bar.suspend(|| crate::print::to_user(text));
    }

    /// Updates a bar.
    pub fn show(&self, progress: Progress) {
        let done = progress.bytes_in + progress.bytes_out;
        self.bar
            .set_length(self.bar.length().unwrap_or(0).max(done));
        self.bar.set_position(done);
        let mut at = format!("{} faults", progress.faults);
        if progress.now > Picoseconds::ZERO {
            at = format!("{} of virtual time, {at}", progress.now);
        }
        if self.lines.is_some() {
            at = format!("running: {done} bytes paged, {at}");
        }
        self.say(at);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.lines = None;
        self.bar.finish_and_clear();
    }
}

impl Lines {
    fn to(pause: Duration, write: impl Fn(&str) + Send + 'static) -> Self {
        let (done, over) = channel();
        let at = Arc::new(Mutex::new(String::new()));
        let shared = Arc::clone(&at);
        let thread = Builder::new().spawn(move || {
            let begin = Instant::now();
            while over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let at = shared
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                write(&format!("{at} ({} s)", begin.elapsed().as_secs()));
            }
        });
        Self {
            at,
            done: Some(done),
            // Without a thread no lines are printed.
            thread: thread.ok(),
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.done = None;
        // Joins the thread, so that no line follows the output of the next step.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_the_work_is_at_until_it_is_over() {
        let (sent, lines) = channel();
        let pause = Duration::from_millis(1);
        let told = Lines::to(pause, move |line| sent.send(line.to_owned()).unwrap());
        "Verilator".clone_into(&mut told.at.lock().unwrap());
        // Every line arrives eventually, on slow machines too.
        let line = lines.iter().find(|line| line.starts_with("Verilator ("));
        assert!(line.unwrap().ends_with(" s)"));
        drop(told);
        // The thread has ended: no further lines arrive.
        assert!(lines.iter().count() < usize::MAX);
        assert!(lines.recv().is_err());
    }
}
