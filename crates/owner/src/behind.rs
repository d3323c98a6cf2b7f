//! What has the bytes of a mapping for which a file only stands in: memory of a peer, a stream. Which ones there are is
//! the clients' affair.

use super::owner_ref::OwnerRef;
use super::Aside;
use file_io::{OpenFile, Transfer, TransferId};
use std::fmt::Debug;
use std::io;
use std::sync::Arc;

/// What ended.
#[derive(Debug)]
pub enum Done {
    /// A transfer.
    Moved(TransferId, io::Result<usize>),
    /// All that was written before has gone out, or has not: see [`Behind::send`].
    Sent(u64, io::Result<()>),
}

/// Told what ends, on any thread.
pub type Tell = Box<dyn Fn(Done) + Send>;

/// What a client wants to map that is no file.
pub trait StandsFor: Debug + Send {
    /// Where it is, if a second mapping of the same place shows the same bytes.
    fn address(&self) -> Option<&str>;

    /// It is mapped now. `store` is the file that stands in for it, and can keep its bytes.
    ///
    /// # Errors
    /// The system has not what it needs.
    fn start(self: Box<Self>, store: Arc<OpenFile>, tell: Tell) -> io::Result<Arc<dyn Behind>>;
}

/// The same, mapped. Nothing here waits.
pub trait Behind: Debug + Send + Sync {
    /// As [`StandsFor::address`].
    fn address(&self) -> Option<&str>;

    /// Why it failed, if it did: the system has no number for that.
    fn failure(&self) -> Option<String>;

    /// Begins a transfer, whose end is told.
    ///
    /// # Errors
    /// It cannot begin, and no end is told.
    fn transfer(&self, transfer: Transfer) -> io::Result<()>;

    /// What is written goes out when it is to be safe, by [`send`](Self::send).
    fn is_stream(&self) -> bool;

    /// Begins to send what was written, whose end is told by this name.
    ///
    /// # Errors
    /// As [`transfer`](Self::transfer).
    fn send(&self, id: u64) -> io::Result<()>;
}

impl From<Done> for Aside {
    fn from(done: Done) -> Self {
        match done {
            Done::Moved(id, result) => Self::Moved(id, result),
            Done::Sent(id, result) => Self::Durable(id, result),
        }
    }
}

impl OwnerRef {
    /// Sends what was written to a stream.
    pub(super) async fn send(&self, behind: &dyn Behind) -> io::Result<()> {
        let id = self.tasks(|tasks| tasks.open_aside());
        behind.send(id)?;
        self.aside_io(id).await
    }
}
