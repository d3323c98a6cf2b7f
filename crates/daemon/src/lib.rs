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

mod activation;
mod connection;
mod installed;
mod listening;
mod outgoing;
mod process;
mod quotas;
mod table;

pub use activation::{passed_socket, tell_ready, ActivationError};
pub use listening::{Door, Listening};
pub use quotas::{Quotas, QuotasError};

use connection::Connection;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table::Table;
use tombolo::{Card, Error, Status};

/// Maximum concurrent clients.
pub const MOST_CLIENTS: usize = 64;

/// Why a daemon cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// A process listens there already.
    #[error("{path}: a daemon listens there already; stop it, or choose another place", path = .0.display())]
    Taken(PathBuf),
    /// The path exists and is not a socket.
    #[error("{path}: it is no socket; choose another place", path = .0.display())]
    NoSocket(PathBuf),
    /// The system refuses.
    #[error("{path}: listening there: {source}", path = .path.display())]
    Listen {
        /// Path of the socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Handles a new connection.
type Begin = Box<dyn Fn(UnixStream) + Send>;

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    listening: Listening,
    table: Arc<Table>,
    card: Card,
}

impl Daemon {
    /// Listens at a path, and serves permitted clients. A stale socket of an earlier daemon is replaced.
    ///
    /// # Errors
    /// See [`DaemonError`].
    pub fn listen(card: Card, path: &Path) -> Result<Self, DaemonError> {
        Self::listen_within(card, path, Quotas::default())
    }

    /// As [`listen`](Self::listen), and also for the users whom the quotas name, each within its quota.
    ///
    /// # Errors
    /// See [`DaemonError`].
    pub fn listen_within(card: Card, path: &Path, quotas: Quotas) -> Result<Self, DaemonError> {
        let door = match quotas.admits_others() {
            true => Door::Everybody,
            false => Door::OwnUser,
        };
        Self::serve(card, quotas, |begin| Listening::begin(path, door, begin))
    }

    /// As [`listen_within`](Self::listen_within), on a socket created by the caller, who keeps it: its permissions are
    /// unchanged.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn listen_on(card: Card, listener: UnixListener, quotas: Quotas) -> io::Result<Self> {
        Self::serve(card, quotas, |begin| Listening::on(listener, begin))
    }

    fn serve<E>(
        card: Card,
        quotas: Quotas,
        listen: impl FnOnce(Begin) -> Result<Listening, E>,
    ) -> Result<Self, E> {
        let table = Arc::new(Table::default());
        let begin = {
            let (table, card) = (table.clone(), card.clone());
            move |socket| Connection::begin(socket, &table, &card, &quotas)
        };
        Ok(Self {
            listening: listen(Box::new(begin))?,
            table,
            card,
        })
    }

    /// The status of all clients, for the daemon's administrator.
    pub fn watcher(&self) -> impl Fn() -> Result<Status, Error> + Send + Sync + 'static {
        let (card, table) = (self.card.clone(), self.table.clone());
        move || card.status().map(|status| table.complete_for_admin(status))
    }

    /// Stops serving: every client's connection is closed, and its resources are released as if it had disconnected.
    pub fn stop(self) {
        self.listening.stop();
        self.table.hang_up();
        self.table.join();
        if let Err(error) = self.card.close() {
            tracing::error!(%error, "closing the card");
        }
    }
}

/// Logs a client whose bytes could not all be written back.
fn log_lost(client: u64, result: Result<(), Error>) {
    if let Err(error) = result {
        tracing::error!(client, %error, "after its client: some written bytes may be lost");
    }
}
