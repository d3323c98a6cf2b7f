// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! Peers of a network interface of the card: memory that another process serves, and simulated machines with a file as
//! their memory.

use super::{RemoteError, RemoteMemory};
use card::network::{Peer, PeerError};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

impl Peer for RemoteMemory {
    fn name(&self) -> String {
        self.address().to_owned()
    }

    fn read(&mut self, offset: u64, to: &mut [u8]) -> Result<(), PeerError> {
        RemoteMemory::read(self, offset, to).map_err(|error| answer(&error))
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), PeerError> {
        RemoteMemory::write(self, offset, from).map_err(|error| answer(&error))
    }
}

fn answer(error: &RemoteError) -> PeerError {
    match error {
        RemoteError::OutOfRange { .. } | RemoteError::Refused { .. } => {
            PeerError::Refused(error.to_string())
        }
        error => PeerError::Gone(error.to_string()),
    }
}

/// A simulated machine at the other end of the cable, with a file as its memory and no other function: equal in every
/// run.
#[derive(Debug)]
pub struct FileNode {
    name: String,
    file: File,
    bytes: u64,
}

impl FileNode {
    /// Opens a regular file, which keeps its size.
    ///
    /// # Errors
    /// It cannot be opened, or is no regular file.
    pub fn open(path: &Path, writable: bool) -> io::Result<Self> {
        let file = File::options().read(true).write(writable).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        Ok(Self {
            name: path.display().to_string(),
            file,
            bytes: metadata.len(),
        })
    }

    /// Size of the memory in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn check(&self, offset: u64, bytes: usize) -> Result<(), PeerError> {
        let end = offset.checked_add(bytes as u64);
        match end.is_some_and(|end| end <= self.bytes) {
            true => Ok(()),
            false => Err(PeerError::Refused(format!(
                "{bytes} bytes from offset {offset}: it has {} bytes",
                self.bytes
            ))),
        }
    }
}

impl Peer for FileNode {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn read(&mut self, offset: u64, to: &mut [u8]) -> Result<(), PeerError> {
        self.check(offset, to.len())?;
        let read = self.file.read_exact_at(to, offset);
        read.map_err(|error| PeerError::Refused(format!("reading its file: {error}")))
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), PeerError> {
        self.check(offset, from.len())?;
        let written = self.file.write_all_at(from, offset);
        written.map_err(|error| PeerError::Refused(format!("writing its file: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_size() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [1, 2, 3]).unwrap();
        let mut node = FileNode::open(file.path(), true).unwrap();
        node.write(1, &[9, 8]).unwrap();
        assert!(matches!(node.write(2, &[1, 1]), Err(PeerError::Refused(_))));
        assert_eq!(std::fs::read(file.path()).unwrap(), [1, 9, 8]);
        let mut node = FileNode::open(file.path(), false).unwrap();
        assert!(matches!(node.write(0, &[1]), Err(PeerError::Refused(_))));
        assert!(FileNode::open(Path::new("/"), false).is_err());
    }
}
