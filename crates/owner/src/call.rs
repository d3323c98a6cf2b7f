//! Messages to the owner's thread.

use crate::message::{AnyRequest, ClientId};
use crate::participants::{self, Caller, Guest};
use crate::Aside;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use trap::Trapped;

/// Identifier of a request that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TicketId {
    /// The client that made the request.
    pub client: ClientId,
    /// Sequence number of the request within the client.
    pub ticket: u64,
}

/// A message to the owner's thread.
#[derive(Debug)]
pub(crate) enum Message {
    /// A request to begin.
    Begin(Call),
    /// A program's access to shared memory that was trapped.
    Trap(Trapped),
    /// The answer to this request is not awaited any more.
    Cancel(TicketId),
    /// The last handle of a client is gone.
    ClientEnded(ClientId),
    /// A client has ended; no message of it will follow.
    Forget(ClientId),
    /// A change of a participant: a host thread that virtual time waits for.
    Participant(participants::Change),
    /// Work on another thread is complete.
    Aside(Aside),
    /// The last handle of the last client is gone.
    Stop,
}

impl Message {
    /// Whether the message reports that this participant waits again or has
    /// left.
    pub(crate) fn is_of(&self, guest: Guest) -> bool {
        match self {
            Self::Begin(call) => call
                .caller
                .is_some_and(|caller| caller.participant == guest.participant),
            Self::Trap(trap) => trap.thread == guest.thread,
            Self::Participant(change) => change.participant() == guest.participant,
            _ => false,
        }
    }
}

/// A request, with the receiver of its answer.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) ticket: TicketId,
    pub(crate) client: ClientId,
    pub(crate) caller: Option<Caller>,
    pub(crate) request: AnyRequest,
}

/// Wakes the owner's thread while it waits for the card.
pub(crate) type Bell = Arc<AtomicBool>;
