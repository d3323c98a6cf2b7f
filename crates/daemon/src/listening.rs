//! A listening Unix socket, and the thread that accepts connections.

use crate::DaemonError;
use std::fmt;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use wire::{ErrorCode, Failure, Frame, Kind, ENDS_CONNECTION};

/// Why connections end when a daemon is replaced.
const RESTARTED: &str = "the daemon was restarted, and the kernels of this program ended with it; everything that they \
     had written to mapped files is in the files: open the card again";

/// Timeout of a client for these words.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Access to the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The user of this process.
    OwnUser,
    /// All users; the connection is checked after it is accepted.
    Everybody,
}

impl Door {
    const fn mode(self) -> u32 {
        match self {
            Self::OwnUser => 0o600,
            Self::Everybody => 0o666,
        }
    }
}

/// A listening socket, until [`stop`](Self::stop).
pub struct Listening {
    /// Path of a socket that was created here, and is removed with this.
    path: Option<PathBuf>,
    listener: Arc<UnixListener>,
    ending: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Listening {
    /// Listens at a path, and passes each connection to `begin` on a thread of its own, which must not block there. A
    /// stale socket is replaced.
    ///
    /// # Errors
    /// See [`DaemonError`].
    pub fn begin(
        path: &Path,
        door: Door,
        begin: impl Fn(UnixStream) + Send + 'static,
    ) -> Result<Self, DaemonError> {
        let failed = |source| DaemonError::Listen {
            path: path.to_owned(),
            source,
        };
        clear(path)?;
        let listener = UnixListener::bind(path).map_err(failed)?;
        // A client that connects before this is checked like all others.
        let mode = std::fs::Permissions::from_mode(door.mode());
        std::fs::set_permissions(path, mode).map_err(failed)?;
        let begun = Self::on(listener, begin).map_err(failed)?;
        Ok(Self {
            path: Some(path.to_owned()),
            ..begun
        })
    }

    /// Listens on a socket created by the caller, who keeps it.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn on(
        listener: UnixListener,
        begin: impl Fn(UnixStream) + Send + 'static,
    ) -> io::Result<Self> {
        let listener = Arc::new(listener);
        let ending = Arc::new(AtomicBool::new(false));
        let thread = {
            let (listener, ending) = (listener.clone(), ending.clone());
            threads::spawn("tombolo-accept", move || accept(&listener, &ending, &begin))
        };
        Ok(Self {
            path: None,
            listener,
            ending,
            thread: thread?,
        })
    }

    /// Listens on the socket of a daemon that has handed it over; its path is removed with this.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn taken_over(
        listener: UnixListener,
        path: &Path,
        begin: impl Fn(UnixStream) + Send + 'static,
    ) -> io::Result<Self> {
        let begun = Self::on(listener, begin)?;
        Ok(Self {
            path: Some(path.to_owned()),
            ..begun
        })
    }

    /// Path of a socket that is removed with this.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Stops accepting without closing the socket: connections wait in it for the process that receives it.
    pub fn hand_over(self) -> Arc<UnixListener> {
        self.ending.store(true, Ordering::Release);
        drop(call(&self.listener));
        // A panic there is in the log.
        let _ = self.thread.join();
        self.listener
    }

    /// Stops accepting, and removes the socket if it was created here. Existing connections continue.
    pub fn stop(self) {
        self.ending.store(true, Ordering::Release);
        match &self.path {
            // A thread blocked in accept gets an error.
            Some(_) => drop(rustix::net::shutdown(
                &*self.listener,
                rustix::net::Shutdown::Both,
            )),
            // The socket's owner goes on listening; a connection wakes the blocked thread.
            None => drop(call(&self.listener)),
        }
        // A panic there is in the log.
        let _ = self.thread.join();
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Sends a client the error that this daemon ends, and that it is to connect again.
pub(crate) fn send_end(socket: &UnixStream) {
    let failure = Failure::new(ErrorCode::Daemon, RESTARTED);
    // Text and numbers, which always serialize.
    let body = wire::encode(&failure).unwrap_or_default();
    let sent = socket
        .set_write_timeout(Some(LAST_WORDS))
        .and_then(|()| wire::send(socket, &Frame::new(Kind::Failure, ENDS_CONNECTION, body)));
    if let Err(error) = sent {
        tracing::debug!(%error, "a client is not told that the daemon was restarted");
    }
}

/// Connects to a listener of this process.
fn call(listener: &UnixListener) -> io::Result<UnixStream> {
    UnixStream::connect_addr(&listener.local_addr()?)
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listening").field(&self.path).finish()
    }
}

/// Removes a stale socket, one without a listener.
fn clear(path: &Path) -> Result<(), DaemonError> {
    let Ok(found) = path.symlink_metadata() else {
        return Ok(());
    };
    if !found.file_type().is_socket() {
        return Err(DaemonError::NoSocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(DaemonError::Taken(path.to_owned())),
        Err(_) => std::fs::remove_file(path).map_err(|source| DaemonError::Listen {
            path: path.to_owned(),
            source,
        }),
    }
}

fn accept(listener: &UnixListener, ending: &AtomicBool, begin: &impl Fn(UnixStream)) {
    loop {
        let accepted = listener.accept();
        if ending.load(Ordering::Acquire) {
            if let Ok((socket, _)) = accepted {
                // Either the connection that wakes this thread, or a client that came before it.
                send_end(&socket);
            }
            return;
        }
        match accepted {
            Ok((socket, _)) => begin(socket),
            Err(error) => {
                tracing::warn!(%error, "a client could not be taken");
                // Descriptors may be exhausted until other connections close.
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        }
    }
}
