//! The card of a daemon, or of the replay of its journal.

use crate::arguments::parse_bytes;
use crate::progress::Work;
use card::kernel::{KernelError, KernelPackage};
use card::{Card as _, CardError};
use clap::Args;
use fsrf::AppOptions;
use serde::{Deserialize, Serialize};
use simcard::{KernelHost, SimCard};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tombolo::serving::Inputs;
use tombolo::{
    Card, ClockMode, Error, FunctionalCard, FunctionalConfig, HostFile, HostFileError,
    OwnerOptions, Preset, PresetError, ShellConfig, SimOptions,
};
use verilated::{BuildError, Limits};

/// Bytes per channel of the functional card. They are memory of this machine, allocated on first use.
const FUNCTIONAL_CHANNEL: u64 = 512 << 20;
const FUNCTIONAL_SLOTS: u8 = 4;
const FUNCTIONAL_STREAMS: u8 = 2;
/// Argument of a process that evaluates a kernel's model.
pub(crate) const KERNEL_HOST: &str = "kernel-host";

// Options of a daemon that make its card; they are in its journal, too. A doc comment would be the help of the command.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CardShape {
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

    /// Lets virtual time pass while the card has work, also if no program waits for it. See docs/daemon.md.
    #[arg(long, conflicts_with = "functional")]
    #[serde(default)]
    free: bool,

    /// With --free: a host file (hosts/*.toml) with the cost of requests over the socket, in virtual time.
    #[arg(long, value_name = "FILE", requires = "free")]
    #[serde(default)]
    host: Option<PathBuf>,

    /// Evaluates each kernel's RTL in a process of its own, without rights: slower, with the same results. RTL that crashes
    /// or does not end costs its slot only. See docs/daemon.md.
    #[arg(long, conflicts_with = "functional")]
    #[serde(default)]
    isolate: bool,
}

// Options that limit each build of a kernel of a client.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct BuildLimits {
    /// Maximum duration of building a kernel's model.
    #[arg(long, value_name = "SECONDS", default_value = "1800", value_parser = clap::value_parser!(u32).range(1..))]
    build_time: u32,

    /// Maximum memory of each compiler process of a build.
    #[arg(long, value_name = "BYTES", default_value = "8GiB", value_parser = |text: &str| parse_bytes(text))]
    build_memory: u64,

    /// Maximum size of the files of a build, and of a kernel's sources.
    #[arg(long, value_name = "BYTES", default_value = "4GiB", value_parser = |text: &str| parse_bytes(text))]
    build_storage: u64,
}

impl From<BuildLimits> for Limits {
    fn from(options: BuildLimits) -> Self {
        Self {
            time: Duration::from_secs(options.build_time.into()),
            memory: options.build_memory,
            storage: options.build_storage,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ShapeError {
    #[error("--slots {slots}: {apps} applications need a slot each")]
    Slots { slots: u8, apps: usize },
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error(transparent)]
    Card(#[from] Error),
    #[error(transparent)]
    Platform(#[from] CardError),
    #[error(transparent)]
    Shell(#[from] PresetError),
    #[error(transparent)]
    Host(#[from] HostFileError),
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// A card that is about to be opened.
pub(crate) enum Unopened {
    Functional(FunctionalConfig),
    Simulated(Box<(SimOptions, OwnerOptions)>),
}

impl CardShape {
    /// The card for these needs, with limits for the builds of its clients' kernels.
    pub(crate) fn prepare(&self, needs: Needs, limits: Limits) -> Result<Unopened, ShapeError> {
        if let Some(slots) = self
            .slots
            .filter(|slots| usize::from(*slots) < needs.slots.into())
        {
            let apps = needs.slots.into();
            return Err(ShapeError::Slots { slots, apps });
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
            return Ok(Unopened::Functional(FunctionalConfig {
                slots,
                ports_per_slot: shell.ports_per_slot,
                streams_per_slot: shell.streams_per_slot,
                spaces: shell.spaces.max(slots),
                host_channel: shell.host_channel,
                channel_bytes: self.channel_memory.unwrap_or(FUNCTIONAL_CHANNEL),
                ..FunctionalConfig::default()
            }));
        }
        let mut options = SimOptions::named(&self.platform)?;
        options.kernel_limits = Some(limits);
        // The file of this program may be replaced while it runs.
        options.kernel_host = self
            .isolate
            .then(|| KernelHost::new("/proc/self/exe".into(), vec![KERNEL_HOST.into()]));
        let mut owner = OwnerOptions::default();
        if self.free {
            owner.clock = ClockMode::Free;
        }
        owner.host = self.host.as_ref().map(HostFile::load).transpose()?;
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
        Ok(Unopened::Simulated(Box::new((options, owner))))
    }
}

impl Unopened {
    /// Properties that must be equal for a replay.
    pub(crate) fn same(&self) -> Result<Vec<(String, String)>, ShapeError> {
        let mut same = Vec::new();
        let mut add = |name: &str, value: String| same.push((name.to_owned(), value));
        match self {
            Self::Functional(config) => {
                add("card", "functional".to_owned());
                let card = FunctionalCard::new(FunctionalConfig {
                    channel_bytes: 0,
                    ..config.clone()
                });
                let shape = card.description();
                add("slots", shape.slots.to_string());
                add("ports of a slot", shape.ports_per_slot.to_string());
                add("stream pairs of a slot", shape.streams_per_slot.to_string());
                add("address spaces", shape.spaces.to_string());
                add("bytes of a channel", config.channel_bytes.to_string());
                add("seed", format!("{:?}", config.seed));
            }
            Self::Simulated(options) => {
                let (options, owner) = &**options;
                add("card", "simulated".to_owned());
                // A journal of a lockstep card has no entry for it, as those of earlier versions.
                if owner.clock == ClockMode::Free {
                    add("clock", "free".to_owned());
                }
                if let Some(host) = &owner.host {
                    add("hash of the host file", host.hash().to_owned());
                }
                add("platform", options.platform.name().to_owned());
                add("hash of the platform", options.platform.hash().to_owned());
                add("slots", options.shell.slots.to_string());
                add("ports of a slot", options.shell.ports_per_slot.to_string());
                add("address spaces", options.shell.spaces.to_string());
                add("bytes of a channel", format!("{:?}", options.channel_bytes));
                let work = Work::spinner();
                let built = SimCard::build_shell(options, &mut |what| work.say(what.to_string()))?;
                let model = built.folder.file_name().unwrap_or_default();
                add("model of the shell", model.to_string_lossy().into_owned());
            }
        }
        Ok(same)
    }

    pub(crate) fn open(self, inputs: Inputs) -> Result<Card, ShapeError> {
        match self {
            Self::Functional(config) => {
                let options = OwnerOptions {
                    inputs,
                    ..OwnerOptions::default()
                };
                Ok(Card::new(Box::new(FunctionalCard::new(config)), options)?)
            }
            Self::Simulated(options) => {
                let (options, owner) = *options;
                let owner = OwnerOptions { inputs, ..owner };
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
    }
}

/// The minimum shape of a card for the FSRF applications.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    slots: u8,
    memory_ports: u8,
}

impl Needs {
    pub(crate) fn of(apps: &[AppOptions]) -> Result<Self, ShapeError> {
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

/// The same shell with `streams` pairs of stream ports per slot; the number of memory ports stays.
fn with_streams(shell: ShellConfig, streams: u8) -> ShellConfig {
    let memory_ports = shell.ports_per_slot.saturating_sub(shell.streams_per_slot);
    ShellConfig {
        ports_per_slot: memory_ports + streams,
        streams_per_slot: streams,
        ..shell
    }
}
