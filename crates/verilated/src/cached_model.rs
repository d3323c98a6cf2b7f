//! Models in the cache: listing and removal.

use crate::entry::{lock_of, scratch_entry, try_lock, Scratch};
use crate::error::BuildError;
use crate::toolchain::cache_root;
use std::fs::{self, File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The folder of models.
pub fn models() -> PathBuf {
    cache_root().join("models")
}

/// A model in the cache.
#[derive(Debug)]
pub struct CachedModel {
    path: PathBuf,
    bytes: u64,
    unused: Duration,
}

impl CachedModel {
    /// Models in a folder, by name; none if the folder does not exist. Unfinished builds are not listed.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all(models: &Path) -> Result<Vec<Self>, BuildError> {
        let read = match fs::read_dir(models) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(BuildError::cache(models))?,
        };
        let now = SystemTime::now();
        let mut all = Vec::new();
        for entry in read.flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_folder || scratch_entry(&entry.file_name()).is_some() {
                continue;
            }
            let mut found = Vec::new();
            files(&entry.path(), &mut found);
            let used = found
                .iter()
                .flat_map(|file| [file.accessed(), file.modified()]);
            let used = used.flatten().max().unwrap_or(now);
            all.push(Self {
                path: entry.path(),
                bytes: found.iter().map(|file| file.blocks() * 512).sum(),
                unused: now.duration_since(used).unwrap_or_default(),
            });
        }
        all.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(all)
    }

    /// Name of the model.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Size on storage, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time since the last build or read, according to the file system.
    pub fn unused(&self) -> Duration {
        self.unused
    }

    /// Removes it; returns false if another process is building or loading it.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self) -> Result<bool, BuildError> {
        let path = &self.path;
        // The lock stays, because a process may wait for it.
        let lock = lock_of(path);
        let lock = File::create(&lock).map_err(BuildError::cache(lock))?;
        if !try_lock(&lock) {
            return Ok(false);
        }
        // Renamed in one step, so that no process sees half of it; if this process is killed, the next builder removes
        // the rest.
        let aside = Scratch::name(path);
        fs::rename(path, aside.path()).map_err(BuildError::cache(path))?;
        fs::remove_dir_all(aside.path()).map_err(BuildError::cache(aside.path()))?;
        Ok(true)
    }
}

/// Files below a folder; those removed meanwhile are skipped.
fn files(folder: &Path, found: &mut Vec<Metadata>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if metadata.is_dir() {
            files(&entry.path(), found);
        } else {
            found.push(metadata);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_built_stays() {
        let cache = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = cache.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("model.so"), [1; 5000]).unwrap();
            path
        };
        let model = folder("copy-0123");
        let built = Scratch::create(&cache.path().join("shell-4567")).unwrap();
        let before = folder("shell-89ab.tmp1-0");
        let all = CachedModel::all(cache.path()).unwrap();
        let names: Vec<String> = all.iter().map(CachedModel::name).collect();
        assert_eq!(names, ["copy-0123"]);
        assert!(all[0].bytes() >= 4096);
        let held = File::create(lock_of(&model)).unwrap();
        assert!(try_lock(&held));
        assert!(!all[0].remove().unwrap() && model.exists());
        drop(held);
        assert!(all[0].remove().unwrap() && !model.exists());
        assert!(built.path().exists() && before.exists());
        assert!(CachedModel::all(cache.path()).unwrap().is_empty());
    }
}
