//! The client, which reads and writes.

use super::fabric::{is_provider, FabricClient, FabricError, TransferBuffer};
use super::wire::{Hello, Operation, ReplyHeader, RequestHeader, Status, LARGEST};
use super::RemoteError;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Maximum outstanding requests. Their heads, and the heads of their replies, fit into any socket's buffers, so that
/// neither side waits for the other to read.
const WINDOW: usize = 16;

/// Memory of another machine, exported by its server. After an error of the connection it is unusable: connect again.
pub struct RemoteMemory {
    address: String,
    socket: TcpStream,
    timeout: Duration,
    hello: Hello,
    tag: u64,
    broken: bool,
    /// One-sided accesses, if the address requests them.
    fabric: Option<FabricClient>,
    /// Time of the last `Work` message to the server.
    told: Option<Instant>,
}

/// Maximum time for which a call that sends blocks. It returns the number of sent bytes only then, so this is the delay
/// until silence is detected.
const TICK: Duration = Duration::from_millis(50);
/// Interval at which a working client notifies the server.
const WORKING: Duration = Duration::from_millis(2);

impl RemoteMemory {
    /// Default timeout of a silent peer: silence is an error within 2 s.
    pub const TIMEOUT: Duration = Duration::from_millis(1500);

    /// The former name of [`TIMEOUT`](Self::TIMEOUT).
    #[deprecated(note = "use RemoteMemory::TIMEOUT")]
    pub const PATIENCE: Duration = Self::TIMEOUT;

    /// Connects to a server: `HOST:PORT` is plain TCP, `fabric+PROVIDER://HOST:PORT` one-sided accesses through that
    /// provider of libfabric. `timeout` is the maximum silence of the peer during a request.
    ///
    /// # Errors
    /// [`RemoteError::Connect`], [`RemoteError::Silent`]; [`RemoteError::Lies`]: another service listens there;
    /// [`RemoteError::Fabric`], [`RemoteError::NoFabric`]: no libfabric on one side, or no such provider.
    pub fn connect(address: &str, timeout: Duration) -> Result<Self, RemoteError> {
        let refused = |source| RemoteError::Connect {
            address: address.to_owned(),
            source,
        };
        let (provider, place) = split(address);
        let found = place
            .to_socket_addrs()
            .map_err(|source| match source.kind() {
                io::ErrorKind::InvalidInput => RemoteError::Address {
                    address: address.to_owned(),
                },
                _ => refused(source),
            })?;
        let began = Instant::now();
        let socket = connect_to_any(found, timeout).map_err(refused)?;
        // The whole handshake takes at most one timeout.
        let left = timeout.saturating_sub(began.elapsed());
        let left = left.max(Duration::from_millis(1));
        let set = socket
            .set_nodelay(true)
            .and_then(|()| socket.set_read_timeout(Some(left)))
            .and_then(|()| socket.set_write_timeout(Some(timeout.min(TICK))));
        set.map_err(refused)?;
        let mut memory = Self {
            address: address.to_owned(),
            socket,
            timeout,
            hello: Hello {
                writable: false,
                full: false,
                bytes: 0,
                key: 0,
            },
            tag: 0,
            broken: false,
            fabric: None,
            told: None,
        };
        let mut hello = [0; Hello::BYTES];
        memory.receive(&mut hello)?;
        memory.hello = Hello::decode(&hello).map_err(|rule| memory.lies(rule))?;
        if memory.hello.full {
            return Err(RemoteError::Refused {
                address: address.to_owned(),
                why: "as many clients as it serves at a time (64) are connected and work; try again later",
            });
        }
        if let Some(provider) = provider {
            memory.use_fabric(provider)?;
        }
        let set = memory.socket.set_read_timeout(Some(timeout));
        set.map_err(refused)?;
        Ok(memory)
    }

    /// Requests one-sided accesses from the server.
    fn use_fabric(&mut self, provider: &str) -> Result<(), RemoteError> {
        let here = |source| RemoteError::Fabric {
            address: self.address.clone(),
            source,
        };
        if !is_provider(provider) {
            return Err(here(FabricError::Provider {
                provider: provider.to_owned(),
                why: "that is no name of a provider".to_owned(),
            }));
        }
        let ask = self.ask(Operation::Fabric, 0, provider.len() as u32);
        self.send_both(&ask.encode(), provider.as_bytes())?;
        let answer = self.reply(&ask)?;
        let mut behind = vec![0; answer.bytes as usize];
        self.receive(&mut behind)?;
        if answer.status == Status::NoFabric {
            self.broken = true;
            let why: String = String::from_utf8_lossy(&behind)
                .chars()
                .filter(|letter| !letter.is_control())
                .collect();
            let address = self.address.clone();
            return Err(RemoteError::NoFabric { address, why });
        }
        self.good(&answer)?;
        let (Some((key, rest)), local) = (behind.split_first_chunk(), self.socket.local_addr())
        else {
            return Err(self.lies("its ticket is too short".to_owned()));
        };
        let Some((base, name)) = rest.split_first_chunk() else {
            return Err(self.lies("its ticket is too short".to_owned()));
        };
        let ticket = (u64::from_le_bytes(*key), u64::from_le_bytes(*base), name);
        let local = local.map_err(|source| self.lost("its own address", source))?;
        let mover = FabricClient::open(provider, local.ip(), ticket);
        self.fabric = Some(mover.map_err(|source| RemoteError::Fabric {
            address: self.address.clone(),
            source,
        })?);
        Ok(())
    }

    /// Moves bytes by one-sided accesses.
    fn one_sided(
        &mut self,
        mover: FabricClient,
        offset: u64,
        bytes: TransferBuffer<'_>,
    ) -> Result<(), RemoteError> {
        // The library must not be polled for a peer that has disconnected.
        self.look()?;
        let began = Instant::now();
        let (mut last, mut asked, mut lives) = (began, 0u32, true);
        let result = mover.transfer(offset, bytes, |moved| {
            asked = asked.wrapping_add(1);
            lives |= moved;
            if asked % 16 != 1 {
                std::thread::yield_now();
                return Ok(());
            }
            let now = Instant::now();
            if std::mem::take(&mut lives) {
                last = now;
            }
            if self.told.is_none_or(|told| now - told >= WORKING) {
                self.told = Some(now);
                let ask = self.ask(Operation::Work, 0, 0);
                self.send(&ask.encode()).map_err(Failed::Remote)?;
                self.look().map_err(Failed::Remote)?;
            }
            if now - last >= self.timeout {
                return Err(Failed::Remote(RemoteError::Silent {
                    address: self.address.clone(),
                    timeout: self.timeout,
                }));
            }
            Ok(())
        });
        match result {
            Ok(mover) => {
                self.fabric = Some(mover);
                Ok(())
            }
            Err(Failed::Remote(error)) => {
                self.broken = true;
                Err(error)
            }
            Err(Failed::Fabric(source)) => {
                // A failed peer shows on both connections, on one of them first.
                let soon = Instant::now() + Duration::from_millis(200);
                let mut gone = self.look();
                while gone.is_ok() && Instant::now() < soon {
                    std::thread::sleep(Duration::from_millis(5));
                    gone = self.look();
                }
                self.broken = true;
                gone?;
                Err(RemoteError::Fabric {
                    address: self.address.clone(),
                    source,
                })
            }
        }
    }

    /// Checks that the connection, on which no data is expected, is still open.
    fn look(&mut self) -> Result<(), RemoteError> {
        let mut byte = 0u8;
        let how = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        // SAFETY: a byte, and room for it.
        let got = unsafe { libc::recv(self.socket.as_raw_fd(), (&raw mut byte).cast(), 1, how) };
        match got {
            0 => Err(self.failed("the peer went away", ErrorKind::UnexpectedEof.into())),
            1.. => Err(self.lies("it speaks without being asked".to_owned())),
            _ => match io::Error::last_os_error() {
                error if error.kind() == ErrorKind::WouldBlock => Ok(()),
                error if error.kind() == ErrorKind::Interrupted => Ok(()),
                error => Err(self.failed("the peer went away", error)),
            },
        }
    }

    /// Address of the server.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Size of the memory in bytes.
    pub fn bytes(&self) -> u64 {
        self.hello.bytes
    }

    /// Whether the memory is writable.
    pub fn is_writable(&self) -> bool {
        self.hello.writable
    }

    /// Reads bytes from an offset.
    ///
    /// # Errors
    /// [`RemoteError`]. The content of `to` is then undefined.
    pub fn read(&mut self, offset: u64, to: &mut [u8]) -> Result<(), RemoteError> {
        self.check(offset, to.len())?;
        if let Some(mover) = self.fabric.take() {
            return self.one_sided(mover, offset, TransferBuffer::To(to));
        }
        let mut asked: VecDeque<RequestHeader> = VecDeque::new();
        let mut rest = to;
        let mut next = offset;
        let end = offset + rest.len() as u64;
        while !rest.is_empty() {
            while next < end && asked.len() < WINDOW {
                let bytes = (end - next).min(LARGEST.into()) as u32;
                let ask = self.ask(Operation::Read, next, bytes);
                self.send(&ask.encode())?;
                asked.push_back(ask);
                next += u64::from(bytes);
            }
            let Some(ask) = asked.pop_front() else {
                break;
            };
            let (now, later) = rest.split_at_mut(ask.bytes as usize);
            self.answer_with(&ask, now)?;
            rest = later;
        }
        Ok(())
    }

    /// Writes bytes at an offset; they are stored at the peer when this returns.
    ///
    /// # Errors
    /// [`RemoteError`]. Some of the bytes may then be stored.
    pub fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), RemoteError> {
        self.check(offset, from.len())?;
        if let Some(mover) = self.fabric.take() {
            return self.one_sided(mover, offset, TransferBuffer::From(from));
        }
        let mut asked: VecDeque<RequestHeader> = VecDeque::new();
        let mut next = offset;
        for piece in from.chunks(LARGEST as usize) {
            if asked.len() == WINDOW {
                self.oldest(&mut asked)?;
            }
            let ask = self.ask(Operation::Write, next, piece.len() as u32);
            self.send_both(&ask.encode(), piece)?;
            asked.push_back(ask);
            next += piece.len() as u64;
        }
        while !asked.is_empty() {
            self.oldest(&mut asked)?;
        }
        Ok(())
    }

    fn oldest(&mut self, asked: &mut VecDeque<RequestHeader>) -> Result<(), RemoteError> {
        match asked.pop_front() {
            Some(ask) => self.answer(&ask),
            None => Ok(()),
        }
    }

    fn check(&self, offset: u64, bytes: usize) -> Result<(), RemoteError> {
        if self.broken {
            let source = io::Error::from(ErrorKind::NotConnected);
            return Err(self.lost("the connection failed before", source));
        }
        let end = offset.checked_add(bytes as u64);
        if end.is_some_and(|end| end <= self.hello.bytes) {
            return Ok(());
        }
        Err(RemoteError::OutOfRange {
            address: self.address.clone(),
            offset,
            bytes: bytes as u64,
            size: self.hello.bytes,
        })
    }

    fn ask(&mut self, operation: Operation, offset: u64, bytes: u32) -> RequestHeader {
        self.tag += 1;
        RequestHeader {
            operation,
            tag: self.tag,
            key: self.hello.key,
            offset,
            bytes,
        }
    }

    fn answer(&mut self, ask: &RequestHeader) -> Result<(), RemoteError> {
        let answer = self.reply(ask)?;
        self.good(&answer)
    }

    /// Receives the reply and the bytes behind it, in one call if they have arrived together.
    fn answer_with(&mut self, ask: &RequestHeader, to: &mut [u8]) -> Result<(), RemoteError> {
        let mut head = [0; ReplyHeader::BYTES];
        let mut got = 0;
        while got < head.len() {
            let mut parts = [IoSliceMut::new(&mut head[got..]), IoSliceMut::new(&mut *to)];
            match self.socket.read_vectored(&mut parts) {
                Ok(0) => {
                    let end = ErrorKind::UnexpectedEof.into();
                    return Err(self.failed("the peer went away", end));
                }
                Ok(bytes) => got += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed("the peer went away", error)),
            }
        }
        let answer = ReplyHeader::decode(&head, ask).map_err(|rule| self.lies(rule))?;
        // A refusal has no payload; bytes behind it belong to another reply, and the connection is closed.
        self.good(&answer)?;
        self.receive(&mut to[got - head.len()..])
    }

    fn reply(&mut self, ask: &RequestHeader) -> Result<ReplyHeader, RemoteError> {
        let mut head = [0; ReplyHeader::BYTES];
        self.receive(&mut head)?;
        ReplyHeader::decode(&head, ask).map_err(|rule| self.lies(rule))
    }

    fn good(&mut self, answer: &ReplyHeader) -> Result<(), RemoteError> {
        let why = match answer.status {
            Status::Good => return Ok(()),
            Status::OutOfRange => "it has fewer bytes than it said",
            Status::ReadOnly => "it is exported for reading only",
            Status::WrongKey => "the key is of another connection",
            Status::Storage => "its storage failed",
            Status::NoFabric => "it has no libfabric",
        };
        // Replies to later requests are still outstanding.
        self.broken = true;
        Err(RemoteError::Refused {
            address: self.address.clone(),
            why,
        })
    }

    fn receive(&mut self, to: &mut [u8]) -> Result<(), RemoteError> {
        let result = self.socket.read_exact(to);
        result.map_err(|error| self.failed("the peer went away", error))
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), RemoteError> {
        self.send_both(bytes, &[])
    }

    /// Sends a head and the bytes behind it in one call.
    fn send_both(&mut self, head: &[u8], behind: &[u8]) -> Result<(), RemoteError> {
        let mut parts = [IoSlice::new(head), IoSlice::new(behind)];
        let mut parts = &mut parts[..];
        let mut last = Instant::now();
        while !parts.is_empty() {
            match self.socket.write_vectored(parts) {
                Ok(0) => return Err(self.failed("the peer went away", ErrorKind::WriteZero.into())),
                Ok(sent) => {
                    IoSlice::advance_slices(&mut parts, sent);
                    last = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_late(&error) && last.elapsed() < self.timeout => {}
                Err(error) => return Err(self.failed("the peer went away", error)),
            }
        }
        Ok(())
    }

    fn failed(&mut self, what: &'static str, source: io::Error) -> RemoteError {
        self.broken = true;
        match is_late(&source) {
            true => RemoteError::Silent {
                address: self.address.clone(),
                timeout: self.timeout,
            },
            false => self.lost(what, source),
        }
    }

    fn lost(&self, what: &'static str, source: io::Error) -> RemoteError {
        RemoteError::Lost {
            address: self.address.clone(),
            what,
            source,
        }
    }

    fn lies(&mut self, rule: String) -> RemoteError {
        self.broken = true;
        RemoteError::Lies {
            address: self.address.clone(),
            rule,
        }
    }
}

impl Drop for RemoteMemory {
    fn drop(&mut self) {
        if self.fabric.is_none() || self.broken {
            return;
        }
        // A server in this process may be polling the library, which shares with it the objects closed here (shm); it
        // closes its side when it has stopped.
        let soon = Some(Duration::from_millis(200));
        let ended = self.socket.shutdown(Shutdown::Write);
        let ended = ended.and_then(|()| self.socket.set_read_timeout(soon));
        let ended = ended.and_then(|()| self.socket.read(&mut [0]));
        if let Err(error) = ended {
            tracing::debug!(%error, "closing remote memory");
        }
    }
}

impl std::fmt::Debug for RemoteMemory {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("RemoteMemory")
            .field("address", &self.address)
            .field("hello", &self.hello)
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Cause of a failed one-sided access.
enum Failed {
    Remote(RemoteError),
    Fabric(FabricError),
}

impl From<FabricError> for Failed {
    fn from(error: FabricError) -> Self {
        Self::Fabric(error)
    }
}

/// Splits an address into the provider and the server's address.
pub fn split(address: &str) -> (Option<&str>, &str) {
    let found = address.strip_prefix("fabric+");
    match found.and_then(|rest| rest.split_once("://")) {
        Some((provider, place)) => (Some(provider), place),
        None => (None, address),
    }
}

/// Connects to the first of these addresses that accepts; returns the error of the last one if none does.
pub fn connect_to_any(
    addresses: impl Iterator<Item = SocketAddr>,
    timeout: Duration,
) -> io::Result<TcpStream> {
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    let until = Instant::now() + timeout;
    for one in addresses {
        let left = until.saturating_duration_since(Instant::now());
        match TcpStream::connect_timeout(&one, left.max(Duration::from_millis(1))) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}
