//! The thread that moves bytes of files, so that a slow file holds up nobody but who waits for it.

use super::Aside;
use crate::call::{Bell, Message};
use file_io::{check_length, FileIo, Transfer, TransferId};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;

/// What the thread is asked.
enum Job {
    Move(Transfer),
    MakeDurable(u64, Arc<File>),
}

/// Where results go.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) sender: Sender<Message>,
    /// Rung when the clock does not wait for results anyway.
    pub(super) bell: Option<Bell>,
}

impl Post {
    pub(super) fn send(&self, aside: Aside) {
        // An owner that has ended wants no result.
        let _ = self.sender.send(Message::Aside(aside));
        if let Some(bell) = &self.bell {
            bell.store(true, Ordering::Release);
        }
    }

    /// Does something on a thread of its own; a panic there is a result too.
    pub(super) fn beside(
        &self,
        what: &'static str,
        work: impl FnOnce() -> Aside + Send + 'static,
        lost: impl FnOnce(String) -> Aside + Clone + Send + 'static,
    ) {
        let post = self.clone();
        let no_thread = lost.clone();
        let run = move || {
            let result = catch_unwind(AssertUnwindSafe(work));
            post.send(result.unwrap_or_else(|panic| lost(told(&*panic))));
        };
        let name = format!("tombolo-{what}");
        if let Err(error) = threads::spawn(&name, run) {
            self.send(no_thread(format!("no thread could be started: {error}")));
        }
    }
}

/// The words of a panic.
pub(super) fn told(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason given".to_owned())
}

/// The owner's end of it.
pub(super) struct IoThread {
    name: &'static str,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl IoThread {
    pub(super) fn new(io: Box<dyn FileIo>, post: Post) -> io::Result<Self> {
        let name = io.name();
        let (jobs, inbox) = channel();
        let thread = threads::spawn("tombolo-io", move || run(io, &inbox, &post))?;
        Ok(Self {
            name,
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// `io_uring` or `blocking`.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn start(&self, transfer: Transfer) {
        self.send(Job::Move(transfer));
    }

    pub(super) fn make_durable(&self, id: u64, file: Arc<File>) {
        self.send(Job::MakeDurable(id, file));
    }

    fn send(&self, job: Job) {
        // The thread ends only when this does.
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
    }
}

impl Drop for IoThread {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
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
                    // Storage may take long, and other files must not wait for it.
                    None => post.beside(
                        "storage",
                        move || Aside::Durable(id, file_io::make_durable(&file)),
                        move |panic| Aside::Durable(id, Err(io::Error::other(panic))),
                    ),
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

fn broken(panic: &(dyn std::any::Any + Send)) -> io::Error {
    io::Error::other(format!("file I/O panicked: {}", told(panic)))
}
