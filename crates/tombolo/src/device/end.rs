//! The host's end of a device: opened, read and written by a thread of its own, which waits in `poll(2)`, so that it
//! can be stopped and can measure how long the other end takes.

use super::name::Kind;
use super::{Device, DeviceError};
use remote::{connect_to_any, RemoteError, RemoteMemory};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use units::StreamDirection;

/// A device checked before its other end is connected.
#[derive(Debug)]
enum Prepared {
    /// No preparation needed.
    Nothing,
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A connection shared by the two ports of one device, or used by one port alone.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) device: Device,
    prepared: Prepared,
    connected: Mutex<Option<OwnedFd>>,
}

/// Reason for a thread's end.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The thread was stopped.
    Stopped,
    /// The device failed.
    Failed(DeviceError),
}

/// An open end.
#[derive(Debug)]
pub(crate) enum End {
    /// A pipe, a file or a socket.
    File(FileEnd),
    /// Remote memory.
    Remote(RemoteEnd),
}

impl End {
    /// Name for messages.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::File(end) => &end.name,
            Self::Remote(end) => end.memory.address(),
        }
    }

    /// Reads the available bytes, at least one; zero at the end of input.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Ending> {
        match self {
            Self::File(end) => end.read(buffer),
            Self::Remote(end) => end.read(buffer),
        }
    }

    /// Writes all bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Ending> {
        match self {
            Self::File(end) => end.write(bytes),
            Self::Remote(end) => end.write(bytes),
        }
    }

    /// Ends the output. A socket is shut down, and stays open until the other end has read everything.
    pub(crate) fn finish(self, alone: bool) -> Result<(), Ending> {
        match self {
            Self::File(end) => end.finish(alone),
            // Remote memory holds the bytes when a write has returned.
            Self::Remote(_) => Ok(()),
        }
    }
}

/// A range of remote memory, and the current position.
#[derive(Debug)]
pub(crate) struct RemoteEnd {
    memory: RemoteMemory,
    next: u64,
    end: u64,
}

impl RemoteEnd {
    fn open(
        address: &str,
        (offset, bytes): (u64, Option<u64>),
        timeout: Option<Duration>,
    ) -> Result<Self, RemoteError> {
        let timeout = timeout.unwrap_or(RemoteMemory::TIMEOUT);
        let memory = RemoteMemory::connect(address, timeout)?;
        let rest = memory.bytes().saturating_sub(offset);
        let bytes = bytes.unwrap_or(rest);
        if bytes == 0 || bytes > rest {
            return Err(RemoteError::OutOfRange {
                address: address.to_owned(),
                offset,
                bytes,
                size: memory.bytes(),
            });
        }
        Ok(Self {
            memory,
            next: offset,
            end: offset + bytes,
        })
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Ending> {
        let bytes = (self.end - self.next).min(buffer.len() as u64) as usize;
        if let Some(to) = buffer.get_mut(..bytes).filter(|to| !to.is_empty()) {
            self.memory.read(self.next, to).map_err(failed)?;
            self.next += bytes as u64;
        }
        Ok(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Ending> {
        let size = bytes.len() as u64;
        if size > self.end - self.next {
            return Err(failed(RemoteError::OutOfRange {
                address: self.memory.address().to_owned(),
                offset: self.next,
                bytes: size,
                size: self.end,
            }));
        }
        self.memory.write(self.next, bytes).map_err(failed)?;
        self.next += size;
        Ok(())
    }
}

fn failed(error: RemoteError) -> Ending {
    Ending::Failed(error.into())
}

/// A descriptor that is read or written.
#[derive(Debug)]
pub(crate) struct FileEnd {
    file: File,
    is_socket: bool,
    name: String,
    timeout: Option<Duration>,
    stop: UnixStream,
    /// Bytes transferred so far.
    bytes: u64,
}

/// Maximum bytes per write where writing could block: the amount that a ready pipe accepts.
const PIECE: usize = 4096;
/// Retry interval for opening a FIFO without a reader, or reaching a server that is not up yet.
const AGAIN: Duration = Duration::from_millis(10);
/// Maximum time for a peer to read the remaining bytes after the end of our output.
const LINGER: Duration = Duration::from_secs(2);

impl Socket {
    /// Makes all checks that do not need the other end.
    pub(crate) fn prepare(device: Device) -> Result<Arc<Self>, DeviceError> {
        let failed = |what: &'static str| {
            let device = device.name().to_string_lossy().into_owned();
            move |source| DeviceError::Open {
                device,
                what,
                source,
            }
        };
        let prepared = match &device.kind {
            Kind::TcpListen(address) => {
                let listener = TcpListener::bind(address.as_str());
                Prepared::Tcp(listener.map_err(failed("listening there"))?)
            }
            Kind::UnixListen(path) => {
                let listener = UnixListener::bind(path);
                Prepared::Unix(listener.map_err(failed("making the socket"))?)
            }
            Kind::Pipe(path) => {
                check_pipe(&device, path)?;
                Prepared::Nothing
            }
            _ => Prepared::Nothing,
        };
        Ok(Arc::new(Self {
            device,
            prepared,
            connected: Mutex::new(None),
        }))
    }

    /// Local address of a listening socket.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        match &self.prepared {
            Prepared::Tcp(listener) => listener.local_addr().ok(),
            _ => None,
        }
    }

    /// Opens the device, waiting for the other end.
    pub(crate) fn open(&self, direction: StreamDirection, stop: UnixStream) -> Result<End, Ending> {
        if let Kind::Remote {
            address,
            offset,
            bytes,
        } = &self.device.kind
        {
            let end = RemoteEnd::open(address, (*offset, *bytes), self.device.timeout);
            return end.map(End::Remote).map_err(failed);
        }
        let name = self.device.name().to_string_lossy().into_owned();
        let waiting = Waiting {
            name: &name,
            stop: &stop,
            timeout: self.device.timeout,
            since: Instant::now(),
        };
        let is_socket = self.device.is_two_way();
        let file = if is_socket {
            let mut connected = self
                .connected
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if connected.is_none() {
                *connected = Some(self.connect(&waiting)?);
            }
            let fd = connected.as_ref().map(OwnedFd::try_clone);
            File::from(match fd {
                Some(Ok(fd)) => fd,
                Some(Err(source)) => return Err(waiting.failed("sharing the connection", source)),
                None => return Err(Ending::Stopped),
            })
        } else {
            match &self.device.kind {
                Kind::Pipe(path) => waiting.open_pipe(path, direction)?,
                _ => {
                    let fd = match direction {
                        StreamDirection::In => io::stdin().as_fd().try_clone_to_owned(),
                        StreamDirection::Out => io::stdout().as_fd().try_clone_to_owned(),
                    };
                    File::from(fd.map_err(|error| waiting.failed("opening it", error))?)
                }
            }
        };
        Ok(End::File(FileEnd {
            file,
            is_socket,
            name,
            timeout: self.device.timeout,
            stop,
            bytes: 0,
        }))
    }

    fn connect(&self, waiting: &Waiting<'_>) -> Result<OwnedFd, Ending> {
        let accepted = |result: io::Result<OwnedFd>| {
            result.map_err(|error| waiting.failed("accepting a client", error))
        };
        let client =
            |listener: BorrowedFd<'_>| waiting.wait(listener, libc::POLLIN, "nobody has connected");
        match (&self.prepared, &self.device.kind) {
            (Prepared::Tcp(listener), _) => {
                client(listener.as_fd())?;
                accepted(listener.accept().map(|(socket, _)| socket.into()))
            }
            (Prepared::Unix(listener), _) => {
                client(listener.as_fd())?;
                let socket = accepted(listener.accept().map(|(socket, _)| socket.into()))?;
                // The first client is the only one: from here on the socket cannot be found.
                self.remove_socket();
                Ok(socket)
            }
            (_, Kind::Unix(path)) => {
                let socket = UnixStream::connect(path).map(OwnedFd::from);
                socket.map_err(|error| waiting.failed("connecting to it", error))
            }
            (_, Kind::Tcp(address)) => waiting.connect_tcp(address),
            _ => Err(Ending::Stopped),
        }
    }
}

impl Socket {
    /// Removes the socket file that was created for listening. It did not exist before, so it is ours.
    fn remove_socket(&self) {
        if let (Prepared::Unix(_), Kind::UnixListen(path)) = (&self.prepared, &self.device.kind) {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let connected = self.connected.get_mut();
        // Once a client has connected, the file is removed already; a file of that name belongs to another process.
        if connected.unwrap_or_else(PoisonError::into_inner).is_none() {
            self.remove_socket();
        }
    }
}

fn check_pipe(device: &Device, path: &Path) -> Result<(), DeviceError> {
    let name = device.name().to_string_lossy().into_owned();
    let kind = match path.metadata() {
        Ok(found) => found.file_type(),
        Err(source) => {
            let what = "looking at it (mkfifo makes one)";
            return Err(DeviceError::Open {
                device: name,
                what,
                source,
            });
        }
    };
    if kind.is_fifo() || kind.is_char_device() {
        return Ok(());
    }
    let rule = if kind.is_socket() {
        "this is a socket; write unix:PATH"
    } else if kind.is_file() {
        "this is a regular file; write file:PATH, which is mapped and paged"
    } else {
        "this is neither a FIFO nor a character device"
    };
    Err(DeviceError::Unfit {
        device: name,
        rule: rule.to_owned(),
    })
}

/// A wait of a thread: its subject and its start.
struct Waiting<'a> {
    name: &'a str,
    stop: &'a UnixStream,
    timeout: Option<Duration>,
    since: Instant,
}

impl Waiting<'_> {
    fn failed(&self, what: &'static str, source: io::Error) -> Ending {
        Ending::Failed(DeviceError::Open {
            device: self.name.to_owned(),
            what,
            source,
        })
    }

    fn late(&self, what: &'static str, timeout: Duration) -> Ending {
        Ending::Failed(DeviceError::Late {
            device: self.name.to_owned(),
            what,
            timeout,
            bytes: 0,
        })
    }

    fn wait(&self, fd: BorrowedFd<'_>, events: i16, what: &'static str) -> Result<(), Ending> {
        match ready(fd.as_raw_fd(), events, self.stop, self.timeout) {
            Ok(Ready::Yes) => Ok(()),
            Ok(Ready::Stopped) => Err(Ending::Stopped),
            Ok(Ready::Late) => Err(self.late(what, self.timeout.unwrap_or_default())),
            Err(error) => Err(self.failed("waiting for the other end", error)),
        }
    }

    /// A short pause before a retry.
    fn rest(&self, what: &'static str) -> Result<(), Ending> {
        if let Some(timeout) = self.timeout.filter(|limit| self.since.elapsed() >= *limit) {
            return Err(self.late(what, timeout));
        }
        match ready(-1, 0, self.stop, Some(AGAIN)) {
            Ok(Ready::Stopped) => Err(Ending::Stopped),
            _ => Ok(()),
        }
    }

    /// Opens a FIFO without blocking, so that the wait can be stopped.
    fn open_pipe(&self, path: &Path, direction: StreamDirection) -> Result<File, Ending> {
        loop {
            let mut how = OpenOptions::new();
            how.read(direction == StreamDirection::In)
                .write(direction == StreamDirection::Out);
            match how.custom_flags(libc::O_NONBLOCK).open(path) {
                Ok(file) => return Ok(file),
                Err(error)
                    if direction == StreamDirection::Out
                        && error.raw_os_error() == Some(libc::ENXIO) =>
                {
                    self.rest("nobody has opened it for reading")?;
                }
                Err(error) => return Err(self.failed("opening it", error)),
            }
        }
    }

    /// A server that is not up yet may come up, within the time-out.
    fn connect_tcp(&self, address: &str) -> Result<OwnedFd, Ending> {
        loop {
            let found = address.to_socket_addrs();
            let found = found.map_err(|error| self.failed("finding its address", error))?;
            let limit = self.timeout.unwrap_or(Duration::from_secs(30));
            let refused = match connect_to_any(found, limit) {
                Ok(socket) => {
                    let _ = socket.set_nodelay(true);
                    return Ok(socket.into());
                }
                Err(error) => error,
            };
            let again = refused.kind() == io::ErrorKind::ConnectionRefused;
            if !again || self.timeout.is_none() {
                return Err(self.failed("connecting to it", refused));
            }
            self.rest("nobody listens there")?;
        }
    }
}

impl FileEnd {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Ending> {
        loop {
            self.wait(libc::POLLIN, "nothing came")?;
            match self.file.read(buffer) {
                Ok(read) => {
                    self.bytes += read as u64;
                    return Ok(read);
                }
                Err(error) if again(&error) => {}
                Err(error) => return Err(self.failed("reading", error)),
            }
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), Ending> {
        while !bytes.is_empty() {
            self.wait(libc::POLLOUT, "the other end took nothing")?;
            let piece = &bytes[..bytes.len().min(PIECE)];
            let written = match self.is_socket {
                true => send(self.file.as_raw_fd(), bytes),
                false => self.file.write(piece),
            };
            match written {
                Ok(written) => {
                    self.bytes += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if again(&error) => {}
                Err(error) if gone(&error) => {
                    return Err(Ending::Failed(DeviceError::Closed {
                        device: self.name.clone(),
                        bytes: self.bytes,
                    }));
                }
                Err(error) => return Err(self.failed("writing", error)),
            }
        }
        Ok(())
    }

    fn finish(mut self, alone: bool) -> Result<(), Ending> {
        if !self.is_socket {
            return Ok(());
        }
        // SAFETY: the descriptor is ours and open.
        if unsafe { libc::shutdown(self.file.as_raw_fd(), libc::SHUT_WR) } != 0 {
            return Err(self.failed("ending", io::Error::last_os_error()));
        }
        if !alone {
            return Ok(());
        }
        // Closing with unread bytes would reset the connection and lose the bytes in flight.
        let until = Instant::now() + self.timeout.unwrap_or(LINGER).min(LINGER);
        let mut rest = [0; PIECE];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match ready(self.file.as_raw_fd(), libc::POLLIN, &self.stop, Some(left)) {
                Ok(Ready::Yes) => {}
                _ => return Ok(()),
            }
            match self.file.read(&mut rest) {
                Ok(0) | Err(_) => return Ok(()),
                Ok(_) => {}
            }
        }
    }

    fn wait(&self, events: i16, what: &'static str) -> Result<(), Ending> {
        match ready(self.file.as_raw_fd(), events, &self.stop, self.timeout) {
            Ok(Ready::Yes) => Ok(()),
            Ok(Ready::Stopped) => Err(Ending::Stopped),
            Ok(Ready::Late) => Err(Ending::Failed(DeviceError::Late {
                device: self.name.clone(),
                what,
                timeout: self.timeout.unwrap_or_default(),
                bytes: self.bytes,
            })),
            Err(error) => Err(self.failed("waiting for", error)),
        }
    }

    fn failed(&self, what: &'static str, source: io::Error) -> Ending {
        Ending::Failed(DeviceError::Failed {
            device: self.name.clone(),
            what,
            bytes: self.bytes,
            source,
        })
    }
}

fn again(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

fn gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

/// As `write(2)`, but never blocks and sends no signal.
fn send(socket: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the bytes are there for the length of the call.
    let sent = unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Result of a wait.
enum Ready {
    Yes,
    Stopped,
    Late,
}

/// Waits until a descriptor is ready, or the other end of `stop` is closed.
fn ready(
    fd: RawFd,
    events: i16,
    stop: &UnixStream,
    timeout: Option<Duration>,
) -> io::Result<Ready> {
    let until = timeout.map(|timeout| Instant::now() + timeout);
    let entry = |fd, events| libc::pollfd {
        fd,
        events,
        revents: 0,
    };
    loop {
        let left = until.map_or(-1, |until| {
            let left = until.saturating_duration_since(Instant::now());
            // Rounded up, so that the last fraction does not become a busy loop.
            i32::try_from(left.as_micros().div_ceil(1000)).unwrap_or(i32::MAX)
        });
        let mut watched = [entry(fd, events), entry(stop.as_raw_fd(), libc::POLLIN)];
        // SAFETY: the two entries are on the stack for the whole call.
        let found = unsafe { libc::poll(watched.as_mut_ptr(), 2, left) };
        if found < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        } else if watched[1].revents != 0 {
            return Ok(Ready::Stopped);
        } else if watched[0].revents != 0 {
            return Ok(Ready::Yes);
        } else if left == 0 {
            return Ok(Ready::Late);
        }
    }
}
