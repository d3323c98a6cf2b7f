//! The owner's thread, as its clients hold it.

use crate::call::{Bell, Call, Message, TicketId};
use crate::message::{AnyRequest, ClientId};
use crate::participants::{Caller, Change};
use error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use trap::Desk;

/// The owner's thread, which ends with the last client: when it is closed, or when its last handle is gone.
#[derive(Debug)]
pub struct OwnerThread {
    sender: Sender<Message>,
    bell: Bell,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Clients that are neither closed nor gone.
    open: AtomicUsize,
    /// All were closed, so the thread has ended.
    closed: AtomicBool,
    /// Where the thread is. A forked child has the handles, and nobody who would answer.
    process: u32,
    clients: AtomicU64,
    participants: AtomicU64,
    /// Who answers the traps of the memory that is shared with this card.
    traps: Mutex<Weak<Desk>>,
}

impl OwnerThread {
    /// The thread runs until [`Message::Stop`].
    pub(crate) fn new(sender: Sender<Message>, bell: Bell, thread: JoinHandle<()>) -> Arc<Self> {
        Arc::new(Self {
            sender,
            bell,
            thread: Mutex::new(Some(thread)),
            open: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            process: std::process::id(),
            clients: AtomicU64::new(0),
            participants: AtomicU64::new(0),
            traps: Mutex::new(Weak::new()),
        })
    }

    /// A new client.
    pub fn join(&self) -> ClientId {
        self.open.fetch_add(1, Ordering::AcqRel);
        ClientId(self.clients.fetch_add(1, Ordering::Relaxed))
    }

    /// Not in a child of the process that opened the card.
    pub fn is_here(&self) -> bool {
        std::process::id() == self.process
    }

    /// Begins a request, whose reply goes where it says.
    ///
    /// # Errors
    /// As all calls here: the thread has ended, or belongs to the parent of this process.
    pub fn begin(
        &self,
        ticket: TicketId,
        caller: Option<Caller>,
        request: AnyRequest,
    ) -> Result<(), Error> {
        self.send(Message::Begin(Call {
            ticket,
            client: ticket.client,
            caller,
            request,
        }))
    }

    /// Nobody waits for the answer of a request any more.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn cancel(&self, ticket: TicketId) -> Result<(), Error> {
        self.send(Message::Cancel(ticket))
    }

    /// The last handle of a client is gone.
    pub fn leave(&self, client: ClientId) {
        // An owner that has ended knows of nobody.
        let _ = self.send(Message::ClientEnded(client));
        self.client_ends();
    }

    /// A client was closed. Without any other the thread has nothing left to do, and ends.
    pub fn client_ends(&self) {
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 && self.is_here() {
            self.closed.store(true, Ordering::Release);
            self.stop();
        }
    }

    /// A client has ended, and nothing of it will come: what is kept of it for its reports goes.
    pub fn forget(&self, client: ClientId) {
        // An owner that has ended has forgotten everybody.
        let _ = self.send(Message::Forget(client));
    }

    /// A number for a host thread that counts.
    pub fn next_participant(&self) -> u64 {
        self.participants.fetch_add(1, Ordering::Relaxed)
    }

    /// Something is new about a host thread that counts.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn change(&self, change: Change) -> Result<(), Error> {
        threads::as_guest(|| self.send(Message::Participant(change)))
    }

    /// Who answers the traps of the memory that is shared with this card, for a block of so many bytes.
    ///
    /// # Errors
    /// As [`Desk::open`].
    pub fn desk(self: &Arc<Self>, bytes: usize) -> Result<Arc<Desk>, Error> {
        let mut desk = self.traps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = desk.upgrade() {
            return Ok(open);
        }
        // The desk must not keep the card open.
        let owner = Arc::downgrade(self);
        let open = Desk::open(move |trap| {
            // What the owner does not get ends as the access would have without us.
            if let Some(owner) = owner.upgrade() {
                let _ = owner.send(Message::Trap(trap));
            }
        });
        let open = Arc::new(open.map_err(|source| Error::Unshareable { bytes, source })?);
        *desk = Arc::downgrade(&open);
        Ok(open)
    }

    fn send(&self, message: Message) -> Result<(), Error> {
        if !self.is_here() {
            return Err(Error::Gone {
                what: "the card".to_owned(),
                why: ACROSS_FORK.into(),
            });
        }
        self.sender.send(message).map_err(|_| self.ended())?;
        self.bell.store(true, Ordering::Release);
        Ok(())
    }

    /// Why nobody answers.
    pub fn ended(&self) -> Error {
        match self.closed.load(Ordering::Acquire) {
            true => closed(),
            false => Error::Internal("the owner's thread has ended".to_owned()),
        }
    }

    /// Ends the thread, and what it has: the card, its descriptors, its memory.
    fn stop(&self) {
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(thread) = thread else {
            return;
        };
        if !self.is_here() {
            // There is no such thread to wait for, nor to let go.
            return std::mem::forget(thread);
        }
        let _ = self.send(Message::Stop);
        // A panic there was answered to everybody who waited.
        let _ = thread.join();
    }
}

impl Drop for OwnerThread {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Why a card is gone in a child of the process that opened it.
pub const ACROSS_FORK: &str =
    "it belongs to the parent of this process; a card cannot be used across fork";

/// What a client that was closed is told.
pub(crate) fn closed() -> Error {
    Error::Gone {
        what: "the card".to_owned(),
        why: "it was closed; open another".into(),
    }
}
