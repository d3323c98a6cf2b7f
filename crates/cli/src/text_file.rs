//! Text output to a file, a pipe, a device or the standard output.

use crate::outputs::{OutputPath, Outputs};
use crate::print::Output;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The destination of a text output.
pub struct TextFile {
    named: PathBuf,
    to: Destination,
}

enum Destination {
    /// A new file.
    File(File),
    /// A pipe or a device; opened on the first write, because opening a pipe blocks.
    Special,
    StandardOutput,
}

impl TextFile {
    /// Begins an output; a `record` is kept even if the run fails.
    pub fn begin(place: OutputPath, outputs: &mut Outputs, record: bool) -> io::Result<Self> {
        let named = place.named.clone();
        let to = if named.is_dir() {
            return Err(io::Error::other("is a directory"));
        } else if place.is_special() {
            Destination::Special
        } else if place.is_standard_output() {
            Destination::StandardOutput
        } else if record {
            Destination::File(outputs.record(place)?.0)
        } else {
            Destination::File(outputs.file(place)?.0)
        };
        Ok(Self { named, to })
    }

    /// The standard output.
    pub fn standard_output() -> Self {
        Self {
            named: "standard output".into(),
            to: Destination::StandardOutput,
        }
    }

    /// The name that the user gave.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// Writes all of it.
    pub fn write(self, text: &str) -> io::Result<()> {
        let text = text.as_bytes();
        match self.to {
            Destination::File(mut file) => file.write_all(text),
            Destination::StandardOutput => {
                Output.write_all(text)?;
                Output.flush()
            }
            Destination::Special => {
                let mut file = OpenOptions::new().write(true).open(&self.named)?;
                file.write_all(text)
            }
        }
    }
}
