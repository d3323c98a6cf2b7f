//! Waits of tasks: for the card, for work on another thread, for another task, or for a moment in virtual time.
//!
//! The owner's thread resumes a task when the event it waits for has occurred.

use crate::lane::Post;
use crate::rooms::Room;
use crate::tasks::Tasks;
use crate::Aside;
use card::CardError;
use error::Error;
use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::Poll;
use units::{Picoseconds, SlotId};

/// The waits of tasks.
#[derive(Clone)]
pub(crate) struct Waits {
    tasks: Room<Tasks>,
    post: Post,
}

/// Guard: while it lives, a task waits for the card, so virtual time may pass.
struct NeedsCard<'a>(&'a Room<Tasks>);

/// Guard: while it lives, virtual time stops at a certain moment, at which a task polls.
pub(crate) struct Alarm<'a>(&'a Room<Tasks>, u64);

/// Guard: while it lives, no other task changes the state of a slot.
pub(crate) struct SlotClaim<'a>(&'a Room<Tasks>, SlotId);

/// Guard: while it lives, the result of work on another thread is awaited.
struct OpenAside<'a>(&'a Room<Tasks>, u64);

/// Guard: when it ends, work on another thread is not awaited any more.
#[derive(Default)]
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Drop for OpenAside<'_> {
    fn drop(&mut self) {
        self.0.lend(|tasks| tasks.forget_aside(self.1));
    }
}

impl Drop for NeedsCard<'_> {
    fn drop(&mut self) {
        self.0.lend(|tasks| tasks.leave_card());
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.lend(|tasks| tasks.forget_alarm(self.1));
    }
}

impl Drop for SlotClaim<'_> {
    fn drop(&mut self) {
        self.0.lend(|tasks| tasks.release(self.1));
    }
}

impl Waits {
    pub(crate) fn new(tasks: Room<Tasks>, post: Post) -> Self {
        Self { tasks, post }
    }

    /// Waits, while the card works, until `look` returns a result.
    pub(crate) async fn card<T>(
        &self,
        mut look: impl FnMut() -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        self.tasks.lend(|tasks| tasks.need_card());
        let _needs = NeedsCard(&self.tasks);
        poll_fn(|_| {
            let found = match look() {
                Ok(None) => self.tasks.lend(|tasks| tasks.trouble()).map(Err),
                found => found.transpose(),
            };
            found.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Waits for the progress of other tasks, until the condition holds.
    pub(crate) async fn until(&self, mut so_far: impl FnMut() -> bool) {
        poll_fn(|_| match so_far() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    /// Stops virtual time at this moment, whatever else happens.
    pub(crate) fn alarm(&self, at: Picoseconds) -> Alarm<'_> {
        let id = self.tasks.lend(|tasks| tasks.set_alarm(at));
        Alarm(&self.tasks, id)
    }

    /// Waits until no other task changes the state of the slot, and excludes others.
    pub(crate) async fn claim(&self, slot: SlotId) -> SlotClaim<'_> {
        self.until(|| self.tasks.lend(|tasks| tasks.claim(slot)))
            .await;
        SlotClaim(&self.tasks, slot)
    }

    /// Runs `work` on a new thread. It takes no virtual time. Its flag is set when the task no longer waits for it.
    pub(crate) async fn on_thread(
        &self,
        what: &'static str,
        work: impl FnOnce(Arc<AtomicBool>) -> Result<(), CardError> + Send + 'static,
    ) -> Result<(), Error> {
        let abandoned = Abandoned::default();
        let flag = abandoned.0.clone();
        let id = self.tasks.lend(|tasks| {
            let id = tasks.open_aside();
            self.post.run(
                what,
                move || Aside::Worked(id, work(flag).map_err(Error::from)),
                move |panic| {
                    let text = format!("a callback or a build panicked: {panic}");
                    Aside::Worked(id, Err(Error::Internal(text)))
                },
            );
            id
        });
        self.aside(id).await
    }

    /// The result of [`aside`](Self::aside) as an I/O result.
    pub(crate) async fn aside_io(&self, id: u64) -> io::Result<()> {
        match self.aside(id).await {
            Err(Error::File { source, .. }) => Err(source),
            Err(other) => Err(io::Error::other(other.to_string())),
            Ok(()) => Ok(()),
        }
    }

    pub(crate) async fn aside(&self, id: u64) -> Result<(), Error> {
        let _open = OpenAside(&self.tasks, id);
        poll_fn(|_| {
            let result = self.tasks.lend(|tasks| tasks.take_aside(id));
            result.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Lets the card work until an event, at most until a moment in virtual time.
    pub(crate) async fn pause(&self, until: Picoseconds) -> Result<(), Error> {
        let _alarm = self.alarm(until);
        let turns = self.tasks.lend(|tasks| tasks.turns());
        self.card(|| {
            self.tasks
                .lend(|tasks| Ok((tasks.turns() != turns).then_some(())))
        })
        .await
    }
}
