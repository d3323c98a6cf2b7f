//! What reaches the owner's thread.

use crate::message::{AnyRequest, ClientId};
use crate::participants::{self, Caller, Guest};
use crate::Aside;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use trap::Trapped;

/// Names a request that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TicketId {
    /// Whose.
    pub client: ClientId,
    /// By the client's count.
    pub ticket: u64,
}

/// What reaches the owner's thread.
#[derive(Debug)]
pub(crate) enum Message {
    /// A request.
    Begin(Call),
    /// An access of a program to memory that it shares.
    Trap(Trapped),
    /// Nobody waits for the answer any more.
    Cancel(TicketId),
    /// The last handle of a client is gone.
    ClientEnded(ClientId),
    /// A client has ended, and nothing of it will come.
    Forget(ClientId),
    /// A host thread that counts.
    Participant(participants::Change),
    /// Work that was done beside the owner's thread is over.
    Aside(Aside),
    /// The last handle of all is gone.
    Stop,
}

impl Message {
    /// Whether it says that a thread that counts waits again, or has left.
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

/// A request and who waits for its answer.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) ticket: TicketId,
    pub(crate) client: ClientId,
    pub(crate) caller: Option<Caller>,
    pub(crate) request: AnyRequest,
}

/// Wakes the owner's thread while it waits for the card.
pub(crate) type Bell = Arc<AtomicBool>;
