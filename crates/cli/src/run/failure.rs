//! What ends a run badly.

use crate::kernel::NoSuchKernel;
use card::CardError;
use std::path::{Path, PathBuf};
use tombolo::{Error, PresetError};

/// What ends a run badly.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The library's word.
    #[error(transparent)]
    Library(#[from] Error),
    /// Arguments that do not fit the kernel.
    #[error("{0}")]
    Arguments(String),
    /// The report, or another output, could not be written.
    #[error("{path}: {source}", path = .path.display())]
    Report {
        /// Where to.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl Failure {
    /// For `map_err`: a file that could not be written.
    pub(super) fn writing(path: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        |source| Self::Report {
            path: path.to_owned(),
            source,
        }
    }
}

impl From<NoSuchKernel> for Failure {
    fn from(error: NoSuchKernel) -> Self {
        Self::Arguments(error.to_string())
    }
}

impl From<PresetError> for Failure {
    fn from(error: PresetError) -> Self {
        Self::Arguments(error.to_string())
    }
}

impl From<CardError> for Failure {
    fn from(error: CardError) -> Self {
        Self::Library(error.into())
    }
}
