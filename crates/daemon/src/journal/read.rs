//! Reading a journal.

use super::entry::{Chain, Header, JournalEntry, FORMAT};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Why a journal cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system refuses.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It does not begin with a header.
    #[error("{path}: not a journal of `tombolo daemon --journal`: {rule}", path = .path.display())]
    NoJournal {
        /// Path of the journal.
        path: PathBuf,
        /// The rule that its first line breaks.
        rule: String,
    },
    /// Its format is of another version.
    #[error(
        "{path}: a journal of format {found} (tombolo {version}), and this tombolo replays format {FORMAT}: use \
         the tombolo that recorded it", path = .path.display()
    )]
    Format {
        /// Path of the journal.
        path: PathBuf,
        /// Format version of the journal.
        found: u64,
        /// Version of the program that recorded it.
        version: String,
    },
    /// A line is not what was written.
    #[error(
        "{path}: line {line}, at byte {byte}: damaged: {rule}; the lines before it are whole", path = .path.display()
    )]
    Damaged {
        /// Path of the journal.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// Offset of the line in bytes.
        byte: u64,
        /// The rule that the line breaks.
        rule: String,
    },
}

/// Why a journal ends before its daemon did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// There is no further line.
    End {
        /// Number of whole lines.
        lines: u64,
    },
    /// The last line is incomplete.
    Torn {
        /// Number of the line.
        line: u64,
        /// Number of its bytes that were written.
        bytes: u64,
    },
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::End { lines } => {
                write!(f, "it ends after line {lines}, without the daemon's report")
            }
            Self::Torn { line, bytes } => {
                write!(
                    f,
                    "it ends within line {line}, of which {bytes} bytes are there"
                )
            }
        }
    }
}

/// Reads the entries of a journal.
#[derive(Debug)]
pub struct JournalReader {
    path: PathBuf,
    lines: BufReader<File>,
    chain: Chain,
    line: u64,
    byte: u64,
    cut: Option<Cut>,
}

impl JournalReader {
    /// Opens a journal and reads its header.
    ///
    /// # Errors
    /// See [`JournalError`].
    pub fn open(path: &Path) -> Result<(Self, Header), JournalError> {
        let file = File::open(path).map_err(|source| JournalError::File {
            path: path.to_owned(),
            source,
        })?;
        let mut reader = Self {
            path: path.to_owned(),
            lines: BufReader::new(file),
            chain: Chain::default(),
            line: 0,
            byte: 0,
            cut: None,
        };
        let none = |rule: String| JournalError::NoJournal {
            path: path.to_owned(),
            rule,
        };
        let Some(json) = reader.line().map_err(|error| match error {
            JournalError::Damaged { rule, .. } => none(rule),
            other => other,
        })?
        else {
            return Err(none(match &reader.cut {
                Some(Cut::Torn { bytes, .. }) => {
                    format!("its first line has {bytes} bytes and no end")
                }
                _ => "it is empty".to_owned(),
            }));
        };
        // Another format may have other fields.
        let raw: serde_json::Value =
            serde_json::from_slice(&json).map_err(|error| none(error.to_string()))?;
        let raw = &raw["Header"];
        let format = raw["format"].as_u64();
        let found = format.ok_or_else(|| none("its first line has no format".to_owned()))?;
        if found != u64::from(FORMAT) {
            return Err(JournalError::Format {
                path: path.to_owned(),
                found,
                version: raw["version"].as_str().unwrap_or("unknown").to_owned(),
            });
        }
        match serde_json::from_slice(&json) {
            Ok(JournalEntry::Header(header)) => Ok((reader, header)),
            Ok(_) => Err(none("its first line is no header".to_owned())),
            Err(error) => Err(none(error.to_string())),
        }
    }

    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// [`JournalError::Damaged`]; the system's.
    pub fn entry(&mut self) -> Result<Option<JournalEntry>, JournalError> {
        let (line, byte) = (self.line + 1, self.byte);
        let Some(json) = self.line()? else {
            return Ok(None);
        };
        let entry = serde_json::from_slice(&json).map_err(|error| JournalError::Damaged {
            path: self.path.clone(),
            line,
            byte,
            rule: error.to_string(),
        })?;
        Ok(Some(entry))
    }

    /// How the journal ended, after its last entry.
    pub fn cut(&self) -> Cut {
        self.cut.clone().unwrap_or(Cut::End { lines: self.line })
    }

    /// Number of lines read.
    pub fn lines(&self) -> u64 {
        self.line
    }

    /// The JSON of the next line.
    fn line(&mut self) -> Result<Option<Vec<u8>>, JournalError> {
        let mut line = Vec::new();
        let read = self.lines.read_until(b'\n', &mut line);
        let bytes = read.map_err(|source| JournalError::File {
            path: self.path.clone(),
            source,
        })? as u64;
        if bytes == 0 {
            return Ok(None);
        }
        if line.pop() != Some(b'\n') {
            self.cut = Some(Cut::Torn {
                line: self.line + 1,
                bytes,
            });
            return Ok(None);
        }
        let damaged = |rule: String| JournalError::Damaged {
            path: self.path.clone(),
            line: self.line + 1,
            byte: self.byte,
            rule,
        };
        let mut parts = line.splitn(2, |byte| *byte == b' ');
        let (Some(sum), Some(json)) = (parts.next(), parts.next()) else {
            return Err(damaged("no checksum".to_owned()));
        };
        let mut chain = self.chain;
        chain.add(json);
        if chain.hex().as_bytes() != sum {
            return Err(damaged(format!(
                "its checksum is {}, and the line has {}",
                chain.hex(),
                String::from_utf8_lossy(&sum[..sum.len().min(16)])
            )));
        }
        self.chain = chain;
        self.line += 1;
        self.byte += bytes;
        Ok(Some(json.to_vec()))
    }
}
