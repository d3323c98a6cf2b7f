//! Lanes: operations that may block on a file system run on a thread per mount, concurrently with the owner's thread.
//! A mount that does not answer delays only requests to that mount. The requests of a lane are executed in order.
//!
//! With a free clock, and on a real card, only requests to such a mount wait. In lockstep mode the clock stops for
//! all while any file is awaited; so there is a timeout, after which the waiting requests fail and the clock
//! continues without the bytes ([`timeouts`](super::timeouts)).

use super::timeouts::{FileTimeouts, FileWait};
use crate::lane::{Ended, Lane, Post};
use crate::tasks::Tasks;
use crate::Aside;
use error::Error;
use file_io::{FileIo, OpenFile, Transfer};
use std::collections::btree_map::{BTreeMap, Entry};
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Makes file I/O for a mount.
pub type MakeIo = Box<dyn FnMut() -> Box<dyn FileIo> + Send>;

/// Timeout for the end of a lane when a card is closed. A lane whose mount is gone is left behind with its resources.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// A lane, while files of its mount are open.
struct OpenLane {
    lane: Lane,
    ended: Ended,
    /// Cloned into each open file of the mount.
    files: Arc<()>,
}

/// The lanes of a card, by device.
pub(crate) struct Lanes {
    make: MakeIo,
    post: Post,
    lanes: BTreeMap<u64, OpenLane>,
    name: Option<&'static str>,
    timeouts: FileTimeouts,
}

impl Lanes {
    pub(super) fn new(make: MakeIo, post: Post, timeouts: FileTimeouts) -> Self {
        Self {
            make,
            post,
            lanes: BTreeMap::new(),
            name: None,
            timeouts,
        }
    }

    /// `io_uring` or `blocking`.
    pub(crate) fn name(&mut self) -> &'static str {
        let make = &mut self.make;
        self.name.get_or_insert_with(|| make().name())
    }

    /// The lane of a device; creates it if there is none.
    pub(super) fn of(&mut self, device: u64) -> io::Result<&Lane> {
        self.held(device).map(|held| &held.lane)
    }

    fn held(&mut self, device: u64) -> io::Result<&OpenLane> {
        match self.lanes.entry(device) {
            Entry::Occupied(there) => Ok(there.into_mut()),
            Entry::Vacant(place) => {
                let io = (self.make)();
                self.name = Some(io.name());
                let (lane, ended) = Lane::start(io, self.post.clone())?;
                let files = Arc::default();
                Ok(place.insert(OpenLane { lane, ended, files }))
            }
        }
    }

    /// Begins a transfer; its end is reported in any case.
    pub(super) fn transfer(&mut self, device: u64, transfer: Transfer) {
        let id = transfer.id;
        match self.of(device) {
            Ok(lane) => lane.transfer(transfer),
            Err(error) => self.post.send(Aside::Moved(id, Err(error))),
        }
    }

    /// The waits for mounts, and their timeouts.
    pub(crate) fn timeouts(&mut self) -> &mut FileTimeouts {
        &mut self.timeouts
    }

    /// Begins to put a file on storage; returns its identifier among the work on other threads.
    ///
    /// # Errors
    /// The mount has no thread.
    pub(crate) fn make_durable(
        &mut self,
        tasks: &mut Tasks,
        file: &Arc<OpenFile>,
        wait: FileWait,
    ) -> io::Result<u64> {
        let lane = self.of(wait.device)?;
        let id = tasks.open_aside();
        lane.make_durable(id, file.clone());
        self.timeouts.wait_for(id, wait);
        Ok(id)
    }

    /// Queues an operation that may block on a file system, behind all earlier requests to the mount.
    ///
    /// # Errors
    /// The mount has no thread.
    pub(crate) fn ask<T: Send + 'static>(
        &mut self,
        tasks: &mut Tasks,
        wait: FileWait,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<InLane<T>, Error> {
        let lane = self.of(wait.device).map_err(|source| Error::File {
            path: (&wait.label).into(),
            what: "starting a thread for its mount",
            source,
        })?;
        let aside = tasks.open_aside();
        let result = Arc::new(Mutex::new(None));
        let place = result.clone();
        lane.ask(aside, move || {
            let result = work();
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            Ok(())
        });
        self.timeouts.wait_for(aside, wait);
        Ok(InLane { aside, result })
    }

    /// Wraps a file so that it is closed in the lane of its device.
    pub(super) fn open(&mut self, device: u64, file: File) -> io::Result<OpenFile> {
        // A mount without open files needs no lane: it ends when its queue is empty.
        self.lanes
            .retain(|other, held| *other == device || Arc::strong_count(&held.files) > 1);
        let held = self.held(device)?;
        let (lane, open) = (held.lane.clone(), held.files.clone());
        Ok(OpenFile::closed_by(file, move |file| {
            lane.go_and_do(move || drop((file, open)));
        }))
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        for (device, OpenLane { lane, ended, .. }) in std::mem::take(&mut self.lanes) {
            drop(lane);
            if !ended.wait(LAST_WAIT) {
                tracing::warn!(device, "a mount does not answer: its thread stays behind");
            }
        }
    }
}

/// An operation queued in a lane.
pub(crate) struct InLane<T> {
    aside: u64,
    result: Arc<Mutex<Option<T>>>,
}

impl<T> InLane<T> {
    /// Its identifier among the work on other threads.
    pub(crate) fn aside(&self) -> u64 {
        self.aside
    }

    /// The result; `None` after the first call.
    pub(crate) fn take_result(&self) -> Option<T> {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        result.take()
    }
}
