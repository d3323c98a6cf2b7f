//! Files of a replay: the recorded ones, if they still have their content, and copies of those that are written.

use super::{ReplayError, ReplayPlaces};
use crate::journal::files::{self, content, hash_of_zeros, Content};
use crate::journal::{FileEntry, Passed};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use tombolo::serving::identity_of_kernel;

/// A file that clients wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Its path when it was recorded.
    pub path: String,
    /// Its name, as the last client that mapped it for writing gave it.
    pub label: String,
    /// Its copy of the replay.
    pub copy: PathBuf,
    /// Size in bytes, and SHA-256.
    pub content: (u64, String),
    /// The same when it was recorded.
    pub recorded: (u64, String),
}

impl WrittenFile {
    /// Whether the replay has written the same.
    pub fn is_same(&self) -> bool {
        self.content == self.recorded
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct ReplayFiles {
    places: ReplayPlaces,
    copied: BTreeSet<u64>,
    /// Where each file is for the replay, and its recorded path.
    paths: BTreeMap<u64, (PathBuf, String)>,
    /// Names of files that are mapped for writing.
    labels: BTreeMap<u64, String>,
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> ReplayError {
    let path = path.to_owned();
    move |source| ReplayError::Files { path, source }
}

impl ReplayFiles {
    pub(super) fn new(places: ReplayPlaces, copied: BTreeSet<u64>) -> Result<Self, ReplayError> {
        std::fs::create_dir_all(&places.outputs).map_err(failed(&places.outputs))?;
        Ok(Self {
            places,
            copied,
            paths: BTreeMap::new(),
            labels: BTreeMap::new(),
        })
    }

    /// Names a file that is mapped for writing.
    pub(super) fn name(&mut self, file: u64, label: &str) {
        self.labels.insert(file, label.to_owned());
    }

    /// Whether the file is there already, so that its content changes.
    pub(super) fn is_known(&self, file: u64) -> bool {
        self.paths.contains_key(&file)
    }

    /// Brings a file into the recorded state.
    pub(super) fn place(&mut self, entry: &FileEntry) -> Result<(), ReplayError> {
        let own = self.places.outputs.join(format!("file-{}", entry.file));
        let zeros = || {
            let file = File::create(&own).map_err(failed(&own))?;
            file.set_len(entry.bytes).map_err(failed(&own))
        };
        let place = match &entry.hash {
            None => {
                zeros()?;
                own
            }
            Some(hash) => match self.source(entry, hash) {
                Ok(source) if !self.copied.contains(&entry.file) => source,
                Ok(source) => {
                    let from = File::open(&source).map_err(failed(&source))?;
                    files::copy(&from, &own).map_err(failed(&own))?;
                    own
                }
                Err(_) if *hash == hash_of_zeros(entry.bytes) => {
                    zeros()?;
                    own
                }
                Err(error) => return Err(error),
            },
        };
        self.paths.insert(entry.file, (place, entry.path.clone()));
        Ok(())
    }

    /// A file with the recorded content.
    fn source(&self, entry: &FileEntry, hash: &str) -> Result<PathBuf, ReplayError> {
        let data = self.places.data.as_ref();
        let copy = data.and_then(|folder| Some(folder.join(entry.copy.as_ref()?)));
        let original = PathBuf::from(&entry.path);
        let mut found = Vec::new();
        for path in copy.into_iter().chain([original.clone()]) {
            match File::open(&path).and_then(|file| content(&file)) {
                Ok(content) if content.bytes == entry.bytes && content.hash() == hash => {
                    return Ok(path)
                }
                Ok(Content { bytes, .. }) if bytes != entry.bytes => {
                    found.push(format!("{} has {bytes} bytes", path.display()));
                }
                Ok(content) => {
                    found.push(format!("{} has SHA-256 {}", path.display(), content.hash()));
                }
                Err(error) => found.push(format!("{}: {error}", path.display())),
            }
        }
        Err(ReplayError::OtherFile {
            path: original,
            bytes: entry.bytes,
            hash: hash.to_owned(),
            found: found.join("; "),
        })
    }

    /// The descriptor that a client passed.
    pub(super) fn open(&self, passed: &Passed) -> Result<OwnedFd, ReplayError> {
        let null = Path::new("/dev/null");
        let (path, opened) = match passed {
            Passed::File(file, rights) => match self.paths.get(file) {
                Some((path, _)) => (path.as_path(), files::open(path, *rights)),
                None => (null, File::open(null)),
            },
            Passed::Kernel(path, recorded) => {
                let path = Path::new(path);
                let found = match identity_of_kernel(path) {
                    Ok(identity) if identity == *recorded => None,
                    Ok(identity) => Some(format!(
                        "is {identity:016x}: its manifest or RTL has changed"
                    )),
                    Err(error) => Some(error.to_string()),
                };
                if let Some(found) = found {
                    return Err(ReplayError::OtherKernel {
                        path: path.to_owned(),
                        recorded: *recorded,
                        found,
                    });
                }
                (path, File::open(path))
            }
            Passed::Memory | Passed::Other => (null, File::open(null)),
        };
        opened.map(OwnedFd::from).map_err(failed(path))
    }

    /// A file that was written, and its content then.
    pub(super) fn written(
        &self,
        file: u64,
        recorded: (u64, String),
    ) -> Result<Option<WrittenFile>, ReplayError> {
        let Some((copy, path)) = self.paths.get(&file) else {
            return Ok(None);
        };
        let found = File::open(copy).and_then(|file| content(&file));
        let found = found.map_err(failed(copy))?;
        Ok(Some(WrittenFile {
            path: path.clone(),
            label: self.labels.get(&file).unwrap_or(path).clone(),
            copy: copy.clone(),
            content: (found.bytes, found.hash()),
            recorded,
        }))
    }
}
