//! Cache of the lab's results, keyed by a hash of all their inputs: an interrupted run resumes, and nothing is
//! simulated twice, not even by two concurrent runs.

use super::folder_hash::add;
use super::{Failure, Outcome};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// Inputs of the figures other than the work, its kernels and this program: sources that are read when a model is
/// built. `build.rs` hashed the sources of the program at compile time, since the files may have changed since.
const READ: [&str; 2] = ["rtl", "kernels/lib"];

/// Further inputs of every part of an evaluation.
const PART_INPUTS: [&str; 4] = ["kernels", "platforms", "hosts", "rtl/fabric/tests"];

/// Inputs of a result other than the sources.
pub(super) struct Parts<'a> {
    /// For messages only: work with equal inputs is equal, whatever its name.
    pub(super) name: &'a str,
    pub(super) kernels: &'a [&'a str],
    pub(super) platform: &'a str,
    pub(super) made_of: &'a str,
}

/// Location of a result in the cache.
pub(super) struct Cached {
    path: PathBuf,
    name: String,
}

/// Contents of a cache entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kept<T = Outcome> {
    /// Missing: not run yet.
    Nothing,
    /// Valid, with its result.
    Whole(T),
    /// Malformed, or for other inputs, with the reason. The work must be repeated.
    Spoilt(String),
}

/// A result in the format of the cache.
#[derive(Serialize, Deserialize)]
struct Record {
    /// Name of the work when it was done.
    name: String,
    /// Hash of its inputs.
    of: String,
    /// Serialised as text, which is what the hash covers.
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

/// The part that all results share.
#[derive(Deserialize)]
struct KeptCost {
    #[serde(default)]
    processor_seconds: f64,
}

/// Root folder of the cache.
pub(super) fn root() -> PathBuf {
    verilated::cache_root().join("cells")
}

/// Processor seconds of the last execution of each piece of work, by name, regardless of its inputs at that time.
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
        let Ok(outcome) = serde_json::from_str::<KeptCost>(&record.outcome) else {
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

/// Hash of the inputs of every part of an evaluation, at the time of the first call.
fn of_parts() -> Result<&'static [u8], Failure> {
    static OF_PARTS: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(of_parts) = OF_PARTS.get() {
        return Ok(of_parts);
    }
    let mut hash = Sha256::new();
    hash.update(shared()?);
    hash.update(env!("TOMBOLO_LAB_SOURCES"));
    for source in PART_INPUTS {
        add(&mut hash, &simcard::home().join(source))?;
    }
    Ok(OF_PARTS.get_or_init(|| hash.finalize().to_vec()))
}

/// Hash of this program's sources, and of the sources that it reads, at the time of the first call.
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
    /// Entry of a part of an evaluation, which may use any kernel, platform and source of the lab; `also` are further
    /// inputs, relative to the checkout.
    pub(super) fn of_part(
        root: &Path,
        name: &str,
        also: &[&str],
        made_of: &str,
    ) -> Result<Self, Failure> {
        let mut hash = Sha256::new();
        hash.update(of_parts()?);
        for source in also {
            add(&mut hash, &simcard::home().join(source))?;
        }
        hash.update(name);
        hash.update([0]);
        hash.update(made_of);
        let file = hex(&hash.finalize()[..16]);
        Ok(Self {
            path: root.join(file).with_extension("json"),
            name: name.to_owned(),
        })
    }

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

    /// Hash of its inputs.
    pub(super) fn hash(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    #[cfg(test)]
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The kept result, or that of `compute`, which is kept. A concurrent caller waits for the first one.
    pub(super) fn or_compute<T: Serialize + DeserializeOwned>(
        &self,
        compute: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let _only_one = self.lock()?;
        match self.read()? {
            Kept::Whole(outcome) => return Ok(outcome),
            Kept::Spoilt(why) => eprintln!("{why}"),
            Kept::Nothing => {}
        }
        let outcome = compute()?;
        self.write(&outcome)?;
        Ok(outcome)
    }

    /// Locks the entry against concurrent execution of the same work, until the file is dropped; waits for the lock.
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

    /// Reads the entry.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<Kept<T>, Failure> {
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

    /// Writes a result atomically.
    pub(super) fn write<T: Serialize>(&self, outcome: &T) -> Result<(), Failure> {
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
            // Some of its digits are lost in a conversion to text.
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
        assert_eq!(cached.read::<Outcome>().unwrap(), Kept::Nothing);
        cached.write(&outcome()).unwrap();
        assert!(
            matches!(cached.read::<Outcome>().unwrap(), Kept::Whole(kept) if kept.mib_per_s == 1234.5)
        );
        let whole = std::fs::read_to_string(&cached.path).unwrap();
        let half = &whole[..whole.len() / 2];
        let other = whole.replace("1234.5", "1234.6");
        assert_ne!(whole, other);
        for text in ["", half, &other, "{}"] {
            std::fs::write(&cached.path, text).unwrap();
            match cached.read::<Outcome>().unwrap() {
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
        let found = moved.read::<Outcome>().unwrap();
        assert!(matches!(found, Kept::Spoilt(why) if why.contains("it is another's, one")));
    }

    /// If two threads request the same work, the second waits and finds the result of the first.
    #[test]
    fn two_at_once_work_once() {
        let folder = tempfile::tempdir().unwrap();
        let first = cached(folder.path(), "one");
        let lock = first.lock().unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let second = cached(folder.path(), "one");
                let _lock = second.lock().unwrap();
                second.read::<Outcome>().unwrap()
            });
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(!waits.is_finished());
            first.write(&outcome()).unwrap();
            drop(lock);
            assert!(matches!(waits.join().unwrap(), Kept::Whole(_)));
        });
    }

    #[test]
    fn every_name_and_byte_of_what_is_read_counts() {
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
        let renamed = hash();
        assert_ne!(renamed, other);
        for unread in ["README.md", "data.py"] {
            std::fs::write(folder.path().join(unread), "z").unwrap();
        }
        assert_eq!(hash(), renamed);
    }

    /// A source that was moved would no longer be part of the hash.
    #[test]
    fn what_is_read_is_there() {
        for source in READ.iter().chain(&PART_INPUTS) {
            assert!(simcard::home().join(source).exists(), "{source}");
        }
    }
}
