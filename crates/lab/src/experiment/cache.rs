//! Results of the lab's work, kept by the hash of everything they depend on: an interrupted run resumes, and nothing is
//! simulated twice, not even by two runs at once.

use super::folder_hash::add;
use super::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// What the figures depend on beside the work, its kernels and this program: what is read when a model is built. Of what is
/// compiled into the program `build.rs` took the hash then, because the files may be others by now.
const READ: [&str; 2] = ["rtl", "kernels/lib"];

/// What a result depends on beside the sources.
pub(super) struct Parts<'a> {
    /// For messages: work that is made of the same is the same, whatever it is called.
    pub(super) name: &'a str,
    pub(super) kernels: &'a [&'a str],
    pub(super) platform: &'a str,
    pub(super) made_of: &'a str,
}

/// The place of a result.
pub(super) struct Cached {
    path: PathBuf,
    name: String,
}

/// What is found there.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kept {
    /// Not run yet.
    Nothing,
    /// A result.
    Whole(Outcome),
    /// A file that is no result, or not this one: why. The work has to be done again.
    Spoilt(String),
}

/// A result as it is kept.
#[derive(Serialize, Deserialize)]
struct Record {
    /// What it was called when it was done.
    name: String,
    /// The hash of what it depends on.
    of: String,
    /// As text: the hash is of what is written.
    outcome: String,
    sha256: String,
}

impl Record {
    fn new(name: &str, of: &str, outcome: String) -> Self {
        Self {
            sha256: hex(&Sha256::digest(format!("{name} {of} {outcome}"))),
            name: name.to_owned(),
            of: of.to_owned(),
            outcome,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where results are kept.
pub(super) fn root() -> PathBuf {
    verilated::cache_root().join("cells")
}

/// What work took of the processors when it was last done, in seconds, by its name: whatever it depended on then.
pub(super) fn spent(root: &Path) -> HashMap<String, f64> {
    let mut spent: HashMap<String, (SystemTime, f64)> = HashMap::new();
    let files = std::fs::read_dir(root).into_iter().flatten().flatten();
    for file in files {
        let written = file.metadata().and_then(|data| data.modified());
        let (Ok(written), Ok(text)) = (written, std::fs::read(file.path())) else {
            continue;
        };
        let Ok(record) = serde_json::from_slice::<Record>(&text) else {
            continue;
        };
        let Ok(outcome) = serde_json::from_str::<Outcome>(&record.outcome) else {
            continue;
        };
        let known = spent.get(&record.name);
        if known.is_none_or(|(known, _)| *known < written) {
            spent.insert(record.name, (written, outcome.processor_seconds));
        }
    }
    let seconds = |(name, (_, seconds))| (name, seconds);
    spent.into_iter().map(seconds).collect()
}

/// The hash of this program's sources, and of what it reads as that is when it is first asked for.
fn shared() -> Result<&'static [u8], Failure> {
    static SHARED: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(shared) = SHARED.get() {
        return Ok(shared);
    }
    let mut hash = Sha256::new();
    hash.update(env!("TOMBOLO_LAB_COMPILED"));
    for source in READ {
        add(&mut hash, &simcard::home().join(source))?;
    }
    Ok(SHARED.get_or_init(|| hash.finalize().to_vec()))
}

impl Cached {
    pub(super) fn of(root: &Path, parts: &Parts<'_>) -> Result<Self, Failure> {
        let mut hash = Sha256::new();
        hash.update(shared()?);
        for kernel in parts.kernels {
            add(&mut hash, &simcard::home().join("kernels").join(kernel))?;
        }
        for part in [parts.platform, parts.made_of] {
            hash.update(part);
            hash.update([0]);
        }
        let name = hex(&hash.finalize()[..16]);
        Ok(Self {
            path: root.join(name).with_extension("json"),
            name: parts.name.to_owned(),
        })
    }

    /// The hash of what it depends on.
    pub(super) fn hash(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    #[cfg(test)]
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until nobody else does this work, and keeps others from it until the file is dropped.
    pub(super) fn lock(&self) -> Result<File, Failure> {
        let path = self.path.with_extension("lock");
        let named = |error: io::Error| format!("{}: {error}", path.display());
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(named)?;
        let file = File::create(&path).map_err(named)?;
        loop {
            // SAFETY: a call on a descriptor that `file` keeps open.
            if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } == 0 {
                return Ok(file);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(named(error).into());
            }
        }
    }

    /// What was kept.
    pub(super) fn read(&self) -> Result<Kept, Failure> {
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::Nothing),
            Err(error) => return Err(format!("{}: {error}", self.path.display()).into()),
        };
        let spoilt = |why: &str| {
            let place = self.path.display();
            Kept::Spoilt(format!(
                "{}: the result kept in {place} is spoilt ({why}): it is simulated again",
                self.name
            ))
        };
        let record: Record = match serde_json::from_slice(&bytes) {
            Ok(record) => record,
            Err(error) => return Ok(spoilt(&error.to_string())),
        };
        if record.of != self.hash() {
            return Ok(spoilt(&format!("it is another's, {}", record.name)));
        }
        if record.sha256 != Record::new(&record.name, &record.of, record.outcome.clone()).sha256 {
            return Ok(spoilt("its figures are not those that were written"));
        }
        Ok(match serde_json::from_str(&record.outcome) {
            Ok(outcome) => Kept::Whole(outcome),
            Err(error) => spoilt(&error.to_string()),
        })
    }

    /// Keeps a result, whole or not at all.
    pub(super) fn write(&self, outcome: &Outcome) -> Result<(), Failure> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let file = tempfile::NamedTempFile::new_in(folder)?;
        let record = Record::new(&self.name, &self.hash(), serde_json::to_string(outcome)?);
        serde_json::to_writer(file.as_file(), &record)?;
        file.persist(&self.path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> Outcome {
        Outcome {
            mib_per_s: 1234.5,
            deviation: 0.25,
            // Not all digits of it come back from text.
            each: vec![567.039_781_034_234_5, 10_998.123_456_789_123],
            processor_seconds: 3.5,
            cycles: 0,
            deviations: Vec::new(),
        }
    }

    fn cached(folder: &Path, name: &str) -> Cached {
        Cached {
            path: folder.join("cells/a.json"),
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_result_is_kept_and_a_spoilt_one_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let cached = cached(folder.path(), "one");
        assert_eq!(cached.read().unwrap(), Kept::Nothing);
        cached.write(&outcome()).unwrap();
        assert!(matches!(cached.read().unwrap(), Kept::Whole(kept) if kept.mib_per_s == 1234.5));
        let whole = std::fs::read_to_string(&cached.path).unwrap();
        let half = &whole[..whole.len() / 2];
        let other = whole.replace("1234.5", "1234.6");
        assert_ne!(whole, other);
        for text in ["", half, &other, "{}"] {
            std::fs::write(&cached.path, text).unwrap();
            match cached.read().unwrap() {
                Kept::Spoilt(why) => assert!(why.starts_with("one: ") && why.contains("a.json")),
                kept => panic!("{text}: {kept:?}"),
            }
        }
        std::fs::write(&cached.path, whole).unwrap();
        let moved = Cached {
            path: cached.path.with_file_name("b.json"),
            name: "two".to_owned(),
        };
        std::fs::copy(&cached.path, &moved.path).unwrap();
        let found = moved.read().unwrap();
        assert!(matches!(found, Kept::Spoilt(why) if why.contains("it is another's, one")));
    }

    /// Of two that want the same work the second waits, and finds the result of the first.
    #[test]
    fn two_at_once_work_once() {
        let folder = tempfile::tempdir().unwrap();
        let first = cached(folder.path(), "one");
        let lock = first.lock().unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let second = cached(folder.path(), "one");
                let _lock = second.lock().unwrap();
                second.read().unwrap()
            });
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(!waits.is_finished());
            first.write(&outcome()).unwrap();
            drop(lock);
            assert!(matches!(waits.join().unwrap(), Kept::Whole(_)));
        });
    }

    #[test]
    fn every_name_and_byte_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let hash = || {
            let mut hash = Sha256::new();
            add(&mut hash, folder.path()).unwrap();
            hash.finalize()
        };
        std::fs::write(&file, "x").unwrap();
        let one = hash();
        std::fs::write(&file, "y").unwrap();
        let other = hash();
        assert_ne!(one, other);
        std::fs::rename(&file, folder.path().join("b")).unwrap();
        assert_ne!(hash(), other);
    }

    /// A source that has moved would no longer count.
    #[test]
    fn what_is_read_is_there() {
        for source in READ {
            assert!(simcard::home().join(source).exists(), "{source}");
        }
    }
}
