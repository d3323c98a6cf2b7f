//! Backings of mappings other than files.

use crate::device::window::{Source, Window};
use file_io::{OpenFile, Transfer};
use owner::{Backing, BackingSource, Done, Tell};
use remote::{Backing as RemoteBacking, RemoteMemory};
use std::io;
use std::sync::Arc;

/// Memory of a peer.
#[derive(Debug)]
pub(crate) struct OfPeer(pub(crate) RemoteMemory);

impl BackingSource for OfPeer {
    fn address(&self) -> Option<&str> {
        Some(self.0.address())
    }

    fn start(self: Box<Self>, _store: Arc<OpenFile>, tell: Tell) -> io::Result<Arc<dyn Backing>> {
        let done = move |id, result| tell(Done::Moved(id, result));
        Ok(Arc::new(Peer(RemoteBacking::start(self.0, done)?)))
    }
}

#[derive(Debug)]
struct Peer(RemoteBacking);

impl Backing for Peer {
    fn address(&self) -> Option<&str> {
        Some(self.0.address())
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn transfer(&self, transfer: Transfer) -> io::Result<()> {
        self.0.transfer(transfer)
    }

    fn is_stream(&self) -> bool {
        false
    }

    fn send(&self, _id: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl BackingSource for Source {
    fn address(&self) -> Option<&str> {
        None
    }

    fn start(self: Box<Self>, store: Arc<OpenFile>, tell: Tell) -> io::Result<Arc<dyn Backing>> {
        Ok(Arc::new(Window::start(*self, store, tell)?))
    }
}

impl Backing for Window {
    fn address(&self) -> Option<&str> {
        None
    }

    fn failure(&self) -> Option<String> {
        self.failure()
    }

    fn transfer(&self, transfer: Transfer) -> io::Result<()> {
        self.transfer(transfer)
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn send(&self, id: u64) -> io::Result<()> {
        self.send(id)
    }
}
