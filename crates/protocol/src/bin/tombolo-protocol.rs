//! `tombolo-protocol check|generate|show FILE`: the protocol commands as a program of their own.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use protocol::{bench, cli};

/// Coherence protocols: check a specification, generate its outputs, show its machines.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Explore every interleaving and check every property.
    Check {
        /// The specification.
        file: PathBuf,
        /// Largest number of caches.
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=3))]
        caches: u8,
        /// Threads.
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
        threads: u8,
        /// Folder for sequence diagrams of a violation.
        #[arg(long)]
        traces: Option<PathBuf>,
    },
    /// Write SystemVerilog, Rust, Murphi, Graphviz and Markdown.
    Generate {
        /// The specification.
        file: PathBuf,
        /// Folder for the outputs.
        #[arg(long, default_value = ".")]
        out: PathBuf,
    },
    /// Print the generated machines.
    Show {
        /// The specification.
        file: PathBuf,
        /// What to print.
        #[arg(long, value_enum, default_value_t = Format::Markdown)]
        format: Format,
    },
    /// Measure the figures of issue 4 (`protocol.*`).
    Bench {
        /// Folder of the specifications.
        #[arg(long, default_value = "protocols")]
        protocols: PathBuf,
        /// Mutants a protocol; 0 means every one.
        #[arg(long, default_value_t = 400)]
        mutants: usize,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Markdown,
    Home,
    Remote,
    Summary,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    match command {
        Command::Check {
            file,
            caches,
            threads,
            traces,
        } => {
            let bar = spinner();
            let mut progress = |p: cli::Progress<'_>| {
                bar.set_message(format!(
                    "{}: depth {}, {} states",
                    p.task, p.depth, p.states
                ));
            };
            let (caches, threads) = (usize::from(caches), usize::from(threads));
            let traces = traces.as_deref();
            cli::check_file(&file, caches, threads, traces, &mut out, &mut progress)?;
        }
        Command::Generate { file, out: folder } => cli::generate_file(&file, &folder, &mut out)?,
        Command::Show { file, format } => {
            let format = match format {
                Format::Markdown => cli::Format::Markdown,
                Format::Home => cli::Format::Home,
                Format::Remote => cli::Format::Remote,
                Format::Summary => cli::Format::Summary,
            };
            cli::show_file(&file, format, &mut out)?;
        }
        Command::Bench { protocols, mutants } => {
            let bar = spinner();
            let mut progress = |what: &str| bar.set_message(what.to_owned());
            for figure in bench::all(&protocols, mutants, &mut progress)? {
                writeln!(out, "{figure}")?;
            }
        }
    }
    Ok(())
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
