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
