//! The kernels of a design as files, in a temporary folder. It is removed with the design, or at the latest when a
//! process unpacks the next one.
//!
//! A program that is killed, or exits with a device in a static object, leaves its folder behind. Each folder is locked
//! by the process that uses it; an unlocked one is left over, and the next process to create a folder removes it.

use crate::design::Design;
use crate::error::XrtError;
use rustix::fs::{flock, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PREFIX: &str = "tombolo-xclbin-";

/// The temporary folder of a design's kernels, and its lock.
#[derive(Debug)]
pub(crate) struct Unpacked {
    folder: TempDir,
    _lock: Option<OwnedFd>,
}

impl Unpacked {
    pub(crate) fn new(design: &Design) -> Result<Self, XrtError> {
        let root = std::env::temp_dir();
        remove_left_behind(&root);
        let unpacked = Self::locked(&root).map_err(failed(&root))?;
        for (number, kernel) in design.kernels.iter().enumerate() {
            for file in &kernel.files {
                let path = unpacked.path().join(number.to_string()).join(&file.name);
                if let Some(parent) = path.parent() {
                    std::fs::create_dir_all(parent).map_err(failed(parent))?;
                }
                std::fs::write(&path, &file.bytes).map_err(failed(&path))?;
            }
        }
        Ok(unpacked)
    }

    fn locked(root: &Path) -> io::Result<Self> {
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(root)?;
            let lock = match lock(folder.path()) {
                Ok(lock) => Some(lock),
                // Another process is removing it, or has removed it.
                Err(Errno::WOULDBLOCK | Errno::NOENT) => continue,
                // A file system without locks: leftover folders cannot be recognised, so none is removed.
                Err(_) => None,
            };
            // It may have been removed before it was locked.
            if folder.path().exists() {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> XrtError {
    let path = path.to_owned();
    move |source| XrtError::File { path, source }
}

/// Locks a folder, unless another process holds the lock.
fn lock(folder: &Path) -> Result<OwnedFd, Errno> {
    let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, how, Mode::empty())?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(folder)
}

/// Removes folders of processes that have ended. Failures to remove one are harmless.
fn remove_left_behind(root: &Path) {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && name.to_string_lossy().starts_with(PREFIX)
    });
    let folders: Vec<PathBuf> = ours.map(|entry| entry.path()).collect();
    for folder in folders {
        // The lock is held until the folder is removed, so that no process takes it in between.
        if let Ok(_lock) = lock(&folder) {
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_design_or_with_the_next_one() {
        let root = TempDir::new().unwrap();
        let left = root.path().join("tombolo-xclbin-dead");
        let of_others = root.path().join("tombolo-other");
        for folder in [&left, &of_others] {
            std::fs::create_dir_all(folder.join("0/vadd")).unwrap();
        }
        let first = Unpacked::locked(root.path()).unwrap();
        remove_left_behind(root.path());
        assert!(!left.exists() && of_others.exists() && first.path().exists());
        let kept = first.path().to_owned();
        drop(first);
        assert!(!kept.exists());
        // The state that a killed program leaves.
        let Unpacked { folder, _lock } = Unpacked::locked(root.path()).unwrap();
        let kept = folder.keep();
        remove_left_behind(root.path());
        assert!(kept.exists());
        drop(_lock);
        remove_left_behind(root.path());
        assert!(!kept.exists() && of_others.exists());
    }
}
