//! The hash of a folder; also included by `build.rs`.

use sha2::{Digest, Sha256};
use std::io;
use std::path::Path;

/// Documents and scripts: nothing that is simulated reads them.
const UNREAD: [&str; 2] = ["md", "py"];

fn is_unread(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| UNREAD.contains(&extension))
}

/// Adds a file, or all files of a folder, by name and content. A missing folder adds nothing; links, build outputs, tests,
/// documents and scripts are ignored.
pub(crate) fn add(hash: &mut Sha256, folder: &Path) -> io::Result<()> {
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
        } else if kind.is_file() && !is_unread(&path) {
            let bytes = std::fs::read(&path)?;
            hash.update(name.as_encoded_bytes());
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
    }
    Ok(())
}
