//! `tombolo daemon`: one card for many programs.

use crate::arguments::parse_bytes;
use crate::interrupt;
use crate::print::{print, say, NotPrinted};
use crate::progress::Work;
use ::daemon::{Daemon, DaemonError};
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use tombolo::{
    Card, Error, FunctionalCard, FunctionalConfig, OwnerOptions, Preset, PresetError, ShellConfig,
    SimOptions,
};

/// Opens a card and shares it with programs on this machine: `tombolo run --card unix:FILE`, Card::open.
#[derive(Args)]
#[command(after_help = "Examples:
  A functional card of four slots, for programs of this user:
    tombolo daemon --functional --socket /run/user/1000/tombolo
  In two other terminals:
    tombolo run copy --card unix:/run/user/1000/tombolo --map input=a --map output=b:new --set 'bytes=size(input)'
    TOMBOLO_CARD=unix:/run/user/1000/tombolo tombolo run vadd --map a=a.bin …
    TOMBOLO_CARD=unix:/run/user/1000/tombolo ./host vadd.xclbin
  Who uses it:
    tombolo status --socket /run/user/1000/tombolo
  A simulated card with two slots:
    tombolo daemon --platform f1 --slots 2 --socket card")]
pub(crate) struct Serve {
    /// Where it listens: a new socket, which is this user's alone.
    #[arg(long, value_name = "FILE")]
    socket: PathBuf,

    /// The platform to simulate: a name in platforms/, or a file.
    #[arg(long, default_value = "f1")]
    platform: String,

    /// The card's shape, from a file: slots, ports, streams, channels. See docs/presets.md.
    #[arg(long, value_name = "FILE")]
    shell: Option<PathBuf>,

    /// Slots: so many kernels at a time (default: as the shell says; 4 with --functional).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    slots: Option<u8>,

    /// Pairs of stream ports a slot, besides its memory ports (default: as the shell says; 2 with --functional).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    streams: Option<u8>,

    /// Memory of each of the card's channels (default: all of the platform's; 512MiB of this machine's with --functional).
    #[arg(long, value_name = "BYTES", value_parser = |text: &str| parse_bytes(text))]
    channel_memory: Option<u64>,

    /// Runs kernels' reference models on the functional card: no RTL, no time.
    #[arg(long)]
    functional: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error(transparent)]
    Card(#[from] Error),
    #[error(transparent)]
    Platform(#[from] card::CardError),
    #[error(transparent)]
    Shell(#[from] PresetError),
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
    #[error("{0}")]
    Json(serde_json::Error),
}

/// Of the functional card: it is this machine's memory, and pages take it when they are used.
const FUNCTIONAL_CHANNEL: u64 = 512 << 20;
const FUNCTIONAL_SLOTS: u8 = 4;
const FUNCTIONAL_STREAMS: u8 = 2;

impl Serve {
    pub(crate) fn run(self) -> Result<(), ServeError> {
        let card = self.open()?;
        let (description, _) = card.describe()?;
        let daemon = Daemon::listen(card, &self.socket)?;
        interrupt::say(
            "interrupted: the card is gone; what kernels wrote is in the files of its clients",
        );
        interrupt::before_the_end(move || daemon.stop());
        let told = format!(
            "{} with {} slots at unix:{}\n",
            description.name,
            description.slots,
            self.socket.display()
        );
        // Whoever started it may read no more.
        if let Err(error) = print(&told) {
            say!("tombolo: warning: {error}; {told}");
        }
        loop {
            // A signal ends the process.
            std::thread::park();
        }
    }

    fn open(&self) -> Result<Card, ServeError> {
        let preset = self.shell.as_deref().map(Preset::load).transpose()?;
        if self.functional {
            let shell = preset.map_or_else(ShellConfig::default, |preset| preset.shell);
            let told = |option: Option<u8>, of_shell, otherwise| match (option, &self.shell) {
                (Some(told), _) => told,
                (None, Some(_)) => of_shell,
                (None, None) => otherwise,
            };
            let slots = told(self.slots, shell.slots, FUNCTIONAL_SLOTS);
            let streams = told(self.streams, shell.streams_per_slot, FUNCTIONAL_STREAMS);
            let shell = with_streams(shell, streams);
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
        // The card keeps what it tells; the work is over when the card is there.
        let work = Arc::new(Work::spinner());
        let told = Arc::downgrade(&work);
        Ok(Card::simulated(options, owner, move |what| {
            if let Some(work) = told.upgrade() {
                work.say(what.to_string());
            }
        })?)
    }
}

/// The same shell with so many pairs of stream ports a slot, and the memory ports that it had.
fn with_streams(shell: ShellConfig, streams: u8) -> ShellConfig {
    let memory_ports = shell.ports_per_slot.saturating_sub(shell.streams_per_slot);
    ShellConfig {
        ports_per_slot: memory_ports + streams,
        streams_per_slot: streams,
        ..shell
    }
}
