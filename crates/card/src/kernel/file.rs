//! Reading files of kernels, which others may have written: a card's owner must not wait for them, or run out of memory.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Maximum size of a file of a kernel, in bytes.
const LIMIT: u64 = 64 << 20;

/// Reads a regular file.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a named pipe would wait for its writer.
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LIMIT {
        true => Err(io::Error::other(format!("more than {LIMIT} bytes"))),
        false => Ok(bytes),
    }
}
