//! A daemon's card: requests are sent over its socket, and replies are matched by ticket.

use crate::rights::{Agent, Requests};
use error::Error;
use owner::answer::Answer;
use owner::message::{Carried, ClientId};
use owner::ACROSS_FORK;
use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wire::{Failure, Frame, Hello, Kind, ReceiveError, Side, Version, Welcome, ENDS_CONNECTION};

/// Handler of a ticket's reply: its bytes, or the error.
type Waiting = Box<dyn FnOnce(Result<Vec<u8>, Error>) + Send>;

/// Message for a connection whose other end is gone.
const GONE: &str =
    "the daemon is gone, and the kernels of this program with it; what was synced is in the files";

/// Timeout of the reason for which a connection ended.
const REASON: Duration = Duration::from_secs(2);

/// A connection to a daemon, which is one client of its owner.
pub(crate) struct Served {
    path: PathBuf,
    client: ClientId,
    /// Held while sending, so that frames do not interleave.
    sender: Mutex<()>,
    shared: Arc<SocketState>,
    reader: Option<JoinHandle<()>>,
    /// Agent of the program's trapped memory, if there is any.
    agent: Mutex<Option<Arc<Agent>>>,
    /// Process that made the connection. A forked child inherits it, but must not use it.
    process: u32,
}

struct SocketState {
    /// `None`: connecting failed.
    socket: Option<UnixStream>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: BTreeMap<u64, Waiting>,
    /// The reason why no further replies arrive.
    ended: Option<String>,
}

impl SocketState {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Served {
    /// Connects and negotiates the protocol version.
    ///
    /// # Errors
    /// [`Error::Daemon`]: no daemon listens there, or it refuses.
    pub(crate) fn connect(path: &Path) -> Result<Arc<Self>, Error> {
        let failed = |what: String| Error::Daemon {
            socket: path.to_owned(),
            what,
        };
        let (socket, welcome) = reach(path).map_err(failed)?;
        let shared = Arc::new(SocketState {
            socket: Some(socket),
            state: Mutex::default(),
        });
        let (reads, name) = (shared.clone(), path.to_owned());
        let reader = threads::spawn("tombolo-daemon-link", move || read(&reads, &name));
        let reader = reader.map_err(|error| failed(format!("starting a thread: {error}")))?;
        Ok(Arc::new(Self {
            path: path.to_owned(),
            client: welcome.client,
            sender: Mutex::new(()),
            shared,
            reader: Some(reader),
            agent: Mutex::default(),
            process: std::process::id(),
        }))
    }

    /// Another connection to the same daemon. If connecting fails, its calls return the reason.
    pub(crate) fn another(&self) -> Arc<Self> {
        Self::connect(&self.path).unwrap_or_else(|error| {
            let state = State {
                ended: Some(error.to_string()),
                ..State::default()
            };
            Arc::new(Self {
                path: self.path.clone(),
                client: self.client,
                sender: Mutex::new(()),
                shared: Arc::new(SocketState {
                    socket: None,
                    state: Mutex::new(state),
                }),
                reader: None,
                agent: Mutex::default(),
                process: std::process::id(),
            })
        })
    }

    /// The client's identifier at the daemon.
    pub(crate) fn client(&self) -> ClientId {
        self.client
    }

    /// The agent of the program's trapped memory.
    ///
    /// # Errors
    /// The connection has ended.
    pub(crate) fn agent(self: &Arc<Self>) -> Result<Arc<Agent>, Error> {
        self.check()?;
        let mut place = self.agent.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let served = Arc::downgrade(self);
            let requests: Requests = Arc::new(move |ticket, request, answer| {
                if let Some(served) = served.upgrade() {
                    drop(served.begin(ticket, request, answer));
                }
            });
            Arc::new(Agent::new(requests))
        };
        Ok(place.get_or_insert_with(new).clone())
    }

    /// Sends a request.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        ticket: u64,
        request: Carried<T>,
        answer: Answer<T>,
    ) -> Result<(), Error> {
        let Carried {
            message,
            descriptors,
            reply,
        } = request;
        let body = wire::encode(&message).map_err(|error| Error::Internal(error.to_string()))?;
        let waiting: Waiting = Box::new(move |bytes| {
            answer.send(bytes.and_then(|bytes| reply(&bytes)));
        });
        self.check()?;
        let mut state = self.shared.state();
        // The thread that ends the connection answers all requests waiting then; later ones are answered here.
        if state.ended.is_some() {
            drop(state);
            return Err(self.ended());
        }
        state.waiting.insert(ticket, waiting);
        drop(state);
        let mut frame = Frame::new(Kind::Request, ticket, body);
        frame.descriptors = descriptors;
        self.send(&frame).inspect_err(|_| {
            self.shared.state().waiting.remove(&ticket);
        })
    }

    /// Discards the reply of a request.
    pub(crate) fn cancel(&self, ticket: u64) -> Result<(), Error> {
        self.check()?;
        self.shared.state().waiting.remove(&ticket);
        self.send(&Frame::new(Kind::Cancel, ticket, Vec::new()))
    }

    fn check(&self) -> Result<(), Error> {
        if std::process::id() != self.process {
            return Err(Error::Gone {
                what: "the card".to_owned(),
                why: ACROSS_FORK.into(),
            });
        }
        let has_ended = self.shared.state().ended.is_some();
        match has_ended {
            true => Err(self.ended()),
            false => Ok(()),
        }
    }

    fn send(&self, frame: &Frame) -> Result<(), Error> {
        let _sends = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(socket) = &self.shared.socket else {
            return Err(self.ended());
        };
        wire::send(socket, frame).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidInput => Error::Daemon {
                socket: self.path.clone(),
                what: format!("the request was not sent: {error}"),
            },
            _ => self.lost(),
        })
    }

    /// The error for a request that could not be sent. A daemon that ends reads no more before it gives its reason.
    fn lost(&self) -> Error {
        let begin = Instant::now();
        while self.shared.state().ended.is_none() && begin.elapsed() < REASON {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.ended()
    }

    /// The error for a connection that has ended.
    pub(crate) fn ended(&self) -> Error {
        let ended = self.shared.state().ended.clone();
        // A send may fail before the reader thread has seen the end.
        gone(&self.path, ended.as_deref().unwrap_or(GONE))
    }

    /// Closes the connection.
    pub(crate) fn hang_up(&self) {
        if let (Some(socket), true) = (&self.shared.socket, std::process::id() == self.process) {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.hang_up();
        let Some(reader) = self.reader.take() else {
            return;
        };
        if std::process::id() != self.process {
            // In a forked child the threads do not exist: they can neither be joined nor dropped.
            if let Ok(Some(agent)) = self.agent.get_mut() {
                agent.leave();
            }
            return std::mem::forget(reader);
        }
        // The reader has nothing that could panic; replies already delivered are unaffected.
        drop(reader.join());
        if let Ok(Some(agent)) = self.agent.get_mut() {
            agent.stop();
        }
    }
}

fn gone(path: &Path, what: &str) -> Error {
    Error::Daemon {
        socket: path.to_owned(),
        what: what.to_owned(),
    }
}

/// Attempts to reach a daemon that is being replaced: it ends connections that it has just accepted.
const ATTEMPTS: u32 = 8;

/// Connects to a daemon and greets it.
fn reach(path: &Path) -> Result<(UnixStream, Welcome), String> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let socket = UnixStream::connect(path).map_err(|error| {
            format!(
                "no daemon can be reached there: {error}; start one with `tombolo daemon --socket`"
            )
        })?;
        match greet(&socket) {
            Ok(welcome) => return Ok((socket, welcome)),
            Err(Refused::Restarts(_)) if attempts < ATTEMPTS => {}
            Err(Refused::Restarts(why) | Refused::For(why)) => return Err(why),
        }
    }
}

/// Why a daemon does not serve a connection.
enum Refused {
    /// It ends; another takes its place.
    Restarts(String),
    For(String),
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self::For(why)
    }
}

/// Sends and receives the greeting.
fn greet(socket: &UnixStream) -> Result<Welcome, Refused> {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_name);
    let hello = Hello {
        version: Version::THIS,
        program: program.unwrap_or_default().to_string_lossy().into_owned(),
    };
    let unreadable = |error: serde_json::Error| format!("its first words cannot be read: {error}");
    let body = wire::encode(&hello).map_err(unreadable)?;
    let sent = wire::send(socket, &Frame::new(Kind::Hello, 0, body));
    // A daemon that refuses sends its reason without reading anything, and may have closed the socket already.
    let answer = match (sent, wire::receive(socket, Side::Daemon)) {
        (_, Ok(answer)) => answer,
        (Err(error), _) => return Err(format!("it does not listen: {error}").into()),
        (_, Err(error)) => return Err(format!("it does not answer: {error}").into()),
    };
    match answer.kind {
        Kind::Welcome => Ok(wire::decode(&answer.body).map_err(unreadable)?),
        Kind::Failure => {
            let failure: Failure = wire::decode(&answer.body).map_err(unreadable)?;
            Err(match answer.ticket {
                ENDS_CONNECTION => Refused::Restarts(failure.message),
                _ => Refused::For(failure.message),
            })
        }
        other => Err(format!("its first words are {other:?}").into()),
    }
}

/// Dispatches replies to the waiting requests until the socket closes.
fn read(shared: &SocketState, path: &Path) {
    let Some(socket) = &shared.socket else {
        return;
    };
    // The daemon's own words, if it ended the connection in order.
    let mut last = None;
    let why = loop {
        match wire::receive(socket, Side::Daemon) {
            Ok(frame) if frame.ticket == ENDS_CONNECTION => {
                let failure = wire::decode::<Failure>(&frame.body);
                last = failure.ok().map(|failure| failure.message);
            }
            Ok(frame) => {
                let waiting = shared.state().waiting.remove(&frame.ticket);
                // The request was cancelled.
                let Some(waiting) = waiting else { continue };
                waiting(match frame.kind {
                    Kind::Failure => Err(match wire::decode::<Failure>(&frame.body) {
                        Ok(failure) => Error::told(failure),
                        Err(error) => Error::Internal(error.to_string()),
                    }),
                    _ => Ok(frame.body),
                });
            }
            Err(ReceiveError::Closed) => break last.unwrap_or_else(|| GONE.to_owned()),
            Err(error) => break format!("the daemon's socket failed: {error}"),
        }
    };
    let mut state = shared.state();
    state.ended = Some(why.clone());
    let waiting = std::mem::take(&mut state.waiting);
    drop(state);
    for waiting in waiting.into_values() {
        waiting(Err(gone(path, &why)));
    }
}
