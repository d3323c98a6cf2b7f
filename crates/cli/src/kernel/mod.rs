//! `tombolo kernel`: tools for authors of kernels.

mod build;
mod create;
pub mod example;
mod find;
mod import;
mod list;
mod reserved;

use crate::interrupt;
use crate::print::NotPrinted;
use card::kernel::KernelError;
use clap::{Args, Subcommand};
pub use find::{folder_of, known, library, NoSuchKernel};
pub use import::import_package;
use std::path::{Path, PathBuf};
use verilated::BuildError;

/// Lists, creates, checks, builds and imports kernels.
#[derive(Args)]
pub struct Kernel {
    #[command(subcommand)]
    command: KernelCommand,
}

#[derive(Subcommand)]
enum KernelCommand {
    List(list::List),
    New(create::New),
    Check(build::CheckKernel),
    Build(build::BuildKernel),
    Import(import::Import),
}

/// Why a command on kernels failed.
#[derive(Debug, thiserror::Error)]
pub enum KernelCommandError {
    /// A file or folder cannot be read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Neither a folder nor a known name.
    #[error(transparent)]
    NoSuchKernel(#[from] NoSuchKernel),
    /// The kernel's manifest.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The kernel's RTL.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A name that cannot be a kernel's.
    #[error("`{0}` cannot be a kernel's name: up to 64 letters, digits and `_`, no digit first")]
    Name(String),
    /// A name that the new kernel's RTL cannot have.
    #[error("`{name}` cannot be a kernel's name: {what}; it would name a module")]
    Taken {
        name: String,
        /// Reason, as part of a sentence.
        what: &'static str,
    },
    /// The folder exists.
    #[error("{path} exists already; name another place with --into", path = .0.display())]
    Exists(PathBuf),
    /// The standard output.
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
    /// The description of a foreign kernel.
    #[error(transparent)]
    Import(#[from] import::ImportError),
}

impl KernelCommandError {
    fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

impl Kernel {
    pub fn run(self) -> Result<(), KernelCommandError> {
        match self.command {
            KernelCommand::List(list) => list.run(),
            KernelCommand::New(new) => new.run(),
            KernelCommand::Check(check) => check.run(),
            KernelCommand::Build(build) => build.run(),
            KernelCommand::Import(import) => import.run(),
        }
    }
}

/// Whether a name is a valid kernel name.
fn is_identifier(name: &str) -> bool {
    let head = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let rest = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    head && rest && name.len() <= 64
}

/// Creates a folder and fills it; removes it if that fails.
fn fill_new_folder(
    folder: &Path,
    fill: impl FnOnce() -> Result<(), KernelCommandError>,
) -> Result<(), KernelCommandError> {
    if folder.exists() {
        return Err(KernelCommandError::Exists(folder.to_owned()));
    }
    let parent = crate::outputs::folder_of(folder);
    std::fs::create_dir_all(parent).map_err(KernelCommandError::io(parent))?;
    interrupt::make_folder(folder).map_err(KernelCommandError::io(folder))?;
    let result = fill();
    match result.is_ok() {
        true => interrupt::keep_folder(folder),
        // The folder is new, so it holds nothing of the user's.
        false => interrupt::remove_folder(folder),
    }
    result
}

fn write(path: &Path, text: &[u8]) -> Result<(), KernelCommandError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(KernelCommandError::io(folder))?;
    }
    std::fs::write(path, text).map_err(KernelCommandError::io(path))
}
