//! A client's connection to the owner: a channel to its thread, or a socket to its daemon ([`Served`]).
//!
//! A request is begun, and its ticket waits for the reply. While it waits, it checks now and then whether the call is
//! to be interrupted.

use crate::participant;
use crate::served::Served;
use error::Error;
use owner::answer::{answer, Awaited, Found};
use owner::message::{AnyRequest, Ask, ClientId, Close, NewMapping, ReplyTo, Share};
use owner::{OwnerThread, TicketId};
use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use trap::TrapQueue;

/// Interval at which a waiting call checks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// Maximum time that a process waits at its end for write-backs.
const PATIENCE_AT_END: Duration = Duration::from_secs(30);

/// Clients of owners in this process, closed when the process ends.
static CLIENTS: Mutex<Vec<Weak<Client>>> = Mutex::new(Vec::new());

/// Callback called by a thread that waits in a call; returning `true` ends the call.
pub(crate) type Watch = Arc<dyn Fn() -> bool + Send + Sync>;

/// A client's connection to the owner of a card. Clones share the client.
#[derive(Clone)]
pub(crate) struct Link {
    client: Arc<Client>,
}

struct Client {
    id: ClientId,
    watch: Mutex<Option<Watch>>,
    /// The client was closed, and is no longer registered with the owner.
    closed: AtomicBool,
    owner: Owner,
    tickets: AtomicU64,
}

/// Location of the owner.
enum Owner {
    Here(Arc<OwnerThread>),
    Served(Arc<Served>),
}

/// An outstanding request whose reply is a `T`.
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
        // A daemon detects that the socket is closed.
        if let (Owner::Here(owner), false) = (&self.owner, self.closed.load(Ordering::Acquire)) {
            owner.leave(self.id);
        }
    }
}

impl Owner {
    /// Discards the reply of a request.
    fn cancel(&self, client: ClientId, ticket: u64) -> Result<(), Error> {
        match self {
            Self::Here(owner) => owner.cancel(TicketId { client, ticket }),
            Self::Served(served) => served.cancel(ticket),
        }
    }

    /// The error for an owner that has ended.
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

    /// Ends the client and everything that it created.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let closed = self.call(Close);
        // An interrupted close has not ended the client.
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

    /// The client's identifier.
    pub(crate) fn id(&self) -> ClientId {
        self.client.id
    }

    /// Removes the client after everything of it has ended. The last client also ends the owner's thread, whatever
    /// handles remain.
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

    /// Closes the connection to a daemon.
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

    /// Sets the callback that waiting calls of this client use from now on.
    pub(crate) fn watch(&self, watch: Watch) {
        let place = self.client.watch.lock();
        *place.unwrap_or_else(PoisonError::into_inner) = Some(watch);
    }

    /// The trap queue for a block of `bytes` shared with this card.
    ///
    /// # Errors
    /// As [`TrapQueue::open`]; the connection to a daemon has ended.
    pub(crate) fn trap_queue(&self, bytes: usize) -> Result<Arc<TrapQueue>, Error> {
        match &self.client.owner {
            Owner::Here(owner) => owner.trap_queue(bytes),
            Owner::Served(served) => served.agent()?.trap_queue(bytes),
        }
    }

    /// Shares memory of the program with kernels.
    ///
    /// # Errors
    /// The owner's.
    pub(crate) fn share(&self, mut request: Share) -> Result<NewMapping, Error> {
        let view = request.view.clone();
        let served = match &self.client.owner {
            Owner::Served(served) if view.is_trapped() => served,
            _ => return self.call(request),
        };
        served.agent()?.share(&view, |traps| {
            request.traps = Some(traps);
            self.call(request)
        })
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

    /// Begins a request with a caller-supplied ticket, to which its reply is addressed. Only for an owner in this
    /// process.
    pub(crate) fn begin_any(&self, ticket: u64, request: AnyRequest) -> Result<(), Error> {
        match &self.client.owner {
            Owner::Here(owner) => owner.begin(self.named(ticket), None, request),
            Owner::Served(_) => Err(Error::NotCarried {
                what: "cards of other daemons",
            }),
        }
    }

    /// Discards the data kept for reports of a client that has ended.
    pub(crate) fn forget(&self) {
        if let Owner::Here(owner) = &self.client.owner {
            owner.forget(self.client.id);
        }
    }

    fn named(&self, ticket: u64) -> TicketId {
        let client = self.client.id;
        TicketId { client, ticket }
    }

    /// Discards the reply of a request.
    pub(crate) fn cancel(&self, ticket: u64) -> Result<(), Error> {
        self.client.owner.cancel(self.client.id, ticket)
    }

    /// Begins a request and waits for its reply.
    pub(crate) fn call<R: Ask>(&self, request: R) -> Result<R::Reply, Error> {
        // Signals of the program are delivered while it sleeps.
        threads::as_guest(|| self.begin(request)?.wait())
    }

    /// The owner's thread, for operations that only its own process supports.
    ///
    /// # Errors
    /// [`Error::NotCarried`]: the owner is a daemon.
    pub(crate) fn here(&self, what: &'static str) -> Result<&Arc<OwnerThread>, Error> {
        match &self.client.owner {
            Owner::Here(owner) => Ok(owner),
            Owner::Served(_) => Err(Error::NotCarried { what }),
        }
    }

    /// Whether the owner is a daemon's.
    pub(crate) fn is_served(&self) -> bool {
        matches!(self.client.owner, Owner::Served(_))
    }

    /// Whether both connect to the same owner. For daemons this is true only within one client, since each connection
    /// is a client of its own.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.client.owner, &other.client.owner) {
            (Owner::Here(one), Owner::Here(other)) => Arc::ptr_eq(one, other),
            (Owner::Served(one), Owner::Served(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Whether the callback asks for this client's calls to end.
    pub(crate) fn is_to_end(&self) -> bool {
        let watch = self.client.watch.lock();
        let watch = watch.unwrap_or_else(PoisonError::into_inner).clone();
        watch.is_some_and(|watch| watch())
    }
}

impl<T> Ticket<'_, T> {
    /// Waits for the reply.
    pub(crate) fn wait(self) -> Result<T, Error> {
        loop {
            let began = Instant::now();
            threads::as_program(|| self.answer.sleep(POLL_INTERVAL));
            match self.answer.look() {
                Found::Reply(answer) => return answer,
                Found::Never => return Err(self.link.client.owner.ended()),
                // A signal may have ended the sleep early.
                Found::NotYet if began.elapsed() < POLL_INTERVAL => {}
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

/// At the end of the process, closes clients that the program has not closed, so that bytes written by kernels reach
/// their files. Failures can no longer be reported to a caller.
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
