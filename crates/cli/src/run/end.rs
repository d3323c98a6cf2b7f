//! Output files of stream ports, truncated where the stream ended.

use super::files::{Opened, Ready};
use super::RunError;
use crate::arguments::Mode;
use card::kernel::Manifest;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use tombolo::Error;

/// A new file that a stream port writes; its length follows from the stream.
pub(super) struct StreamFile {
    file: File,
    path: PathBuf,
    offset: u64,
    bytes: u64,
}

impl StreamFile {
    /// Truncates the file to the bytes that were written.
    pub(super) fn cut(&self, written: u64) -> Result<(), RunError> {
        if written >= self.bytes {
            return Ok(());
        }
        let cut = self.file.set_len(self.offset + written);
        cut.map_err(|source| {
            RunError::Library(Error::File {
                path: self.path.clone(),
                what: "cutting it where the stream ended",
                source,
            })
        })
    }
}

/// The new files of stream ports, by port.
pub(super) fn ends_of(
    planned: &[Ready<'_>],
    manifest: &Manifest,
) -> Result<BTreeMap<String, StreamFile>, RunError> {
    let mut ends = BTreeMap::new();
    for ready in planned {
        let name = &ready.map.argument;
        if !matches!(ready.map.mode, Mode::New(_)) || manifest.stream(name).is_none() {
            continue;
        }
        let path = ready.map.file.clone();
        let Opened::File(file) = &ready.opened else {
            continue;
        };
        let file = file.try_clone().map_err(RunError::writing(&path))?;
        let end = StreamFile {
            file,
            path,
            offset: ready.map.offset,
            bytes: ready.bytes,
        };
        ends.insert(name.clone(), end);
    }
    Ok(ends)
}
