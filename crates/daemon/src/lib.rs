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
mod journal;
mod listening;
mod outgoing;
mod process;
mod quotas;
mod replay;
mod succession;
mod table;

pub use activation::{passed_socket, tell_ready, ActivationError};
pub use journal::{
    Cut, FileEntry, Header, Journal, JournalEntry, JournalError, JournalReader, Passed,
    ReportEntry, RequestEntry, Rights, Taken, TenantEntry, FORMAT,
};
pub use listening::{Door, Listening};
pub use quotas::{Quotas, QuotasError};
pub use replay::{End, PreparedReplay, Replay, ReplayError, ReplayPlaces, Replayed, WrittenFile};

use connection::Connection;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use table::Table;
use tombolo::{Card, Error, Status};

/// Maximum concurrent clients.
pub const MOST_CLIENTS: usize = 64;

/// Time for clients of a daemon that is replaced to take their last replies.
const LAST_REPLIES: Duration = Duration::from_secs(5);

/// Why a daemon cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// A process listens there already.
    #[error("{path}: a daemon listens there already; stop it, or choose another place", path = .0.display())]
    Taken(PathBuf),
    /// The path exists and is not a socket.
    #[error("{path}: it is no socket; choose another place", path = .0.display())]
    NoSocket(PathBuf),
    /// The daemon that listens there cannot be replaced.
    #[error("{path}: replacing the daemon that listens there: {rule}", path = .path.display())]
    Successor {
        /// Path of the socket.
        path: PathBuf,
        /// The reason, and the remedy.
        rule: String,
    },
    /// The system refuses.
    #[error("{path}: listening there: {source}", path = .path.display())]
    Listen {
        /// Path of the socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Settings of a daemon.
#[derive(Debug, Default)]
pub struct Settings {
    /// Users other than the daemon's, and limits of all.
    pub quotas: Quotas,
    /// Where requests are recorded. The card's owner must have the journal's [inputs](Journal::inputs).
    pub journal: Option<Arc<Journal>>,
}

impl From<Quotas> for Settings {
    fn from(quotas: Quotas) -> Self {
        Self {
            quotas,
            journal: None,
        }
    }
}

/// Handles a new connection.
type Begin = Box<dyn Fn(UnixStream) + Send>;

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    listening: Listening,
    table: Arc<Table>,
    card: Card,
    journal: Option<Arc<Journal>>,
}

/// Waits for the daemon that takes the place of a [`Daemon`].
#[derive(Clone, Debug)]
pub struct Successors(Arc<Table>);

/// A daemon that takes the place of another, and waits for its socket.
#[derive(Debug)]
pub struct Successor(Arc<UnixStream>);

impl Successors {
    /// Waits for the next one.
    pub fn wait(&self) -> Successor {
        Successor(self.0.successor())
    }
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
    pub fn listen_within(
        card: Card,
        path: &Path,
        settings: impl Into<Settings>,
    ) -> Result<Self, DaemonError> {
        let settings = settings.into();
        let door = match settings.quotas.admits_others() {
            true => Door::Everybody,
            false => Door::OwnUser,
        };
        Self::serve(card, settings, |begin| Listening::begin(path, door, begin))
    }

    /// As [`listen_within`](Self::listen_within), on a socket created by the caller, who keeps it: its permissions are
    /// unchanged.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn listen_on(
        card: Card,
        listener: UnixListener,
        settings: impl Into<Settings>,
    ) -> io::Result<Self> {
        Self::serve(card, settings.into(), |begin| {
            Listening::on(listener, begin)
        })
    }

    /// Takes the place of the daemon that listens at a path: its clients end, and new ones, who wait meanwhile, are served
    /// on this card. Returns when that daemon has ended.
    ///
    /// # Errors
    /// [`DaemonError::Successor`]; a thread cannot be started.
    pub fn replace(
        card: Card,
        path: &Path,
        settings: impl Into<Settings>,
    ) -> Result<Self, DaemonError> {
        let listener = succession::ask(path)?;
        let failed = |source| DaemonError::Listen {
            path: path.to_owned(),
            source,
        };
        Self::serve(card, settings.into(), |begin| {
            Listening::taken_over(listener, path, begin)
        })
        .map_err(failed)
    }

    fn serve<E>(
        card: Card,
        settings: Settings,
        listen: impl FnOnce(Begin) -> Result<Listening, E>,
    ) -> Result<Self, E> {
        let table = Arc::new(Table::default());
        let journal = settings.journal.clone();
        let begin = {
            let (table, card) = (table.clone(), card.clone());
            move |socket| Connection::begin(socket, &table, &card, &settings)
        };
        Ok(Self {
            listening: listen(Box::new(begin))?,
            table,
            card,
            journal,
        })
    }

    /// Where daemons that take the place of this one appear.
    pub fn successors(&self) -> Successors {
        Successors(self.table.clone())
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
        end(&self.card, self.journal.as_deref());
    }

    /// Ends as [`stop`](Self::stop) does, but gives the socket to the daemon that takes the place of this one. Clients
    /// learn that the daemon was restarted.
    ///
    /// # Errors
    /// That daemon is gone: the socket is removed.
    pub fn hand_over(self, to: &Successor) -> Result<(), DaemonError> {
        let path = self.listening.path().map(Path::to_owned);
        let listener = self.listening.hand_over();
        self.table.hang_up_to_restart();
        // Clients that do not read their replies are not waited for.
        self.table.join_within(LAST_REPLIES);
        self.table.hang_up();
        self.table.join();
        end(&self.card, self.journal.as_deref());
        let given = succession::give(&to.0, &listener);
        given.map_err(|source| {
            let path = path.unwrap_or_default();
            let _ = std::fs::remove_file(&path);
            DaemonError::Listen { path, source }
        })
    }
}

/// Closes a card without clients, and the journal with its report.
fn end(card: &Card, journal: Option<&Journal>) {
    if let Some(journal) = journal {
        let report = card.report();
        if let Err(error) = &report {
            tracing::error!(%error, "the journal ends without a report");
        }
        journal.end(report.ok().as_ref());
    }
    if let Err(error) = card.close() {
        tracing::error!(%error, "closing the card");
    }
}

/// Logs a client whose bytes could not all be written back.
fn log_lost(client: u64, result: Result<(), Error>) {
    if let Err(error) = result {
        tracing::error!(client, %error, "after its client: some written bytes may be lost");
    }
}
