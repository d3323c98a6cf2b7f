//! Requests that wait: each is a task, and the owner's thread resumes a task when the event it waits for has occurred.
//!
//! A task is an `async` function, so it reads from top to bottom, and the compiler generates its states. It borrows
//! rooms of the [`Owner`] by name, until its next wait. State may change during a wait: names are looked up again
//! after it. Tasks wait for one of three things: the card ([`OwnerRef::card`]), work on another thread
//! ([`OwnerRef::beside`]), or another task ([`OwnerRef::claim`], [`OwnerRef::until`]).

use super::clients::Clients;
use super::handles::{Handles, MappedRange};
use super::kernels::Kernels;
use super::lane::told;
use super::lane::Post;
use super::paging::Paging;
use super::tasks::Tasks;
use super::tenants::Tenants;
use super::{Aside, Owner, OwnerOptions};
use crate::message::{ClientId, LoadId, MappingId, Progress};
use card::CardError;
use error::Error;
use pager::{Event, RequestId, Success};
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::Poll;
use units::{Picoseconds, SlotId};

/// The owner, as tasks access it.
#[derive(Clone)]
pub(super) struct OwnerRef(Rc<Owner>);

/// Guard: while it lives, a task waits for the card, so virtual time may pass.
struct NeedsCard<'a>(&'a OwnerRef);

/// Guard: while it lives, virtual time stops at a certain moment, at which a task polls.
pub(super) struct Alarm<'a>(&'a OwnerRef, u64);

/// Guard: while it lives, no other task changes the state of a slot.
pub(super) struct Claim<'a>(&'a OwnerRef, SlotId);

/// Guard: while it lives, the result of work on another thread is awaited.
struct OpenAside<'a>(&'a OwnerRef, u64);

impl Drop for OpenAside<'_> {
    fn drop(&mut self) {
        self.0.tasks(|tasks| tasks.forget_aside(self.1));
    }
}

impl Drop for NeedsCard<'_> {
    fn drop(&mut self) {
        self.0.tasks(|tasks| tasks.leave_card());
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.tasks(|tasks| tasks.forget_alarm(self.1));
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.tasks(|tasks| tasks.release(self.1));
    }
}

impl OwnerRef {
    pub(super) fn new(owner: Owner) -> Self {
        Self(Rc::new(owner))
    }

    // A room is borrowed while `act` runs, which does not wait. Nested borrows follow this order, and no room is
    // borrowed twice: `tools/test_architecture.py` checks both.

    /// Names of objects, and the client of each.
    pub(crate) fn handles<T>(&self, act: impl FnOnce(&mut Handles) -> T) -> T {
        act(&mut self.0.handles.borrow_mut())
    }

    /// Tenants and quotas.
    pub(crate) fn tenants<T>(&self, act: impl FnOnce(&mut Tenants) -> T) -> T {
        act(&mut self.0.tenants.borrow_mut())
    }

    /// Statistics of clients.
    pub(crate) fn clients<T>(&self, act: impl FnOnce(&mut Clients) -> T) -> T {
        act(&mut self.0.clients.borrow_mut())
    }

    /// Paging, without the card.
    pub(crate) fn paging<T>(&self, act: impl FnOnce(&mut Paging) -> T) -> T {
        act(&mut self.0.paging.borrow_mut())
    }

    /// Paging, with the card.
    pub(crate) fn paging_with<T>(&self, act: impl FnOnce(&mut Paging, &mut Kernels) -> T) -> T {
        self.paging(|paging| self.kernels(|kernels| act(paging, kernels)))
    }

    /// The card and its kernels.
    pub(crate) fn kernels<T>(&self, act: impl FnOnce(&mut Kernels) -> T) -> T {
        act(&mut self.0.kernels.borrow_mut())
    }

    /// Alarms, claims and pending results of tasks.
    pub(crate) fn tasks<T>(&self, act: impl FnOnce(&mut Tasks) -> T) -> T {
        act(&mut self.0.tasks.borrow_mut())
    }

    /// Virtual time, bytes and faults so far.
    pub(crate) fn progress(&self) -> Progress {
        self.paging_with(|paging, kernels| paging.progress(kernels))
    }

    /// The slot of a client's kernel.
    pub(crate) fn slot_of(&self, client: ClientId, load: LoadId) -> Result<SlotId, Error> {
        self.handles(|handles| handles.slot(client, load))
    }

    /// The range of a client's mapping.
    pub(crate) fn range_of(
        &self,
        client: ClientId,
        mapping: MappingId,
    ) -> Result<MappedRange, Error> {
        self.handles(|handles| handles.mapping(client, mapping))
    }

    /// The owner's options.
    pub(crate) fn options(&self) -> &OwnerOptions {
        &self.0.options
    }

    /// The channel for results of work on other threads.
    pub(crate) fn post(&self) -> &Post {
        &self.0.post
    }

    /// Waits, while the card works, until `look` returns a result.
    pub(super) async fn card<T>(
        &self,
        mut look: impl FnMut() -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        self.tasks(|tasks| tasks.need_card());
        let _needs = NeedsCard(self);
        poll_fn(|_| {
            let found = match look() {
                Ok(None) => self.tasks(|tasks| tasks.trouble()).map(Err),
                found => found.transpose(),
            };
            found.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Waits for the progress of other tasks, until the condition holds.
    pub(super) async fn until(&self, mut so_far: impl FnMut() -> bool) {
        poll_fn(|_| match so_far() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    /// Stops virtual time at this moment, whatever else happens.
    pub(super) fn alarm(&self, at: Picoseconds) -> Alarm<'_> {
        let id = self.tasks(|tasks| tasks.set_alarm(at));
        Alarm(self, id)
    }

    /// Waits until no other task changes the state of the slot, and excludes others.
    pub(super) async fn claim(&self, slot: SlotId) -> Claim<'_> {
        self.until(|| self.tasks(|tasks| tasks.claim(slot))).await;
        Claim(self, slot)
    }

    /// Sends the pager an event, and waits for its answer.
    pub(super) async fn ask(
        &self,
        event: impl FnOnce(RequestId) -> Event,
    ) -> Result<Success, Error> {
        let request = self.paging_with(|paging, kernels| paging.ask(kernels, event))?;
        self.answer(request).await
    }

    /// Waits for the pager's answer to an earlier event.
    pub(super) async fn answer(&self, request: RequestId) -> Result<Success, Error> {
        self.card(|| self.paging(|paging| Ok(paging.take_answer(request))))
            .await?
    }

    /// Runs `work` on a new thread. It takes no virtual time.
    pub(super) async fn beside(
        &self,
        what: &'static str,
        work: impl FnOnce() -> Result<(), CardError> + Send + 'static,
    ) -> Result<(), Error> {
        let id = self.tasks(|tasks| {
            let id = tasks.open_aside();
            self.post().beside(
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

    /// The result of [`aside`](Self::aside) as an I/O result.
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
            let result = self.tasks(|tasks| tasks.take_aside(id));
            result.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// The message of a panic, as an error.
pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    Error::Internal(format!("the owner's thread panicked: {}", told(panic)))
}
