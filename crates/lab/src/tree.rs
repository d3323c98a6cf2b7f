//! The source tree that figures belong to.

use std::process::Command;

/// Why a tree or its history cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The tree has uncommitted changes, so its figures are not reproducible.
    #[error("the tree has changes that are not committed (`{0}`): commit them, or measure with --trial, which writes nothing")]
    Changed(String),
    /// A command failed.
    #[error("{command}: {told}")]
    Command {
        /// Command line.
        command: String,
        /// Error output of the command.
        told: String,
    },
    /// `bench/sources.toml` is invalid.
    #[error("bench/sources.toml: {0}")]
    Sources(String),
}

/// A commit, and the day of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    commit: String,
    date: String,
}

impl Tree {
    /// The present tree and day (UTC).
    ///
    /// # Errors
    /// [`TreeError::Changed`]: there are uncommitted changes, apart from the file of results.
    pub fn now() -> Result<Self, TreeError> {
        let changed = git(&["status", "--porcelain", "--", ".", ":!bench/results.json"])?;
        match changed.lines().next() {
            Some(line) => Err(TreeError::Changed(line.trim().to_owned())),
            None => Ok(Self {
                commit: git(&["rev-parse", "--short=12", "HEAD"])?,
                date: today()?,
            }),
        }
    }

    /// Commit, in twelve digits.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// Day of the measurement (UTC).
    pub fn date(&self) -> &str {
        &self.date
    }
}

/// The present day (UTC).
///
/// # Errors
/// [`TreeError::Command`]
pub(crate) fn today() -> Result<String, TreeError> {
    said(Command::new("date").args(["-u", "+%F"]))
}

/// Output of a git command in the checkout, without the final newline.
///
/// # Errors
/// [`TreeError::Command`]
pub(crate) fn git(arguments: &[&str]) -> Result<String, TreeError> {
    said(
        Command::new("git")
            .args(arguments)
            .current_dir(simcard::home()),
    )
}

/// Output of a command, without the final newline.
fn said(command: &mut Command) -> Result<String, TreeError> {
    let output = command.output();
    let failed = |told: String| TreeError::Command {
        command: format!("{command:?}"),
        told,
    };
    let output = output.map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()),
        false => Err(failed(
            String::from_utf8_lossy(&output.stderr)
                .trim_end()
                .to_owned(),
        )),
    }
}
