//! `tombolo protocol`

use crate::progress::Work;
use clap::{Args, Subcommand, ValueEnum};
use protocol::cli::{self, CliError, Extent};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Checks a coherence protocol, generates its tables, or prints its state machines.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo protocol check protocols/mesi.protocol
  tombolo protocol generate protocols/mesi.protocol --out build/mesi
  tombolo protocol generate protocols/moesi.protocol --caches 2 --out build/moesi
  tombolo protocol show protocols/esi.protocol --format summary --caches 3
docs/protocols.md describes the language.")]
pub struct Protocol {
    #[command(subcommand)]
    command: ProtocolCommand,
}

/// Default number of threads for a check.
const THREADS: u8 = 2;

#[derive(Subcommand)]
enum ProtocolCommand {
    /// Explores every interleaving and checks every property.
    Check {
        /// The specification (docs/protocols.md).
        file: PathBuf,
        /// Maximum number of caches to check.
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=3))]
        caches: u8,
        /// Threads to explore states with.
        #[arg(long, default_value_t = THREADS, value_parser = clap::value_parser!(u8).range(1..=16))]
        threads: u8,
        /// Counts states that differ only in the numbers of caches or lines separately, as rumur does. By default they
        /// are one state: the verdict is the same and takes less time.
        #[arg(long)]
        all_states: bool,
        /// Folder for sequence diagrams of a violation.
        #[arg(long)]
        traces: Option<PathBuf>,
    },
    /// Writes SystemVerilog, Rust, Murphi, Graphviz and Markdown for a protocol that holds.
    ///
    /// The specification is checked first, as by `check`. If it does not hold, its trace is printed and nothing is
    /// written.
    Generate {
        /// The specification (docs/protocols.md).
        file: PathBuf,
        /// Number of caches that the directory supports.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
        caches: u8,
        /// Folder for the outputs.
        #[arg(long, default_value = ".")]
        out: PathBuf,
        /// Skips the check, to look at the output for a protocol that does not hold.
        #[arg(long)]
        unchecked: bool,
    },
    /// Prints the generated state machines.
    Show {
        /// The specification (docs/protocols.md).
        file: PathBuf,
        /// Number of caches that the directory supports.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
        caches: u8,
        /// Output format.
        #[arg(long, value_enum, default_value_t = Format::Markdown)]
        format: Format,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Markdown,
    Home,
    Remote,
    Summary,
}

impl From<Format> for cli::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Markdown => Self::Markdown,
            Format::Home => Self::Home,
            Format::Remote => Self::Remote,
            Format::Summary => Self::Summary,
        }
    }
}

impl Protocol {
    pub fn run(self) -> Result<(), CliError> {
        let mut out = crate::print::Output;
        match self.command {
            ProtocolCommand::Check {
                file,
                caches,
                threads,
                all_states,
                traces,
            } => {
                let extent = extent(caches, threads, all_states);
                check(&file, extent, traces.as_deref(), &mut out)
            }
            ProtocolCommand::Generate {
                file,
                caches,
                out: folder,
                unchecked,
            } => {
                if !unchecked {
                    check(&file, extent(caches, THREADS, false), None, &mut out)?;
                }
                cli::generate_file(&file, usize::from(caches), &folder, &mut out)
            }
            ProtocolCommand::Show {
                file,
                caches,
                format,
            } => cli::show_file(&file, usize::from(caches), format.into(), &mut out),
        }
    }
}

/// Explores every model and shows the progress.
fn check(
    file: &Path,
    extent: Extent,
    traces: Option<&Path>,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let work = Work::spinner();
    let mut show = |at: cli::Progress<'_>| {
        work.say(format!(
            "{}: depth {}, {} states",
            at.task, at.depth, at.states
        ));
    };
    cli::check_file(file, extent, traces, out, &mut show)
}

fn extent(caches: u8, threads: u8, all_states: bool) -> Extent {
    Extent {
        caches: caches.into(),
        threads: threads.into(),
        all_states,
    }
}
