//! Errors of `tombolo run`.

use crate::kernel::NoSuchKernel;
use crate::print::NotPrinted;
use card::CardError;
use std::path::{Path, PathBuf};
use tombolo::{Error, PresetError};

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An error of the library.
    #[error(transparent)]
    Library(#[from] Error),
    /// Arguments that do not fit the kernel.
    #[error("{0}")]
    Arguments(String),
    /// An access of `--access` failed.
    #[error("{path}:{line}: {source}", path = .path.display())]
    Access {
        path: PathBuf,
        /// Line number in the file of accesses, from 1.
        line: usize,
        source: Box<Error>,
    },
    /// The standard output.
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
    /// The report, or another output, could not be written.
    #[error("{path}: {source}", path = .path.display())]
    Report {
        path: PathBuf,
        source: std::io::Error,
    },
}

impl RunError {
    /// Whether this is an access that `error` aborted, so that reporting both would repeat it.
    pub(super) fn tells(&self, error: &Error) -> bool {
        let Self::Access { source, .. } = self else {
            return false;
        };
        match (&**source, error) {
            (Error::Home(told), Error::Home(other)) => told == other,
            _ => false,
        }
    }

    /// For `map_err`: a file that could not be written.
    pub(super) fn writing(path: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        |source| Self::Report {
            path: path.to_owned(),
            source,
        }
    }
}

impl From<NoSuchKernel> for RunError {
    fn from(error: NoSuchKernel) -> Self {
        Self::Arguments(error.to_string())
    }
}

impl From<PresetError> for RunError {
    fn from(error: PresetError) -> Self {
        Self::Arguments(error.to_string())
    }
}

impl From<CardError> for RunError {
    fn from(error: CardError) -> Self {
        Self::Library(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tombolo::{HomeError, SlotId};

    #[test]
    fn a_kernel_that_is_cut_off_is_told_once() {
        let home = |what: &str| {
            Error::Home(HomeError {
                slot: SlotId(0),
                kernel: "rpc".to_owned(),
                what: what.to_owned(),
            })
        };
        let access = |source| RunError::Access {
            path: "accesses".into(),
            line: 3,
            source: Box::new(source),
        };
        assert!(access(home("is silent")).tells(&home("is silent")));
        assert!(!access(home("is silent")).tells(&home("refused a line")));
        assert!(!access(Error::NoHome).tells(&home("is silent")));
        assert!(!RunError::from(home("is silent")).tells(&home("is silent")));
    }
}
