//! Platform files (`platforms/*.toml`): every figure of a card and its host, with its source.
//!
//! A file is read once, checked as a whole, and never changed afterwards; the hash of its bytes and of the version of the
//! models is recorded with every result, so that only results with the same figures and models are compared.

mod figures;

pub use figures::{
    AddressMap, Clock, ControllerFigures, CpuFigures, HostFigures, LinkFigures, Memory, MemoryKind,
    MemoryTiming, PcieFigures, MAX_BANKS,
};

use crate::hash::sha256_hex;
use crate::MODELS;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The version of the file format that this crate reads.
pub const FORMAT: u32 = 1;

/// Hash of a platform's figures under a version of the models.
fn hash_under(models: u32, file: &[u8]) -> String {
    sha256_hex(&[file, format!("models {models}").as_bytes()].concat())
}

/// A named set of hardware figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    figures: PlatformFile,
    hash: String,
    path: PathBuf,
}

/// The coherent side of a platform that has one.
#[derive(Clone, Copy, Debug)]
pub struct Coherent<'a> {
    /// Coherent link.
    pub link: &'a LinkFigures,
    /// CPU of the platform.
    pub cpu: &'a CpuFigures,
}

/// The serialised form of the file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlatformFile {
    format: u32,
    name: String,
    description: String,
    clock: Clock,
    memory: Vec<Memory>,
    pcie: PcieFigures,
    host: HostFigures,
    link: Option<LinkFigures>,
    cpu: Option<CpuFigures>,
}

/// Reason why a platform cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    /// The file cannot be read.
    #[error("platform file {}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The file is no TOML, or has a missing or unknown key.
    #[error("platform file {}: {message}", path.display())]
    Parse {
        /// Path of the file.
        path: PathBuf,
        /// Message of the parser, with line and key.
        message: String,
    },
    /// A figure breaks a rule.
    #[error("platform file {}: {key} = {value}: {rule}", path.display())]
    Figure {
        /// Path of the file.
        path: PathBuf,
        /// Key, with its tables.
        key: String,
        /// Value in the file.
        value: String,
        /// Rule that the value breaks.
        rule: &'static str,
    },
    /// No directory has a file with that name.
    #[error(
        "no platform {name:?}: looked for {name}.toml in {}; there are: {}",
        searched.iter().map(|d| d.display().to_string()).collect::<Vec<_>>().join(", "),
        if known.is_empty() { "none".to_string() } else { known.join(", ") }
    )]
    Unknown {
        /// Requested name.
        name: String,
        /// Searched directories.
        searched: Vec<PathBuf>,
        /// Names found there.
        known: Vec<String>,
    },
}

/// A broken rule, before the file is known.
struct Broken {
    key: String,
    value: String,
    rule: &'static str,
}

impl Platform {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`PlatformError`] names the file, the key and the rule.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, PlatformError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| PlatformError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::from_bytes(&bytes, path)
    }

    /// Checks the bytes of a file; `path` is for messages.
    ///
    /// # Errors
    /// [`PlatformError`] names the file, the key and the rule.
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Self, PlatformError> {
        let path = path.as_ref().to_owned();
        let parsed = std::str::from_utf8(bytes)
            .map_err(|error| error.to_string())
            .and_then(|text| {
                toml::from_str::<PlatformFile>(text).map_err(|error| error.to_string())
            });
        let figures = match parsed {
            Ok(figures) => figures,
            Err(message) => return Err(PlatformError::Parse { path, message }),
        };
        if let Err(Broken { key, value, rule }) = check(&figures) {
            return Err(PlatformError::Figure {
                path,
                key,
                value,
                rule,
            });
        }
        let hash = hash_under(MODELS, bytes);
        Ok(Self {
            figures,
            hash,
            path,
        })
    }

    /// Finds `name.toml` in the first directory that has it.
    ///
    /// # Errors
    /// [`PlatformError::Unknown`] lists the known names; otherwise as [`load`](Self::load).
    pub fn named<D: AsRef<Path>>(name: &str, directories: &[D]) -> Result<Self, PlatformError> {
        let plain = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if plain {
            for directory in directories {
                let path = directory.as_ref().join(format!("{name}.toml"));
                if path.is_file() {
                    return Self::load(path);
                }
            }
        }
        Err(PlatformError::Unknown {
            name: name.to_owned(),
            searched: directories
                .iter()
                .map(|directory| directory.as_ref().to_owned())
                .collect(),
            known: names(directories),
        })
    }

    /// Name of the platform, for example `f1`.
    pub fn name(&self) -> &str {
        &self.figures.name
    }

    /// Description, one human-readable line.
    pub fn description(&self) -> &str {
        &self.figures.description
    }

    /// SHA-256 of the file's bytes and of the version of the [models](MODELS), in hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The shell's clock.
    pub fn clock(&self) -> Clock {
        self.figures.clock
    }

    /// The first of [`memories`](Self::memories): on most platforms the only one.
    pub fn memory(&self) -> &Memory {
        &self.figures.memory[0]
    }

    /// Every kind of memory on the card; at least one.
    pub fn memories(&self) -> &[Memory] {
        &self.figures.memory
    }

    /// Number of a shell's channels for each of [`memories`](Self::memories): they take one in turn, while they have
    /// one left. `None` if there are fewer than `channels`.
    pub fn deal(&self, channels: u32) -> Option<Vec<u32>> {
        let mut dealt = vec![0; self.memories().len()];
        let mut left = channels;
        while left > 0 {
            let before = left;
            for (given, memory) in dealt.iter_mut().zip(self.memories()) {
                if left > 0 && *given < memory.channels {
                    *given += 1;
                    left -= 1;
                }
            }
            if left == before {
                return None;
            }
        }
        Some(dealt)
    }

    /// The link between host and card.
    pub fn pcie(&self) -> &PcieFigures {
        &self.figures.pcie
    }

    /// The coherent link and the CPU behind it, if the platform has them.
    pub fn coherent(&self) -> Option<Coherent<'_>> {
        let (link, cpu) = (self.figures.link.as_ref()?, self.figures.cpu.as_ref()?);
        Some(Coherent { link, cpu })
    }

    /// Figures of the host.
    pub fn host(&self) -> &HostFigures {
        &self.figures.host
    }
}

/// Names of the platforms in some directories, sorted.
fn names<D: AsRef<Path>>(directories: &[D]) -> Vec<String> {
    let mut names: Vec<String> = directories
        .iter()
        .filter_map(|directory| std::fs::read_dir(directory).ok())
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_platform = path.extension()? == "toml";
            is_platform
                .then(|| path.file_stem()?.to_str().map(str::to_owned))
                .flatten()
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

fn check(figures: &PlatformFile) -> Result<(), Broken> {
    if figures.format != FORMAT {
        return Err(broken(
            "format",
            figures.format,
            "this version reads format 1",
        ));
    }
    if figures.name.is_empty() {
        return Err(broken("name", "\"\"", "must not be empty"));
    }
    figures.clock.check()?;
    if figures.memory.is_empty() {
        return Err(broken("memory", "[]", "a card has at least one memory"));
    }
    for (index, memory) in figures.memory.iter().enumerate() {
        memory.check(&format!("memory[{index}]"))?;
    }
    figures.pcie.check()?;
    match (&figures.link, &figures.cpu) {
        (Some(link), Some(cpu)) => {
            link.check()?;
            cpu.check()?;
        }
        (None, None) => {}
        (Some(_), None) => return Err(broken("cpu", "absent", "a coherent link leads to a CPU")),
        (None, Some(_)) => return Err(broken("link", "absent", "a CPU has a coherent link")),
    }
    figures.host.check()
}

fn broken(key: impl Into<String>, value: impl ToString, rule: &'static str) -> Broken {
    Broken {
        key: key.into(),
        value: value.to_string(),
        rule,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of a file, and of the models, changes the hash.
    #[test]
    fn a_hash_covers_the_file_and_the_models() {
        let hash = hash_under(MODELS, b"figures");
        assert_ne!(hash, hash_under(MODELS, b"figures."));
        assert_ne!(hash, hash_under(MODELS + 1, b"figures"));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms");
        let f1 = Platform::named("f1", &[folder]).unwrap();
        let bytes = std::fs::read(f1.path()).unwrap();
        assert_eq!(f1.hash(), hash_under(MODELS, &bytes));
    }
}
