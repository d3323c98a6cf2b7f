//! One client connection: greeting, requests, end.

use crate::installed;
use crate::journal::Journal;
use crate::listening::send_end;
use crate::log_lost;
use crate::outgoing::{failure, Outgoing, TicketInUse};
use crate::quotas::{Entry, Quotas, UnderWay};
use crate::table::Table;
use crate::Settings;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tombolo::serving::{Guest, MayLoad, Session};
use tombolo::Card;
use wire::{
    decode, encode, peer_of, receive, send, ErrorCode, Failure, Frame, Hello, Kind, Message, Peer,
    ReceiveError, Side, Version, Welcome,
};

/// Timeout of a client's greeting.
const GREETING: Duration = Duration::from_secs(10);
/// Timeout of the last reply to a client, when the daemon is replaced.
const LAST_REPLY: Duration = Duration::from_secs(1);

/// An accepted connection.
pub(crate) struct Connection {
    socket: Arc<UnixStream>,
    table: Arc<Table>,
    card: Card,
    number: u64,
    peer: Peer,
    /// The tenant whose quota it shares.
    tenant: Option<Arc<Entry>>,
    journal: Option<Arc<Journal>>,
}

/// Result of a connection's first frame.
enum Greeted {
    Served(Session),
    Refused,
    /// A daemon takes the place of this one.
    Successor,
}

/// Why a connection ends before its client closes it.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    #[error("a request that cannot be read: {0}")]
    Request(serde_json::Error),
    #[error("ticket {0} names two requests")]
    Ticket(u64),
    #[error("a second greeting")]
    Greeting,
}

impl From<TicketInUse> for Broken {
    fn from(ticket: TicketInUse) -> Self {
        Self::Ticket(ticket.0)
    }
}

impl Connection {
    /// Serves a client on threads of its own, unless it is refused.
    pub(crate) fn begin(socket: UnixStream, table: &Arc<Table>, card: &Card, settings: &Settings) {
        let socket = Arc::new(socket);
        let peer = match peer_of(&socket) {
            Ok(peer) => peer,
            Err(error) => return tracing::warn!(%error, "a client that the system does not name"),
        };
        let tenant = match may_use(peer, &settings.quotas) {
            Ok(tenant) => tenant,
            Err(rule) => return refuse(&socket, &rule),
        };
        let number = match table.add(socket.clone(), peer, tenant.clone()) {
            Ok(number) => number,
            Err(rule) => return refuse(&socket, &rule),
        };
        let connection = Self {
            socket,
            table: table.clone(),
            card: card.clone(),
            number,
            peer,
            tenant,
            journal: settings.journal.clone(),
        };
        // If the thread cannot be started, the connection is dropped and closed.
        if let Err(error) = threads::spawn("tombolo-client", move || connection.serve()) {
            tracing::warn!(%error, "a client could not be served");
        }
    }

    fn serve(self) {
        let outgoing = Arc::new(Outgoing::default());
        match self.greet(&outgoing) {
            Err(error) => tracing::warn!(%error, "a client that was not understood"),
            Ok(Greeted::Refused) => {}
            Ok(Greeted::Served(session)) => self.work(session, &outgoing),
            Ok(Greeted::Successor) => {
                let (socket, table) = (self.socket.clone(), self.table.clone());
                // It is no client, which the end of all clients would wait for.
                drop(self);
                table.succeed(socket);
            }
        }
    }

    /// Exchanges greetings.
    fn greet(&self, outgoing: &Arc<Outgoing>) -> Result<Greeted, Broken> {
        self.socket
            .set_read_timeout(Some(GREETING))
            .map_err(ReceiveError::from)?;
        let frame = receive(&self.socket, Side::Client)?;
        if frame.kind == Kind::HandOver {
            if has_the_daemons_rights(self.peer) {
                return Ok(Greeted::Successor);
            }
            refuse(
                &self.socket,
                "only the user who runs this daemon can replace it",
            );
            return Ok(Greeted::Refused);
        }
        if frame.kind != Kind::Hello {
            refuse(&self.socket, "a client says first which version it speaks");
            return Ok(Greeted::Refused);
        }
        let hello: Hello = decode(&frame.body).map_err(Broken::Request)?;
        if let Err(error) = Version::THIS.serves(hello.version) {
            refuse(&self.socket, &error.to_string());
            return Ok(Greeted::Refused);
        }
        let session = match self.card.session(self.guest(outgoing)) {
            Ok(session) => session,
            Err(error) => {
                refuse(&self.socket, &error.to_string());
                return Ok(Greeted::Refused);
            }
        };
        let client = session.client();
        self.table
            .know(self.number, client, shown(&hello.program), outgoing.clone());
        let welcome = Welcome {
            version: Version::THIS,
            client,
        };
        let body = encode(&welcome).map_err(Broken::Request)?;
        let welcomed = send(&self.socket, &Frame::new(Kind::Welcome, 0, body))
            .and_then(|()| self.socket.set_read_timeout(None));
        match welcomed {
            Ok(()) => Ok(Greeted::Served(session)),
            Err(error) => {
                log_lost(client.0, session.close());
                Err(ReceiveError::from(error).into())
            }
        }
    }

    /// The owner's settings for the client.
    fn guest(&self, outgoing: &Arc<Outgoing>) -> Guest {
        let (replies, table) = (outgoing.clone(), self.table.clone());
        let asks = self.peer.user;
        Guest {
            process: self.peer.process,
            replies: Arc::new(move |ticket, reply| replies.give(ticket, reply)),
            complete: Arc::new(move |status| table.complete(status, asks)),
            tenant: self.tenant.as_ref().map(|entry| entry.tenant().clone()),
            may_load: self.may_load(),
            arrivals: self.journal.clone().map(|journal| journal as _),
        }
    }

    /// Kernels run with the daemon's privileges: users of other accounts may load only kernels that they cannot modify.
    fn may_load(&self) -> MayLoad {
        let trusted = match &self.tenant {
            Some(entry) => entry.own_kernels,
            None => true,
        };
        match trusted || has_the_daemons_rights(self.peer) {
            true => Arc::new(|_| Ok(())),
            false => Arc::new(installed::check),
        }
    }

    /// Serves requests until the client closes or sends an invalid one; then ends everything of it.
    fn work(self, session: Session, outgoing: &Arc<Outgoing>) {
        let client = session.client().0;
        let writer = {
            let (outgoing, socket) = (outgoing.clone(), self.socket.clone());
            threads::spawn("tombolo-replies", move || outgoing.write(&socket))
        };
        let ended = match &writer {
            Ok(_) => self.requests(&session, outgoing),
            Err(error) => Err(ReceiveError::Failed(io::Error::other(error.to_string())).into()),
        };
        match ended {
            Ok(()) => tracing::info!(client, "a client has ended"),
            Err(error) => tracing::warn!(client, %error, "a client is not understood; it ends"),
        }
        outgoing.close();
        // Stops kernels that it waited for immediately.
        for ticket in outgoing.tickets() {
            session.cancel(ticket);
        }
        log_lost(client, session.close());
        if self.table.restarts() {
            self.tell_restart(writer.as_ref().ok());
        }
        // The writer may be blocked in a reply that is not read.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        if let Ok(writer) = writer {
            // A panic there is in the log.
            let _ = writer.join();
        }
    }

    /// Sends the client the error that the daemon was restarted, unless it does not read.
    fn tell_restart(&self, writer: Option<&JoinHandle<()>>) {
        let begin = Instant::now();
        while writer.is_some_and(|writer| !writer.is_finished()) {
            if begin.elapsed() > LAST_REPLY {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        send_end(&self.socket);
    }

    fn requests(&self, session: &Session, outgoing: &Outgoing) -> Result<(), Broken> {
        loop {
            let frame = match receive(&self.socket, Side::Client) {
                Ok(frame) => frame,
                Err(ReceiveError::Closed) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            match frame.kind {
                Kind::Request => {
                    let message: Message = decode(&frame.body).map_err(Broken::Request)?;
                    // A thread at a page of its memory cannot be refused: the access would fail.
                    let tenant = self.tenant.as_ref();
                    let tenant = tenant.filter(|_| !matches!(message, Message::ServeTrap(_)));
                    let counts = tenant.map(UnderWay::begin).transpose();
                    let (counts, refused) = match counts {
                        Ok(counts) => (counts, None),
                        Err(error) => (None, Some(error)),
                    };
                    if !outgoing.begin(frame.ticket, counts)? {
                        return Ok(());
                    }
                    if let Some(error) = refused {
                        outgoing.give(frame.ticket, Box::new(|| Err(error.into())));
                        continue;
                    }
                    session.begin(frame.ticket, message, frame.descriptors);
                }
                Kind::Cancel => session.cancel(frame.ticket),
                _ => return Err(Broken::Greeting),
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.table.remove(self.number);
    }
}

/// The tenant of a client that may use the card: that of the first quota entry that names its user. The daemon's own
/// user and the superuser need none.
fn may_use(peer: Peer, quotas: &Quotas) -> Result<Option<Arc<Entry>>, String> {
    if let Some(tenant) = quotas.tenant_of(peer) {
        return Ok(Some(tenant.clone()));
    }
    let (own, other) = (rustix::process::geteuid().as_raw(), peer.user);
    match (has_the_daemons_rights(peer), quotas.admits_others()) {
        (true, _) => Ok(None),
        (false, true) => Err(format!(
            "no tenant in the quotas of this daemon has user {other}: ask user {own}, who runs it"
        )),
        (false, false) => Err(format!(
            "this daemon serves user {own}, and you are user {other}: start one of your own"
        )),
    }
}

/// The daemon's own user, and the superuser.
fn has_the_daemons_rights(peer: Peer) -> bool {
    peer.user == rustix::process::geteuid().as_raw() || peer.user == 0
}

/// The program name that a client sent, without terminal control characters.
fn shown(program: &str) -> String {
    const MOST: usize = 64;
    let shown = program.chars().filter(|c| !c.is_control());
    shown.take(MOST).collect()
}

fn refuse(socket: &UnixStream, rule: &str) {
    tracing::warn!(rule, "a client is refused");
    // A client that does not read misses only the reason.
    let _ = send(socket, &failure(0, &Failure::new(ErrorCode::Daemon, rule)));
}
