//! File I/O with `pread` and `pwrite`, performed when the transfer is started.

use super::{ask_along, pointer, unknown, write_stopped, Direction, FileIo, Transfer, TransferId};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd;

/// File I/O without io_uring.
#[derive(Debug, Default)]
pub struct BlockingIo {
    results: BTreeMap<TransferId, io::Result<usize>>,
}

impl FileIo for BlockingIo {
    fn name(&self) -> &'static str {
        "blocking"
    }

    fn start(&mut self, transfer: Transfer) {
        ask_along(&transfer);
        let result = move_all(&transfer);
        self.results.insert(transfer.id, result);
    }

    fn finish(&mut self, id: TransferId) -> io::Result<usize> {
        self.results.remove(&id).unwrap_or_else(|| Err(unknown(id)))
    }
}

fn move_all(transfer: &Transfer) -> io::Result<usize> {
    let mut done = 0;
    while done < transfer.bytes {
        match move_some(transfer, done) {
            Ok(0) if transfer.direction == Direction::Read => break,
            Ok(0) => return Err(write_stopped()),
            Ok(bytes) => done += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

fn move_some(transfer: &Transfer, done: usize) -> io::Result<usize> {
    let at = pointer(transfer, done)?.cast();
    let bytes = transfer.bytes - done;
    let fd = transfer.file.as_raw_fd();
    let offset = i64::try_from(transfer.file_offset + done as u64)
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let moved = match transfer.direction {
        // SAFETY: `pointer` checked that `bytes` bytes from `at` lie in the memory, which the
        // transfer keeps alive; the kernel copies without assuming exclusiveness.
        Direction::Read => unsafe { libc::pread(fd, at, bytes, offset) },
        // SAFETY: as above.
        Direction::Write => unsafe { libc::pwrite(fd, at, bytes, offset) },
    };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}
