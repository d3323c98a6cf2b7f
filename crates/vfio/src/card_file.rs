//! Properties of a card that its registers do not report.

use card::memories::CardMemory;
use card::CardDescription;
use serde::{Deserialize, Serialize};
use std::path::Path;
use units::Picoseconds;

/// Properties of a card that a driver needs and cannot read from registers; read from a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardFile {
    /// Physical size of each memory channel in bytes.
    pub channel_bytes: u64,
    /// Period of the shell's clock in picoseconds.
    pub clock_period_ps: u64,
    /// Whether pages may reside in host memory.
    #[serde(default)]
    pub host_channel: bool,
    /// Memory technologies, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<CardMemory>,
}

/// Why a card file was refused.
#[derive(Debug, thiserror::Error)]
pub enum CardFileError {
    /// The file cannot be read.
    #[error("{path}: {error}")]
    Io {
        /// Path of the file.
        path: std::path::PathBuf,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// The file is malformed.
    #[error("{path}: {what}; `tombolo device --card FILE` writes such a file")]
    Content {
        /// Path of the file.
        path: std::path::PathBuf,
        /// The rule that is violated, with the line.
        what: String,
    },
}

impl CardFile {
    /// The properties in a description that registers do not report.
    pub fn of(description: &CardDescription) -> Self {
        Self {
            channel_bytes: description.channel_bytes,
            clock_period_ps: description.clock_period.get(),
            host_channel: description.host_channel,
            memories: match description.memories.len() {
                0 | 1 => Vec::new(),
                _ => description.memories.clone(),
            },
        }
    }

    /// Reads a card file.
    ///
    /// # Errors
    /// [`CardFileError`].
    pub fn read(path: &Path) -> Result<Self, CardFileError> {
        let text = std::fs::read_to_string(path).map_err(|error| CardFileError::Io {
            path: path.to_owned(),
            error,
        })?;
        let content = |what: String| CardFileError::Content {
            path: path.to_owned(),
            what,
        };
        let file: Self =
            toml::from_str(&text).map_err(|error| content(error.message().replace('\n', ", ")))?;
        match file.channel_bytes {
            0 => Err(content("channel_bytes = 0: a card has memory".into())),
            bytes if bytes % 4096 != 0 => Err(content(format!(
                "channel_bytes = {bytes}: must be a multiple of 4096"
            ))),
            _ => Ok(file),
        }
    }

    /// Contents of the card file, in TOML.
    pub fn to_toml(&self) -> String {
        // Numbers, flags and lists always serialise.
        toml::to_string(self).unwrap_or_default()
    }

    pub(crate) fn clock_period(&self) -> Picoseconds {
        Picoseconds::new(self.clock_period_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nonsense_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("card.toml");
        let file = CardFile {
            channel_bytes: 16 << 30,
            clock_period_ps: 4000,
            host_channel: true,
            memories: Vec::new(),
        };
        std::fs::write(&path, file.to_toml()).unwrap();
        assert_eq!(CardFile::read(&path).unwrap(), file);
        for bad in [
            "",
            "channel_bytes = 0\nclock_period_ps = 1",
            "channel_bytes = 7\nclock_period_ps = 1",
            "slots = 1",
        ] {
            std::fs::write(&path, bad).unwrap();
            assert!(
                matches!(CardFile::read(&path), Err(CardFileError::Content { .. })),
                "{bad}"
            );
        }
    }
}
