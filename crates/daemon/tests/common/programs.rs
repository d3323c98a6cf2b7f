//! Programs that load a card together, each a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tombolo::{Card, OwnerStatus, Picoseconds};

/// Name of a program, in its process.
const WHO: &str = "TOMBOLO_TEST_CHILD";
/// Until all have begun, at most.
const LIMIT: Duration = Duration::from_secs(60);

/// A program that is ready, runs its kernel, or is over. Its process runs a test of the same file, which is none if it has
/// no [`name`].
pub struct Program {
    pub name: String,
    process: Child,
    said: BufReader<ChildStdout>,
}

impl Program {
    /// Waits until it is ready.
    pub fn begin(folder: &Path, test: &str, name: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(WHO, name)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut program = Self {
            name: name.to_owned(),
            said: BufReader::new(process.stdout.take().unwrap()),
            process,
        };
        program.wait_until_ready();
        program
    }

    /// Waits for the moment before its next run.
    pub fn wait_until_ready(&mut self) {
        self.hear("ready");
    }

    /// The rest of the line that begins so.
    fn hear(&mut self, begins: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let bytes = self.said.read_line(&mut line).unwrap();
            assert!(bytes > 0, "{} has ended", self.name);
            if let Some(rest) = line.strip_prefix(begins) {
                return rest.trim().to_owned();
            }
        }
    }

    pub fn go(&mut self) {
        let input = self.process.stdin.as_mut().unwrap();
        input.write_all(b"\n").unwrap();
    }

    /// How long its kernel took, in seconds of virtual time, when it has ended.
    pub fn time(&mut self) -> f64 {
        Picoseconds::new(self.hear("time ").parse().unwrap()).as_seconds()
    }

    /// Waits for its process.
    pub fn end(mut self) {
        assert!(self.process.wait().unwrap().success());
    }
}

/// The name of the program that this process is, if it is one.
pub fn name() -> Option<String> {
    std::env::var(WHO).ok()
}

/// In a program's process: it is ready; returns when it may go on.
pub fn ready() {
    println!("\nready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

/// In a program's process: how long its kernel took.
pub fn took(time: Picoseconds) {
    println!("\ntime {}", time.get());
}

/// Lets programs go one after another, each when the kernel of the one before runs, all at one virtual time.
pub fn go_together(card: &Card, go: impl IntoIterator<Item = impl FnOnce()>) {
    let gate = Gate::closed(card);
    for (go, running) in go.into_iter().zip(1..) {
        go();
        wait_until(card, "the next kernel runs", |status| {
            status.slots.iter().filter(|slot| slot.running).count() == running
        });
    }
    drop(gate);
}

/// Waits until no client but the card's own is left.
pub fn wait_until_alone(card: &Card) {
    wait_until(card, "what they had is gone", |status| {
        status.clients.is_empty()
    });
}

fn wait_until(card: &Card, what: &str, is_so: impl Fn(&OwnerStatus) -> bool) {
    let begun = Instant::now();
    while !is_so(&card.status().unwrap().owner) {
        assert!(begun.elapsed() < LIMIT, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Virtual time stands while this lives: kernels that are started begin together, however busy the machine is.
struct Gate {
    open: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Gate {
    fn closed(card: &Card) -> Self {
        let open = Arc::new(AtomicBool::new(false));
        let participant = card.participant().unwrap();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let opens = open.clone();
        let thread = std::thread::spawn(move || {
            let _computes = participant.enter().unwrap();
            ready.send(()).unwrap();
            // One that sleeps would be taken for one that waits for others.
            while !opens.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        });
        is_ready.recv().unwrap();
        Self {
            open,
            thread: Some(thread),
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open.store(true, Ordering::Release);
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_none_or(|ended| ended.is_ok()));
    }
}

/// Contents of a program's file.
pub fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n * 7 + n / 251) as u8).collect()
}

pub fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

/// Standard deviation over the mean, in per cent.
pub fn deviation(times: &[f64]) -> f64 {
    let mean = mean(times);
    let squares: Vec<f64> = times.iter().map(|time| (time - mean).powi(2)).collect();
    (squares.iter().sum::<f64>() / times.len() as f64).sqrt() / mean * 100.0
}
