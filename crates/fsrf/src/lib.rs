//! FSRF's socket: programs that were built against its library use a card of ours, as they are.
//!
//! They send eight kinds of message through a Unix socket: registers of an application, files, mappings. An application is a
//! slot with a kernel in it and an address space of its own.
//!
//! ```no_run
//! use tombolo_fsrf::{AppOptions, Server};
//! use tombolo::Card;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let card = Card::open("f1")?;
//! let app = AppOptions { number: 0, folder: "kernels/md5".into() };
//! let report = |notice: &tombolo_fsrf::Notice| eprintln!("{notice}");
//! let server = Server::listen(&card, vec![app], Default::default(), "aos.socket".as_ref(), report)?;
//! // Programs come and go.
//! server.stop();
//! # Ok(())
//! # }
//! ```

#![deny(missing_debug_implementations)]

mod app;
mod connection;
mod files;
mod layout;
mod message;
mod notice;
mod peer;
mod process;

pub use app::AppOptions;
pub use layout::{Header, Layout, LayoutError};
pub use message::{Decoder, Malformed, Map, Range, Reply, Request};
pub use notice::{Notice, Report};

use app::App;
use connection::{Connection, Shared};
use daemon::{DaemonError, Door, Listening};
use notice::Notices;
use process::Processes;
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tombolo::{Card, Error, SlotId};

/// Maximum concurrent connections.
pub const MOST_CONNECTIONS: usize = 64;

/// Why serving fails.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// See [`DaemonError`].
    #[error(transparent)]
    Socket(#[from] DaemonError),
    /// An application's kernel cannot be loaded.
    #[error("application {app}: {error}")]
    App {
        /// The application's number.
        app: u64,
        /// Error of loading the kernel.
        error: Box<Error>,
    },
    /// Two applications have the same number.
    #[error("application {0} is given twice")]
    Twice(u64),
    /// No application was given.
    #[error("no application: give at least one kernel")]
    None,
}

/// A server at a socket.
#[derive(Debug)]
pub struct Server {
    listening: Listening,
    connections: Arc<Connections>,
    ending: Arc<AtomicBool>,
    shared: Arc<Shared>,
}

/// The open connections.
#[derive(Debug, Default)]
struct Connections {
    all: Mutex<BTreeMap<u64, Arc<UnixStream>>>,
    next: std::sync::atomic::AtomicU64,
    ended: Condvar,
}

impl Server {
    /// Loads each application's kernel into a slot, the first into slot 0 and so on, and serves programs at a path
    /// until [`stop`](Self::stop). Failures that the protocol cannot express are passed to `report`.
    ///
    /// # Errors
    /// A kernel does not build or fit; another process serves that path already.
    pub fn listen(
        card: &Card,
        apps: Vec<AppOptions>,
        layout: Layout,
        path: &Path,
        report: impl Fn(&Notice) + Send + Sync + 'static,
    ) -> Result<Self, ServerError> {
        if apps.is_empty() {
            return Err(ServerError::None);
        }
        let ending = Arc::new(AtomicBool::new(false));
        let mut made = BTreeMap::new();
        for (slot, options) in (0..).zip(apps) {
            let app = options.number;
            if made.contains_key(&app) {
                return Err(ServerError::Twice(app));
            }
            let prepared = App::new(card, SlotId(slot), options, ending.clone());
            let prepared = prepared.map_err(|error| ServerError::App {
                app,
                error: Box::new(error),
            })?;
            made.insert(app, prepared);
        }
        let shared = Arc::new(Shared {
            apps: made,
            processes: Processes::default(),
            layout,
        });
        let connections = Arc::new(Connections::default());
        let report: Report = Arc::new(report);
        let listening = {
            let (connections, shared) = (connections.clone(), shared.clone());
            Listening::begin(path, Door::OwnUser, move |socket| {
                begin(socket, &connections, &shared, &report);
            })?
        };
        Ok(Self {
            listening,
            connections,
            ending,
            shared,
        })
    }

    /// Number of open connections.
    pub fn connections(&self) -> usize {
        self.connections.all().len()
    }

    /// Stops serving: connections are closed, and dirty pages are written back. The card stays open.
    pub fn stop(self) {
        self.listening.stop();
        self.ending.store(true, Ordering::Release);
        self.connections.end();
        drop(self.shared);
    }
}

impl Connections {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<UnixStream>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes all connections, and waits until they have ended.
    fn end(&self) {
        let mut all = self.all();
        for socket in all.values() {
            // It may be closed already.
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
        while !all.is_empty() {
            let woken = self.ended.wait(all);
            all = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// An entry in the list of connections.
struct Place {
    connections: Arc<Connections>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.all().remove(&self.number);
        self.connections.ended.notify_all();
    }
}

/// Serves a connection on a thread of its own, unless it is refused.
fn begin(
    socket: UnixStream,
    connections: &Arc<Connections>,
    shared: &Arc<Shared>,
    report: &Report,
) {
    let socket = Arc::new(socket);
    let place = {
        let mut all = connections.all();
        if all.len() >= MOST_CONNECTIONS {
            let rule = format!("{MOST_CONNECTIONS} connections are served at a time");
            let rule = std::io::Error::other(rule);
            return report(&Notice::refused(&rule));
        }
        let number = connections.next.fetch_add(1, Ordering::Relaxed);
        all.insert(number, socket.clone());
        Place {
            connections: connections.clone(),
            number,
        }
    };
    let (shared, report) = (shared.clone(), report.clone());
    // If the thread cannot be started, everything is dropped and the connection closed.
    let begun = threads::spawn("tombolo-fsrf", move || {
        // Dropped last: when a waiting thread sees it, everything has ended.
        let _place = place;
        match peer::admit(&socket) {
            Err(error) => {
                report(&Notice::refused(&error));
                let _ = socket.shutdown(std::net::Shutdown::Both);
            }
            Ok(process) => {
                Connection::new(socket, shared, process, Notices::new(report)).serve();
            }
        }
    });
    if let Err(error) = begun {
        tracing::warn!(%error, "a program could not be served");
    }
}
