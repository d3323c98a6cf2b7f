//! The `tombolo` command.

mod arguments;
mod kernel;
mod progress;
mod protocol;
mod run;
mod shell;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// One memory and one I/O layer for an FPGA card and its host.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Run),
    Kernel(kernel::Kernel),
    Shell(shell::Shell),
    Protocol(protocol::Protocol),
}

/// What a shell expects of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_env("TOMBOLO_LOG"))
        .with_writer(std::io::stderr)
        .init();
    match Arguments::parse().command {
        Command::Run(run) => match run.run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failures) => {
                failures.iter().for_each(|failure| say(failure));
                let interrupted = failures.iter().any(run::Failure::is_interruption);
                ExitCode::from(if interrupted { INTERRUPTED } else { 1 })
            }
        },
        Command::Kernel(kernel) => match kernel.run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say(&error);
                ExitCode::FAILURE
            }
        },
        Command::Shell(shell) => match shell.run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say(&error);
                ExitCode::FAILURE
            }
        },
        Command::Protocol(protocol) => match protocol.run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say(&error);
                ExitCode::FAILURE
            }
        },
    }
}

fn say(error: &dyn std::error::Error) {
    eprintln!("tombolo: error: {error}");
}
