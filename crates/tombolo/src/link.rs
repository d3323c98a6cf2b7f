//! The way from a client to its owner: a call within the process today, a socket later.

use crate::error::Error;
use crate::message::{Reply, Request};
use crate::owner::Owner;
use crate::trap::{Desk, Ticket};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use units::Picoseconds;

/// Virtual time between two reports of progress.
const SLICE: Picoseconds = Picoseconds::from_micros(100);
/// The same when programs share memory: a trapped thread waits for the slice under way.
const SLICE_WHEN_SHARING: Picoseconds = Picoseconds::from_micros(5);

struct Shared {
    /// Who comes next: a thread that has just had the owner does not overtake one that waits.
    turn: Mutex<()>,
    owner: Mutex<Owner>,
    desk: Mutex<Weak<Desk>>,
    /// A program has shared memory.
    sharing: AtomicBool,
}

impl Shared {
    fn call(&self, request: Request) -> Result<Reply, Error> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // A panic of another client's thread leaves the owner between two events, where it is whole.
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        drop(turn);
        owner.handle(request)
    }
}

/// A client's connection to the owner of a card.
#[derive(Clone)]
pub(crate) struct Link {
    shared: Arc<Shared>,
}

impl Link {
    pub(crate) fn new(owner: Owner) -> Self {
        Self {
            shared: Arc::new(Shared {
                turn: Mutex::new(()),
                owner: Mutex::new(owner),
                desk: Mutex::new(Weak::new()),
                sharing: AtomicBool::new(false),
            }),
        }
    }

    pub(crate) fn call(&self, request: Request) -> Result<Reply, Error> {
        self.shared.call(request)
    }

    /// How long to let time pass at once.
    pub(crate) fn slice(&self) -> Picoseconds {
        match self.shared.sharing.load(Ordering::Relaxed) {
            true => SLICE_WHEN_SHARING,
            false => SLICE,
        }
    }

    /// Who answers the traps of the memory that is shared with this card.
    ///
    /// # Errors
    /// See [`Desk::open`].
    pub(crate) fn desk(&self) -> io::Result<Arc<Desk>> {
        let mut desk = self
            .shared
            .desk
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = desk.upgrade() {
            return Ok(open);
        }
        // The desk must not keep the card open.
        let shared = Arc::downgrade(&self.shared);
        let serve = move |address, write, ticket: Ticket| {
            let Some(shared) = shared.upgrade() else {
                return;
            };
            let request = Request::Trap {
                address,
                write,
                ticket,
            };
            if let Err(error) = shared.call(request) {
                tracing::error!(%error, address, write, "an access to shared memory could not be served");
            }
        };
        let open = Arc::new(Desk::open(serve)?);
        *desk = Arc::downgrade(&open);
        self.shared.sharing.store(true, Ordering::Relaxed);
        Ok(open)
    }

    /// Whether both lead to the same owner.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// For requests whose only good answer is `Done`.
    pub(crate) fn tell(&self, request: Request) -> Result<(), Error> {
        match self.call(request)? {
            Reply::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}

pub(crate) fn unexpected(reply: &Reply) -> Error {
    Error::Internal(format!("unexpected answer {reply:?}"))
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Link")
    }
}
