//! Backings of mappings other than files.

use crate::device::window::{Source, Window};
use file_io::{OpenFile, Transfer};
use owner::{Behind, Done, StandsFor, Tell};
use remote::{Backing, RemoteMemory};
use std::io;
use std::sync::Arc;

/// Memory of a peer.
#[derive(Debug)]
pub(crate) struct OfPeer(pub(crate) RemoteMemory);

impl StandsFor for OfPeer {
    fn address(&self) -> Option<&str> {
        Some(self.0.address())
    }

    fn start(self: Box<Self>, _store: Arc<OpenFile>, tell: Tell) -> io::Result<Arc<dyn Behind>> {
        let done = move |id, result| tell(Done::Moved(id, result));
        Ok(Arc::new(Peer(Backing::start(self.0, done)?)))
    }
}

#[derive(Debug)]
struct Peer(Backing);

impl Behind for Peer {
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

impl StandsFor for Source {
    fn address(&self) -> Option<&str> {
        None
    }

    fn start(self: Box<Self>, store: Arc<OpenFile>, tell: Tell) -> io::Result<Arc<dyn Behind>> {
        Ok(Arc::new(Window::start(*self, store, tell)?))
    }
}

impl Behind for Window {
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
