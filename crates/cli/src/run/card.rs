//! Opens the card that the options select: platform, preset, shell, memory.

use super::outputs::Written;
use super::values::text;
use super::{files, RunError};
use crate::arguments::{parse_bytes, MapArgument};
use crate::progress::Work;
use crate::shell;
use card::kernel::Manifest;
use card::CardError;
use clap::builder::TypedValueParser;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tombolo::{
    Advice, Card, CardName, FileState, FunctionalCard, FunctionalConfig, OwnerOptions, PageSize,
    Preset, ShellConfig, SimOptions, SpaceOptions, TranslationMode,
};

/// Card memory behind the directory, for a kernel that does not provide it itself.
const HOME_BYTES: u64 = 16 << 20;

/// Options that select a card and its configuration.
#[derive(Args)]
pub(super) struct CardOptions {
    /// The platform to simulate: a name in platforms/, or a file (default: f1; with --coherent enzian).
    #[arg(long, default_value = "f1", default_value_if("coherent", "true", "enzian"), value_parser = text())]
    platform: String,

    /// Translation mode: L1 TLBs and the page table in card memory (both), the page table alone (table), or TLBs that
    /// the host fills (tlb). The shell must support it. See docs/presets.md.
    #[arg(
        long,
        value_name = "both|table|tlb",
        default_value = "both",
        conflicts_with = "coherent"
    )]
    translation: TranslationMode,

    /// Runs on another system than the default: tombolo, fsrf (with the TLB that suits the data; fsrf-sram, fsrf-dram),
    /// coyote-4k, coyote-2m, amorphos, physical. See docs/presets.md.
    #[arg(long, value_name = "NAME", value_parser = text(), conflicts_with = "functional")]
    preset: Option<String>,

    /// Runs on a system of your own, from a file: shell, page size, read-ahead, striping. See docs/presets.md.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "functional"])]
    shell: Option<PathBuf>,

    /// Card memory, divided evenly between the channels (default: the platform's; 1GiB of this machine's memory with
    /// --functional).
    #[arg(long, value_name = "BYTES", value_parser = text().try_map(|text| parse_bytes(&text)))]
    card_memory: Option<u64>,

    /// Treats files as cold: reads them from storage, not from the page cache.
    #[arg(long)]
    cold: bool,

    /// Runs the kernel's reference model on the functional card: no RTL, no time.
    #[arg(long)]
    functional: bool,

    /// Runs the kernel on the card of a daemon, in the first empty slot, concurrently with other programs
    /// (docs/daemon.md), or on a PCI device with the kernel in its slot 0 (docs/pcie.md). The default is TOMBOLO_CARD,
    /// unless another option selects a card. The report covers this run alone.
    #[arg(long, value_name = "unix:FILE|vfio:ADDRESS?card=FILE",
          conflicts_with_all = ["functional", "preset", "shell", "coherent", "card_memory", "cold", "trace", "wave", "asserting"])]
    card: Option<CardName>,

    /// Evaluates every clock edge, idle or not. Slower, with the same results.
    #[arg(long)]
    no_idle_skipping: bool,

    /// Runs the shell's model with all assertions of its RTL and of AXI. Slower, with the same results.
    #[arg(long = "assert", conflicts_with = "functional")]
    asserting: bool,
}

/// The properties of a run that the configuration of its card depends on.
pub(super) struct CardNeeds<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) files: &'a [&'a MapArgument],
    pub(super) network_interfaces: u8,
    /// Whether the card has a coherent CPU.
    pub(super) coherent: bool,
    /// Size of the mapped data; 0 if it is not known yet.
    pub(super) bytes: u64,
}

impl<'a> CardNeeds<'a> {
    /// The first file whose pages are accessed directly in host memory.
    fn direct(&self) -> Option<&'a MapArgument> {
        self.files.iter().copied().find(|file| file.options.direct)
    }

    /// Advice that all files share.
    fn advice(&self) -> Advice {
        let stream = |file: &&MapArgument| file.options.advice.pattern == Advice::STREAM.pattern;
        match !self.files.is_empty() && self.files.iter().all(stream) {
            true => Advice::STREAM,
            false => Advice::NONE,
        }
    }
}

/// An open card, and how the run uses it.
pub(super) struct OpenCard {
    pub(super) card: Card,
    pub(super) space: SpaceOptions,
    /// Whether the kernel is loaded into any empty slot, rather than into slot 0.
    pub(super) any_slot: bool,
}

impl CardOptions {
    /// The platform, if it is a file, and the file of the shell, with their options.
    pub(super) fn files(&self) -> Vec<(&Path, &'static str)> {
        let mut files = vec![(Path::new(&self.platform), "the platform's file")];
        files.extend(
            self.shell
                .iter()
                .map(|path| (&**path, "the file of --shell")),
        );
        files
    }

    pub(super) fn is_functional(&self) -> bool {
        self.functional
    }

    /// Whether the card is simulated in this process, so that its activity can be recorded.
    pub(super) fn is_simulated(&self) -> bool {
        !self.functional && self.card.is_none()
    }

    /// The preset that was selected; `fsrf` depends on the size of the data and on the advice.
    fn find_preset(&self, needs: &CardNeeds<'_>) -> Result<Option<Preset>, RunError> {
        let preset = match (&self.preset, &self.shell) {
            (Some(name), _) => Preset::suited(name, needs.bytes, needs.advice())?,
            (None, Some(path)) => Preset::load(path)?,
            (None, None) => return Ok(None),
        };
        preset.check_virtual_memory()?;
        Ok(Some(preset))
    }

    /// Takes the card from the environment, unless an option selects one.
    pub(super) fn select(
        &mut self,
        environment: Option<CardName>,
        coherent: bool,
    ) -> Result<(), RunError> {
        let is_selected =
            self.functional || coherent || self.preset.is_some() || self.shell.is_some();
        let by_default = environment.filter(|_| !is_selected);
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

    /// Fails if platform, preset or shell is missing or unsuitable; opens and builds nothing.
    pub(super) fn check(&self, needs: &CardNeeds<'_>) -> Result<(), RunError> {
        match self.is_simulated() {
            true => self.simulation(needs).map(drop),
            false => Ok(()),
        }
    }

    /// The options of a simulated card. Neither opens nor builds anything.
    fn simulation(
        &self,
        needs: &CardNeeds<'_>,
    ) -> Result<(SimOptions, OwnerOptions, Option<Preset>), RunError> {
        let manifest = needs.manifest;
        let mut options = SimOptions::named(&self.platform)?;
        let mut owner = OwnerOptions::default();
        if needs.coherent && options.platform.coherent().is_none() {
            let card = options.platform.name().to_owned();
            return Err(CardError::NotCoherent { card }.into());
        }
        let preset = self.find_preset(needs)?;
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
        if needs.coherent {
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
        if let Some(direct) = needs.direct() {
            // An explicitly selected shell is not changed.
            options.shell.host_channel |= preset.is_none() && !needs.coherent;
            if !options.shell.host_channel {
                return Err(files::no_host_channel(&direct.file));
            }
        }
        let pairs = manifest.stream_pairs();
        // An explicitly selected shell is changed only for streams.
        if pairs > 0 || preset.is_none() {
            options.shell = shell::with_ports_for(manifest, options.shell);
        }
        options.shell.network_pairs = needs.network_interfaces;
        Ok((options, owner, preset))
    }

    /// Opens the card; outputs that record its activity are `written`.
    pub(super) fn open(
        &self,
        needs: &CardNeeds<'_>,
        written: &Written,
    ) -> Result<OpenCard, RunError> {
        let space = SpaceOptions::new().translation(self.translation);
        let (card, space) = match (&self.card, self.functional) {
            (Some(name), _) => (Card::open(name.to_string())?, space),
            (None, true) => (self.open_functional(needs)?, space),
            (None, false) => {
                let (card, preset) = self.open_simulated(needs, written)?;
                let placed = preset.map(|preset| space.placement(preset.placement(0)));
                (card, placed.unwrap_or(space))
            }
        };
        Ok(OpenCard {
            card,
            space,
            any_slot: matches!(&self.card, Some(CardName::Daemon(_))),
        })
    }

    fn open_functional(&self, needs: &CardNeeds<'_>) -> Result<Card, RunError> {
        let mut config = FunctionalConfig {
            host_channel: needs.direct().is_some(),
            ..FunctionalConfig::default()
        };
        config.ports_per_slot = shell::ports_for(needs.manifest, config.ports_per_slot);
        config.streams_per_slot = needs.manifest.stream_pairs();
        let bytes = self.card_memory.unwrap_or_else(|| {
            // A frame per file for its page size, so that large pages fit.
            let pages = needs.files.iter().filter_map(|map| map.options.page_size);
            let pages: u64 = pages.map(PageSize::bytes).sum();
            FUNCTIONAL_MEMORY.max(2 * u64::from(config.channels) * pages)
        });
        config.channel_bytes = memory_of_a_channel(bytes, config.channels, config.channel_bytes)?;
        Ok(Card::functional(FunctionalCard::new(config))?)
    }

    fn open_simulated(
        &self,
        needs: &CardNeeds<'_>,
        written: &Written,
    ) -> Result<(Card, Option<Preset>), RunError> {
        let (mut options, mut owner, preset) = self.simulation(needs)?;
        options.idle_skipping = !self.no_idle_skipping;
        options.asserting |= self.asserting;
        written.record(&mut options);
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
