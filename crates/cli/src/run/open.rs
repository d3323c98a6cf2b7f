//! Opens the card that the options select: platform, preset, shell, memory.

use super::prepare::Written;
use super::{files, Run, RunError};
use crate::arguments::MapArgument;
use crate::connect;
use crate::progress::Work;
use card::kernel::Manifest;
use card::CardError;
use std::sync::Arc;
use tombolo::{
    Advice, Card, CardName, FileState, FunctionalCard, FunctionalConfig, OwnerOptions, PageSize,
    Preset, ShellConfig, SimOptions,
};

/// Card memory behind the directory, for a kernel that does not provide it itself.
const HOME_BYTES: u64 = 16 << 20;

impl Run {
    /// The first file whose pages are accessed directly in host memory.
    fn direct(&self) -> Option<&MapArgument> {
        self.files.iter().find(|file| file.options.direct)
    }

    /// Advice that all files share.
    fn advice(&self) -> Advice {
        let stream = |file: &MapArgument| file.options.advice.pattern == Advice::STREAM.pattern;
        match !self.files.is_empty() && self.files.iter().all(stream) {
            true => Advice::STREAM,
            false => Advice::NONE,
        }
    }

    /// The preset that was selected; `fsrf` depends on the size of the data and on the advice.
    fn find_preset(&self, bytes: u64) -> Result<Option<Preset>, RunError> {
        let preset = match (&self.preset, &self.shell) {
            (Some(name), _) => Preset::suited(name, bytes, self.advice())?,
            (None, Some(path)) => Preset::load(path)?,
            (None, None) => return Ok(None),
        };
        preset.check_virtual_memory()?;
        Ok(Some(preset))
    }

    /// The card of a daemon or of this machine, instead of a simulated or functional one.
    pub(super) fn external_card(&self) -> Option<&CardName> {
        self.card.as_ref()
    }

    /// Takes the card from the environment, unless an option selects one.
    pub(super) fn select_card(&mut self, environment: Option<CardName>) -> Result<(), RunError> {
        let says =
            self.functional || self.coherent || self.preset.is_some() || self.shell.is_some();
        let by_default = environment.filter(|_| !says);
        self.card = self.card.take().or(by_default);
        if self.platform == "functional" {
            let rule =
                "--platform functional: the functional card has no platform; write --functional";
            return Err(RunError::Arguments(rule.to_owned()));
        }
        match &self.card {
            Some(name) if !name.is_external() => {
                Err(RunError::Arguments(format!(
                    "card `{name}`: write unix:FILE, the socket of a daemon, or vfio:ADDRESS?card=FILE, a PCI device (--card, \
                     TOMBOLO_CARD)"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The options of a simulated card. Neither opens nor builds anything.
    pub(super) fn open_options(
        &self,
        manifest: &Manifest,
        bytes: u64,
    ) -> Result<(SimOptions, OwnerOptions, Option<Preset>), RunError> {
        let mut options = SimOptions::named(&self.platform)?;
        let mut owner = OwnerOptions::default();
        if self.coherent && options.platform.coherent().is_none() {
            let card = options.platform.name().to_owned();
            return Err(CardError::NotCoherent { card }.into());
        }
        let preset = self.find_preset(bytes)?;
        let channels = preset
            .as_ref()
            .map_or(options.shell.channels, |p| p.shell.channels);
        if let Some(bytes) = self.card_memory {
            let least = options
                .platform
                .memories()
                .iter()
                .map(|memory| memory.channel_bytes);
            let there = least.min().unwrap_or(0);
            options.channel_bytes = Some(memory_of_a_channel(bytes, channels, there)?);
        }
        if let Some(preset) = &preset {
            preset.apply(&mut options, &mut owner)?;
        }
        if self.coherent {
            let caches = manifest.accesses.len();
            options.shell = match manifest.lines.len() {
                _ if caches > 0 => ShellConfig::coherent_host(),
                1 => ShellConfig::coherent(),
                _ => ShellConfig::coherent_full(),
            };
            if let (Some(directory), 1..) = (&mut options.shell.directory, caches) {
                directory.slices = caches as u8;
            }
            if manifest.homes.is_empty() && caches == 0 {
                owner.home_bytes = HOME_BYTES;
            }
        }
        if let Some(direct) = self.direct() {
            // An explicitly selected shell is not changed.
            options.shell.host_channel |= preset.is_none() && !self.coherent;
            if !options.shell.host_channel {
                return Err(files::no_host_channel(&direct.file));
            }
        }
        let pairs = manifest.stream_pairs();
        if pairs > 0 {
            options.shell.ports_per_slot = ports_of(manifest);
            options.shell.streams_per_slot = pairs;
        } else if preset.is_none() {
            // An explicitly selected shell is not changed.
            let ports = &mut options.shell.ports_per_slot;
            *ports = ports_of(manifest).max(*ports);
        }
        options.shell.network_pairs = connect::interfaces(&self.connections, manifest);
        Ok((options, owner, preset))
    }

    pub(super) fn open_card(
        &self,
        manifest: &Manifest,
        written: &Written,
        bytes: u64,
    ) -> Result<(Card, Option<Preset>), RunError> {
        if let Some(name) = self.external_card() {
            return Ok((Card::open(name.to_string())?, None));
        }
        if self.functional {
            let pairs = manifest.stream_pairs();
            let mut config = FunctionalConfig {
                host_channel: self.direct().is_some(),
                ..FunctionalConfig::default()
            };
            config.ports_per_slot = match pairs {
                0 => ports_of(manifest).max(config.ports_per_slot),
                _ => ports_of(manifest),
            };
            config.streams_per_slot = pairs;
            let bytes = self.card_memory.unwrap_or_else(|| {
                // A frame per file for its page size, so that large pages fit.
                let pages = self.files.iter().filter_map(|map| map.options.page_size);
                let pages: u64 = pages.map(PageSize::bytes).sum();
                FUNCTIONAL_MEMORY.max(2 * u64::from(config.channels) * pages)
            });
            config.channel_bytes =
                memory_of_a_channel(bytes, config.channels, config.channel_bytes)?;
            return Ok((Card::functional(FunctionalCard::new(config))?, None));
        }
        let (mut options, mut owner, preset) = self.open_options(manifest, bytes)?;
        options.idle_skipping = !self.no_idle_skipping;
        options.asserting |= self.asserting;
        options.timeline = written.timeline.clone();
        options.waves = written.waves.clone();
        if self.cold {
            owner.file_state = FileState::Cold;
        }
        // The card keeps the callback; a weak reference lets the spinner end when the card is open.
        let work = Arc::new(Work::spinner());
        let told = Arc::downgrade(&work);
        let card = Card::simulated(options, owner, move |what| {
            if let Some(work) = told.upgrade() {
                work.say(what.to_string());
            }
        });
        Ok((card?, preset))
    }
}

/// Maximum memory of the functional card by default: it is memory of this machine.
const FUNCTIONAL_MEMORY: u64 = 1 << 30;

/// Ports that a slot needs for the kernel.
fn ports_of(manifest: &Manifest) -> u8 {
    manifest.stream_pairs() + manifest.ports.len().max(1) as u8
}

/// The channel's even share of card memory; fails if it is no multiple of a page or exceeds the channel.
fn memory_of_a_channel(bytes: u64, channels: u8, there: u64) -> Result<u64, RunError> {
    let channels = u64::from(channels.max(1));
    let share = bytes / channels;
    if share == 0 || share % 4096 != 0 || share > there {
        return Err(RunError::Arguments(format!(
            "--card-memory {bytes}: the card's {channels} memory channels share it evenly, each gets a multiple \
             of 4096 bytes, and the card has {} bytes",
            there.saturating_mul(channels)
        )));
    }
    Ok(share)
}
