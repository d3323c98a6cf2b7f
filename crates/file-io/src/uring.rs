//! File I/O with io_uring.

use super::{ask_along, pointer, unknown, write_stopped, Direction, FileIo, Transfer, TransferId};
use io_uring::{opcode, types, IoUring};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd;

const RING_ENTRIES: u32 = 256;

/// File I/O through one submission ring.
pub struct UringIo {
    ring: IoUring,
    under_way: BTreeMap<u64, (Transfer, usize)>,
    results: BTreeMap<TransferId, io::Result<usize>>,
}

impl UringIo {
    /// Sets up a ring.
    ///
    /// # Errors
    /// Error of the kernel; containers often forbid io_uring.
    pub fn new() -> io::Result<Self> {
        let ring = IoUring::new(RING_ENTRIES)?;
        Ok(Self {
            ring,
            under_way: BTreeMap::new(),
            results: BTreeMap::new(),
        })
    }

    /// Submits the rest of a transfer to the kernel.
    fn submit(&mut self, transfer: Transfer, done: usize) -> io::Result<()> {
        let at = pointer(&transfer, done)?;
        // One call moves at most 1 GiB, far below the kernel's own limit.
        let bytes = (transfer.bytes - done).min(1 << 30) as u32;
        let fd = types::Fd(transfer.file.as_raw_fd());
        let offset = transfer.file_offset + done as u64;
        let entry = match transfer.direction {
            Direction::Read => opcode::Read::new(fd, at, bytes).offset(offset).build(),
            Direction::Write => opcode::Write::new(fd, at, bytes).offset(offset).build(),
        }
        .user_data(transfer.id.0);
        self.under_way.insert(transfer.id.0, (transfer, done));
        // SAFETY: the buffer lies in the transfer's memory (checked by `pointer`), and file and
        // memory stay alive in `under_way` until the completion is seen.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.ring.submit()?;
        }
        // The entry is queued. If the kernel is too busy to look at it now, `finish` asks again.
        if let Err(error) = self.ring.submit() {
            tracing::debug!(%error, "io_uring submission deferred");
        }
        Ok(())
    }

    /// Collects completions; resubmits short transfers.
    fn reap(&mut self) {
        let completed: Vec<(u64, i32)> = self
            .ring
            .completion()
            .map(|entry| (entry.user_data(), entry.result()))
            .collect();
        for (id, result) in completed {
            let Some((transfer, done)) = self.under_way.remove(&id) else {
                continue;
            };
            let id = transfer.id;
            let again = |error: &io::Error| {
                matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                )
            };
            let outcome = match usize::try_from(result) {
                Ok(0) if transfer.direction == Direction::Write => Err(write_stopped()),
                Ok(0) => Ok(done),
                Ok(moved) if done + moved == transfer.bytes => Ok(done + moved),
                Ok(moved) => match self.submit(transfer, done + moved) {
                    Ok(()) => continue,
                    Err(error) => Err(error),
                },
                Err(_) => match io::Error::from_raw_os_error(-result) {
                    error if again(&error) => match self.submit(transfer, done) {
                        Ok(()) => continue,
                        Err(error) => Err(error),
                    },
                    error => Err(error),
                },
            };
            self.results.insert(id, outcome);
        }
    }
}

impl std::fmt::Debug for UringIo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let under_way = self.under_way.len();
        f.debug_struct("UringIo")
            .field("under_way", &under_way)
            .finish_non_exhaustive()
    }
}

impl FileIo for UringIo {
    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn start(&mut self, transfer: Transfer) {
        let id = transfer.id;
        ask_along(&transfer);
        if transfer.bytes == 0 {
            self.results.insert(id, Ok(0));
        } else if let Err(error) = self.submit(transfer, 0) {
            self.under_way.remove(&id.0);
            self.results.insert(id, Err(error));
        }
    }

    fn finish(&mut self, id: TransferId) -> io::Result<usize> {
        loop {
            if let Some(result) = self.results.remove(&id) {
                return result;
            }
            if !self.under_way.contains_key(&id.0) {
                return Err(unknown(id));
            }
            match self.ring.submit_and_wait(1) {
                Ok(_) => self.reap(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for UringIo {
    fn drop(&mut self) {
        // The kernel may still write into buffers: they live in `under_way` until it is done.
        while !self.under_way.is_empty() {
            if let Err(error) = self.ring.submit_and_wait(1) {
                if error.kind() != io::ErrorKind::Interrupted {
                    // Better to lose the memory than to let the kernel write into freed memory.
                    std::mem::forget(std::mem::take(&mut self.under_way));
                    return;
                }
            }
            self.reap();
        }
    }
}
