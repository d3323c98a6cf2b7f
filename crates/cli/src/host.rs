//! `tombolo host`: costs of trapped accesses and of a daemon's socket on this machine.

use crate::print::{print, NotPrinted};
use clap::{Args, Subcommand, ValueEnum};
use std::fmt::Write;
use std::io;
use std::path::PathBuf;

use ::daemon::Daemon;
use std::time::{Duration, Instant};
use tombolo::{Card, FunctionalCard, FunctionalConfig, HostFile, TrapFigures, TrapWay};
use units::Picoseconds;

/// Requests of a round, and rounds, of which the fastest counts: others share the machine.
const REQUESTS: u32 = 500;
const ROUNDS: usize = 20;

/// Measures the cost of trapped accesses to shared memory, and of requests to a daemon, on this machine, for use in
/// virtual time.
#[derive(Args)]
pub(crate) struct Host {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Calibrate(Calibrate),
    Traps(Traps),
}

/// Lists the ways to trap a program's accesses on this machine, with their costs, or why they are unavailable.
#[derive(Args)]
struct Traps {}

/// How accesses of programs are trapped.
#[derive(Clone, Copy, Default, ValueEnum)]
enum TrapMethod {
    /// Protected pages: mprotect and SIGSEGV.
    #[default]
    Protect,
    /// Missing pages, served by another thread: userfaultfd.
    Userfault,
    /// Missing pages, served by the faulting thread where possible: userfaultfd and SIGBUS.
    InThread,
}

impl From<TrapMethod> for TrapWay {
    fn from(way: TrapMethod) -> Self {
        match way {
            TrapMethod::Protect => Self::Protect,
            TrapMethod::Userfault => Self::Userfault,
            TrapMethod::InThread => Self::InThread,
        }
    }
}

/// Measures this machine and writes a host file.
#[derive(Args)]
struct Calibrate {
    /// File to write (default: the standard output). Its name becomes the host's name.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The trap mechanism to measure.
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    traps: TrapMethod,
}

/// Why no costs were measured or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    #[error("the cost of traps cannot be measured here: {0}")]
    Measuring(io::Error),
    #[error("the cost of a daemon's socket cannot be measured here: {0}")]
    Socket(String),
    #[error("{}: {source}", path.display())]
    Writing { path: PathBuf, source: io::Error },
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
}

impl Host {
    pub(crate) fn run(self) -> Result<(), HostError> {
        match self.action {
            Action::Calibrate(calibrate) => calibrate.run(),
            Action::Traps(Traps {}) => {
                print(ways())?;
                Ok(())
            }
        }
    }
}

/// A table with the cost of each trap mechanism, and whether UFFDIO_MOVE is available.
fn ways() -> String {
    let mut text = format!(
        "{:<24}{:>12}{:>12}{:>12}{:>14}\n",
        "microseconds", "4 KiB", "32 KiB", "2 MiB", "of the trap"
    );
    for way in [TrapWay::Protect, TrapWay::Userfault, TrapWay::InThread] {
        let _ = match tombolo::measure_traps_with(way) {
            Ok(figures) => {
                let micros = |bytes: u64| {
                    // 2 MiB may be a single huge page of the system.
                    let huge = if bytes == 2 << 20 && figures.has_huge_pages() {
                        bytes
                    } else {
                        0
                    };
                    let taken = figures.protect_with(bytes, huge);
                    let all = taken + figures.trap_ps + figures.open_with(bytes, huge);
                    format!("{:.1}", all.as_seconds() * 1e6)
                };
                writeln!(
                    text,
                    "{:<24}{:>12}{:>12}{:>12}{:>14.1}",
                    way.to_string(),
                    micros(4 << 10),
                    micros(32 << 10),
                    micros(2 << 20),
                    figures.trap_ps.as_seconds() * 1e6
                )
            }
            Err(error) => writeln!(text, "{:<24}unavailable: {error}", way.to_string()),
        };
    }
    text.push_str(match tombolo::can_move_pages() {
        Ok(true) => {
            "UFFDIO_MOVE: available. It is not used: it moves private anonymous pages only, and pages of \
             shared memory\n             are shown to the program without a copy anyway (UFFDIO_CONTINUE)\n"
        }
        Ok(false) => "UFFDIO_MOVE: unavailable before Linux 6.8. It would not be used\n",
        Err(_) => "UFFDIO_MOVE: unavailable without userfaultfd. It would not be used\n",
    });
    text
}

impl Calibrate {
    fn run(self) -> Result<(), HostError> {
        let way = TrapWay::from(self.traps);
        let figures = tombolo::measure_traps_with(way).map_err(HostError::Measuring)?;
        let request = measure_socket()?;
        let name = self.output.as_ref().and_then(|path| path.file_stem());
        let name = name.map_or_else(|| "here".into(), |name| name.to_string_lossy());
        let text =
            HostFile::text_of(&name, &machine(way), figures, None).map_err(HostError::Measuring)?;
        let text = format!("{text}\n[socket]\nrequest_ps = {}\n", request.get());
        let Some(path) = self.output else {
            return Ok(print(text)?);
        };
        std::fs::write(&path, text).map_err(|source| HostError::Writing {
            path: path.clone(),
            source,
        })?;
        Ok(print(summary(&path, figures, request))?)
    }
}

fn summary(path: &std::path::Path, figures: TrapFigures, request: Picoseconds) -> String {
    let trap = figures.trap_ps;
    let mut text = format!("{}:\n  a trap, there and back: {trap}\n", path.display());
    for (name, bytes) in [("32 KiB", 32 << 10), ("2 MiB", 2 << 20)] {
        let (protect, open) = (figures.protect(bytes), figures.open(bytes));
        text += &format!("  {name}: taken from the program {protect}, given back {open}\n");
    }
    if figures.has_huge_pages() {
        let bytes = 2 << 20;
        let (protect, open) = (
            figures.protect_with(bytes, bytes),
            figures.open_with(bytes, bytes),
        );
        text +=
            &format!("  2 MiB as one page: taken from the program {protect}, given back {open}\n");
    }
    text + &format!("  a request over a daemon's socket, there and back: {request}\n")
}

/// Cost of a daemon's socket: the difference between a request to its card and one to a card of this process.
fn measure_socket() -> Result<Picoseconds, HostError> {
    let failed = |error: &dyn std::fmt::Display| HostError::Socket(error.to_string());
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default()));
    let card = card.map_err(|error| failed(&error))?;
    let socket = folder.path().join("card");
    let daemon = Daemon::listen(card.clone(), &socket).map_err(|error| failed(&error))?;
    let client = Card::open(format!("unix:{}", socket.display()));
    let client = client.map_err(|error| failed(&error))?;
    let request = |card: &Card| -> Result<Duration, HostError> {
        let mut fastest = Duration::MAX;
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            for _ in 0..REQUESTS {
                card.describe().map_err(|error| failed(&error))?;
            }
            fastest = fastest.min(begin.elapsed() / REQUESTS);
        }
        Ok(fastest)
    };
    let (own, over_the_socket) = (request(&card)?, request(&client)?);
    client.close().map_err(|error| failed(&error))?;
    daemon.stop();
    let nanos = over_the_socket.saturating_sub(own).as_nanos() as u64;
    Ok(Picoseconds::from_nanos(nanos))
}

/// Describes this machine and the measured mechanism, for the host file.
fn machine(way: TrapWay) -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let system = read("/proc/sys/kernel/osrelease");
    let processors = read("/proc/cpuinfo");
    let mut model = processors.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    });
    let first = model
        .next()
        .unwrap_or_else(|| "unknown processor".to_owned());
    format!(
        "{way}, measured by `tombolo host calibrate` on Linux {}, {} x {first}",
        system.trim(),
        model.count() + 1
    )
}
