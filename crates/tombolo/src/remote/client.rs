//! The side that reads and writes.

use super::wire::{Answer, Ask, Hello, Operation, Status, LARGEST};
use super::RemoteError;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Requests under way at most. Their heads, and the heads of their replies, fit into any socket's buffers, so that
/// neither side waits for the other to read.
const WINDOW: usize = 16;

/// Memory of another machine, that its server exports. After an error of the connection it is over: connect again.
#[derive(Debug)]
pub struct RemoteMemory {
    address: String,
    socket: TcpStream,
    timeout: Duration,
    hello: Hello,
    tag: u64,
    broken: bool,
}

impl RemoteMemory {
    /// How long a peer may be silent if nothing else is said.
    pub const PATIENCE: Duration = Duration::from_millis(1800);

    /// Connects to a server, `HOST:PORT`. From now on, silence of `timeout` in the middle of a request is an error.
    ///
    /// # Errors
    /// [`RemoteError::Connect`], [`RemoteError::Silent`]; [`RemoteError::Lies`]: something else listens there.
    pub fn connect(address: &str, timeout: Duration) -> Result<Self, RemoteError> {
        let refused = |source| RemoteError::Connect {
            address: address.to_owned(),
            source,
        };
        let found = address.to_socket_addrs().map_err(refused)?;
        let socket = connect_to_any(found, timeout).map_err(refused)?;
        let set = socket
            .set_nodelay(true)
            .and_then(|()| socket.set_read_timeout(Some(timeout)))
            .and_then(|()| socket.set_write_timeout(Some(timeout)));
        set.map_err(refused)?;
        let mut memory = Self {
            address: address.to_owned(),
            socket,
            timeout,
            hello: Hello {
                writable: false,
                bytes: 0,
                key: 0,
            },
            tag: 0,
            broken: false,
        };
        let mut hello = [0; Hello::BYTES];
        memory.receive(&mut hello)?;
        memory.hello = Hello::decode(&hello).map_err(|rule| memory.lies(rule))?;
        Ok(memory)
    }

    /// Where it is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Bytes that there are.
    pub fn bytes(&self) -> u64 {
        self.hello.bytes
    }

    /// Whether it may be written.
    pub fn is_writable(&self) -> bool {
        self.hello.writable
    }

    /// Reads bytes from an offset.
    ///
    /// # Errors
    /// [`RemoteError`]. What is in `to` then is not known.
    pub fn read(&mut self, offset: u64, to: &mut [u8]) -> Result<(), RemoteError> {
        self.check(offset, to.len())?;
        let mut asked: VecDeque<Ask> = VecDeque::new();
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
            self.answer(&ask)?;
            let (now, later) = rest.split_at_mut(ask.bytes as usize);
            self.receive(now)?;
            rest = later;
        }
        Ok(())
    }

    /// Writes bytes from an offset on; they are there when this returns.
    ///
    /// # Errors
    /// [`RemoteError`]. Some of the bytes may be there then.
    pub fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), RemoteError> {
        self.check(offset, from.len())?;
        let mut asked: VecDeque<Ask> = VecDeque::new();
        let mut next = offset;
        for piece in from.chunks(LARGEST as usize) {
            if asked.len() == WINDOW {
                self.oldest(&mut asked)?;
            }
            let ask = self.ask(Operation::Write, next, piece.len() as u32);
            self.send(&ask.encode())?;
            self.send(piece)?;
            asked.push_back(ask);
            next += piece.len() as u64;
        }
        while !asked.is_empty() {
            self.oldest(&mut asked)?;
        }
        Ok(())
    }

    fn oldest(&mut self, asked: &mut VecDeque<Ask>) -> Result<(), RemoteError> {
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

    fn ask(&mut self, operation: Operation, offset: u64, bytes: u32) -> Ask {
        self.tag += 1;
        Ask {
            operation,
            tag: self.tag,
            key: self.hello.key,
            offset,
            bytes,
        }
    }

    fn answer(&mut self, ask: &Ask) -> Result<(), RemoteError> {
        let mut head = [0; Answer::BYTES];
        self.receive(&mut head)?;
        let answer = Answer::decode(&head, ask).map_err(|rule| self.lies(rule))?;
        let why = match answer.status {
            Status::Good => return Ok(()),
            Status::OutOfRange => "it has fewer bytes than it said",
            Status::ReadOnly => "it is exported for reading only",
            Status::WrongKey => "the key is of another connection",
            Status::Storage => "its storage failed",
        };
        // Replies to requests behind this one are still to come.
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
        let result = self.socket.write_all(bytes);
        result.map_err(|error| self.failed("the peer went away", error))
    }

    fn failed(&mut self, what: &'static str, source: io::Error) -> RemoteError {
        self.broken = true;
        match source.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => RemoteError::Silent {
                address: self.address.clone(),
                timeout: self.timeout,
            },
            _ => self.lost(what, source),
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

/// Connects to the first of these addresses that answers; what went wrong with the last of them.
pub(crate) fn connect_to_any(
    addresses: impl Iterator<Item = SocketAddr>,
    timeout: Duration,
) -> io::Result<TcpStream> {
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for one in addresses {
        match TcpStream::connect_timeout(&one, timeout) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}
