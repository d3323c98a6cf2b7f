//! Remote memory as the backing of a mapping: the pager's reads and writes of a mapped object go to a peer. Each
//! connection has a separate thread, so that a peer that does not respond blocks no other I/O.

use super::RemoteMemory;
use file_io::{Direction, Transfer, TransferId};
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::sync::mpsc::Receiver;
use threads::jobs::{Failure, Jobs};

/// Memory of a peer that backs a mapping's pages. It fails permanently at the first error: the peer's content is then
/// unknown, and another peer at the same address may have other content.
#[derive(Debug)]
pub struct Backing {
    address: String,
    jobs: Jobs<Transfer>,
}

impl Backing {
    /// Starts the thread. `done` receives the result of each transfer.
    pub fn start(
        memory: RemoteMemory,
        done: impl Fn(TransferId, io::Result<usize>) + Send + 'static,
    ) -> io::Result<Self> {
        let address = memory.address().to_owned();
        let work = move |inbox: &_, failure: &_| run(memory, inbox, failure, done);
        let jobs = Jobs::start("tombolo-remote", work)?;
        Ok(Self { address, jobs })
    }

    /// Address of the peer.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Cause of its failure, if it has failed.
    pub fn failure(&self) -> Option<String> {
        self.jobs.failure()
    }

    /// Begins a transfer.
    pub fn transfer(&self, transfer: Transfer) -> io::Result<()> {
        self.jobs.tell(transfer)
    }
}

fn run(
    mut memory: RemoteMemory,
    inbox: &Receiver<Transfer>,
    failure: &Failure,
    done: impl Fn(TransferId, io::Result<usize>),
) {
    let mut bytes = Vec::new();
    let mut lost: Option<String> = None;
    while let Ok(transfer) = inbox.recv() {
        // Transfers queued behind a failed one fail with it.
        let result = match &lost {
            Some(why) => Err(why.clone()),
            None => moved(&mut memory, &transfer, &mut bytes),
        };
        if let Err(why) = &result {
            lost = Some(why.clone());
        }
        done(transfer.id, failure.note(result));
    }
}

fn moved(
    memory: &mut RemoteMemory,
    transfer: &Transfer,
    bytes: &mut Vec<u8>,
) -> Result<usize, String> {
    let (offset, at) = (transfer.file_offset, transfer.memory_offset);
    bytes.resize(transfer.bytes, 0);
    match transfer.direction {
        Direction::Read => {
            let read = memory.read(offset, bytes);
            read.map_err(|error| error.to_string())?;
            let put = transfer.memory.write(at, bytes);
            put.map_err(|error| error.to_string())?;
        }
        Direction::Write => {
            let taken = transfer.memory.read(at, bytes);
            taken.map_err(|error| error.to_string())?;
            let written = memory.write(offset, bytes);
            written.map_err(|error| error.to_string())?;
        }
    }
    Ok(transfer.bytes)
}

/// An empty file with the length of a peer's memory: it gives a mapping an identity and a length.
pub fn stand_in(bytes: u64) -> io::Result<File> {
    // SAFETY: a name that ends with a zero; the result is a descriptor without another owner, or an error.
    let file = unsafe {
        let made = libc::memfd_create(c"tombolo-remote".as_ptr(), libc::MFD_CLOEXEC);
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(made)
    };
    threads::without_size_signal(|| file.set_len(bytes))?;
    Ok(file)
}
