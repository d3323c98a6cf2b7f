//! The server, which has the memory.

use super::fabric::{is_provider, Served};
use super::mapped::{drain, Mapped};
use super::wire::{Hello, Operation, ReplyHeader, RequestHeader, Status, LARGEST_TICKET};
use file_io::lock::{NotLocked, RangeLock};
use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum concurrent connections.
const CONNECTIONS: usize = 64;
/// Timeout of a client that stops in the middle of a message.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time of a message with its payload and reply: a client that transfers it byte by byte would otherwise hold
/// its connection forever.
const MESSAGE: Duration = Duration::from_secs(30);
/// Idle time after which a client may lose its connection to a new one.
const IDLE: Duration = Duration::from_secs(10);
/// The same for a client that has not sent a request yet.
const SILENT: Duration = Duration::from_millis(200);
/// Maximum time for which the server tries to make room for a client before it refuses it.
const LOOKS_FOR_ROOM: Duration = Duration::from_millis(1000);
/// Interval of checks for slow connections and for room.
const LOOK: Duration = Duration::from_millis(20);
const WATCH: Duration = Duration::from_secs(1);

const EMPTY: &str = "only memory or a regular file of at least 1 byte can be exported";

/// Exported memory.
#[derive(Debug)]
pub struct Export {
    memory: Mapped,
    bytes: u64,
    writable: bool,
    /// Lock that keeps cards from mapping a file for writing while clients write it.
    _lock: Option<RangeLock>,
}

/// A server: threads that serve until drop.
#[derive(Debug)]
pub struct RemoteServer {
    address: SocketAddr,
    shared: Arc<ServerState>,
    acceptor: Option<JoinHandle<()>>,
    watcher: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct ServerState {
    export: Export,
    ended: AtomicBool,
    connections: Mutex<Vec<Arc<Connection>>>,
}

/// A client, as seen by the other threads.
#[derive(Debug)]
struct Connection {
    number: u64,
    /// The same socket that its thread serves.
    socket: TcpStream,
    at: Mutex<ClientActivity>,
}

/// Activity of a client.
#[derive(Clone, Copy, Debug)]
enum ClientActivity {
    /// It has not sent a request since it connected.
    Silent(Instant),
    /// It is sending a request, or its reply is under way.
    Message(Instant),
    /// All its requests are answered.
    Idle(Instant),
}

impl Connection {
    fn at(&self) -> ClientActivity {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is(&self, at: ClientActivity) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// Rank for losing its connection to a new client: the greatest first. `None` if it may not.
    fn idleness(&self) -> Option<(bool, Duration)> {
        match self.at() {
            ClientActivity::Silent(since) => {
                Some((true, since.elapsed())).filter(|idle| idle.1 >= SILENT)
            }
            ClientActivity::Idle(since) => {
                Some((false, since.elapsed())).filter(|idle| idle.1 >= IDLE)
            }
            ClientActivity::Message(_) => None,
        }
    }

    /// Ends the connection; its thread notices, and ends.
    fn end(&self, why: &str) {
        tracing::warn!(
            client = self.number,
            "a client of remote memory is sent away: {why}"
        );
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

impl ServerState {
    fn connections(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        let connections = self.connections.lock();
        connections.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for one more connection, and ends an idle one if needed. Returns false if all clients
    /// are active.
    fn has_room(&self) -> bool {
        let begin = Instant::now();
        let mut asked: Option<u64> = None;
        loop {
            {
                let connections = self.connections();
                if connections.len() < CONNECTIONS {
                    return true;
                }
                // One at a time: a thread takes a moment to notice.
                let leaving = |number| connections.iter().any(|one| one.number == number);
                if !asked.is_some_and(leaving) {
                    let idle = connections
                        .iter()
                        .filter_map(|one| Some((one.idleness()?, one)));
                    let longest = idle.max_by_key(|(idle, _)| *idle);
                    asked = longest.map(|(_, one)| {
                        one.end("it asks nothing, and another needs its place");
                        one.number
                    });
                }
            }
            if begin.elapsed() >= LOOKS_FOR_ROOM || self.ended.load(Ordering::Acquire) {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Ends connections whose message takes too long.
    fn end_slow(&self) {
        for connection in self.connections().iter() {
            if matches!(connection.at(), ClientActivity::Message(since) if since.elapsed() >= MESSAGE)
            {
                connection.end("a message of it is not over in time");
            }
        }
    }
}

/// Keeps cards from mapping a file for writing; returns no lock if its file system has none.
fn lock_all(file: &File, bytes: u64) -> io::Result<Option<RangeLock>> {
    let mut lock = RangeLock::new(file)?;
    match lock.lock(0..bytes, file) {
        Ok(()) => Ok(Some(lock)),
        Err(NotLocked::Unsupported(error)) => {
            tracing::warn!(%error, "a file that is exported cannot be locked: nothing keeps cards from mapping it for writing");
            Ok(None)
        }
        Err(NotLocked::Held { .. }) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "some of it is mapped for writing by a card, or locked by another process, and one would undo what the other \
             wrote: end that first, or export it read-only",
        )),
    }
}

impl Export {
    /// Exports a regular file at its current length, which must not change. Stores of clients go to the file.
    ///
    /// # Errors
    /// It is no regular file, or empty; or it is writable, and some of it is mapped for writing or locked by another
    /// process.
    pub fn file(file: File, writable: bool) -> io::Result<Self> {
        let found = file.metadata()?;
        if !found.is_file() || found.len() == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, EMPTY));
        }
        let lock = match writable {
            true => lock_all(&file, found.len())?,
            false => None,
        };
        Ok(Self {
            memory: Mapped::new(&file, found.len(), writable)?,
            bytes: found.len(),
            writable,
            _lock: lock,
        })
    }

    /// Exports this many zeroed bytes of memory, which clients may write.
    ///
    /// # Errors
    /// The size is zero, or no memory is available.
    pub fn memory(bytes: u64) -> io::Result<Self> {
        if bytes == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, EMPTY));
        }
        Ok(Self {
            memory: Mapped::zeroed(bytes)?,
            bytes,
            writable: true,
            _lock: None,
        })
    }

    /// The same, but clients may not write.
    pub fn read_only(self) -> Self {
        Self {
            writable: false,
            _lock: None,
            ..self
        }
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn allowed(&self, ask: &RequestHeader, key: u64) -> Status {
        let end = ask.offset.checked_add(u64::from(ask.bytes));
        if ask.key != key {
            Status::WrongKey
        } else if matches!(ask.operation, Operation::Fabric | Operation::Work) {
            Status::Good
        } else if end.is_none_or(|end| end > self.bytes) {
            Status::OutOfRange
        } else if ask.operation == Operation::Write && !self.writable {
            Status::ReadOnly
        } else {
            Status::Good
        }
    }
}

impl RemoteServer {
    /// Listens at `HOST:PORT`; port 0 selects a free one.
    ///
    /// # Errors
    /// The address is in use, or not of this machine.
    pub fn listen(export: Export, address: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(ServerState {
            export,
            ended: AtomicBool::new(false),
            connections: Mutex::new(Vec::new()),
        });
        let accepting = shared.clone();
        let acceptor = threads::spawn("tombolo-serve", move || accept(&listener, &accepting))?;
        let watching = shared.clone();
        let watcher = threads::spawn("tombolo-serve", move || {
            while !watching.ended.load(Ordering::Acquire) {
                watching.end_slow();
                std::thread::park_timeout(WATCH);
            }
        })?;
        Ok(Self {
            address,
            shared,
            acceptor: Some(acceptor),
            watcher: Some(watcher),
        })
    }

    /// Address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Exported bytes.
    pub fn bytes(&self) -> u64 {
        self.shared.export.bytes
    }
}

impl Drop for RemoteServer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        // The acceptor checks for the end when a client connects.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        for connection in self.shared.connections().iter() {
            let _ = connection.socket.shutdown(Shutdown::Both);
        }
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            let _ = watcher.join();
        }
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<ServerState>) {
    for (number, socket) in (0u64..).zip(listener.incoming()) {
        if shared.ended.load(Ordering::Acquire) {
            return;
        }
        let Ok(socket) = socket else {
            // Out of descriptors, or the client has disconnected.
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        if !shared.has_room() {
            send_away(socket, &shared.export);
            continue;
        }
        let Ok(copy) = socket.try_clone() else {
            // Out of descriptors.
            continue;
        };
        let connection = Arc::new(Connection {
            number,
            socket: copy,
            at: Mutex::new(ClientActivity::Silent(Instant::now())),
        });
        shared.connections().push(connection.clone());
        let serving = shared.clone();
        let serve = move || {
            if let Err(error) = serve(socket, &serving.export, &connection) {
                tracing::info!(%error, "a client of remote memory has left");
            }
            serving.connections().retain(|one| one.number != number);
        };
        if let Err(error) = threads::spawn("tombolo-serve", serve) {
            tracing::warn!(%error, "no thread for a client");
            shared.connections().retain(|one| one.number != number);
        }
    }
}

/// Refuses a connection, with the reason.
fn send_away(mut socket: TcpStream, export: &Export) {
    tracing::warn!("a client was sent away: {CONNECTIONS} are connected and work");
    let hello = Hello {
        writable: false,
        full: true,
        bytes: export.bytes,
        key: 0,
    };
    // A new socket's buffer has room for it.
    let sent = socket.write_all(&hello.encode());
    let _ = sent.and_then(|()| socket.shutdown(Shutdown::Write));
}

/// Serves a client until it leaves or breaks a rule.
fn serve(mut socket: TcpStream, export: &Export, connection: &Connection) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_write_timeout(Some(TIMEOUT))?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    // Not a secret, but unlikely to be another connection's.
    let key = RandomState::new().build_hasher().finish();
    let hello = Hello {
        writable: export.writable,
        full: false,
        bytes: export.bytes,
        key,
    };
    socket.write_all(&hello.encode())?;
    let mut fabric: Option<Served> = None;
    let mut asked = false;
    loop {
        if asked {
            connection.is(ClientActivity::Idle(Instant::now()));
        }
        let ask = next(&mut socket, connection)?;
        asked = true;
        let length = ask.bytes as usize;
        let mut status = export.allowed(&ask, key);
        let mut answer = ReplyHeader {
            status,
            tag: ask.tag,
            bytes: 0,
        };
        match ask.operation {
            Operation::Work => {
                if let Some(fabric) = &fabric {
                    fabric.wake();
                }
                continue;
            }
            Operation::Fabric => {
                let mut provider = vec![0; length];
                socket.read_exact(&mut provider)?;
                fabric = None;
                let (status, behind) = match (status, offer(&provider, &socket, export, key)) {
                    (Status::Good, Ok((served, ticket))) => {
                        fabric = Some(served);
                        (Status::Good, ticket)
                    }
                    (Status::Good, Err(why)) => (Status::NoFabric, why.into_bytes()),
                    (status, _) => (status, Vec::new()),
                };
                answer.status = status;
                answer.bytes = behind.len() as u32;
                socket.write_all(&[&answer.encode()[..], &behind].concat())?;
                continue;
            }
            Operation::Write if status == Status::Good => {
                if let Err(error) = export.memory.receive(&socket, ask.offset, length)? {
                    tracing::warn!(%error, "the exported file");
                    status = Status::Storage;
                }
            }
            // Also for a refused request: the next request is behind it.
            Operation::Write => drain(&socket, length)?,
            Operation::Read => {}
        }
        answer.status = status;
        match (status, ask.operation) {
            (Status::Good, Operation::Read) => {
                answer.bytes = ask.bytes;
                let head = answer.encode();
                // If it fails in the middle, no error can be reported any more: the client loses the connection.
                export.memory.send(&socket, &head, ask.offset, length)?;
            }
            _ => socket.write_all(&answer.encode())?,
        }
    }
}

/// Receives the next request. A client may be silent between requests, but not in the middle of one.
fn next(socket: &mut TcpStream, connection: &Connection) -> io::Result<RequestHeader> {
    let mut head = [0; RequestHeader::BYTES];
    let mut got = 0;
    while got < head.len() {
        match socket.read(&mut head[got..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => {
                if got == 0 {
                    connection.is(ClientActivity::Message(Instant::now()));
                }
                got += bytes;
            }
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock if got == 0 => {}
                _ => return Err(error),
            },
        }
    }
    RequestHeader::decode(&head).map_err(|rule| io::Error::new(io::ErrorKind::InvalidData, rule))
}

/// Gives the client access to the memory through libfabric; returns the data that it needs, or the reason of the
/// failure.
fn offer(
    provider: &[u8],
    socket: &TcpStream,
    export: &Export,
    key: u64,
) -> Result<(Served, Vec<u8>), String> {
    let provider = std::str::from_utf8(provider).ok();
    let Some(provider) = provider.filter(|name| is_provider(name)) else {
        return Err("that is no name of a provider".to_owned());
    };
    let (start, bytes) = export.memory.all();
    let memory = (start, bytes, export.writable);
    // SAFETY: the connection's thread holds the export for the lifetime of the result.
    let served = unsafe { Served::open(provider, socket, memory, key) };
    let served = served.map_err(|error| error.to_string())?;
    let (key, base, name) = served.ticket();
    let ticket = [&key.to_le_bytes()[..], &base.to_le_bytes(), name].concat();
    match ticket.len() <= LARGEST_TICKET as usize {
        true => Ok((served, ticket)),
        false => Err("its endpoint has too long a name".to_owned()),
    }
}
