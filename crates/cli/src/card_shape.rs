//! The card of a daemon, or of the replay of its journal.

use crate::progress::Work;
use card::kernel::{KernelError, KernelPackage};
use card::{Card as _, CardError};
use fsrf::AppOptions;
use serde::{Deserialize, Serialize};
use simcard::SimCard;
use std::path::PathBuf;
use std::sync::Arc;
use tombolo::serving::Inputs;
use tombolo::{
    Card, Error, FunctionalCard, FunctionalConfig, OwnerOptions, Preset, PresetError, ShellConfig,
    SimOptions,
};

/// Bytes per channel of the functional card. They are memory of this machine, allocated on first use.
const FUNCTIONAL_CHANNEL: u64 = 512 << 20;
const FUNCTIONAL_SLOTS: u8 = 4;
const FUNCTIONAL_STREAMS: u8 = 2;

/// Options of a daemon that make its card.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CardShape {
    pub(crate) functional: bool,
    /// Name of the platform, or its file.
    pub(crate) platform: String,
    pub(crate) shell: Option<PathBuf>,
    pub(crate) slots: Option<u8>,
    pub(crate) streams: Option<u8>,
    /// Bytes of each channel.
    pub(crate) channel_memory: Option<u64>,
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
}

/// A card that is about to be opened.
pub(crate) enum Unopened {
    Functional(FunctionalConfig),
    Simulated(Box<(SimOptions, OwnerOptions)>),
}

impl CardShape {
    pub(crate) fn prepare(&self, needs: Needs) -> Result<Unopened, ShapeError> {
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
                let options = &options.0;
                add("card", "simulated".to_owned());
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
