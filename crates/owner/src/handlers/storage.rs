//! Work of file systems and of backings that a task waits for. It takes no virtual time.

use crate::backing::Backing;
use crate::paging::{FileWait, InLane, Paging};
use crate::rooms::Room;
use crate::tasks::Tasks;
use crate::wait::Waits;
use error::Error;
use file_io::OpenFile;
use std::io;
use std::sync::Arc;

/// The threads of mounts, for tasks that wait for them.
#[derive(Clone)]
pub(crate) struct Storage {
    pub(crate) paging: Room<Paging>,
    pub(crate) tasks: Room<Tasks>,
    pub(crate) waits: Waits,
}

impl Storage {
    /// Makes a file durable on storage.
    pub(crate) async fn put_on_storage(
        &self,
        file: &Arc<OpenFile>,
        awaited: FileWait,
    ) -> io::Result<()> {
        let id = self.paging.lend(|paging| {
            self.tasks
                .lend(|tasks| paging.lanes().make_durable(tasks, file, awaited))
        })?;
        self.waits.aside_io(id).await
    }

    /// Sends what was written to a stream.
    pub(crate) async fn send(&self, backing: &dyn Backing) -> io::Result<()> {
        let id = self.tasks.lend(|tasks| tasks.open_aside());
        backing.send(id)?;
        self.waits.aside_io(id).await
    }

    /// Waits for the result of work in a lane. It takes no virtual time.
    ///
    /// # Errors
    /// In lockstep mode, the timeout has expired: the work may still complete later, and its result is dropped.
    pub(crate) async fn lane_result<T>(&self, asked: InLane<T>) -> Result<T, Error> {
        self.waits.aside(asked.aside()).await?;
        let result = asked.take_result();
        result.ok_or_else(|| Error::Internal("a lane has lost a result".into()))
    }

    /// Runs an operation that may block on a file system, in the order of the mount's requests, and waits for its result.
    pub(crate) async fn in_lane<T: Send + 'static>(
        &self,
        awaited: FileWait,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let asked = self.paging.lend(|paging| {
            self.tasks
                .lend(|tasks| paging.lanes().ask(tasks, awaited, work))
        })?;
        self.lane_result(asked).await
    }
}
