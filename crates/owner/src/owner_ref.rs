//! Requests that take their time: each is a task of its own, and the owner's thread goes on with a task when
//! what it waits for has come.
//!
//! A task is an `async` function, so it reads from top to bottom, and the compiler makes its states.
//! Between two waits it has the [`Owner`] to itself, so what it saw before a wait may be different after:
//! names are looked up anew. Tasks wait for one of three things: the card ([`OwnerRef::card`]), work beside the
//! owner's thread ([`OwnerRef::beside`]), or another task ([`OwnerRef::claim`], [`OwnerRef::until`]).

use super::lane::told;
use super::{Aside, Owner};
use card::CardError;
use error::Error;
use pager::{Event, RequestId, Success};
use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::Poll;
use units::{Picoseconds, SlotId};

/// The owner, as tasks see it.
#[derive(Clone)]
pub(super) struct OwnerRef(Rc<RefCell<Owner>>);

/// While it lives, a task waits for the card, and virtual time has a reason to pass.
struct NeedsCard<'a>(&'a OwnerRef);

/// While it lives, time stops at a certain moment, for a task that looks then.
pub(super) struct Alarm<'a>(&'a OwnerRef, u64);

/// While it lives, no other task changes the state of a slot.
pub(super) struct Claim<'a>(&'a OwnerRef, SlotId);

/// While it lives, somebody waits for work beside the owner's thread.
struct OpenAside<'a>(&'a OwnerRef, u64);

impl Drop for OpenAside<'_> {
    fn drop(&mut self) {
        self.0.with(|owner| owner.tasks.forget_aside(self.1));
    }
}

impl Drop for NeedsCard<'_> {
    fn drop(&mut self) {
        self.0.with(|owner| owner.tasks.leave_card());
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.with(|owner| owner.tasks.forget_alarm(self.1));
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.with(|owner| owner.tasks.release(self.1));
    }
}

impl OwnerRef {
    pub(super) fn new(owner: Owner) -> Self {
        Self(Rc::new(RefCell::new(owner)))
    }

    /// The owner, until the next wait.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Owner) -> T) -> T {
        act(&mut self.0.borrow_mut())
    }

    /// Waits, while the card works, until `look` finds something.
    pub(super) async fn card<T>(
        &self,
        mut look: impl FnMut(&mut Owner) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        self.with(|owner| owner.tasks.need_card());
        let _needs = NeedsCard(self);
        poll_fn(|_| {
            self.with(|owner| match look(owner) {
                Ok(Some(found)) => Poll::Ready(Ok(found)),
                Err(error) => Poll::Ready(Err(error)),
                Ok(None) => match owner.tasks.trouble() {
                    Some(trouble) => Poll::Ready(Err(trouble)),
                    None => Poll::Pending,
                },
            })
        })
        .await
    }

    /// Waits until other tasks have come so far.
    pub(super) async fn until(&self, mut so_far: impl FnMut(&mut Owner) -> bool) {
        poll_fn(|_| match self.with(&mut so_far) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    /// Time stops at this moment, whatever else happens.
    pub(super) fn alarm(&self, at: Picoseconds) -> Alarm<'_> {
        let id = self.with(|owner| owner.tasks.set_alarm(at));
        Alarm(self, id)
    }

    /// Waits until no other task changes the state of the slot, and keeps others from it.
    pub(super) async fn claim(&self, slot: SlotId) -> Claim<'_> {
        self.until(|owner| owner.tasks.claim(slot)).await;
        Claim(self, slot)
    }

    /// Asks the pager, and waits for its answer.
    pub(super) async fn ask(
        &self,
        event: impl FnOnce(RequestId) -> Event,
    ) -> Result<Success, Error> {
        let request = self.with(|owner| owner.paging.ask(&mut owner.kernels, event))?;
        self.answer(request).await
    }

    /// Waits for the pager's answer to something that it was told.
    pub(super) async fn answer(&self, request: RequestId) -> Result<Success, Error> {
        self.card(|owner| Ok(owner.paging.take_answer(request)))
            .await?
    }

    /// Does something on a thread of its own. It costs no virtual time.
    pub(super) async fn beside(
        &self,
        what: &'static str,
        work: impl FnOnce() -> Result<(), CardError> + Send + 'static,
    ) -> Result<(), Error> {
        let id = self.with(|owner| {
            let id = owner.tasks.open_aside();
            owner.post.beside(
                what,
                move || Aside::Worked(id, work().map_err(Error::from)),
                move |panic| {
                    let text = format!("a callback or a build panicked: {panic}");
                    Aside::Worked(id, Err(Error::Internal(text)))
                },
            );
            id
        });
        self.aside(id).await
    }

    /// The result of [`aside`](Self::aside) that is the system's.
    pub(super) async fn aside_io(&self, id: u64) -> io::Result<()> {
        match self.aside(id).await {
            Err(Error::File { source, .. }) => Err(source),
            Err(other) => Err(io::Error::other(other.to_string())),
            Ok(()) => Ok(()),
        }
    }

    pub(super) async fn aside(&self, id: u64) -> Result<(), Error> {
        let _open = OpenAside(self, id);
        poll_fn(|_| {
            let result = self.with(|owner| owner.tasks.take_aside(id));
            result.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// The words of a panic, as an error.
pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    Error::Internal(format!("the owner's thread panicked: {}", told(panic)))
}
