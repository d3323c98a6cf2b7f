//! Backing of mappings that is no regular file: the memory of a peer, or a stream. A stub file represents it for the
//! pager; the clients define which kinds exist.

use super::Aside;
use file_io::{OpenFile, Transfer, TransferId};
use std::fmt::Debug;
use std::io;
use std::sync::Arc;

/// An operation that has ended.
#[derive(Debug)]
pub enum Done {
    /// A transfer: its identifier, and the bytes moved.
    Moved(TransferId, io::Result<usize>),
    /// A send: everything written before it has gone out, or has not; see [`Backing::send`].
    Sent(u64, io::Result<()>),
}

/// Callback that reports the end of an operation, on any thread.
pub type Tell = Box<dyn Fn(Done) + Send>;

/// A mappable source that is no file, before it is mapped.
pub trait BackingSource: Debug + Send {
    /// Its address, if a second mapping of the same address shares the same bytes.
    fn address(&self) -> Option<&str>;

    /// Starts it when it is mapped. `store` is the stub file that represents it, and can keep its bytes.
    ///
    /// # Errors
    /// The system lacks what it needs.
    fn start(self: Box<Self>, store: Arc<OpenFile>, tell: Tell) -> io::Result<Arc<dyn Backing>>;
}

/// A mapped source. Its methods do not block.
pub trait Backing: Debug + Send + Sync {
    /// As [`BackingSource::address`].
    fn address(&self) -> Option<&str>;

    /// Why it failed, if it did; the system has no error number for that.
    fn failure(&self) -> Option<String>;

    /// Begins a transfer; its end is reported through the callback.
    ///
    /// # Errors
    /// The transfer cannot begin; no end is reported.
    fn transfer(&self, transfer: Transfer) -> io::Result<()>;

    /// Whether written bytes go out only when they are to be durable, by [`send`](Self::send).
    fn is_stream(&self) -> bool;

    /// Begins to send what was written; its end is reported with this identifier.
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
