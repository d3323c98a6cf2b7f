//! A thread for operations that may block on one mount, so that a slow file delays only the requests that
//! wait for it.

use super::Aside;
use crate::call::{Bell, Message};
use error::Error;
use file_io::{check_length, FileIo, OpenFile, Transfer, TransferId};
use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, SendError, Sender};
use std::sync::Arc;
use std::time::Duration;

/// A job for the thread.
enum Job {
    Move(Transfer),
    MakeDurable(u64, Arc<OpenFile>),
    /// The result is reported to the waiting task.
    Ask(u64, Box<dyn FnOnce() -> Result<(), Error> + Send>),
    /// The result is not reported.
    Do(Box<dyn FnOnce() + Send>),
}

/// The sender of results.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) sender: Sender<Message>,
    /// Set with each result if the clock does not wait for results anyway.
    pub(super) bell: Option<Bell>,
}

impl Post {
    pub(super) fn send(&self, aside: Aside) {
        // An owner that has ended needs no result.
        let _ = self.sender.send(Message::Aside(aside));
        if let Some(bell) = &self.bell {
            bell.store(true, Ordering::Release);
        }
    }

    /// Runs `work` on a new thread; a panic there is reported as its result.
    pub(super) fn run(
        &self,
        what: &'static str,
        work: impl FnOnce() -> Aside + Send + 'static,
        lost: impl FnOnce(String) -> Aside + Clone + Send + 'static,
    ) {
        let post = self.clone();
        let no_thread = lost.clone();
        let run = move || {
            let result = catch_unwind(AssertUnwindSafe(work));
            post.send(result.unwrap_or_else(|panic| lost(panic_message(&*panic))));
        };
        let name = format!("tombolo-{what}");
        if let Err(error) = threads::spawn(&name, run) {
            self.send(no_thread(format!("no thread could be started: {error}")));
        }
    }
}

/// The message of a panic.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason given".to_owned())
}

/// Sender of a lane's jobs. The lane ends when its last sender is dropped.
#[derive(Clone)]
pub(super) struct Lane(Sender<Job>);

/// Reports the end of the thread: nothing is ever sent, and the sender is dropped at the end.
pub(super) struct Ended(Receiver<()>);

impl Ended {
    /// Waits for the end of the thread; false on timeout.
    pub(super) fn wait(&self, limit: Duration) -> bool {
        !matches!(self.0.recv_timeout(limit), Err(RecvTimeoutError::Timeout))
    }
}

impl Lane {
    pub(super) fn start(io: Box<dyn FileIo>, post: Post) -> io::Result<(Self, Ended)> {
        let (jobs, inbox) = channel();
        let (ending, ended) = channel();
        threads::spawn("tombolo-io", move || {
            let _ending: Sender<()> = ending;
            run(io, &inbox, &post);
        })?;
        Ok((Self(jobs), Ended(ended)))
    }

    pub(super) fn transfer(&self, transfer: Transfer) {
        self.send(Job::Move(transfer));
    }

    pub(super) fn make_durable(&self, id: u64, file: Arc<OpenFile>) {
        self.send(Job::MakeDurable(id, file));
    }

    /// Queues a job behind all earlier ones; its result is reported.
    pub(super) fn ask(&self, id: u64, work: impl FnOnce() -> Result<(), Error> + Send + 'static) {
        self.send(Job::Ask(id, Box::new(work)));
    }

    /// Queues a job behind all earlier ones; its result is not reported.
    pub(super) fn go_and_do(&self, work: impl FnOnce() + Send + 'static) {
        self.send(Job::Do(Box::new(work)));
    }

    fn send(&self, job: Job) {
        // The thread ends only after its last sender is dropped; whatever happened to it, the job is not
        // lost.
        if let Err(SendError(Job::Do(work))) = self.0.send(job) {
            work();
        }
    }
}

fn run(mut io: Box<dyn FileIo>, inbox: &Receiver<Job>, post: &Post) {
    let mut started: VecDeque<TransferId> = VecDeque::new();
    loop {
        let job = match started.is_empty() {
            true => match inbox.recv() {
                Ok(job) => Some(job),
                Err(_) => return,
            },
            false => inbox.try_recv().ok(),
        };
        match job {
            Some(Job::Move(transfer)) => {
                let id = transfer.id;
                if let Err(error) = check_length(&transfer) {
                    post.send(Aside::Moved(id, Err(error)));
                    continue;
                }
                match catch_unwind(AssertUnwindSafe(|| io.start(transfer))) {
                    Ok(()) => started.push_back(id),
                    Err(panic) => post.send(Aside::Moved(id, Err(broken(&*panic)))),
                }
            }
            Some(Job::MakeDurable(id, file)) => {
                let result = catch_unwind(AssertUnwindSafe(|| io.make_durable(&file)));
                match result.unwrap_or_else(|panic| Some(Err(broken(&*panic)))) {
                    Some(result) => post.send(Aside::Durable(id, result)),
                    // Storage may take long, and must not delay other files.
                    None => post.run(
                        "storage",
                        move || Aside::Durable(id, file_io::make_durable(&file)),
                        move |panic| Aside::Durable(id, Err(io::Error::other(panic))),
                    ),
                }
            }
            Some(Job::Ask(id, work)) => {
                let result = catch_unwind(AssertUnwindSafe(work))
                    .unwrap_or_else(|panic| Err(Error::Internal(broken(&*panic).to_string())));
                post.send(Aside::Worked(id, result));
            }
            Some(Job::Do(work)) => {
                if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
                    tracing::error!(error = %broken(&*panic), "nobody waits for it");
                }
            }
            None => {
                if let Some(id) = started.pop_front() {
                    let result = catch_unwind(AssertUnwindSafe(|| io.finish(id)));
                    let result = result.unwrap_or_else(|panic| Err(broken(&*panic)));
                    post.send(Aside::Moved(id, result));
                }
            }
        }
    }
}

fn broken(panic: &(dyn Any + Send)) -> io::Error {
    io::Error::other(format!("file I/O panicked: {}", panic_message(panic)))
}
