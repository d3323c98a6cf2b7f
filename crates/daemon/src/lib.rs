//! One card for many programs: a Unix socket at which each connection is a client of the card's owner.
//!
//! ```
//! use tombolo::{Card, FunctionalCard};
//! use tombolo_daemon::Daemon;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let socket = folder.path().join("card");
//! let card = Card::functional(FunctionalCard::new(Default::default()))?;
//! let daemon = Daemon::listen(card, &socket)?;
//! // Another program:
//! let client = Card::open(format!("unix:{}", socket.display()))?;
//! let space = client.create_space()?;
//! assert_eq!(client.status()?.owner.clients.len(), 1);
//! # drop((space, client));
//! daemon.stop();
//! # Ok(())
//! # }
//! ```

#![deny(missing_debug_implementations)]

mod connection;
mod outgoing;
mod process;
mod table;

use connection::Connection;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use table::Table;
use tombolo::{Card, Error};

/// Clients at a time.
pub const MOST_CLIENTS: usize = 64;

/// Why a daemon cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Somebody listens there.
    #[error("{path}: a daemon listens there already; stop it, or choose another --socket", path = .0.display())]
    Taken(PathBuf),
    /// Something else is there.
    #[error("{path}: it is no socket; choose another --socket", path = .0.display())]
    NoSocket(PathBuf),
    /// The system says no.
    #[error("{path}: listening there: {source}", path = .path.display())]
    Listen {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// A daemon that serves.
#[derive(Debug)]
pub struct Daemon {
    path: PathBuf,
    listener: Arc<UnixListener>,
    ending: Arc<AtomicBool>,
    table: Arc<Table>,
    thread: JoinHandle<()>,
    card: Card,
}

impl Daemon {
    /// Listens at a path, and serves whoever may and comes. A socket that a daemon has left behind is taken over.
    ///
    /// # Errors
    /// See [`DaemonError`].
    pub fn listen(card: Card, path: &Path) -> Result<Self, DaemonError> {
        let failed = |source| DaemonError::Listen {
            path: path.to_owned(),
            source,
        };
        clear(path)?;
        let listener = Arc::new(UnixListener::bind(path).map_err(failed)?);
        // Who connects before is looked at like everybody else.
        let only_its_user = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, only_its_user).map_err(failed)?;
        let ending = Arc::new(AtomicBool::new(false));
        let table = Arc::new(Table::default());
        let thread = {
            let (listener, ending) = (listener.clone(), ending.clone());
            let (table, card) = (table.clone(), card.clone());
            threads::spawn("tombolo-accept", move || {
                accept(&listener, &ending, &table, &card);
            })
        };
        Ok(Self {
            path: path.to_owned(),
            listener,
            ending,
            table,
            thread: thread.map_err(failed)?,
            card,
        })
    }

    /// Serves no more: every client is told by the end of its connection, and what it had ends as if it had gone.
    pub fn stop(self) {
        self.ending.store(true, Ordering::Release);
        // Whoever waits for a connection gets an error.
        let _ = rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both);
        // A panic there is in the log.
        let _ = self.thread.join();
        self.table.hang_up();
        self.table.join();
        let _ = std::fs::remove_file(&self.path);
        if let Err(error) = self.card.close() {
            tracing::error!(%error, "closing the card");
        }
    }
}

/// Removes a socket at which nobody listens.
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

fn accept(listener: &UnixListener, ending: &AtomicBool, table: &Arc<Table>, card: &Card) {
    loop {
        let accepted = listener.accept();
        if ending.load(Ordering::Acquire) {
            return;
        }
        match accepted {
            Ok((socket, _)) => Connection::begin(socket, table, card),
            Err(error) => {
                tracing::warn!(%error, "a client could not be taken");
                // Descriptors may be short: others end theirs meanwhile.
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        }
    }
}

/// What the log says of a client whose bytes could not all be saved.
fn log_lost(client: u64, result: Result<(), Error>) {
    if let Err(error) = result {
        tracing::error!(client, %error, "after its client: some written bytes may be lost");
    }
}
