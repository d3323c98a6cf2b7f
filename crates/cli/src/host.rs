//! `tombolo host`: what this machine costs a program.

use clap::{Args, Subcommand};
use std::io;
use std::path::PathBuf;
use tombolo::{HostFile, TrapFigures};

/// Host files: what a trapped access to shared memory costs in virtual time.
#[derive(Args)]
pub(crate) struct Host {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Calibrate(Calibrate),
}

/// Measures this machine and writes a host file.
#[derive(Args)]
struct Calibrate {
    /// Where to write it; to standard output if not given. Its name is the host's.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Why there is no such file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    #[error("the cost of traps cannot be measured here: {0}")]
    Measuring(io::Error),
    #[error("{}: {source}", path.display())]
    Writing { path: PathBuf, source: io::Error },
}

impl Host {
    pub(crate) fn run(self) -> Result<(), HostError> {
        let Action::Calibrate(calibrate) = self.action;
        calibrate.run()
    }
}

impl Calibrate {
    fn run(self) -> Result<(), HostError> {
        let figures = tombolo::measure_traps().map_err(HostError::Measuring)?;
        let name = self.output.as_ref().and_then(|path| path.file_stem());
        let name = name.map_or_else(|| "here".into(), |name| name.to_string_lossy());
        let text = HostFile::text_of(&name, &machine(), figures).map_err(HostError::Measuring)?;
        let Some(path) = self.output else {
            print!("{text}");
            return Ok(());
        };
        std::fs::write(&path, text).map_err(|source| HostError::Writing {
            path: path.clone(),
            source,
        })?;
        say(&path, figures);
        Ok(())
    }
}

fn say(path: &std::path::Path, figures: TrapFigures) {
    println!("{}:", path.display());
    println!("  a trap, there and back: {}", figures.trap_ps);
    for (name, bytes) in [("32 KiB", 32 << 10), ("2 MiB", 2 << 20)] {
        let (protect, open) = (figures.protect(bytes), figures.open(bytes));
        println!("  {name}: taken from the program {protect}, given back {open}");
    }
    if figures.has_huge_pages() {
        let bytes = 2 << 20;
        let (protect, open) = (
            figures.protect_with(bytes, bytes),
            figures.open_with(bytes, bytes),
        );
        println!("  2 MiB as one page: taken from the program {protect}, given back {open}");
    }
}

/// Words about this machine.
fn machine() -> String {
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
        "mprotect and SIGSEGV, measured by `tombolo host calibrate` on Linux {}, {} x {first}",
        system.trim(),
        model.count() + 1
    )
}
