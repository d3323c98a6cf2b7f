//! The way from a client to the owner: a channel to its thread, or a socket to its daemon ([`Served`]).
//!
//! A request is begun and answered later; the ticket waits for the answer. While it waits it asks every
//! now and then whether somebody wants the call to end.

use crate::answer::{answer, Awaited, Found};
use crate::error::Error;
use crate::message::{AnyRequest, Ask, ClientId, ReplyTo};
use crate::participants::{self, Caller, Guest};
use crate::served::Served;
use crate::trap::{Desk, Trapped};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// At most so long until a call that is to end does so.
const PATIENCE: Duration = Duration::from_millis(40);

/// Names a request that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TicketId {
    pub(crate) client: ClientId,
    /// By the client's count.
    pub(crate) ticket: u64,
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
    Aside(crate::owner::Aside),
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

/// Asked by a thread whose call waits; `true` ends the call.
pub(crate) type Watch = Arc<dyn Fn() -> bool + Send + Sync>;

/// A client's connection to the owner of a card. Clones are the same client.
#[derive(Clone)]
pub(crate) struct Link {
    client: Arc<Client>,
}

struct Client {
    id: ClientId,
    watch: Mutex<Option<Watch>>,
    /// It was closed, and is none of the owner's clients any more.
    closed: AtomicBool,
    owner: Owner,
    tickets: AtomicU64,
}

/// Where the owner is.
enum Owner {
    Here(Arc<OwnerThread>),
    Served(Arc<Served>),
}

/// The owner's thread, which ends with the last client: when it is closed, or when its last handle is gone.
pub(crate) struct OwnerThread {
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

/// A request that was begun, whose reply is a `T`.
pub(crate) struct Ticket<'a, T> {
    link: &'a Link,
    ticket: u64,
    answer: Awaited<T>,
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

    fn is_here(&self) -> bool {
        std::process::id() == self.process
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
    fn ended(&self) -> Error {
        match self.closed.load(Ordering::Acquire) {
            true => closed(),
            false => Error::Internal("the owner's thread has ended".to_owned()),
        }
    }

    /// A client is open no more; without any the thread has nothing left to do.
    fn client_ends(&self) {
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 && self.is_here() {
            self.closed.store(true, Ordering::Release);
            self.stop();
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

impl Client {
    fn new(id: ClientId, owner: Owner) -> Arc<Self> {
        Arc::new(Self {
            id,
            watch: Mutex::new(None),
            closed: AtomicBool::new(false),
            owner,
            tickets: AtomicU64::new(0),
        })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A daemon sees that the socket is closed.
        if let (Owner::Here(owner), false) = (&self.owner, self.closed.load(Ordering::Acquire)) {
            let _ = owner.send(Message::ClientEnded(self.id));
            owner.client_ends();
        }
    }
}

impl Owner {
    /// Nobody waits for the answer of a request any more.
    fn cancel(&self, client: ClientId, ticket: u64) -> Result<(), Error> {
        match self {
            Self::Here(owner) => owner.send(Message::Cancel(TicketId { client, ticket })),
            Self::Served(served) => served.cancel(ticket),
        }
    }

    /// Why nobody answers.
    fn ended(&self) -> Error {
        match self {
            Self::Here(owner) => owner.ended(),
            Self::Served(served) => served.ended(),
        }
    }
}

impl Link {
    /// A new client.
    pub(crate) fn new(owner: Arc<OwnerThread>) -> Self {
        let id = ClientId(owner.clients.fetch_add(1, Ordering::Relaxed));
        owner.open.fetch_add(1, Ordering::AcqRel);
        let client = Client::new(id, Owner::Here(owner));
        Self { client }
    }

    /// The client of a daemon.
    pub(crate) fn to_daemon(served: Arc<Served>) -> Self {
        let client = Client::new(served.client(), Owner::Served(served));
        Self { client }
    }

    /// Who the client is.
    pub(crate) fn id(&self) -> ClientId {
        self.client.id
    }

    /// Everything of this client has ended. With the last one the owner's thread ends too, whatever handles there are.
    pub(crate) fn end(&self) {
        let client = &self.client;
        match &client.owner {
            Owner::Here(owner) => {
                if owner.is_here() && !client.closed.swap(true, Ordering::AcqRel) {
                    owner.client_ends();
                }
            }
            Owner::Served(served) => served.hang_up(),
        }
    }

    /// The connection to a daemon ends.
    pub(crate) fn hang_up(&self) {
        if let Owner::Served(served) = &self.client.owner {
            served.hang_up();
        }
    }

    /// Another client of the same owner.
    pub(crate) fn another(&self) -> Self {
        match &self.client.owner {
            Owner::Here(owner) => Self::new(owner.clone()),
            Owner::Served(served) => Self::to_daemon(served.another()),
        }
    }

    /// Calls of this client ask this from now on while they wait.
    pub(crate) fn watch(&self, watch: Watch) {
        let place = self.client.watch.lock();
        *place.unwrap_or_else(PoisonError::into_inner) = Some(watch);
    }

    /// Who answers the traps of the memory that is shared with this card, for a block of so many bytes.
    ///
    /// # Errors
    /// [`Error::NotCarried`]; as [`Desk::open`].
    pub(crate) fn desk(&self, bytes: usize) -> Result<Arc<Desk>, Error> {
        let Owner::Here(owner) = &self.client.owner else {
            return Err(Error::NotCarried {
                what: "memory of the program",
            });
        };
        let mut desk = owner.traps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = desk.upgrade() {
            return Ok(open);
        }
        // The desk must not keep the card open.
        let owner = Arc::downgrade(owner);
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

    /// Begins a request.
    pub(crate) fn begin<R: Ask>(&self, request: R) -> Result<Ticket<'_, R::Reply>, Error> {
        let (answer, awaited) = answer();
        let ticket = self.client.tickets.fetch_add(1, Ordering::Relaxed);
        match &self.client.owner {
            Owner::Here(owner) => {
                let caller = participants::caller(self);
                let request = request.with(ReplyTo::new(answer));
                owner.send(Message::Begin(self.call_of(ticket, caller, request)))?;
            }
            Owner::Served(served) => served.begin(ticket, request.carried()?, answer)?,
        }
        Ok(Ticket {
            link: self,
            ticket,
            answer: awaited,
        })
    }

    /// Begins a request that knows where its reply goes, by a ticket of the caller's. Only of an owner in this process.
    pub(crate) fn begin_any(&self, ticket: u64, request: AnyRequest) -> Result<(), Error> {
        match &self.client.owner {
            Owner::Here(owner) => owner.send(Message::Begin(self.call_of(ticket, None, request))),
            Owner::Served(_) => Err(Error::NotCarried {
                what: "cards of other daemons",
            }),
        }
    }

    /// The client has ended, and nothing of it will come: what is kept of it for its reports goes.
    pub(crate) fn forget(&self) {
        if let Owner::Here(owner) = &self.client.owner {
            // An owner that has ended has forgotten everybody.
            let _ = owner.send(Message::Forget(self.client.id));
        }
    }

    fn call_of(&self, ticket: u64, caller: Option<Caller>, request: AnyRequest) -> Call {
        let client = self.client.id;
        Call {
            ticket: TicketId { client, ticket },
            client,
            caller,
            request,
        }
    }

    /// Nobody waits for the answer of a request any more.
    pub(crate) fn cancel(&self, ticket: u64) -> Result<(), Error> {
        self.client.owner.cancel(self.client.id, ticket)
    }

    /// Begins a request and waits for its answer.
    pub(crate) fn call<R: Ask>(&self, request: R) -> Result<R::Reply, Error> {
        // Signals of the program come in while it sleeps.
        threads::as_guest(|| self.begin(request)?.wait())
    }

    /// The owner's thread, for what only a process has.
    fn here(&self, what: &'static str) -> Result<&OwnerThread, Error> {
        match &self.client.owner {
            Owner::Here(owner) => Ok(owner),
            Owner::Served(_) => Err(Error::NotCarried { what }),
        }
    }

    pub(crate) fn next_participant(&self) -> Result<u64, Error> {
        let owner = self.here("host threads that count (participants)")?;
        Ok(owner.participants.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn change(&self, change: participants::Change) -> Result<(), Error> {
        let owner = self.here("host threads that count (participants)")?;
        threads::as_guest(|| owner.send(Message::Participant(change)))
    }

    /// Whether both lead to the same owner. Of a daemon, that each connection is another client's is all that is known.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.client.owner, &other.client.owner) {
            (Owner::Here(one), Owner::Here(other)) => Arc::ptr_eq(one, other),
            (Owner::Served(one), Owner::Served(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Whether somebody asks for this client's calls to end.
    pub(crate) fn is_to_end(&self) -> bool {
        let watch = self.client.watch.lock();
        let watch = watch.unwrap_or_else(PoisonError::into_inner).clone();
        watch.is_some_and(|watch| watch())
    }
}

impl<T> Ticket<'_, T> {
    /// Waits for the answer.
    pub(crate) fn wait(self) -> Result<T, Error> {
        loop {
            let began = Instant::now();
            threads::as_program(|| self.answer.sleep(PATIENCE));
            match self.answer.look() {
                Found::Reply(answer) => return answer,
                Found::Never => return Err(self.link.client.owner.ended()),
                // A signal may have ended the sleep before its time.
                Found::NotYet if began.elapsed() < PATIENCE => {}
                Found::NotYet if threads::as_program(|| self.link.is_to_end()) => {
                    self.link.cancel(self.ticket)?;
                    return Err(Error::Interrupted);
                }
                Found::NotYet => {}
            }
        }
    }
}

/// Why a card is gone in a child of the process that opened it.
pub(crate) const ACROSS_FORK: &str =
    "it belongs to the parent of this process; a card cannot be used across fork";

/// What a client that was closed is told.
pub(crate) fn closed() -> Error {
    Error::Gone {
        what: "the card".to_owned(),
        why: "it was closed; open another".into(),
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Link").field(&self.client.id.0).finish()
    }
}
