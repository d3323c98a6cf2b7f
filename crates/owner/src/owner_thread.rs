//! The clients' handle of the owner's thread.

use crate::call::{Bell, Call, Message, TicketId};
use crate::message::{AnyRequest, ClientId};
use crate::participants::{Caller, Change};
use error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use trap::TrapQueue;

/// Handle of the owner's thread. The thread ends with the last client: when it is closed, or when its last
/// handle is dropped.
#[derive(Debug)]
pub struct OwnerThread {
    sender: Sender<Message>,
    bell: Bell,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Number of clients that are neither closed nor gone.
    open: AtomicUsize,
    /// All clients were closed, so the thread has ended.
    closed: AtomicBool,
    /// Identifier of the thread's process. A forked child inherits the handles, but not the thread.
    process: u32,
    clients: AtomicU64,
    participants: AtomicU64,
    /// Trap queue of the memory that is shared with this card.
    traps: Mutex<Weak<TrapQueue>>,
}

impl OwnerThread {
    /// Creates the handle; the thread runs until [`Message::Stop`].
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

    /// Adds a client.
    pub fn join(&self) -> ClientId {
        self.open.fetch_add(1, Ordering::AcqRel);
        ClientId(self.clients.fetch_add(1, Ordering::Relaxed))
    }

    /// Whether this is the process that opened the card, and not a forked child.
    pub fn is_here(&self) -> bool {
        std::process::id() == self.process
    }

    /// Begins a request; its reply goes to the receiver it contains.
    ///
    /// # Errors
    /// The thread has ended, or belongs to the parent of this process; the same for all calls here.
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

    /// Gives up the answer to a request.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn cancel(&self, ticket: TicketId) -> Result<(), Error> {
        self.send(Message::Cancel(ticket))
    }

    /// Reports that the last handle of a client is gone.
    pub fn leave(&self, client: ClientId) {
        // An owner that has ended has no clients.
        let _ = self.send(Message::ClientEnded(client));
        self.client_ends();
    }

    /// Reports that a client was closed. After the last client the thread has nothing left to do, and ends.
    pub fn client_ends(&self) {
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 && self.is_here() {
            self.closed.store(true, Ordering::Release);
            self.stop();
        }
    }

    /// Reports that a client has ended and sends nothing more: its records for reports are dropped.
    pub fn forget(&self, client: ClientId) {
        // An owner that has ended has no records.
        let _ = self.send(Message::Forget(client));
    }

    /// A number for a new participant.
    pub fn next_participant(&self) -> u64 {
        self.participants.fetch_add(1, Ordering::Relaxed)
    }

    /// Reports a change of a participant.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn change(&self, change: Change) -> Result<(), Error> {
        threads::as_guest(|| self.send(Message::Participant(change)))
    }

    /// The trap queue of the memory that is shared with this card, for a block of `bytes` bytes.
    ///
    /// # Errors
    /// As [`TrapQueue::open`].
    pub fn trap_queue(self: &Arc<Self>, bytes: usize) -> Result<Arc<TrapQueue>, Error> {
        let mut queue = self.traps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = queue.upgrade() {
            return Ok(open);
        }
        // The trap queue must not keep the card open.
        let owner = Arc::downgrade(self);
        let open = TrapQueue::open(move |trap| {
            // A trap that does not reach the owner ends as the access would have ended without trapping.
            if let Some(owner) = owner.upgrade() {
                let _ = owner.send(Message::Trap(trap));
            }
        });
        let open = Arc::new(open.map_err(|source| Error::Unshareable { bytes, source })?);
        *queue = Arc::downgrade(&open);
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

    /// The error of a call after the thread has ended.
    pub fn ended(&self) -> Error {
        match self.closed.load(Ordering::Acquire) {
            true => closed(),
            false => Error::Internal("the owner's thread has ended".to_owned()),
        }
    }

    /// Ends the thread and releases its resources: the card, its descriptors, its memory.
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
            // In a forked child there is no such thread to join or to detach.
            return std::mem::forget(thread);
        }
        let _ = self.send(Message::Stop);
        // A panic there was reported to every waiting request.
        let _ = thread.join();
    }
}

impl Drop for OwnerThread {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The reason why a card is unusable in a child of the process that opened it.
pub const ACROSS_FORK: &str =
    "it belongs to the parent of this process; a card cannot be used across fork";

/// The error for a client that was closed.
pub(crate) fn closed() -> Error {
    Error::Gone {
        what: "the card".to_owned(),
        why: "it was closed; open another".into(),
    }
}
