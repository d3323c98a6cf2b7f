//! Host files (`hosts/*.toml`): costs of a machine and its kernel for trapping a program's accesses to memory that the
//! card owns, and for requests over a daemon's socket.
//!
//! These figures belong to no card, so they are not in platform files. As with those, the hash of the file's bytes is
//! recorded with every result.

use crate::hash::sha256_hex;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use units::Picoseconds;

/// The version of the file format that this crate reads.
const FORMAT: u32 = 1;
/// Page size of the system, the unit of the figures per page, in bytes.
const SYSTEM_PAGE: u64 = 4096;
/// Size of a huge page in bytes, which is protected in one step if available.
const HUGE_PAGE: u64 = 2 << 20;
/// Maximum of a figure.
const LONGEST: Picoseconds = Picoseconds::from_millis(1000);

/// Costs of traps. Zero if a machine does not use the operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrapFigures {
    /// From a program's access to the thread that serves it, and back to the program.
    pub trap_ps: Picoseconds,
    /// Revoking a right of programs: a system call.
    pub protect_ps: Picoseconds,
    /// The same, for each 4096 bytes.
    pub protect_page_ps: Picoseconds,
    /// Granting a right again: a system call.
    pub open_ps: Picoseconds,
    /// The same, for each 4096 bytes.
    pub open_page_ps: Picoseconds,
    /// Revoking a right to a piece of 2 MiB that the system maps as one page, in addition to the call. `None`: there
    /// are no such pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protect_huge_ps: Option<Picoseconds>,
    /// Granting it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_huge_ps: Option<Picoseconds>,
    /// Work of the service thread for a page that changes hands, with or without traps: system calls and interrupts of
    /// a driver, for example.
    #[serde(default)]
    pub service_ps: Picoseconds,
}

impl TrapFigures {
    /// Cost of revoking a right to a range in small pages.
    pub fn protect(&self, bytes: u64) -> Picoseconds {
        self.protect_with(bytes, 0)
    }

    /// Cost of granting a right to a range in small pages.
    pub fn open(&self, bytes: u64) -> Picoseconds {
        self.open_with(bytes, 0)
    }

    /// Cost of revoking a right to a range with `huge` bytes in pieces of 2 MiB.
    pub fn protect_with(&self, bytes: u64, huge: u64) -> Picoseconds {
        self.protect_ps + pages(bytes, huge, self.protect_page_ps, self.protect_huge_ps)
    }

    /// Cost of granting it again.
    pub fn open_with(&self, bytes: u64, huge: u64) -> Picoseconds {
        self.open_ps + pages(bytes, huge, self.open_page_ps, self.open_huge_ps)
    }

    /// Whether there are figures for pieces of 2 MiB.
    pub fn has_huge_pages(&self) -> bool {
        self.protect_huge_ps.is_some() || self.open_huge_ps.is_some()
    }
}

/// Costs of a daemon's socket, in free mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketFigures {
    /// A request over the socket and its reply, in addition to those of a program with its own card.
    pub request_ps: Picoseconds,
}

/// Cost of a range, by its pages.
fn pages(
    bytes: u64,
    huge: u64,
    small_ps: Picoseconds,
    huge_ps: Option<Picoseconds>,
) -> Picoseconds {
    let (huge, huge_ps) = match huge_ps {
        Some(huge_ps) => (huge.min(bytes), huge_ps),
        None => (0, Picoseconds::ZERO),
    };
    small_ps * (bytes - huge).div_ceil(SYSTEM_PAGE) + huge_ps * (huge / HUGE_PAGE)
}

/// A host file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFile {
    text: HostFileContents,
    hash: String,
    path: PathBuf,
}

/// The serialised form of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostFileContents {
    format: u32,
    name: String,
    description: String,
    traps: TrapFigures,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    socket: Option<SocketFigures>,
}

/// Reason why a host file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HostFileError {
    /// It cannot be read or written.
    #[error("host file {}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the underlying call.
        source: io::Error,
    },
    /// It is not a host file.
    #[error("host file {}: {what}", path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// Fault that was found.
        what: String,
    },
}

impl HostFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It is missing, malformed, of another format, or a figure is above a second.
    pub fn load(path: impl Into<PathBuf>) -> Result<Self, HostFileError> {
        let path = path.into();
        let bytes = std::fs::read(&path);
        let bytes = bytes.map_err(|source| HostFileError::Io {
            path: path.clone(),
            source,
        })?;
        Self::parse(bytes, path)
    }

    fn parse(bytes: Vec<u8>, path: PathBuf) -> Result<Self, HostFileError> {
        let malformed = |what: String| HostFileError::Malformed {
            path: path.clone(),
            what,
        };
        let hash = sha256_hex(&bytes);
        let text = String::from_utf8(bytes).map_err(|error| malformed(error.to_string()))?;
        let text: HostFileContents =
            toml::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        if text.format != FORMAT {
            let what = format!("format {}; this version reads {FORMAT}", text.format);
            return Err(malformed(what));
        }
        let traps = text.traps;
        let all = [
            ("trap_ps", traps.trap_ps),
            ("protect_ps", traps.protect_ps),
            ("protect_page_ps", traps.protect_page_ps),
            ("open_ps", traps.open_ps),
            ("open_page_ps", traps.open_page_ps),
            ("service_ps", traps.service_ps),
            ("protect_huge_ps", traps.protect_huge_ps.unwrap_or_default()),
            ("open_huge_ps", traps.open_huge_ps.unwrap_or_default()),
        ];
        let request = text.socket.unwrap_or_default().request_ps;
        let all = all.map(|(name, figure)| ("traps", name, figure));
        let mut all = all.into_iter().chain([("socket", "request_ps", request)]);
        if let Some((part, name, figure)) = all.find(|(.., figure)| *figure > LONGEST) {
            let what =
                format!("{part}.{name} is {figure}; figures are picoseconds, a second at most");
            return Err(malformed(what));
        }
        Ok(Self { text, hash, path })
    }

    /// The text of a file with measured figures. `description` names the machine.
    ///
    /// # Errors
    /// None that a caller can cause: figures and two texts are always TOML.
    pub fn text_of(
        name: &str,
        description: &str,
        traps: TrapFigures,
        socket: Option<SocketFigures>,
    ) -> Result<String, io::Error> {
        let text = HostFileContents {
            format: FORMAT,
            name: name.to_owned(),
            description: description.to_owned(),
            traps,
            socket,
        };
        toml::to_string(&text).map_err(io::Error::other)
    }

    /// Name that the file gives.
    pub fn name(&self) -> &str {
        &self.text.name
    }

    /// Description of the machine and the measurement.
    pub fn description(&self) -> &str {
        &self.text.description
    }

    /// SHA-256 of the file's bytes, in hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Costs of a daemon's socket; zero if the file has none.
    pub fn socket(&self) -> SocketFigures {
        self.text.socket.unwrap_or_default()
    }

    /// Costs of traps.
    pub fn traps(&self) -> TrapFigures {
        self.text.traps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<HostFile, HostFileError> {
        HostFile::parse(text.into(), "it.toml".into())
    }

    #[test]
    fn what_is_written_is_read() {
        let traps = TrapFigures {
            trap_ps: Picoseconds::from_micros(5),
            protect_ps: Picoseconds::new(700_000),
            protect_page_ps: Picoseconds::new(9_000),
            ..TrapFigures::default()
        };
        let text = HostFile::text_of("here", "a \"test\"", traps, None).unwrap();
        let read = parse(&text).unwrap();
        assert_eq!((read.name(), read.description()), ("here", "a \"test\""));
        assert_eq!(read.traps(), traps);
        assert_eq!(traps.protect(4097), Picoseconds::new(718_000));
        assert_eq!(traps.open(1 << 21), Picoseconds::ZERO);
        assert_ne!(parse(&format!("{text}\n")).unwrap().hash(), read.hash());
        assert_eq!(read.socket(), SocketFigures::default());
        let socket = SocketFigures {
            request_ps: Picoseconds::from_micros(31),
        };
        let text = HostFile::text_of("here", "with a socket", traps, Some(socket)).unwrap();
        assert_eq!(parse(&text).unwrap().socket(), socket);
    }

    #[test]
    fn pieces_of_2_mib_cost_what_the_file_says_or_what_their_small_pages_cost() {
        let small = TrapFigures {
            protect_ps: Picoseconds::new(1000),
            protect_page_ps: Picoseconds::new(10),
            ..TrapFigures::default()
        };
        let huge = TrapFigures {
            protect_huge_ps: Some(Picoseconds::new(77)),
            ..small
        };
        let bytes = (4 << 20) + 4096;
        assert_eq!(small.protect_with(bytes, 4 << 20), small.protect(bytes));
        assert_eq!(huge.protect_with(bytes, 4 << 20), Picoseconds::new(1164));
        assert_eq!(huge.protect(bytes), small.protect(bytes));
        assert!(huge.has_huge_pages() && !small.has_huge_pages());
        let text = HostFile::text_of("here", "both", huge, None).unwrap();
        assert_eq!(parse(&text).unwrap().traps(), huge);
        let text = HostFile::text_of("a", "b", small, None).unwrap();
        assert!(!text.contains("huge") && !text.contains("socket"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let good = HostFile::text_of("a", "b", TrapFigures::default(), None).unwrap();
        let refused = |text: String| parse(&text).unwrap_err().to_string();
        assert!(refused(good.replace("format = 1", "format = 2")).contains("reads 1"));
        assert!(refused(good.replace("\ntrap_ps = 0", "")).contains("trap_ps"));
        assert!(refused(good.replace("trap_ps", "trap")).contains("trap"));
        let long = refused(good.replace("open_ps = 0", "open_ps = 2000000000000"));
        assert!(
            long.contains("traps.open_ps") && long.contains("picoseconds"),
            "{long}"
        );
        let long = refused(good + "[socket]\nrequest_ps = 2000000000000\n");
        assert!(long.contains("socket.request_ps"), "{long}");
    }
}
