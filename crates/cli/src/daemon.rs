//! `tombolo daemon`: one card for many programs.

use crate::arguments::parse_bytes;
use crate::interrupt;
use crate::kernel::{folder_of, NoSuchKernel};
use crate::metrics;
use crate::print::{print, say};
use crate::progress::Work;
use ::daemon::{ActivationError, Daemon, DaemonError, Quotas, QuotasError};
use card::kernel::KernelPackage;
use clap::Args;
use fsrf::{AppOptions, Layout, LayoutError, Server, ServerError};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tombolo::{
    Card, Error, FunctionalCard, FunctionalConfig, OwnerOptions, Preset, PresetError, ShellConfig,
    SimOptions,
};

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

    /// The platform to simulate: a name in platforms/, or a file.
    #[arg(long, default_value = "f1")]
    platform: String,

    /// The card's shell, from a file: slots, ports, streams, channels. See docs/presets.md.
    #[arg(long, value_name = "FILE")]
    shell: Option<PathBuf>,

    /// Number of slots, each for one kernel (default: the shell's; 4 with --functional).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    slots: Option<u8>,

    /// Pairs of stream ports per slot, in addition to its memory ports (default: the shell's; 2 with --functional).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    streams: Option<u8>,

    /// Memory per channel (default: the platform's; 512MiB of this machine's memory with --functional).
    #[arg(long, value_name = "BYTES", value_parser = |text: &str| parse_bytes(text))]
    channel_memory: Option<u64>,

    /// Runs kernels' reference models on the functional card: no RTL, no time.
    #[arg(long)]
    functional: bool,
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
    Kernel(#[from] card::kernel::KernelError),
    #[error(transparent)]
    Fsrf(#[from] ServerError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error("--slots {slots}: {apps} applications need a slot each")]
    Slots { slots: u8, apps: usize },
    #[error(transparent)]
    Card(#[from] Error),
    #[error(transparent)]
    Platform(#[from] card::CardError),
    #[error(transparent)]
    Shell(#[from] PresetError),
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

/// Bytes per channel of the functional card. They are memory of this machine, allocated on first use.
const FUNCTIONAL_CHANNEL: u64 = 512 << 20;
const FUNCTIONAL_SLOTS: u8 = 4;
const FUNCTIONAL_STREAMS: u8 = 2;

/// Where a daemon listens.
enum Place<'a> {
    /// Programs of FSRF are the only clients.
    None,
    New(&'a Path),
    /// A socket that systemd passed.
    Passed(UnixListener),
}

impl RunDaemon {
    pub(crate) fn run(self) -> Result<(), DaemonFailed> {
        let apps = self.applications()?;
        let quotas = self.quotas.as_deref().map(Quotas::load).transpose()?;
        let place = self.place()?;
        let layout = self.fsrf_layout.as_deref().map(Layout::named).transpose()?;
        let card = self.open(Needs::of(&apps)?)?;
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
        let passed = matches!(place, Place::Passed(_));
        let daemon = match place {
            Place::None => None,
            Place::New(path) => Some(Daemon::listen_within(card.clone(), path, quotas)?),
            Place::Passed(listener) => {
                let daemon = Daemon::listen_on(card.clone(), listener, quotas);
                Some(daemon.map_err(DaemonFailed::Passed)?)
            }
        };
        let metrics = match (&self.metrics, &daemon) {
            (Some(path), Some(daemon)) => Some(metrics::serve(daemon, path)?),
            _ => None,
        };
        interrupt::say(
            "interrupted: the card is closed; data that kernels wrote is in the files of its clients",
        );
        interrupt::before_the_end(move || {
            if let Some(server) = server {
                server.stop();
            }
            if let Some(metrics) = metrics {
                metrics.stop();
            }
            match daemon {
                Some(daemon) => daemon.stop(),
                None => close(&card),
            }
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
        loop {
            // A signal ends the process.
            std::thread::park();
        }
    }

    /// Where the daemon listens for Tombolo's own clients.
    fn place(&self) -> Result<Place<'_>, DaemonFailed> {
        if let Some(path) = &self.socket {
            return Ok(Place::New(path));
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

    fn open(&self, needs: Needs) -> Result<Card, DaemonFailed> {
        if let Some(slots) = self
            .slots
            .filter(|slots| usize::from(*slots) < needs.slots.into())
        {
            let apps = needs.slots.into();
            return Err(DaemonFailed::Slots { slots, apps });
        }
        let preset = self.shell.as_deref().map(Preset::load).transpose()?;
        if self.functional {
            let shell = preset.map_or_else(ShellConfig::default, |preset| preset.shell);
            let told = |option: Option<u8>, of_shell, otherwise| match (option, &self.shell) {
                (Some(told), _) => told,
                (None, Some(_)) => of_shell,
                (None, None) => otherwise,
            };
            let slots = told(self.slots, shell.slots, FUNCTIONAL_SLOTS).max(needs.slots);
            let streams = told(self.streams, shell.streams_per_slot, FUNCTIONAL_STREAMS);
            let shell = needs.ports(with_streams(shell, streams));
            let config = FunctionalConfig {
                slots,
                ports_per_slot: shell.ports_per_slot,
                streams_per_slot: shell.streams_per_slot,
                spaces: shell.spaces.max(slots),
                host_channel: shell.host_channel,
                channel_bytes: self.channel_memory.unwrap_or(FUNCTIONAL_CHANNEL),
                ..FunctionalConfig::default()
            };
            return Ok(Card::functional(FunctionalCard::new(config))?);
        }
        let mut options = SimOptions::named(&self.platform)?;
        let mut owner = OwnerOptions::default();
        options.channel_bytes = self.channel_memory;
        if let Some(preset) = preset {
            preset.check_virtual_memory()?;
            preset.apply(&mut options, &mut owner)?;
        }
        if let Some(slots) = self.slots {
            options.shell.slots = slots;
            options.shell.spaces = options.shell.spaces.max(slots);
        }
        if let Some(streams) = self.streams {
            options.shell = with_streams(options.shell, streams);
        }
        options.shell = needs.ports(options.shell);
        options.shell.slots = options.shell.slots.max(needs.slots);
        options.shell.spaces = options.shell.spaces.max(needs.slots);
        // An explicitly configured shell is not changed.
        if self.shell.is_none() {
            options.shell = options.shell.queue_a_slot();
        }
        // The card keeps the callback; a weak reference lets the spinner end when the card is open.
        let work = Arc::new(Work::spinner());
        let told = Arc::downgrade(&work);
        Ok(Card::simulated(options, owner, move |what| {
            if let Some(work) = told.upgrade() {
                work.say(what.to_string());
            }
        })?)
    }
}

/// The minimum shape of a card for the FSRF applications.
#[derive(Clone, Copy, Debug)]
struct Needs {
    slots: u8,
    memory_ports: u8,
}

impl Needs {
    fn of(apps: &[AppOptions]) -> Result<Self, DaemonFailed> {
        let mut memory_ports = 0;
        for app in apps {
            let manifest = KernelPackage::open(&app.folder)?.manifest;
            memory_ports = manifest.ports.len().max(memory_ports);
        }
        // The card rejects a shape that is too large, with an error that gives its limit.
        let most = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
        Ok(Self {
            slots: most(apps.len()),
            memory_ports: most(memory_ports),
        })
    }

    /// The same shell, with enough ports for the applications' kernels.
    fn ports(self, shell: ShellConfig) -> ShellConfig {
        let least = self.memory_ports.saturating_add(shell.streams_per_slot);
        ShellConfig {
            ports_per_slot: shell.ports_per_slot.max(least),
            ..shell
        }
    }
}

/// Closes a card that has no daemon, only FSRF's programs.
fn close(card: &Card) {
    if let Err(error) = card.close() {
        say!("tombolo: error: closing the card: {error}");
    }
}

/// The same shell with `streams` pairs of stream ports per slot; the number of memory ports stays.
fn with_streams(shell: ShellConfig, streams: u8) -> ShellConfig {
    let memory_ports = shell.ports_per_slot.saturating_sub(shell.streams_per_slot);
    ShellConfig {
        ports_per_slot: memory_ports + streams,
        streams_per_slot: streams,
        ..shell
    }
}
