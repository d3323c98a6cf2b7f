//! What has the bytes of a mapping for which a file only stands in.

use super::owner_ref::OwnerRef;
use super::Aside;
use crate::device::window::{Done, Source, Window};
use crate::error::Error;
use crate::io::Transfer;
use crate::remote::{Backing, RemoteMemory};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// What a client wants to map that is no file.
#[derive(Debug)]
pub(crate) enum StandsFor {
    /// Memory of a peer.
    Remote(Box<RemoteMemory>),
    /// A stream.
    Stream(Source),
}

/// The same, mapped.
#[derive(Debug)]
pub(super) enum Behind {
    /// Memory of a peer.
    Remote(Backing),
    /// A stream.
    Stream(Window),
}

impl Behind {
    pub(super) fn start(
        what: StandsFor,
        store: Arc<File>,
        tell: impl Fn(Aside) + Send + 'static,
    ) -> io::Result<Self> {
        match what {
            StandsFor::Remote(memory) => {
                let done = move |id, result| tell(Aside::Moved(id, result));
                Backing::start(*memory, done).map(Self::Remote)
            }
            StandsFor::Stream(source) => {
                let done = move |done| match done {
                    Done::Moved(id, result) => tell(Aside::Moved(id, result)),
                    Done::Sent(id, result) => tell(Aside::Durable(id, result)),
                };
                Window::start(source, store, done).map(Self::Stream)
            }
        }
    }

    /// It is memory of the peer there.
    pub(super) fn is_at(&self, address: &str) -> bool {
        matches!(self, Self::Remote(backing) if backing.address() == address)
    }

    /// Why it failed, if it did: the system has no number for that.
    pub(super) fn failure(&self) -> Option<String> {
        match self {
            Self::Remote(backing) => backing.failure(),
            Self::Stream(window) => window.failure(),
        }
    }

    /// Begins a transfer.
    pub(super) fn transfer(&self, transfer: Transfer) -> io::Result<()> {
        match self {
            Self::Remote(backing) => backing.transfer(transfer),
            Self::Stream(window) => window.transfer(transfer),
        }
    }

    /// What is written goes out when it is to be safe.
    pub(super) fn is_stream(&self) -> bool {
        matches!(self, Self::Stream(_))
    }
}

impl OwnerRef {
    /// Sends what was written to a stream.
    pub(super) async fn send(&self, behind: &Behind) -> io::Result<()> {
        let Behind::Stream(window) = behind else {
            return Ok(());
        };
        let id = self.with(|owner| owner.tasks.open_aside());
        window.send(id)?;
        match self.aside(id).await {
            Err(Error::File { source, .. }) => Err(source),
            Err(other) => Err(io::Error::other(other.to_string())),
            Ok(()) => Ok(()),
        }
    }
}
