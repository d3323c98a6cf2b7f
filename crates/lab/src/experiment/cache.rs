//! Results of cells, kept by the hash of everything they depend on: an interrupted run resumes, and nothing is
//! simulated twice.

use super::{Cell, Failure, Outcome};
use card::sim::SimOptions;
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What the figures depend on beside the cell and its kernel: the shell's RTL, the simulator's sources and, of the lab, how
/// a cell is run (how it is shown may change).
const SOURCES: [&str; 13] = [
    "rtl",
    "crates/card/src",
    "crates/lab/src/driver.rs",
    "crates/lab/src/bars/aes.rs",
    "crates/lab/src/experiment/hot.rs",
    "crates/lab/src/experiment/outcome.rs",
    "crates/lab/src/experiment/warm.rs",
    "crates/lab/src/experiment/workload.rs",
    "crates/pager/src",
    "crates/timing/src",
    "crates/tombolo/src",
    "crates/units/src",
    "kernels/lib",
];

/// The place of a result.
pub(super) struct Cached {
    path: PathBuf,
}

impl Cached {
    pub(super) fn of(cell: &Cell<'_>, options: &SimOptions) -> Result<Self, Failure> {
        static SHARED: OnceLock<Vec<u8>> = OnceLock::new();
        let home = card::sim::home();
        let shared = match SHARED.get() {
            Some(shared) => shared,
            None => {
                let mut hash = Sha256::new();
                for folder in SOURCES {
                    add(&mut hash, &home.join(folder))?;
                }
                SHARED.get_or_init(|| hash.finalize().to_vec())
            }
        };
        let mut hash = Sha256::new();
        hash.update(shared);
        add(&mut hash, &home.join("kernels").join(&cell.workload.kernel))?;
        hash.update(options.platform.hash());
        // The whole of what the cell is made of, by its names and values.
        let data = cell.data()?;
        let made_of = (
            cell.name(),
            cell.preset(),
            cell.adapts(),
            cell.workload.load,
            data,
            cell.host_miss,
        );
        hash.update(format!(
            "{made_of:?} {} {}",
            cell.applications, cell.shift_rows
        ));
        let name: String = hash.finalize()[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let folder = verilated::cache_root().join("cells");
        Ok(Self {
            path: folder.join(name).with_extension("json"),
        })
    }

    /// What was kept; nothing, if that is none or cannot be understood.
    pub(super) fn read(&self) -> Option<Outcome> {
        serde_json::from_slice(&std::fs::read(&self.path).ok()?).ok()
    }

    /// Keeps a result, whole or not at all.
    pub(super) fn write(&self, outcome: &Outcome) -> Result<(), Failure> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(file.as_file(), outcome)?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// A file, or all files of a folder, by name and content. A folder that is not there has none; links and what builds leave
/// behind are not looked at.
fn add(hash: &mut Sha256, folder: &Path) -> io::Result<()> {
    if folder.is_file() {
        hash.update(std::fs::read(folder)?);
        return Ok(());
    }
    let mut entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries.collect::<io::Result<Vec<_>>>()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (kind, path) = (entry.file_type()?, entry.path());
        let name = entry.file_name();
        if kind.is_dir() && name != "tests" && name != "__pycache__" {
            add(hash, &path)?;
        } else if kind.is_file() {
            let bytes = std::fs::read(&path)?;
            hash.update(name.as_encoded_bytes());
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_kept_and_a_spoilt_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let cached = Cached {
            path: folder.path().join("cells/a.json"),
        };
        assert_eq!(cached.read(), None);
        let outcome = Outcome {
            mib_per_s: 1234.5,
            deviation: 0.25,
        };
        cached.write(&outcome).unwrap();
        assert_eq!(cached.read(), Some(outcome));
        std::fs::write(&cached.path, b"{\"mib_per_s\":").unwrap();
        assert_eq!(cached.read(), None);
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
}
