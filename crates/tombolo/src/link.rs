//! The way from a client to the owner: a channel to its thread, or a socket to its daemon ([`Served`]).
//!
//! A request is begun and answered later; the ticket waits for the answer. While it waits it asks every
//! now and then whether somebody wants the call to end.

use crate::participant;
use crate::served::Served;
use error::Error;
use owner::answer::{answer, Awaited, Found};
use owner::message::{AnyRequest, Ask, ClientId, Close, ReplyTo};
use owner::{OwnerThread, TicketId};
use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use trap::Desk;

/// At most so long until a call that is to end does so.
const PATIENCE: Duration = Duration::from_millis(40);

/// At most so long a process that ends waits for bytes that are written back.
const PATIENCE_AT_END: Duration = Duration::from_secs(30);

/// The clients of owners in this process, so that none is forgotten at its end.
static CLIENTS: Mutex<Vec<Weak<Client>>> = Mutex::new(Vec::new());

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

/// A request that was begun, whose reply is a `T`.
pub(crate) struct Ticket<'a, T> {
    link: &'a Link,
    ticket: u64,
    answer: Awaited<T>,
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
            owner.leave(self.id);
        }
    }
}

impl Owner {
    /// Nobody waits for the answer of a request any more.
    fn cancel(&self, client: ClientId, ticket: u64) -> Result<(), Error> {
        match self {
            Self::Here(owner) => owner.cancel(TicketId { client, ticket }),
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
        threads::at_end_of_process(close_all);
        let client = Client::new(owner.join(), Owner::Here(owner));
        let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|client| client.strong_count() > 0);
        clients.push(Arc::downgrade(&client));
        drop(clients);
        Self { client }
    }

    /// Ends everything of this client, and the client.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let closed = self.call(Close);
        // One that was interrupted goes on.
        if !matches!(closed, Err(Error::Interrupted)) {
            self.end();
        }
        closed
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
        self.here("memory of the program")?.desk(bytes)
    }

    /// Begins a request.
    pub(crate) fn begin<R: Ask>(&self, request: R) -> Result<Ticket<'_, R::Reply>, Error> {
        let (answer, awaited) = answer();
        let ticket = self.client.tickets.fetch_add(1, Ordering::Relaxed);
        match &self.client.owner {
            Owner::Here(owner) => {
                let caller = participant::caller(owner);
                let request = request.with(ReplyTo::new(answer));
                owner.begin(self.named(ticket), caller, request)?;
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
            Owner::Here(owner) => owner.begin(self.named(ticket), None, request),
            Owner::Served(_) => Err(Error::NotCarried {
                what: "cards of other daemons",
            }),
        }
    }

    /// The client has ended, and nothing of it will come: what is kept of it for its reports goes.
    pub(crate) fn forget(&self) {
        if let Owner::Here(owner) = &self.client.owner {
            owner.forget(self.client.id);
        }
    }

    fn named(&self, ticket: u64) -> TicketId {
        let client = self.client.id;
        TicketId { client, ticket }
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
    ///
    /// # Errors
    /// [`Error::NotCarried`]: it is a daemon's.
    pub(crate) fn here(&self, what: &'static str) -> Result<&Arc<OwnerThread>, Error> {
        match &self.client.owner {
            Owner::Here(owner) => Ok(owner),
            Owner::Served(_) => Err(Error::NotCarried { what }),
        }
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

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Link").field(&self.client.id.0).finish()
    }
}

/// The process ends: what its program has not closed is closed, so that the bytes that kernels wrote reach their files.
/// Nobody else is left to hear that they did not.
fn close_all() {
    let clients = std::mem::take(&mut *CLIENTS.lock().unwrap_or_else(PoisonError::into_inner));
    let begun = Instant::now();
    for client in clients.iter().filter_map(Weak::upgrade) {
        let Owner::Here(owner) = &client.owner else {
            continue;
        };
        if !owner.is_here() || client.closed.load(Ordering::Acquire) {
            continue;
        }
        let link = Link {
            client: client.clone(),
        };
        link.watch(Arc::new(move || begun.elapsed() > PATIENCE_AT_END));
        let what = match link.close() {
            Ok(()) | Err(Error::Gone { .. }) => continue,
            Err(Error::Interrupted) => format!(
                "files are not written back in {} s; sync, unmap or close before the end",
                PATIENCE_AT_END.as_secs()
            ),
            Err(error) => error.to_string(),
        };
        let _ = writeln!(
            std::io::stderr(),
            "tombolo: at the end of the process: {what}"
        );
    }
}
