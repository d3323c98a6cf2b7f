//! The way from a client to its owner: a call within the process today, a socket later.

use crate::error::Error;
use crate::message::{Reply, Request};
use crate::owner::Owner;
use std::sync::{Arc, Mutex, PoisonError};

/// A client's connection to the owner of a card.
#[derive(Clone)]
pub(crate) struct Link {
    owner: Arc<Mutex<Owner>>,
}

impl Link {
    pub(crate) fn new(owner: Owner) -> Self {
        Self {
            owner: Arc::new(Mutex::new(owner)),
        }
    }

    pub(crate) fn call(&self, request: Request) -> Result<Reply, Error> {
        // A panic of another client's thread leaves the owner between two events, where it is whole.
        self.owner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .handle(request)
    }

    /// Whether both lead to the same owner.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.owner, &other.owner)
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
