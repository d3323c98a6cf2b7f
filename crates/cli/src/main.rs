//! The `tombolo` command.

mod arguments;
mod cache;
mod card_shape;
mod completions;
mod config;
mod connect;
mod daemon;
mod device;
mod devices;
mod diff;
mod doctor;
mod host;
mod interrupt;
mod kernel;
#[cfg(feature = "lab")]
mod lab;
mod link;
mod metrics;
#[cfg(not(feature = "lab"))]
mod no_lab;
mod outputs;
mod print;
mod progress;
mod protocol;
mod rates;
mod replay;
mod run;
mod serve;
mod shell;
mod standard;
mod status;
mod suggest;
mod text_file;

#[cfg(feature = "lab")]
use crate::lab::Lab;
#[cfg(not(feature = "lab"))]
use crate::no_lab::AbsentLab as Lab;
use clap::{CommandFactory, Parser, Subcommand};
use std::error::Error;
use std::process::ExitCode;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

/// Runs kernels on an FPGA card, simulated or real, with files and memory of the host.
#[derive(Parser)]
#[command(name = "tombolo", version, about, max_term_width = 100)]
#[command(after_help = "\
Examples:
  tombolo doctor                          check this machine
  tombolo kernel list                     list kernels
  tombolo kernel list copy                show a kernel's arguments and a command that runs it
  tombolo run copy --map input=in.bin --map output=out.bin:new --set 'bytes=size(input)'
`tombolo COMMAND --help` gives examples for each command.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Diff(diff::Diff),
    Kernel(kernel::Kernel),
    Link(Box<link::Link>),
    Shell(shell::Shell),
    Protocol(protocol::Protocol),
    Lab(Lab),
    Doctor(doctor::Doctor),
    Host(host::Host),
    Device(Box<device::Device>),
    Devices(devices::Devices),
    Serve(serve::Serve),
    Daemon(Box<daemon::RunDaemon>),
    Replay(replay::RunReplay),
    Status(status::ShowStatus),
    Cache(cache::Cache),
    Completions(completions::Completions),
    Man(completions::Man),
}

/// Sends events to the standard error, filtered by `TOMBOLO_LOG`: `debug`, or `tombolo=debug,card=trace`. Without it,
/// errors only.
fn log() {
    let errors = || Targets::new().with_default(LevelFilter::ERROR);
    let filter = match std::env::var("TOMBOLO_LOG") {
        Err(_) => errors(),
        Ok(wanted) => wanted.parse().unwrap_or_else(|error| {
            print::say!("warning: TOMBOLO_LOG is `{wanted}`: {error}");
            errors()
        }),
    };
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .finish()
        .with(filter)
        .init();
}

fn main() -> ExitCode {
    // No command of a user: started by a daemon, with shared memory as standard input.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == card_shape::KERNEL_HOST)
    {
        simcard::serve_kernel();
    }
    interrupt::heed_limits();
    log();
    let command = match command_line() {
        Ok(command) => command,
        Err(error) => {
            say(&error);
            return ExitCode::FAILURE;
        }
    };
    interrupt::listen();
    let failures: Vec<Box<dyn Error>> = match command {
        Command::Run(run) => match run.run() {
            Ok(()) => Vec::new(),
            Err(failures) => failures.into_iter().map(Into::into).collect(),
        },
        Command::Diff(diff) => failure_of(diff.run()),
        Command::Cache(cache) => failure_of(cache.run()),
        Command::Completions(completions) => failure_of(completions.run::<Arguments>()),
        Command::Man(man) => failure_of(man.run::<Arguments>()),
        Command::Kernel(kernel) => failure_of(kernel.run()),
        Command::Link(link) => failure_of(link.run()),
        Command::Shell(shell) => failure_of(shell.run()),
        Command::Protocol(protocol) => failure_of(protocol.run()),
        Command::Device(device) => failure_of(device.run()),
        Command::Devices(devices) => failure_of(devices.run()),
        Command::Serve(serve) => failure_of(serve.run()),
        Command::Daemon(daemon) => failure_of(daemon.run()),
        Command::Replay(replay) => failure_of(replay.run()),
        Command::Status(status) => failure_of(status.run()),
        Command::Doctor(doctor) => failure_of(doctor.run()),
        Command::Host(host) => failure_of(host.run()),
        Command::Lab(lab) => lab
            .run()
            .err()
            .map(|error| error as Box<dyn Error>)
            .into_iter()
            .collect(),
    };
    // If a signal has come, the process ends here.
    interrupt::settle();
    failures.iter().for_each(|failure| say(failure.as_ref()));
    ExitCode::from(u8::from(!failures.is_empty()))
}

/// The command, with the defaults of the user's configuration file; a wrong command line ends the process.
fn command_line() -> Result<Command, config::ConfigError> {
    let arguments = link::with_settings(std::env::args_os());
    let path = config::path();
    let completed = config::complete(
        path.as_deref(),
        &mut Arguments::command(),
        arguments.clone(),
    );
    if completed.is_err() {
        // Help does not depend on the file.
        if let Some(help) = Arguments::try_parse_from(arguments)
            .err()
            .filter(|it| !it.use_stderr())
        {
            help.exit();
        }
    }
    let completed = completed?;
    match Arguments::try_parse_from(&completed.arguments) {
        Ok(arguments) => Ok(arguments.command),
        Err(mut error) => {
            suggest::add_tip(&mut error, &Arguments::command(), &completed.arguments);
            let is_wrong = error.use_stderr();
            if let (true, Some(path), false) = (is_wrong, path, completed.added.is_empty()) {
                let added = completed.added.join(", ");
                print::say!("note: {} adds {added}", path.display());
            }
            error.exit()
        }
    }
}

fn failure_of<E: Error + 'static>(result: Result<(), E>) -> Vec<Box<dyn Error>> {
    result.err().map(Into::into).into_iter().collect()
}

fn say(error: &dyn Error) {
    print::say!("tombolo: error: {error}");
}
