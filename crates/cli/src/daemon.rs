//! `tombolo daemon`: one card for many programs.

use crate::card_shape::{BuildLimits, CardShape, Needs, ShapeError};
use crate::interrupt;
use crate::kernel::{folder_of, NoSuchKernel};
use crate::metrics;
use crate::print::{print, say};
use ::daemon::{
    ActivationError, Daemon, DaemonError, Header, Journal, JournalError, Listening, Quotas,
    QuotasError, Settings, Successor,
};
use clap::Args;
use fsrf::{AppOptions, Layout, LayoutError, Server, ServerError};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tombolo::serving::Inputs;
use tombolo::{Card, Error};

/// Opens a card and shares it with programs on this machine.
///
/// Programs open it as `unix:FILE`: `tombolo run --card unix:FILE`, `Card::open("unix:FILE")`.
#[derive(Args)]
#[command(after_help = "Examples:
  A functional card of four slots, for programs of this user:
    tombolo daemon --functional --socket /run/user/1000/tombolo
  In two other terminals:
    tombolo run copy --card unix:/run/user/1000/tombolo --map input=a --map output=b:new --set 'bytes=size(input)'
    TOMBOLO_CARD=unix:/run/user/1000/tombolo tombolo run vadd --map a=a.bin …
    TOMBOLO_CARD=unix:/run/user/1000/tombolo ./host vadd.xclbin
  Its clients and their use of the card:
    tombolo status --socket /run/user/1000/tombolo
  A simulated card with two slots:
    tombolo daemon --platform f1 --slots 2 --socket card
  For other users, each within a quota:
    tombolo daemon --functional --socket /run/tombolo/card --quotas /etc/tombolo/quotas.toml
  With a journal, which `tombolo replay day.journal` replays:
    tombolo daemon --functional --socket card --journal day.journal
  A new version takes the place of the one that runs, without a refused connection:
    tombolo daemon --functional --socket card --upgrade
  For programs of FSRF (docs/coming-from-fsrf.md), which find kernels md5 and sha256 as applications 0 and 1:
    tombolo daemon --fsrf /tmp/aos_daemon.socket --app 0=md5 --app 1=sha256")]
pub(crate) struct RunDaemon {
    /// Socket to create and listen at. Only this user, or the users that --quotas lists, can connect. If systemd passes
    /// a socket (LISTEN_FDS), the daemon listens there and needs no --socket.
    #[arg(long, value_name = "FILE")]
    socket: Option<PathBuf>,

    /// Socket to create for Prometheus, which reads metrics there by HTTP. Only this user can connect.
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,

    /// Admits other users, each within a quota: a TOML file. See docs/daemon.md.
    #[arg(long, value_name = "FILE")]
    quotas: Option<PathBuf>,

    /// Socket for programs that were built against FSRF's library; they connect to /tmp/aos_daemon.socket.
    #[arg(long, value_name = "FILE", requires = "apps")]
    fsrf: Option<PathBuf>,

    /// An application of FSRF programs: its number and its kernel (a folder, or a name in kernels/).
    #[arg(long = "app", value_name = "N=KERNEL", value_parser = parse_app, requires = "fsrf")]
    apps: Vec<App>,

    /// The header that the FSRF programs were built with: `main` or `stream`, for FSRF's branches, or a TOML file that
    /// describes another message layout (default: main).
    #[arg(long, value_name = "HEADER", requires = "fsrf")]
    fsrf_layout: Option<PathBuf>,

    #[command(flatten)]
    shape: CardShape,

    #[command(flatten)]
    limits: BuildLimits,

    /// Records what clients send and when, in a new file, for `tombolo replay`.
    #[arg(long, value_name = "FILE", conflicts_with = "fsrf")]
    journal: Option<PathBuf>,

    /// Copies the files that clients pass into this folder, so that a replay has them if they change.
    #[arg(long, value_name = "FOLDER", requires = "journal")]
    journal_data: Option<PathBuf>,

    /// Takes the place of the daemon at --socket, also with another card or a newer version: its clients end, everything
    /// that their kernels wrote is saved, and new clients wait until this one serves them.
    #[arg(long, requires = "socket", conflicts_with = "fsrf")]
    upgrade: bool,
}

/// An option `--app`.
#[derive(Clone, Debug)]
struct App {
    number: u64,
    kernel: PathBuf,
}

fn parse_app(text: &str) -> Result<App, String> {
    let (number, kernel) = text
        .split_once('=')
        .ok_or("write the application's number, =, and the kernel: 0=md5")?;
    let number = number
        .parse()
        .map_err(|_| format!("{number}: an application's number is 0, 1, 2 …"))?;
    match kernel {
        "" => Err("the kernel is missing: a folder, or a name in kernels/".to_owned()),
        _ => Ok(App {
            number,
            kernel: kernel.into(),
        }),
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DaemonFailed {
    #[error(transparent)]
    NoSuchKernel(#[from] NoSuchKernel),
    #[error(transparent)]
    Fsrf(#[from] ServerError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Card(#[from] Error),
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    #[error(transparent)]
    Quotas(#[from] QuotasError),
    #[error("no socket to listen at: give --socket <FILE>, or start the daemon from a unit that passes a socket (docs/daemon.md)")]
    Nowhere,
    #[error(transparent)]
    Activation(#[from] ActivationError),
    #[error("listening at the socket that was passed: {0}")]
    Passed(std::io::Error),
}

/// Where a daemon listens.
enum Place<'a> {
    /// Programs of FSRF are the only clients.
    None,
    New(&'a Path),
    /// The socket of a daemon that it replaces.
    Taken(&'a Path),
    /// A socket that systemd passed.
    Passed(UnixListener),
}

impl RunDaemon {
    pub(crate) fn run(self) -> Result<(), DaemonFailed> {
        let apps = self.applications()?;
        let quotas = self.quotas.as_deref().map(Quotas::load).transpose()?;
        let place = self.place()?;
        let layout = self.fsrf_layout.as_deref().map(Layout::named).transpose()?;
        let (card, journal) = self.open(Needs::of(&apps)?)?;
        let (description, _) = card.describe()?;
        // FSRF's kernels are loaded first, so that no other client takes their slots.
        let server = match &self.fsrf {
            None => None,
            Some(path) => {
                let layout = layout.unwrap_or_default();
                let report = |notice: &fsrf::Notice| say!("tombolo: fsrf: {notice}");
                Some(Server::listen(&card, apps, layout, path, report)?)
            }
        };
        let quotas = quotas.unwrap_or_default();
        let settings = Settings { quotas, journal };
        let passed = matches!(place, Place::Passed(_));
        let daemon = match place {
            Place::None => None,
            Place::New(path) => Some(Daemon::listen_within(card.clone(), path, settings)?),
            Place::Taken(path) => Some(Daemon::replace(card.clone(), path, settings)?),
            Place::Passed(listener) => {
                let daemon = Daemon::listen_on(card.clone(), listener, settings);
                Some(daemon.map_err(DaemonFailed::Passed)?)
            }
        };
        let metrics = match (&self.metrics, &daemon) {
            (Some(path), Some(daemon)) => Some(metrics::serve(daemon, path)?),
            _ => None,
        };
        let successors = daemon.as_ref().map(Daemon::successors);
        let running = Arc::new(Mutex::new(Some(Running {
            card,
            server,
            daemon,
            metrics,
        })));
        interrupt::say(
            "interrupted: the card is closed; data that kernels wrote is in the files of its clients",
        );
        let ends = running.clone();
        interrupt::before_the_end(move || match take(&ends) {
            Some(running) => running.stop(),
            // It is being replaced, and ends when that is done.
            None => sleep_forever(),
        });
        let place = |path: &Path| path.display().to_string();
        let own = match (&self.socket, passed) {
            (Some(path), _) => Some(format!("unix:{}", place(path))),
            (None, true) => Some("the socket that it was started with".to_owned()),
            (None, false) => None,
        };
        let places = own.into_iter();
        let places = places.chain(
            self.fsrf
                .as_deref()
                .map(|path| format!("{} (FSRF)", place(path))),
        );
        let told = format!(
            "{} with {} slots at {}\n",
            description.name,
            description.slots,
            places.collect::<Vec<_>>().join(" and ")
        );
        // The process that started the daemon may have closed its end.
        if let Err(error) = print(&told) {
            say!("tombolo: warning: {error}; {told}");
        }
        ::daemon::tell_ready();
        // Without a socket, a signal ends the process.
        let successor = successors.map_or_else(|| sleep_forever(), |successors| successors.wait());
        // If a signal came first, its handler ends the process.
        let running = take(&running).unwrap_or_else(|| sleep_forever());
        say!("tombolo: another daemon takes the place of this one");
        running.hand_over(&successor)
    }

    /// Where the daemon listens for Tombolo's own clients.
    fn place(&self) -> Result<Place<'_>, DaemonFailed> {
        if let Some(path) = &self.socket {
            return Ok(match self.upgrade {
                true => Place::Taken(path),
                false => Place::New(path),
            });
        }
        match (::daemon::passed_socket()?, &self.fsrf) {
            (Some(listener), _) => Ok(Place::Passed(listener)),
            (None, Some(_)) => Ok(Place::None),
            (None, None) => Err(DaemonFailed::Nowhere),
        }
    }

    /// The applications of FSRF's programs, with the folders of their kernels.
    fn applications(&self) -> Result<Vec<AppOptions>, DaemonFailed> {
        let apps = self.apps.iter().map(|app| {
            Ok(AppOptions {
                number: app.number,
                folder: folder_of(&app.kernel)?,
            })
        });
        apps.collect()
    }

    /// The card, and its journal.
    fn open(&self, needs: Needs) -> Result<(Card, Option<Arc<Journal>>), DaemonFailed> {
        let unopened = self.shape.prepare(needs, self.limits.into())?;
        let Some(path) = &self.journal else {
            return Ok((unopened.open(Inputs::default())?, None));
        };
        // Options are text, numbers and paths.
        let shape = serde_json::to_value(&self.shape).unwrap_or_default();
        let header = Header::new(shape, unopened.same()?);
        let journal = Journal::create(path, self.journal_data.as_deref())?;
        let card = unopened.open(journal.inputs())?;
        journal.begin(header)?;
        Ok((card, Some(journal)))
    }
}

/// The parts of the daemon that end with the process.
struct Running {
    card: Card,
    server: Option<Server>,
    daemon: Option<Daemon>,
    metrics: Option<Listening>,
}

impl Running {
    fn stop(self) {
        let (daemon, card) = self.stop_servers();
        match daemon {
            Some(daemon) => daemon.stop(),
            None => close(&card),
        }
    }

    fn hand_over(self, to: &Successor) -> Result<(), DaemonFailed> {
        let (daemon, _card) = self.stop_servers();
        match daemon {
            Some(daemon) => Ok(daemon.hand_over(to)?),
            None => Ok(()),
        }
    }

    /// Stops the servers other than the daemon; returns the daemon and its card.
    fn stop_servers(self) -> (Option<Daemon>, Card) {
        if let Some(server) = self.server {
            server.stop();
        }
        if let Some(metrics) = self.metrics {
            metrics.stop();
        }
        (self.daemon, self.card)
    }
}

/// Leaves the end of the process to a signal, or to the thread that ends it already.
fn sleep_forever() -> ! {
    loop {
        std::thread::park();
    }
}

/// Takes the running daemon, to end it: only the first caller gets it.
fn take(running: &Mutex<Option<Running>>) -> Option<Running> {
    running
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
}

/// Closes a card that has no daemon, only FSRF's programs.
fn close(card: &Card) {
    if let Err(error) = card.close() {
        say!("tombolo: error: closing the card: {error}");
    }
}
