//! `tombolo diff`

use crate::print::{print, NotPrinted};
use advice::{Comparison, NotAReport};
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};

/// Compares the reports of two runs, figure by figure.
///
/// Reads reports that `tombolo run … --json FILE` wrote. Prints the bound of each run, then every figure that differs,
/// with both values and their ratio, the kernel's time first. The exit status is 0 whether or not they differ.
#[derive(Args)]
#[command(after_help = "Examples:
  Is it faster with smaller pages, and why:
    tombolo run copy --map input=a --map output=b:new --set 'bytes=size(input)' --json before.json
    tombolo run copy --map input=a:page=256KiB --map output=b:new:page=256KiB \\
      --set 'bytes=size(input)' --json after.json
    tombolo diff before.json after.json")]
pub struct Diff {
    /// The report to compare with.
    first: PathBuf,

    /// The report to compare; - is the standard input.
    second: PathBuf,
}

/// Why two reports cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file is no JSON.
    #[error("{}: not JSON: {source}", path.display())]
    Json {
        path: PathBuf,
        source: serde_json::Error,
    },
    /// JSON that is not a report.
    #[error("{}: {source}", path.display())]
    Report { path: PathBuf, source: NotAReport },
    /// The comparison cannot be printed.
    #[error(transparent)]
    Print(#[from] NotPrinted),
}

fn read(path: &Path) -> Result<serde_json::Value, DiffError> {
    let text = match path.as_os_str() == "-" {
        true => io::read_to_string(io::stdin()),
        false => std::fs::read_to_string(path),
    };
    let named = || path.to_owned();
    let text = text.map_err(|source| DiffError::Read {
        path: named(),
        source,
    })?;
    let json = serde_json::from_str(&text).map_err(|source| DiffError::Json {
        path: named(),
        source,
    })?;
    // Comparing a report with itself finds out which of the two files is not a report.
    let known = Comparison::of(&json, &json).map(|_| json);
    known.map_err(|source| DiffError::Report {
        path: named(),
        source,
    })
}

impl Diff {
    pub fn run(self) -> Result<(), DiffError> {
        let (first, second) = (read(&self.first)?, read(&self.second)?);
        let compared = Comparison::of(&first, &second);
        let compared = compared.map_err(|source| DiffError::Report {
            path: self.second,
            source,
        })?;
        print(format_args!("{compared}\n"))?;
        Ok(())
    }
}
