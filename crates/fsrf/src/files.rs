//! Files opened by a process.

use rustix::fs::{Mode, OFlags, ResolveFlags, CWD};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Maximum open files of a process: they are descriptors of this process, and others need some too.
const MOST_FILES: usize = 256;
/// The first three are a program's standard streams.
const FIRST: i32 = 3;

/// Why a file is not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{path}: it is no absolute path; the program's library sends what realpath gives", path = .0.display())]
    Relative(PathBuf),
    #[error("{path}: opening it: {source}", path = .path.display())]
    Open { path: PathBuf, source: Errno },
    #[error("{path}: opening it: {source}", path = .path.display())]
    Reopen {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: only regular files can be mapped", path = .0.display())]
    NotRegular(PathBuf),
    #[error("the process has {MOST_FILES} files open already")]
    TooMany,
    #[error("{0} is no descriptor that was opened here, or it was closed")]
    NoSuch(i32),
}

/// A file opened for a process.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    /// Bytes of a kernel could not be written back; reported when the file is closed.
    lost: AtomicBool,
}

impl OpenFile {
    /// Records that written bytes may be lost.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }
}

/// Open files by descriptor.
#[derive(Debug, Default)]
pub(crate) struct Files {
    open: BTreeMap<i32, Arc<OpenFile>>,
}

impl Files {
    /// Opens a file for reading, and for writing if permitted.
    pub(crate) fn open(&mut self, path: &[u8]) -> Result<i32, FileError> {
        if self.open.len() >= MOST_FILES {
            return Err(FileError::TooMany);
        }
        let path = Path::new(OsStr::from_bytes(path));
        let file = OpenFile {
            file: open(path)?,
            path: path.to_owned(),
            lost: AtomicBool::new(false),
        };
        let free = (FIRST..).find(|number| !self.open.contains_key(number));
        let number = free.ok_or(FileError::TooMany)?;
        self.open.insert(number, Arc::new(file));
        Ok(number)
    }

    pub(crate) fn get(&self, descriptor: i32) -> Result<&Arc<OpenFile>, FileError> {
        let found = self.open.get(&descriptor);
        found.ok_or(FileError::NoSuch(descriptor))
    }

    /// Closes a file; its mappings stay. Returns whether all its bytes were written back.
    pub(crate) fn close(&mut self, descriptor: i32) -> Result<bool, FileError> {
        let closed = self.open.remove(&descriptor);
        let closed = closed.ok_or(FileError::NoSuch(descriptor))?;
        Ok(!closed.lost.load(Ordering::Relaxed))
    }
}

/// Checks the type first: opening a pipe would block until its other end is open, and opening a device may have
/// effects.
fn open(path: &Path) -> Result<File, FileError> {
    if !path.is_absolute() {
        return Err(FileError::Relative(path.to_owned()));
    }
    let failed = |source| FileError::Open {
        path: path.to_owned(),
        source,
    };
    let looked = look(path).map_err(failed)?;
    let found = rustix::fs::fstat(&looked).map_err(failed)?;
    if rustix::fs::FileType::from_raw_mode(found.st_mode) != rustix::fs::FileType::RegularFile {
        return Err(FileError::NotRegular(path.to_owned()));
    }
    // Reopens exactly the file that was checked.
    let again = format!("/proc/self/fd/{}", looked.as_raw_fd());
    let mut how = OpenOptions::new();
    how.read(true);
    let both = how.clone().write(true).open(&again);
    let opened = both.or_else(|error| match error.raw_os_error() {
        Some(code) if is_about_writing(code) => how.open(&again),
        _ => Err(error),
    });
    opened.map_err(|source| FileError::Reopen {
        path: path.to_owned(),
        source,
    })
}

/// Whether the file may still be readable.
fn is_about_writing(code: i32) -> bool {
    [Errno::ACCESS, Errno::ROFS, Errno::PERM, Errno::TXTBSY]
        .iter()
        .any(|errno| errno.raw_os_error() == code)
}

/// A path of realpath contains no links. A link in it now leads elsewhere than the program looked, and links of /proc
/// lead to open files of this process.
fn look(path: &Path) -> Result<OwnedFd, Errno> {
    let how = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let without_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(CWD, path, how, Mode::empty(), without_links) {
        // Before Linux 5.6, or in a container that forbids unknown calls, only the last path component is checked.
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::openat(CWD, path, how, Mode::empty()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_at_paths_without_links_are_opened() {
        let folder = tempfile::TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        std::fs::write(at("file"), b"bytes").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink(at("folder"), at("other")).unwrap();
        std::fs::write(at("folder/inside"), b"bytes").unwrap();
        let pipe = at("pipe");
        rustix::fs::mknodat(
            CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let mut files = Files::default();
        let mut open = |path: &Path| files.open(path.as_os_str().as_bytes());
        assert_eq!(open(&at("file")).unwrap(), 3);
        assert_eq!(open(&at("folder/inside")).unwrap(), 4);
        let refused = |result: Result<i32, FileError>, rule: &str| {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(rule), "{error}");
        };
        refused(open(Path::new("file")), "absolute");
        refused(open(&at("missing")), "No such file");
        refused(open(&at("link")), "regular");
        refused(open(&at("other/inside")), "opening it");
        refused(open(&at("folder")), "regular");
        refused(open(&pipe), "regular");
        refused(open(Path::new("/dev/null")), "regular");
        let own = std::fs::File::open(at("file")).unwrap();
        let own = format!("/proc/{}/fd/{}", std::process::id(), own.as_raw_fd());
        refused(open(Path::new(&own)), "regular");
        assert!(files.close(3).unwrap());
        assert!(matches!(files.close(3), Err(FileError::NoSuch(3))));
        // The smallest free number, as the system assigns it.
        let again = files.open(at("file").as_os_str().as_bytes()).unwrap();
        assert_eq!(again, 3);
        files.get(3).unwrap().lose();
        assert!(!files.close(3).unwrap());
        for _ in files.open.len()..MOST_FILES {
            files.open(at("file").as_os_str().as_bytes()).unwrap();
        }
        let many = files.open(at("file").as_os_str().as_bytes());
        assert!(matches!(many, Err(FileError::TooMany)));
    }
}
