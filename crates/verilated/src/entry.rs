//! Entries of the cache: folders that appear atomically, and are verified when they are used.
//!
//! Each has a list of its files with their SHA-256 (`checksums`, in the format of `sha256sum`). All bytes are checked
//! whenever an entry is opened: a model is a few megabytes, which takes milliseconds, and a truncated library would
//! otherwise end the program by SIGBUS in the middle of a run. A damaged entry counts as absent, and is removed before
//! it is built again.

use crate::design::hash_of_bytes;
use crate::error::BuildError;
use crate::model::verilate::ModelInfo;
use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::OnceLock;
use std::time::Duration;

/// Interval in which a lock is tried that may be given up.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// Name of the list.
const CHECKSUMS: &str = "checksums";

/// Reason why an entry cannot be used.
enum Fault {
    /// It does not exist.
    Absent,
    /// It differs from what was built.
    Damaged(String),
    /// It cannot be read at all: building it again would not help.
    Unreadable(BuildError),
}

/// Description of an entry's model; `None` if there is no intact entry.
pub(crate) fn read(folder: &Path) -> Result<Option<ModelInfo>, BuildError> {
    let info = verify(folder).and_then(|()| {
        let path = folder.join("model.json");
        let text = std::fs::read_to_string(&path).map_err(|error| fault(&path, error))?;
        let damaged = |error| Fault::Damaged(format!("model.json: {error}"));
        serde_json::from_str(&text).map_err(damaged)
    });
    match info {
        Ok(info) => Ok(Some(info)),
        Err(Fault::Unreadable(error)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Whether there is an intact entry.
pub(crate) fn is_whole(folder: &Path) -> bool {
    verify(folder).is_ok()
}

/// Prepares the build of an entry, under its lock: removes a damaged one and returns its damage.
pub(crate) fn clear(folder: &Path) -> Result<Option<String>, BuildError> {
    let reason = match verify(folder) {
        Err(Fault::Absent) => return Ok(None),
        Err(Fault::Unreadable(error)) => return Err(error),
        Err(Fault::Damaged(reason)) => reason,
        Ok(()) => "model.json is not this version's".to_owned(),
    };
    tracing::warn!(folder = %folder.display(), reason, "a damaged entry of the cache is removed");
    // Renamed in one step, so that no process sees half of it; removed when `aside` is dropped.
    let aside = Scratch::name(folder);
    let renamed = std::fs::rename(folder, &aside.0);
    renamed.map_err(BuildError::cache(folder))?;
    Ok(Some(reason))
}

fn fault(path: &Path, error: std::io::Error) -> Fault {
    match error.kind() {
        ErrorKind::PermissionDenied => Fault::Unreadable(BuildError::io(path)(error)),
        _ => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Fault::Damaged(format!("{name}: {error}"))
        }
    }
}

/// Compares the files of an entry with its list.
fn verify(folder: &Path) -> Result<(), Fault> {
    match std::fs::symlink_metadata(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(Fault::Absent),
        Err(error) => return Err(fault(folder, error)),
        Ok(_) => {}
    }
    let path = folder.join(CHECKSUMS);
    let list = std::fs::read_to_string(&path).map_err(|error| fault(&path, error))?;
    for (files, line) in list.lines().enumerate() {
        let Some((hash, name)) = line.split_once("  ") else {
            return Err(Fault::Damaged(format!("{CHECKSUMS} is cut short")));
        };
        if hash == END {
            return match name == files.to_string() {
                true => Ok(()),
                false => Err(Fault::Damaged(format!("{CHECKSUMS} lacks a file"))),
            };
        }
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(|error| fault(&path, error))?;
        if hash_of_bytes(&bytes) != hash {
            return Err(Fault::Damaged(format!("{name} is not as it was built")));
        }
    }
    Err(Fault::Damaged(format!("{CHECKSUMS} is cut short")))
}

/// Prefix of the list's last line, which has the number of files. A comment to `sha256sum`.
const END: &str = "# files";

/// Writes the list of an entry.
fn write_checksums(folder: &Path) -> Result<(), BuildError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(BuildError::cache(folder))? {
        names.push(entry.map_err(BuildError::cache(folder))?.file_name());
    }
    names.sort();
    let mut list = String::new();
    for name in &names {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(BuildError::cache(&path))?;
        list += &format!("{}  {}\n", hash_of_bytes(&bytes), name.to_string_lossy());
    }
    list += &format!("{END}  {}\n", names.len());
    let path = folder.join(CHECKSUMS);
    std::fs::write(&path, list).map_err(BuildError::cache(&path))
}

/// Holds the lock until the file is dropped; calls `waiting` once if another process holds it.
pub(crate) fn lock(path: &Path, waiting: &mut dyn FnMut()) -> Result<File, BuildError> {
    let file = File::create(path).map_err(BuildError::cache(path))?;
    let mut flags = libc::LOCK_EX | libc::LOCK_NB;
    loop {
        // SAFETY: a call on a descriptor that `file` keeps open.
        if unsafe { libc::flock(file.as_raw_fd(), flags) } == 0 {
            return Ok(file);
        }
        let error = std::io::Error::last_os_error();
        match error.kind() {
            ErrorKind::WouldBlock => {
                waiting();
                flags = libc::LOCK_EX;
            }
            ErrorKind::Interrupted => {}
            _ => return Err(BuildError::cache(path)(error)),
        }
    }
}

/// Takes a lock as [`lock`] does, unless the flag is set before it is free: then it returns `None`.
pub(crate) fn lock_unless(
    abandoned: Option<&AtomicBool>,
    path: &Path,
    waiting: &mut dyn FnMut(),
) -> Result<Option<File>, BuildError> {
    let Some(abandoned) = abandoned else {
        return lock(path, waiting).map(Some);
    };
    let file = File::create(path).map_err(BuildError::cache(path))?;
    let mut waits = false;
    while !abandoned.load(Ordering::Acquire) {
        if try_lock(&file) {
            return Ok(Some(file));
        }
        let error = std::io::Error::last_os_error();
        match error.kind() {
            ErrorKind::WouldBlock if !waits => {
                waiting();
                waits = true;
            }
            ErrorKind::WouldBlock => std::thread::sleep(LOCK_INTERVAL),
            ErrorKind::Interrupted => {}
            _ => return Err(BuildError::cache(path)(error)),
        }
    }
    Ok(None)
}

/// Token of this process in the names of its scratch folders. Process numbers are not unique: processes of other PID
/// namespaces (containers) and of other hosts may have the same.
fn token() -> &'static str {
    static TOKEN: OnceLock<String> = OnceLock::new();
    TOKEN.get_or_init(|| format!("{:016x}", RandomState::new().build_hasher().finish()))
}

/// Marks of scratch folders, between the entry's name and their own: the current one, and that of earlier versions,
/// which consider a folder abandoned when no process has the number that follows.
const MARKS: [&str; 2] = [".build-", ".tmp"];

/// Entry name of a scratch folder, and the part behind its mark.
pub(crate) fn scratch_entry(name: &OsStr) -> Option<(&str, &str)> {
    let mut marks = MARKS.iter();
    marks.find_map(|mark| name.to_str()?.split_once(mark))
}

/// Path of an entry's lock, held while it is built or removed.
pub(crate) fn lock_of(entry: &Path) -> PathBuf {
    entry.with_extension("lock")
}

/// Takes the lock until the file is dropped; returns false if it is held.
pub(crate) fn try_lock(file: &File) -> bool {
    // SAFETY: a call on a descriptor that `file` keeps open.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Scratch folders, each with the name of its entry, and the part behind its mark.
fn scratch_folders(models: &Path) -> impl Iterator<Item = (PathBuf, PathBuf, String)> {
    let entries = std::fs::read_dir(models).into_iter().flatten().flatten();
    entries.filter_map(|found| {
        let name = found.file_name();
        let (entry, rest) = scratch_entry(&name)?;
        let entry = found.path().with_file_name(entry);
        Some((found.path(), entry, rest.to_owned()))
    })
}

/// Removes the unfinished entries of this process.
pub(crate) fn remove_unfinished(models: &Path) {
    for (path, _, rest) in scratch_folders(models) {
        if rest.starts_with(token()) {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// Removes folders that killed builders left behind: those of entries with an unheld lock, and of `own`, whose lock the
/// caller holds. Locks end with their processes, on any host. Errors are ignored.
pub(crate) fn remove_abandoned(models: &Path, own: &Path) {
    for (path, entry, _) in scratch_folders(models) {
        // An entry without a lock has no builder, because a builder makes the lock first.
        let lock = match entry == own {
            true => None,
            false => match File::open(lock_of(&entry)) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(_) => continue,
            },
        };
        if lock.as_ref().is_none_or(try_lock) {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// A folder that is removed on drop unless it is finished.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Creates a folder next to `folder`.
    pub(crate) fn create(folder: &Path) -> Result<Self, BuildError> {
        let scratch = Self::name(folder);
        let path = &scratch.0;
        std::fs::create_dir_all(path).map_err(BuildError::cache(path))?;
        Ok(scratch)
    }

    /// A name next to `folder` that only this process uses.
    pub(crate) fn name(folder: &Path) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(folder.with_extension(format!("build-{}-{number}", token())))
    }

    /// Path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes the folder's list of files and renames it.
    pub(crate) fn finish(&self, folder: &Path) -> Result<(), BuildError> {
        write_checksums(&self.0)?;
        std::fs::rename(&self.0, folder).map_err(BuildError::cache(folder))
    }

    /// Removes everything but one file.
    pub(crate) fn keep_only(&self, name: &str) -> Result<(), BuildError> {
        self.remove_but(|path| path.ends_with(name))
    }

    /// Keeps the files that a model needs and renames the folder.
    pub(crate) fn finish_model(&self, info: &ModelInfo, folder: &Path) -> Result<(), BuildError> {
        self.remove_but(|path| {
            path.ends_with("model.so") || path.extension().is_some_and(|e| e == "sv")
        })?;
        let text = serde_json::to_string_pretty(info).map_err(|error| BuildError::Damaged {
            path: self.0.clone(),
            reason: error.to_string(),
        })?;
        let path = self.0.join("model.json");
        std::fs::write(&path, text).map_err(BuildError::cache(&path))?;
        self.finish(folder)
    }

    fn remove_but(&self, kept: impl Fn(&Path) -> bool) -> Result<(), BuildError> {
        for entry in std::fs::read_dir(&self.0).map_err(BuildError::cache(&self.0))? {
            let path = entry.map_err(BuildError::cache(&self.0))?.path();
            if !kept(&path) {
                let removed = match path.is_dir() {
                    true => std::fs::remove_dir_all(&path),
                    false => std::fs::remove_file(&path),
                };
                removed.map_err(BuildError::cache(&path))?;
            }
        }
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file in place of the folder was moved aside.
        let _ = std::fs::remove_dir_all(&self.0).or_else(|_| std::fs::remove_file(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> ModelInfo {
        ModelInfo {
            name: "tiny".into(),
            ports: Vec::new(),
            clock_member: "ap_clk".into(),
            clock_history: None,
            phases: None,
            unskippable: None,
        }
    }

    /// Creates an entry with a library of some bytes.
    fn entry(folder: &Path) {
        let scratch = Scratch::create(folder).unwrap();
        std::fs::write(scratch.path().join("model.so"), [7; 1000]).unwrap();
        std::fs::write(scratch.path().join("left.cpp"), "not kept").unwrap();
        scratch.finish_model(&info(), folder).unwrap();
    }

    #[test]
    fn a_whole_entry_is_read_and_not_cleared() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("entry");
        assert!(read(&folder).unwrap().is_none());
        assert_eq!(clear(&folder).unwrap(), None);
        entry(&folder);
        assert_eq!(read(&folder).unwrap(), Some(info()));
        assert!(is_whole(&folder) && !folder.join("left.cpp").exists());
    }

    #[test]
    fn every_damage_is_noticed_and_named() {
        type Damage = fn(&Path);
        let damages: [(&str, Damage); 9] = [
            ("model.so", |folder| {
                std::fs::write(folder.join("model.so"), [7; 999]).unwrap();
            }),
            ("model.so", |folder| {
                std::fs::write(folder.join("model.so"), [8; 1000]).unwrap();
            }),
            ("model.so", |folder| {
                std::fs::remove_file(folder.join("model.so")).unwrap()
            }),
            ("model.json", |folder| {
                std::fs::remove_file(folder.join("model.json")).unwrap()
            }),
            ("model.json", |folder| {
                std::fs::write(folder.join("model.json"), "{}").unwrap()
            }),
            ("checksums", |folder| {
                std::fs::remove_file(folder.join("checksums")).unwrap()
            }),
            ("checksums", |folder| {
                std::fs::write(folder.join("checksums"), "").unwrap()
            }),
            ("checksums", |folder| {
                let path = folder.join("checksums");
                let list = std::fs::read_to_string(&path).unwrap();
                let rest = list.split_once('\n').unwrap().1;
                std::fs::write(&path, rest).unwrap();
            }),
            ("Not a directory", |folder| {
                std::fs::remove_dir_all(folder).unwrap();
                std::fs::write(folder, "").unwrap();
            }),
        ];
        for (name, damage) in damages {
            let cache = tempfile::tempdir().unwrap();
            let folder = cache.path().join("entry");
            entry(&folder);
            damage(&folder);
            assert!(
                read(&folder).unwrap().is_none() && !is_whole(&folder),
                "{name}"
            );
            let reason = clear(&folder).unwrap().unwrap();
            assert!(reason.contains(name), "{name}: {reason}");
            // Nothing blocks the next build, and nothing is left.
            entry(&folder);
            assert!(is_whole(&folder), "{name}");
            assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn only_folders_whose_builder_is_gone_are_abandoned() {
        let cache = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = cache.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        // Folders of processes in another namespace: their numbers are unused here.
        let alive = folder("a.build-0123-0");
        let alive_before = folder("b.tmp4000000-0");
        let killed = folder("c.build-0123-0");
        let killed_before = folder("d.tmp1-0");
        let own = folder("e.build-4567-0");
        let entry = folder("f");
        let locked = |name: &str| lock(&cache.path().join(name), &mut || panic!("{name}")).unwrap();
        let held = ["a.lock", "b.lock", "e.lock"].map(locked);
        drop(locked("c.lock"));
        remove_abandoned(cache.path(), &cache.path().join("e"));
        for (path, is_kept) in [
            (&alive, true),
            (&alive_before, true),
            (&killed, false),
            (&killed_before, false),
            (&own, false),
            (&entry, true),
        ] {
            assert_eq!(path.exists(), is_kept, "{}", path.display());
        }
        drop(held);
    }

    #[test]
    fn a_process_removes_what_it_builds_and_nothing_else() {
        let cache = tempfile::tempdir().unwrap();
        let ours = Scratch::create(&cache.path().join("a")).unwrap();
        let theirs = cache.path().join("a.build-0123-0");
        std::fs::create_dir(&theirs).unwrap();
        remove_unfinished(cache.path());
        assert!(!ours.path().exists() && theirs.exists());
    }

    #[test]
    fn the_list_is_one_that_sha256sum_reads() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("entry");
        entry(&folder);
        let list = std::fs::read_to_string(folder.join(CHECKSUMS)).unwrap();
        assert_eq!(list.lines().count(), 3, "{list}");
        let line = list
            .lines()
            .find(|line| line.ends_with("  model.so"))
            .unwrap();
        assert_eq!(line.len(), 64 + 2 + "model.so".len());
    }
}
