//! `tombolo diff`

use crate::print::{print, NotPrinted};
use advice::{Comparison, NotAReport};
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};

/// Compares the reports of two runs, figure by figure.
///
/// Reports are those of `tombolo run … --json FILE`. What differs is listed with both figures and their ratio, the kernel's
/// time first; what bounds each run stands above. Exit code 0, whether or not they differ.
#[derive(Args)]
#[command(after_help = "Examples:
  Is it faster with smaller pages, and why:
    tombolo run copy --map input=a --map output=b:new --set 'bytes=size(input)' --json before.json
    tombolo run copy --map input=a:page=256KiB --map output=b:new:page=256KiB \\
      --set 'bytes=size(input)' --json after.json
    tombolo diff before.json after.json")]
pub struct Diff {
    /// A report.
    first: PathBuf,

    /// Another; - is the standard input.
    second: PathBuf,
}

/// Why two reports are not compared.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is no JSON.
    #[error("{}: not JSON: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where, and why.
        source: serde_json::Error,
    },
    /// One of them is no report.
    #[error("{}: {source}", path.display())]
    Report {
        /// The file.
        path: PathBuf,
        /// What a report has.
        source: NotAReport,
    },
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
    // A report compares with itself; this names the file that is none.
    let known = Comparison::of(&json, &json).map(|_| json);
    known.map_err(|source| DiffError::Report {
        path: named(),
        source,
    })
}

impl Diff {
    /// Does it.
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
