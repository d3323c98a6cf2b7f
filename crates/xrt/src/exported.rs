//! Buffers that a program passes on by a file descriptor, from one device to another.

use crate::buffer::{Buffer, WeakBuffer};
use crate::error::XrtError;
use rustix::fs::{fstat, memfd_create, MemfdFlags};
use std::collections::BTreeMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The exported buffers of this process, by the device and the inode of the file that stands for each: a duplicate of the
/// descriptor is the same buffer, a closed descriptor whose number is in use again is not.
static EXPORTED: Mutex<BTreeMap<(u64, u64), WeakBuffer>> = Mutex::new(BTreeMap::new());

fn exported() -> MutexGuard<'static, BTreeMap<(u64, u64), WeakBuffer>> {
    EXPORTED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn place(file: BorrowedFd<'_>) -> Result<(u64, u64), XrtError> {
    let found = fstat(file).map_err(|_| XrtError::NotExported)?;
    Ok((found.st_dev, found.st_ino))
}

impl Buffer {
    /// A descriptor that [`import`](Self::import) takes in this process. It does not keep the buffer alive.
    ///
    /// # Errors
    /// [`XrtError::Export`]: the process has no descriptor left.
    pub fn export(&self) -> Result<OwnedFd, XrtError> {
        let file = memfd_create("tombolo-bo", MemfdFlags::CLOEXEC);
        let file = file.map_err(|source| XrtError::Export {
            source: source.into(),
        })?;
        let mut exported = exported();
        exported.retain(|_, buffer| buffer.upgrade().is_some());
        exported.insert(place(std::os::fd::AsFd::as_fd(&file))?, self.downgrade());
        Ok(file)
    }

    /// The buffer that a descriptor of [`export`](Self::export) stands for.
    ///
    /// # Errors
    /// [`XrtError::NotExported`]: the descriptor is of something else, of another process, or of a buffer that is closed.
    pub fn import(file: BorrowedFd<'_>) -> Result<Self, XrtError> {
        let found = exported().get(&place(file)?).and_then(WeakBuffer::upgrade);
        found.ok_or(XrtError::NotExported)
    }
}
