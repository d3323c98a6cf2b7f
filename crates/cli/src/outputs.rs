//! Output files that appear whole or not at all.
//!
//! An output is made in a temporary folder next to its destination and renamed when everything is done. Until then, and
//! after a failure or a signal, an existing file of that name is unchanged. The destination folder is held open and
//! reached through its descriptor, so that renaming it meanwhile changes nothing.

use crate::interrupt;
use rustix::fs::{flock, FlockOperation};
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{fchown, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Maximum number of symbolic links to follow before they count as a circle.
const LINKS: u32 = 40;

/// Prefix of temporary folders; the process and a number follow.
const PREFIX: &str = ".tombolo-";

/// Where an output goes.
#[derive(Debug)]
pub struct OutputPath {
    /// The name that the user gave.
    pub named: PathBuf,
    /// The path without symbolic links.
    pub path: PathBuf,
    /// The existing file or device, if there is one.
    pub there: Option<Metadata>,
}

impl OutputPath {
    /// Follows symbolic links, dangling ones too.
    ///
    /// # Errors
    /// The folder is missing, or the links lead in a circle.
    pub fn find(named: &Path) -> io::Result<Self> {
        match named.metadata() {
            // Includes /dev/stdout, whose link leads to a nameless file.
            Ok(there) if !there.is_file() => Ok(Self::new(named, named.to_owned(), Some(there))),
            Ok(there) => Ok(Self::new(named, named.canonicalize()?, Some(there))),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let path = end_of_links(named)?;
                let name = path.file_name().ok_or(error)?;
                let folder = folder_of(&path).canonicalize()?;
                Ok(Self::new(named, folder.join(name), None))
            }
            Err(error) => Err(error),
        }
    }

    fn new(named: &Path, path: PathBuf, there: Option<Metadata>) -> Self {
        Self {
            named: named.to_owned(),
            path,
            there,
        }
    }

    /// Whether it exists and is no regular file: a pipe, a terminal, a device.
    pub fn is_special(&self) -> bool {
        self.there.as_ref().is_some_and(|there| !there.is_file())
    }

    /// The file that this process's standard output goes to.
    pub fn is_standard_output(&self) -> bool {
        let same = |out: Metadata| {
            let mut there = self.there.iter();
            there.any(|there| (there.dev(), there.ino()) == (out.dev(), out.ino()))
        };
        file_behind(io::stdout()).is_some_and(same)
    }
}

/// The regular file that a stream of this process is redirected to, if it is one.
pub fn file_behind(stream: impl AsFd) -> Option<Metadata> {
    let stream = stream.as_fd().try_clone_to_owned().ok()?;
    let found = File::from(stream).metadata().ok()?;
    found.is_file().then_some(found)
}

/// Follows symbolic links to a path that does not exist.
fn end_of_links(named: &Path) -> io::Result<PathBuf> {
    let mut path = named.to_owned();
    for _ in 0..LINKS {
        match path.read_link() {
            Ok(to) => path = folder_of(&path).join(to),
            // Not a link, or missing.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::from_raw_os_error(
        rustix::io::Errno::LOOP.raw_os_error(),
    ))
}

/// The folder that a path is in.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Unfinished outputs. Dropping them removes their files.
#[derive(Debug, Default)]
pub struct Outputs {
    folders: Vec<Held>,
    files: Vec<Unfinished>,
    /// Records are kept even if the run fails.
    keep_records: bool,
}

/// A temporary folder. Its process holds a shared lock, so it can be locked exclusively only after the process has
/// ended.
#[derive(Debug)]
struct Held {
    path: PathBuf,
    _lock: File,
    /// The folder that contains it; `path` leads through this descriptor.
    _around: Option<File>,
}

/// A folder, held open, and a path to it that stays valid if the folder is renamed.
fn hold(folder: &Path) -> (PathBuf, Option<File>) {
    let by_name = (folder.to_owned(), None);
    // A folder may be writable without being readable.
    let Ok(held) = File::open(folder) else {
        return by_name;
    };
    let path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    let is_same = |found: Metadata| {
        let held = held.metadata();
        held.is_ok_and(|held| (held.dev(), held.ino()) == (found.dev(), found.ino()))
    };
    match path.metadata().is_ok_and(is_same) {
        true => (path, Some(held)),
        // /proc is not mounted.
        false => by_name,
    }
}

impl Held {
    /// Makes a folder and locks it; `None` if a concurrent [`sweep`] removed it before it was locked.
    fn make(path: &Path, around: Option<File>) -> io::Result<Option<Self>> {
        interrupt::make_folder(path)?;
        let locked = File::open(path).and_then(|lock| {
            // On a file system without locks, `sweep` cannot lock either and removes nothing.
            let _ = flock(&lock, FlockOperation::LockShared);
            let is_there = path.metadata()?.ino() == lock.metadata()?.ino();
            Ok(is_there.then_some(lock))
        });
        match locked {
            Ok(Some(lock)) => Ok(Some(Self {
                path: path.to_owned(),
                _lock: lock,
                _around: around,
            })),
            Ok(None) => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => {
                interrupt::remove_folder(path);
                Err(error)
            }
        }
    }
}

/// Removes temporary folders of processes that were killed (SIGKILL). Failures are ignored: the folders are harmless.
fn sweep(folder: &Path) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(numbers) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        let is_ours = numbers.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let Ok(left) = File::open(entry.path()) else {
            continue;
        };
        if flock(&left, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[derive(Debug)]
struct Unfinished {
    temporary: PathBuf,
    place: OutputPath,
    /// Whether it records a run, which is of use even if the run failed.
    record: bool,
}

impl Unfinished {
    /// Its destination, in the folder in which it was begun.
    fn end(&self) -> PathBuf {
        let around = self.temporary.parent().and_then(Path::parent);
        match (around, self.place.path.file_name()) {
            (Some(around), Some(name)) => around.join(name),
            _ => self.place.path.clone(),
        }
    }
}

impl Outputs {
    /// Creates an empty temporary file that will be renamed to its destination; returns it, open for reading and
    /// writing, and its path.
    ///
    /// # Errors
    /// An existing file that is write-protected or not regular, or a folder that takes no new files.
    pub fn file(&mut self, place: OutputPath) -> io::Result<(File, PathBuf)> {
        self.in_its_folder(place, false)
    }

    /// As [`file`](Self::file), for records of the run, which are kept even if it fails.
    ///
    /// # Errors
    /// As [`file`](Self::file).
    pub fn record(&mut self, place: OutputPath) -> io::Result<(File, PathBuf)> {
        self.in_its_folder(place, true)
    }

    /// Whether to keep records of a failed run; a run that did not begin has none worth keeping.
    pub fn keep_records(&mut self, keep: bool) {
        self.keep_records = keep;
    }

    /// Drops an output that could not be written completely; the others are kept.
    pub fn withdraw(&mut self, named: &Path) {
        self.files.retain(|file| file.place.named != named);
    }

    fn in_its_folder(&mut self, place: OutputPath, record: bool) -> io::Result<(File, PathBuf)> {
        let folder = self.folder_for(&place)?;
        let name = place.path.file_name().map(OsString::from);
        let temporary = folder.join(name.unwrap_or_default());
        let file = self.file_at(&temporary, place, record)?;
        Ok((file, temporary))
    }

    /// As [`file`](Self::file) or [`record`](Self::record), at a path in a folder from
    /// [`folder_for`](Self::folder_for).
    ///
    /// # Errors
    /// As [`file`](Self::file).
    pub fn file_at(
        &mut self,
        temporary: &Path,
        place: OutputPath,
        record: bool,
    ) -> io::Result<File> {
        if place.is_special() {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "it is not a regular file",
            ));
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(temporary)?;
        if let Some(there) = &place.there {
            // Replacing a file requires the right to write it.
            OpenOptions::new().write(true).open(&place.path)?;
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (there.uid(), there.gid()) {
                // Only the superuser may change the owner; for others the new file is their own.
                let _ = fchown(&file, Some(there.uid()), Some(there.gid()));
            }
            file.set_permissions(there.permissions())?;
        }
        self.files.push(Unfinished {
            temporary: temporary.to_owned(),
            place,
            record,
        });
        Ok(file)
    }

    /// Makes a temporary folder next to the destination.
    ///
    /// # Errors
    /// The destination's folder takes no new files.
    pub fn folder_for(&mut self, place: &OutputPath) -> io::Result<PathBuf> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        sweep(folder_of(&place.path));
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{PREFIX}{}-{number}", std::process::id());
            let (around, held) = hold(folder_of(&place.path));
            let path = around.join(name);
            match Held::make(&path, held) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let folder = folder_of(&place.path).display();
                    let rule = format!(
                        "{error}: {folder} takes no new files, and an output is made next to its destination, \
                         to appear whole; name one in another folder"
                    );
                    return Err(io::Error::new(error.kind(), rule));
                }
                Ok(None) => interrupt::keep_folder(&path),
                Ok(Some(held)) => {
                    self.folders.push(held);
                    return Ok(path);
                }
            }
        }
    }

    /// Renames the files to their destinations: all, or only records if the run failed.
    ///
    /// # Errors
    /// The file that could not be renamed, and why.
    pub fn finish(mut self, succeeded: bool) -> Result<(), (PathBuf, io::Error)> {
        let files = std::mem::take(&mut self.files);
        let keep = self.keep_records;
        interrupt::undisturbed(|| {
            for file in files
                .iter()
                .filter(|file| succeeded || (keep && file.record))
            {
                std::fs::rename(&file.temporary, file.end())
                    .map_err(|error| (file.place.named.clone(), error))?;
            }
            Ok(())
        })
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        for folder in &self.folders {
            interrupt::remove_folder(&folder.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{symlink, PermissionsExt};
    use tempfile::TempDir;

    fn write(path: &Path, succeeded: bool) -> io::Result<()> {
        let mut outputs = Outputs::default();
        let (mut file, _) = outputs.file(OutputPath::find(path)?)?;
        file.write_all(b"new")?;
        outputs.finish(succeeded).map_err(|(_, error)| error)
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut mine = Outputs::default();
        let (_, under_way) = mine.file(OutputPath::find(&at("mine")).unwrap()).unwrap();
        // Beyond the largest process number.
        for name in [".tombolo-4194305-0", ".tombolo-cache", "4194305-0"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("out"), b"half").unwrap();
        }
        fs::write(at(".tombolo-4194305-1"), b"a file").unwrap();
        symlink("4194305-0", at(".tombolo-4194305-2")).unwrap();
        write(&at("out"), true).unwrap();
        assert!(under_way.exists());
        assert!(!at(".tombolo-4194305-0").exists());
        for kept in [".tombolo-cache/out", "4194305-0/out"] {
            assert!(at(kept).exists(), "{kept}");
        }
        assert!(at(".tombolo-4194305-1").exists() && at(".tombolo-4194305-2").is_symlink());
        mine.finish(true).unwrap();
        assert!(at("mine").exists());
    }

    #[test]
    fn a_folder_that_gets_another_name_gets_its_outputs_and_keeps_nothing_else() {
        for succeeded in [true, false] {
            let folder = TempDir::new().unwrap();
            let (before, after) = (folder.path().join("before"), folder.path().join("after"));
            fs::create_dir(&before).unwrap();
            fs::write(before.join("old"), b"old").unwrap();
            let mut outputs = Outputs::default();
            for name in ["old", "out"] {
                let (mut file, _) = outputs
                    .file(OutputPath::find(&before.join(name)).unwrap())
                    .unwrap();
                file.write_all(b"new").unwrap();
            }
            fs::rename(&before, &after).unwrap();
            // Another folder takes its old name.
            fs::create_dir(&before).unwrap();
            outputs.finish(succeeded).unwrap();
            assert_eq!(fs::read_dir(&before).unwrap().count(), 0);
            let names = || {
                fs::read_dir(&after)
                    .unwrap()
                    .map(|entry| entry.unwrap().file_name())
            };
            let mut names: Vec<_> = names().collect();
            names.sort();
            match succeeded {
                true => assert_eq!(names, ["old", "out"]),
                false => assert_eq!(names, ["old"]),
            }
            let old: &[u8] = if succeeded { b"new" } else { b"old" };
            assert_eq!(fs::read(after.join("old")).unwrap(), old);
        }
    }

    #[test]
    fn names_links_and_modes_are_kept() {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("old"), b"old").unwrap();
        fs::set_permissions(at("old"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("old", at("link")).unwrap();
        symlink("not there yet", at("dangling")).unwrap();
        symlink("circle", at("circle")).unwrap();

        write(&at("link"), false).unwrap();
        assert_eq!(fs::read(at("old")).unwrap(), b"old");
        write(&at("link"), true).unwrap();
        assert_eq!(fs::read(at("old")).unwrap(), b"new");
        assert!(at("link").is_symlink());
        let mode = fs::metadata(at("old")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        write(&at("dangling"), true).unwrap();
        assert_eq!(fs::read(at("not there yet")).unwrap(), b"new");
        assert!(at("dangling").is_symlink());
        assert!(write(&at("circle"), true).is_err());
        assert!(write(&at("nowhere/file"), true).is_err());
        let told = write(Path::new("/proc/self/new"), true).unwrap_err();
        assert!(told.to_string().contains("takes no new files"), "{told}");
        assert!(write(folder.path(), true).is_err());
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["circle", "dangling", "link", "not there yet", "old"]);
    }
}
