//! Remote memory behind a mapping: the pager's reads and writes of a mapped object go to a peer. Each connection has
//! a thread of its own, so that a peer that is silent holds up nobody's files.

use super::RemoteMemory;
use file_io::{Direction, Transfer, TransferId};
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::sync::mpsc::Receiver;
use threads::jobs::{Failure, Jobs};

/// What a peer has, as the place of a mapping's pages. It is over with the first error: what the peer has then is not
/// known, and another one at the same address may have something else.
#[derive(Debug)]
pub struct Backing {
    address: String,
    jobs: Jobs<Transfer>,
}

impl Backing {
    /// Starts the thread. `done` is told the end of each transfer.
    pub fn start(
        memory: RemoteMemory,
        done: impl Fn(TransferId, io::Result<usize>) + Send + 'static,
    ) -> io::Result<Self> {
        let address = memory.address().to_owned();
        let work = move |inbox: &_, failure: &_| run(memory, inbox, failure, done);
        let jobs = Jobs::start("tombolo-remote", work)?;
        Ok(Self { address, jobs })
    }

    /// Where the peer is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Why it is over.
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
        // Those that were waiting behind one that has failed fail with it.
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

/// A file without bytes of its own, as long as what a peer has: it gives a mapping an identity and a length.
pub fn stand_in(bytes: u64) -> io::Result<File> {
    // SAFETY: a name that ends with a zero; the answer is a descriptor that nobody else has, or an error.
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
