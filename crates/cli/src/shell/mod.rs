//! `tombolo shell`: the structure of a card's shell, its model, and its RTL for other projects.

mod build;
mod export;
mod graph;
mod show;

use crate::kernel::NoSuchKernel;
use crate::print::NotPrinted;
use card::kernel::{KernelError, Manifest};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tombolo::{OwnerOptions, Preset, ShellConfig, SimOptions};

/// Shows the structure of the shell, builds its model, or exports it as plain RTL.
#[derive(Args)]
pub struct Shell {
    #[command(subcommand)]
    command: ShellCommand,
}

#[derive(Subcommand)]
enum ShellCommand {
    Show(show::Show),
    Build(build::BuildShell),
    Export(export::Export),
}

/// Options that select a shell.
#[derive(Args)]
pub(crate) struct ShellSelection {
    /// The platform: a name in platforms/, or a file.
    #[arg(long, default_value = "f1")]
    platform: String,

    /// The shell's configuration: a TOML file with the fields that `show --json` lists under `configuration`. Fields
    /// that are left out keep their defaults.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// The shell of a preset: docs/presets.md.
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    preset: Option<String>,

    /// The shell of a file that `tombolo run --shell` takes: docs/presets.md.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["config", "preset"])]
    shell: Option<PathBuf>,
}

/// Why nothing was shown or written.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The platform, or the configuration.
    #[error(transparent)]
    Card(#[from] card::CardError),
    /// The preset, or a file with one.
    #[error(transparent)]
    Preset(#[from] tombolo::PresetError),
    /// Neither a folder nor a known name of a kernel.
    #[error(transparent)]
    NoSuchKernel(#[from] NoSuchKernel),
    /// The kernel's manifest.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The output, or a file.
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
    /// The standard output.
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
    /// The configuration's file.
    #[error("{0}: {1}")]
    Config(String, String),
    /// The folder exists.
    #[error("{0} exists already; name a folder that is not there yet")]
    Exists(String),
}

/// Ports of a slot for a kernel, of which a pair of streams takes one: `usual` or more without streams, no others with them.
pub(crate) fn ports_for(kernel: &Manifest, usual: u8) -> u8 {
    let least = kernel.stream_pairs() + kernel.ports.len().max(1) as u8;
    match kernel.stream_pairs() {
        0 => least.max(usual),
        _ => least,
    }
}

/// The same shell, with the ports of a slot for a kernel.
pub(crate) fn with_ports_for(kernel: &Manifest, shell: ShellConfig) -> ShellConfig {
    let streams_per_slot = match kernel.stream_pairs() {
        0 => shell.streams_per_slot,
        pairs => pairs,
    };
    ShellConfig {
        ports_per_slot: ports_for(kernel, shell.ports_per_slot),
        streams_per_slot,
        ..shell
    }
}

impl Shell {
    pub fn run(self) -> Result<(), ShellError> {
        match self.command {
            ShellCommand::Show(show) => show.run(),
            ShellCommand::Build(build) => build.run(),
            ShellCommand::Export(export) => export.run(),
        }
    }
}

impl ShellSelection {
    /// The options of a simulated card with the selected shell.
    pub(crate) fn options(&self) -> Result<SimOptions, ShellError> {
        let mut options = SimOptions::named(&self.platform)?;
        let preset = match (&self.preset, &self.shell) {
            (Some(name), _) => Some(Preset::named(name, 0)?),
            (None, Some(path)) => Some(Preset::load(path)?),
            (None, None) => None,
        };
        if let Some(preset) = preset {
            // Settings for the host take effect only in a run.
            preset.apply(&mut options, &mut OwnerOptions::default())?;
        }
        if let Some(path) = &self.config {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|error| ShellError::Io(name.clone(), error))?;
            // The parser's message has several lines and a caret; an error of the command is one line.
            options.shell = toml::from_str(&text).map_err(|error| {
                let line = error.span().map_or(0, |span| {
                    text[..span.start.min(text.len())].matches('\n').count() + 1
                });
                let said = error.message().replace('\n', ", ");
                ShellError::Config(name.clone(), format!("line {line}: {said}"))
            })?;
            if let Some(rule) = options.shell.broken_rule() {
                return Err(ShellError::Config(name, rule));
            }
        }
        Ok(options)
    }
}
