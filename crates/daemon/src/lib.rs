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
mod installed;
mod listening;
mod outgoing;
mod process;
mod quotas;
mod table;

pub use listening::{Door, Listening};
pub use quotas::{Quotas, QuotasError};

use connection::Connection;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table::Table;
use tombolo::{Card, Error};

/// Clients at a time.
pub const MOST_CLIENTS: usize = 64;

/// Why a daemon cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Somebody listens there.
    #[error("{path}: a daemon listens there already; stop it, or choose another place", path = .0.display())]
    Taken(PathBuf),
    /// Something else is there.
    #[error("{path}: it is no socket; choose another place", path = .0.display())]
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
    listening: Listening,
    table: Arc<Table>,
    card: Card,
}

impl Daemon {
    /// Listens at a path, and serves whoever may and comes. A socket that a daemon has left behind is taken over.
    ///
    /// # Errors
    /// See [`DaemonError`].
    pub fn listen(card: Card, path: &Path) -> Result<Self, DaemonError> {
        Self::listen_within(card, path, Quotas::default())
    }

    /// As [`listen`](Self::listen), for users whom the quotas name too, each within its quota.
    ///
    /// # Errors
    /// See [`DaemonError`].
    pub fn listen_within(card: Card, path: &Path, quotas: Quotas) -> Result<Self, DaemonError> {
        let table = Arc::new(Table::default());
        let door = match quotas.admits_others() {
            true => Door::Everybody,
            false => Door::OwnUser,
        };
        let listening = {
            let (table, card) = (table.clone(), card.clone());
            let begin = move |socket| Connection::begin(socket, &table, &card, &quotas);
            Listening::begin(path, door, begin)?
        };
        Ok(Self {
            listening,
            table,
            card,
        })
    }

    /// Serves no more: every client is told by the end of its connection, and what it had ends as if it had gone.
    pub fn stop(self) {
        self.listening.stop();
        self.table.hang_up();
        self.table.join();
        if let Err(error) = self.card.close() {
            tracing::error!(%error, "closing the card");
        }
    }
}

/// What the log says of a client whose bytes could not all be saved.
fn log_lost(client: u64, result: Result<(), Error>) {
    if let Err(error) = result {
        tracing::error!(client, %error, "after its client: some written bytes may be lost");
    }
}
