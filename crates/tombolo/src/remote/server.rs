//! The side that has the memory.

use super::wire::{Answer, Ask, Hello, Operation, Status};
use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Connections at a time.
const CONNECTIONS: usize = 64;
/// A client that stops in the middle of a message is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is exported.
#[derive(Debug)]
pub struct Export {
    file: File,
    bytes: u64,
    writable: bool,
}

/// A server: threads that answer until it is dropped.
#[derive(Debug)]
pub struct RemoteServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    export: Export,
    ended: AtomicBool,
    connections: AtomicUsize,
    sockets: Mutex<Vec<(u64, TcpStream)>>,
}

impl Export {
    /// A regular file, as long as it is now. What clients write is in it.
    ///
    /// # Errors
    /// It is no regular file, or empty.
    pub fn file(file: File, writable: bool) -> io::Result<Self> {
        let found = file.metadata()?;
        if !found.is_file() || found.len() == 0 {
            let rule = "only a regular file of at least 1 byte can be exported";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
        }
        Ok(Self {
            file,
            bytes: found.len(),
            writable,
        })
    }

    /// So many zeroed bytes of memory, which clients may write.
    ///
    /// # Errors
    /// None, or no memory.
    pub fn memory(bytes: u64) -> io::Result<Self> {
        // SAFETY: the name ends with a zero; the descriptor is new and ours.
        let file = unsafe {
            let fd = libc::memfd_create(c"tombolo-serve".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(fd)
        };
        file.set_len(bytes)?;
        Self::file(file, true)
    }

    /// The same, but clients may not write.
    pub fn read_only(self) -> Self {
        Self {
            writable: false,
            ..self
        }
    }

    /// Bytes that there are.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn allowed(&self, ask: &Ask, key: u64) -> Status {
        let end = ask.offset.checked_add(u64::from(ask.bytes));
        if ask.key != key {
            Status::WrongKey
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
    /// Listens at `HOST:PORT`; port 0 is any that is free.
    ///
    /// # Errors
    /// The address is taken, or not of this machine.
    pub fn listen(export: Export, address: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            export,
            ended: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            sockets: Mutex::new(Vec::new()),
        });
        let accepting = shared.clone();
        let acceptor = std::thread::Builder::new()
            .name("tombolo-serve".to_owned())
            .spawn(move || accept(&listener, &accepting))?;
        Ok(Self {
            address,
            shared,
            acceptor: Some(acceptor),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Bytes that it exports.
    pub fn bytes(&self) -> u64 {
        self.shared.export.bytes
    }
}

impl Drop for RemoteServer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        // The acceptor looks when somebody connects.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        let sockets = self.shared.sockets.lock();
        for (_, socket) in sockets.unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, socket) in (0u64..).zip(listener.incoming()) {
        if shared.ended.load(Ordering::Acquire) {
            return;
        }
        let Ok(socket) = socket else {
            // Out of descriptors, or the client is gone already.
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        if shared.connections.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS {
            shared.connections.fetch_sub(1, Ordering::AcqRel);
            tracing::warn!("a client was sent away: {CONNECTIONS} are connected");
            continue;
        }
        if let Ok(copy) = socket.try_clone() {
            let sockets = shared.sockets.lock();
            let mut sockets = sockets.unwrap_or_else(PoisonError::into_inner);
            sockets.push((number, copy));
        }
        let serving = shared.clone();
        let serve = move || {
            if let Err(error) = serve(socket, &serving.export) {
                tracing::info!(%error, "a client of remote memory has left");
            }
            let sockets = serving.sockets.lock();
            let mut sockets = sockets.unwrap_or_else(PoisonError::into_inner);
            sockets.retain(|(other, _)| *other != number);
            serving.connections.fetch_sub(1, Ordering::AcqRel);
        };
        let thread = std::thread::Builder::new().name("tombolo-serve".to_owned());
        if let Err(error) = thread.spawn(serve) {
            tracing::warn!(%error, "no thread for a client");
            shared.connections.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Answers a client until it leaves or breaks a rule.
fn serve(mut socket: TcpStream, export: &Export) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    // Not a secret, but nobody's by chance.
    let key = RandomState::new().build_hasher().finish();
    let hello = Hello {
        writable: export.writable,
        bytes: export.bytes,
        key,
    };
    socket.write_all(&hello.encode())?;
    let mut message = Vec::new();
    loop {
        let mut head = [0; Ask::BYTES];
        // Between messages a client may be silent; in the middle of one it may not.
        socket.set_read_timeout(None)?;
        socket.read_exact(&mut head[..1])?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.read_exact(&mut head[1..])?;
        let ask =
            Ask::decode(&head).map_err(|rule| io::Error::new(io::ErrorKind::InvalidData, rule))?;
        let mut status = export.allowed(&ask, key);
        let room = Answer::BYTES;
        message.resize(room + ask.bytes as usize, 0);
        if ask.operation == Operation::Write {
            // Also of what is refused: the next request is behind it.
            socket.read_exact(&mut message[room..])?;
        }
        if status == Status::Good {
            let bytes = &mut message[room..];
            let done = match ask.operation {
                Operation::Read => export.file.read_exact_at(bytes, ask.offset),
                Operation::Write => export.file.write_all_at(bytes, ask.offset),
            };
            if let Err(error) = done {
                tracing::warn!(%error, "the exported file");
                status = Status::Storage;
            }
        }
        let bytes = match (status, ask.operation) {
            (Status::Good, Operation::Read) => ask.bytes,
            _ => 0,
        };
        let answer = Answer {
            status,
            tag: ask.tag,
            bytes,
        };
        message[..room].copy_from_slice(&answer.encode());
        socket.write_all(&message[..room + bytes as usize])?;
    }
}
