//! Presets: published systems, and ours, each as a shell configuration and the settings of its host software.
//!
//! A preset is a file in `presets/`; your own file has the same form ([`Preset::load`]). [`Preset::named`] has the
//! repository's presets built in.

use crate::{AddressSpace, Card, Error, OwnerOptions, ShellConfig, SimOptions, SpacePlacement};
use owner::report::bytes as told;
use serde::Deserialize;
use simcard::{L1Config, Translator};
use std::path::{Path, PathBuf};
use units::{Advice, PageSize, Pattern, Stripe};

/// Name and text of the built-in presets.
const TEXTS: [(&str, &str); 7] = [
    ("tombolo", include_str!("../../../presets/tombolo.toml")),
    ("fsrf-sram", include_str!("../../../presets/fsrf-sram.toml")),
    ("fsrf-dram", include_str!("../../../presets/fsrf-dram.toml")),
    ("coyote-4k", include_str!("../../../presets/coyote-4k.toml")),
    ("coyote-2m", include_str!("../../../presets/coyote-2m.toml")),
    ("amorphos", include_str!("../../../presets/amorphos.toml")),
    ("physical", include_str!("../../../presets/physical.toml")),
];

/// Name that selects FSRF with the TLB that suits the data, see [`Preset::suited`].
const FSRF: &str = "fsrf";

/// Why a preset cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PresetError {
    /// No preset has that name.
    #[error("no preset `{name}`; there are {known}")]
    NoSuch {
        /// The requested name.
        name: String,
        /// The names of all presets.
        known: String,
    },
    /// Its file cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// The file's path.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The text is not a valid preset.
    #[error("{preset}: {source}")]
    Syntax {
        /// The preset's name or file.
        preset: String,
        /// The parser's error.
        source: Box<toml::de::Error>,
    },
    /// A value breaks a rule.
    #[error("{preset}: {rule}")]
    Rule {
        /// The preset's name or file.
        preset: String,
        /// The rule, and the value.
        rule: String,
    },
    /// The platform is too small for the preset.
    #[error("preset {preset} does not fit platform {platform}: {rule}")]
    DoesNotFit {
        /// The preset's name.
        preset: String,
        /// The platform's name.
        platform: String,
        /// The missing resource.
        rule: String,
    },
    /// The system has no virtual memory.
    #[error(
        "preset {preset} has no virtual memory, so no file can be mapped: `tombolo lab fsrf --system {preset}` \
         runs it, with data that is on the card before a kernel starts"
    )]
    NoVirtualMemory {
        /// The preset's name.
        preset: String,
    },
}

/// A system: a shell configuration and the settings of its host software.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Name: that of the file, without extension.
    pub name: String,
    /// One-line description.
    pub description: String,
    /// Reason for the choice, if it was chosen by [`Preset::suited`].
    pub chosen: String,
    /// Name in FSRF's tables; empty if the system is not there.
    pub paper: String,
    /// Configuration of the shell.
    pub shell: ShellConfig,
    /// Page size of files whose mapping sets none; if `None`, chosen by the file's contents
    /// ([`OwnerOptions::page_size`]).
    pub page: Option<PageSize>,
    /// See [`OwnerOptions::read_ahead_bytes`].
    pub read_ahead_bytes: u64,
    /// See [`OwnerOptions::overlap`].
    pub overlap: bool,
    /// See [`OwnerOptions::batch_bytes`].
    pub batch_bytes: u64,
    /// See [`OwnerOptions::piece_bytes`].
    pub piece_bytes: u64,
    /// See [`OwnerOptions::read_around_bytes`].
    pub read_around_bytes: u64,
    /// See [`OwnerOptions::direct_bytes`].
    pub direct_bytes: Option<u64>,
    /// See [`OwnerOptions::striped`].
    striped: bool,
    stripe: Option<Stripe>,
}

/// Contents of a preset file; missing fields have their defaults.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Text {
    description: String,
    paper: String,
    page_bytes: Option<u64>,
    read_ahead_bytes: u64,
    overlap: bool,
    batch_bytes: u64,
    piece_bytes: u64,
    read_around_bytes: u64,
    direct_bytes: Option<u64>,
    striped: Option<bool>,
    stripe_granule_bytes: Option<u64>,
    shell: ShellConfig,
    figure2: Option<Figure2>,
}

impl Default for Text {
    fn default() -> Self {
        let owner = OwnerOptions::default();
        Self {
            description: String::new(),
            paper: String::new(),
            page_bytes: owner.page_size.map(PageSize::bytes),
            read_ahead_bytes: owner.read_ahead_bytes,
            overlap: owner.overlap,
            batch_bytes: owner.batch_bytes,
            piece_bytes: owner.piece_bytes,
            read_around_bytes: owner.read_around_bytes,
            direct_bytes: owner.direct_bytes,
            striped: None,
            stripe_granule_bytes: None,
            shell: ShellConfig::default(),
            figure2: None,
        }
    }
}

/// Parameters of FSRF's figure 2, in its notation. Sizes are log2.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "SCREAMING_SNAKE_CASE")]
struct Figure2 {
    num_tlb: usize,
    page_bits: Vec<u8>,
    log_depth: Vec<u8>,
    assoc: Vec<u8>,
}

impl Figure2 {
    fn l1(&self) -> Result<Vec<L1Config>, String> {
        for (name, list) in [
            ("PAGE_BITS", &self.page_bits),
            ("LOG_DEPTH", &self.log_depth),
            ("ASSOC", &self.assoc),
        ] {
            if list.len() != self.num_tlb {
                return Err(format!(
                    "NUM_TLB = {}, but {name} has {} values",
                    self.num_tlb,
                    list.len()
                ));
            }
        }
        let rest = self.log_depth.iter().zip(&self.assoc);
        let all = self.page_bits.iter().zip(rest);
        all.map(|(&page_bits, (&sets_log2, &ways_log2))| {
            if ways_log2 > 4 {
                return Err(format!("ASSOC = {ways_log2}: 2^4 ways are the most"));
            }
            Ok(L1Config {
                page_bits,
                sets_log2,
                ways: 1 << ways_log2,
            })
        })
        .collect()
    }
}

impl Preset {
    /// Names of the built-in presets, including `fsrf`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TEXTS.iter().map(|(name, _)| *name).chain([FSRF])
    }

    /// A built-in preset, for `bytes` of data without advice: as [`suited`](Self::suited).
    ///
    /// # Errors
    /// [`PresetError::NoSuch`].
    pub fn named(name: &str, bytes: u64) -> Result<Self, PresetError> {
        Self::suited(name, bytes, Advice::NONE)
    }

    /// A built-in preset. `fsrf` selects FSRF with the TLB that suits data and advice, following its table 1: the SRAM
    /// TLB for data within the reach of its 2 MiB pages, and for sequential reads of any size; the DRAM TLB otherwise.
    /// [`chosen`](Self::chosen) gives the reason.
    ///
    /// # Errors
    /// [`PresetError::NoSuch`].
    pub fn suited(name: &str, bytes: u64, advice: Advice) -> Result<Self, PresetError> {
        if name == FSRF {
            let sram = Self::suited("fsrf-sram", bytes, advice)?;
            let reach = told(sram.reach_bytes());
            let (mut found, why) = match advice.pattern {
                _ if bytes <= sram.reach_bytes() => (sram, format!("the SRAM TLB reaches {reach}, which is all of the data")),
                Some(Pattern::Stream) => (sram, "the SRAM TLB: of data in order (advice stream) each page is looked up for all of its bytes".to_owned()),
                _ => (
                    Self::suited("fsrf-dram", bytes, advice)?,
                    format!("the DRAM TLB: {} of data, and the SRAM TLB reaches {reach}", told(bytes)),
                ),
            };
            found.chosen = why;
            return Ok(found);
        }
        let Some((_, text)) = TEXTS.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = Self::names().collect();
            return Err(PresetError::NoSuch {
                name: name.to_owned(),
                known: known.join(", "),
            });
        };
        Self::parse(name, name, text)
    }

    /// Loads a preset from a file.
    ///
    /// # Errors
    /// The file cannot be read, is not a preset, or breaks a rule.
    pub fn load(path: &Path) -> Result<Self, PresetError> {
        let text = std::fs::read_to_string(path).map_err(|source| PresetError::File {
            path: path.to_owned(),
            source,
        })?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&name, &path.display().to_string(), &text)
    }

    /// `place`: the name used in messages.
    fn parse(name: &str, place: &str, text: &str) -> Result<Self, PresetError> {
        let text: Text = toml::from_str(text).map_err(|source| PresetError::Syntax {
            preset: place.to_owned(),
            source: Box::new(source),
        })?;
        Self::of(name, text).map_err(|rule| PresetError::Rule {
            preset: place.to_owned(),
            rule,
        })
    }

    fn of(name: &str, text: Text) -> Result<Self, String> {
        let mut shell = text.shell;
        if let Some(figure2) = text.figure2 {
            if shell.l1 != ShellConfig::default().l1 {
                return Err("`figure2` and `shell.l1` say the same thing: leave one out".to_owned());
            }
            shell.l1 = figure2.l1()?;
        }
        if let Some(rule) = shell.broken_rule() {
            return Err(rule);
        }
        if text.batch_bytes != 0 && !text.batch_bytes.is_power_of_two() {
            let found = text.batch_bytes;
            return Err(format!("batch_bytes = {found}: 0 or a power of two"));
        }
        let page = match text.page_bytes {
            None => None,
            Some(bytes) => Some(
                PageSize::from_bytes(bytes)
                    .ok_or_else(|| format!("page_bytes = {bytes}: no size of a page"))?,
            ),
        };
        let is_served = |page| shell.page_sizes().contains(page);
        if let Some(page) =
            page.filter(|&page| shell.translator != Translator::Identity && !is_served(page))
        {
            return Err(format!(
                "page_bytes = {}: this shell's TLBs serve pages of {}",
                page.bytes(),
                shell.page_sizes()
            ));
        }
        let channels = u64::from(shell.channels);
        let stripe = match text.stripe_granule_bytes {
            None => None,
            Some(granule) => Some(Stripe::new(granule, channels).ok_or_else(|| {
                format!("stripe_granule_bytes = {granule}: no stripe over {channels} channels")
            })?),
        };
        Ok(Self {
            name: name.to_owned(),
            description: text.description,
            chosen: String::new(),
            paper: text.paper,
            shell,
            page,
            read_ahead_bytes: text.read_ahead_bytes,
            overlap: text.overlap,
            batch_bytes: text.batch_bytes,
            piece_bytes: text.piece_bytes,
            read_around_bytes: text.read_around_bytes,
            direct_bytes: text.direct_bytes,
            striped: text
                .striped
                .unwrap_or(stripe.is_none() && OwnerOptions::default().striped),
            stripe,
        })
    }

    /// Page size of a large file whose mapping sets none.
    pub fn largest_page(&self) -> PageSize {
        self.page.unwrap_or(PageSize::MIB_2)
    }

    /// TLB reach in bytes: the memory that the L1 TLB covers with the preset's page size.
    pub fn reach_bytes(&self) -> u64 {
        let serves = |l1: &&L1Config| 1 << l1.page_bits <= self.largest_page().bytes();
        let l1 = self.shell.l1.iter().rfind(serves);
        l1.map_or(0, |l1| {
            (u64::from(l1.ways) << l1.sets_log2).saturating_mul(1 << l1.page_bits)
        })
    }

    /// The same system for `applications` running concurrently, each with its own address lanes, and with capacities
    /// divided by 2^`scale_log2`. Page sizes are unchanged.
    pub fn scaled(mut self, applications: u8, scale_log2: u8) -> Self {
        self.shell.slots = applications;
        self.shell = self.shell.queue_a_slot();
        let shell = &mut self.shell;
        shell.spaces = shell.spaces.max(applications);
        if shell.translator != Translator::Identity {
            shell.lanes = applications;
        }
        for l1 in &mut shell.l1 {
            l1.sets_log2 = l1.sets_log2.saturating_sub(scale_log2);
        }
        self
    }

    /// Applies the preset to the options of a card and its owner.
    ///
    /// # Errors
    /// [`PresetError::DoesNotFit`]: the platform has fewer channels, or less than one page of memory on each.
    pub fn apply(
        &self,
        options: &mut SimOptions,
        owner: &mut OwnerOptions,
    ) -> Result<(), PresetError> {
        let platform = &options.platform;
        let memories = platform.memories();
        let does_not_fit = |rule| PresetError::DoesNotFit {
            preset: self.name.clone(),
            platform: platform.name().to_owned(),
            rule,
        };
        let (asked, there) = (
            u32::from(self.shell.channels),
            memories.iter().map(|memory| memory.channels).sum::<u32>(),
        );
        if asked > there {
            return Err(does_not_fit(format!(
                "it uses {asked} memory channels, the platform has {there}"
            )));
        }
        let least = memories.iter().map(|memory| memory.channel_bytes).min();
        let room = options.channel_bytes.unwrap_or(least.unwrap_or(0));
        // The minimum: a page table, one input page and one output page.
        let page = self.largest_page();
        if room < 4 * page.bytes() {
            return Err(does_not_fit(format!(
                "a channel of {room} bytes has no room for four pages of {page}"
            )));
        }
        if let Some(stripe) = self.stripe {
            if room % (1 << stripe.granule_log2()) != 0 {
                return Err(does_not_fit(format!(
                    "a channel of {room} bytes is no multiple of what is striped, {} bytes",
                    1u64 << stripe.granule_log2()
                )));
            }
        }
        options.shell = self.shell.clone();
        owner.preset = self.name.clone();
        owner.preset_chosen = self.chosen.clone();
        owner.page_size = self.page;
        owner.read_ahead_bytes = self.read_ahead_bytes;
        owner.overlap = self.overlap;
        owner.striped = self.striped;
        owner.batch_bytes = self.batch_bytes;
        owner.piece_bytes = self.piece_bytes;
        owner.read_around_bytes = self.read_around_bytes;
        owner.direct_bytes = self.direct_bytes;
        Ok(())
    }

    /// Whether files can be mapped.
    ///
    /// # Errors
    /// [`PresetError::NoVirtualMemory`].
    pub fn check_virtual_memory(&self) -> Result<(), PresetError> {
        match self.shell.translator {
            Translator::Paged | Translator::Segment => Ok(()),
            Translator::Identity => Err(PresetError::NoVirtualMemory {
                preset: self.name.clone(),
            }),
        }
    }

    /// Frame placement of an application: as the system stripes them, or the default without a preset; else one channel
    /// per application, or all channels if it runs alone.
    pub fn placement(&self, application: u8) -> SpacePlacement {
        match self.stripe {
            Some(stripe) => SpacePlacement::Interleaved { first: 0, stripe },
            None if self.striped || self.shell.slots == 1 => SpacePlacement::Anywhere,
            None => SpacePlacement::Channel(usize::from(application % self.shell.channels.max(1))),
        }
    }

    /// Creates a space for an application, on a card that was opened with this preset.
    ///
    /// # Errors
    /// As [`Card::create_space_on`].
    pub fn create_space(&self, card: &Card, application: u8) -> Result<AddressSpace, Error> {
        card.create_space_on(self.placement(application))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(platform: &str) -> SimOptions {
        SimOptions::named(platform).unwrap()
    }

    #[test]
    fn coyote_has_the_geometry_that_fsrf_prints() {
        for name in ["coyote-4k", "coyote-2m", "fsrf-sram"] {
            let l1 = Preset::named(name, 0).unwrap().shell.l1;
            let entries: Vec<_> = l1
                .iter()
                .map(|l1| (l1.page_bits, l1.ways, 1 << l1.sets_log2))
                .collect();
            assert_eq!(entries, [(12, 4, 1024), (21, 2, 64)], "{name}");
        }
        let coyote = Preset::named("coyote-2m", 0).unwrap();
        assert_eq!(coyote.reach_bytes(), 256 << 20);
        assert_eq!(
            Preset::named("coyote-4k", 0).unwrap().reach_bytes(),
            16 << 20
        );
        let scaled = coyote.scaled(4, 6);
        assert_eq!(scaled.reach_bytes(), 4 << 20);
        assert_eq!((scaled.shell.slots, scaled.shell.lanes), (4, 4));
        assert_eq!(scaled.shell.broken_rule(), None);
    }

    /// Bits of a lane's L1 TLBs: `entry_t` of `rtl/translate/tmb_l1_tlb.sv`, and the next victim of each set.
    fn bits(l1: &[L1Config]) -> u64 {
        let one = |l1: &L1Config| {
            let (in_page, ways) = (u64::from(l1.page_bits) - 12, u64::from(l1.ways));
            let tag = 36 - in_page - u64::from(l1.sets_log2);
            let entry = 1 + 4 + tag + (25 - in_page) + 3;
            let victim = u64::from(ways.next_power_of_two().ilog2());
            (ways * entry + victim) << l1.sets_log2
        };
        l1.iter().map(one).sum()
    }

    #[test]
    fn fsrf_moves_2_mib_at_a_time_and_a_batch_is_a_power_of_two() {
        let preset = Preset::named("fsrf-dram", 0).unwrap();
        let (mut options, mut owner) = (options("f1"), OwnerOptions::default());
        preset.apply(&mut options, &mut owner).unwrap();
        assert_eq!(
            (owner.page_size, owner.batch_bytes),
            (Some(PageSize::KIB_4), 2 << 20)
        );
        let odd = Preset::parse("a", "a", "batch_bytes = 3000").unwrap_err();
        assert!(odd.to_string().contains("0 or a power of two"), "{odd}");
    }

    #[test]
    fn rivals_read_a_page_and_copy_it_then_and_ours_moves_it_in_pieces() {
        for name in ["fsrf-sram", "coyote-2m", "coyote-4k", "amorphos", "tombolo"] {
            let preset = Preset::named(name, 0).unwrap();
            let (mut options, mut owner) = (options("f1"), OwnerOptions::default());
            preset.apply(&mut options, &mut owner).unwrap();
            assert_eq!(owner.piece_bytes != 0, name == "tombolo", "{name}");
            assert_eq!(owner.read_around_bytes != 0, name == "tombolo", "{name}");
        }
    }

    #[test]
    fn ours_reaches_sixteen_times_as_far_as_coyote_in_fewer_bits() {
        let [ours, coyote] = ["tombolo", "coyote-2m"].map(|name| Preset::named(name, 0).unwrap());
        assert!(bits(&ours.shell.l1) < bits(&coyote.shell.l1));
        let reach = ours.shell.l1_reach();
        assert_eq!(reach.last().unwrap().bytes, 16 * coyote.reach_bytes());
        assert_eq!(ours.reach_bytes(), coyote.reach_bytes());
        let beyond = |bytes| units::L1Reach::beyond(&reach, ours.largest_page(), bytes);
        assert_eq!(beyond(256 << 20), None);
        let large = beyond((256 << 20) + 1).unwrap();
        assert_eq!((large.0.bytes(), large.1), (32 << 20, 256 << 20));
        assert_eq!(
            units::L1Reach::beyond(&reach, PageSize::KIB_4, 1 << 40),
            None
        );
    }

    /// A preset that changes only the shell keeps the default host settings.
    #[test]
    fn what_a_file_does_not_say_is_as_it_is_without_one() {
        let own = Preset::parse("own", "own.toml", "[shell]\nslots = 2\n").unwrap();
        let mut owner = OwnerOptions::default();
        own.apply(&mut options("f1"), &mut owner).unwrap();
        owner.preset.clear();
        assert_eq!(
            format!("{owner:?}"),
            format!("{:?}", OwnerOptions::default())
        );
        assert_eq!(own.placement(1), SpacePlacement::Anywhere);
        // The presets set their host behaviour explicitly, so that they do not follow changes of our defaults.
        for (name, text) in TEXTS {
            let told: toml::Table = text.parse().unwrap();
            let host = [
                "page_bytes",
                "read_ahead_bytes",
                "overlap",
                "batch_bytes",
                "piece_bytes",
                "read_around_bytes",
                "striped",
            ];
            let silent: Vec<_> = host
                .iter()
                .filter(|key| !told.contains_key(**key))
                .collect();
            assert!(silent.is_empty(), "{name}: {silent:?}");
        }
    }

    #[test]
    fn all_presets_can_be_used() {
        for name in Preset::names() {
            let preset = Preset::named(name, 1 << 20).unwrap();
            assert!(!preset.description.is_empty(), "{name}");
            let mut options = options("f1");
            preset
                .apply(&mut options, &mut OwnerOptions::default())
                .unwrap();
            assert_eq!(options.shell, preset.shell, "{name}");
            assert_eq!(preset.scaled(4, 6).shell.broken_rule(), None, "{name}");
        }
    }

    #[test]
    fn fsrf_takes_the_tlb_that_suits_the_data() {
        let name = |bytes| Preset::named("fsrf", bytes).unwrap().name;
        assert_eq!(name(256 << 20), "fsrf-sram");
        assert_eq!(name((256 << 20) + 1), "fsrf-dram");
        let large = |words: &str| Preset::suited("fsrf", 1 << 30, words.parse().unwrap()).unwrap();
        let (stream, random) = (large("stream+lowuse"), large("random"));
        assert_eq!((&*stream.name, &*random.name), ("fsrf-sram", "fsrf-dram"));
        assert!(stream.chosen.contains("advice stream"), "{}", stream.chosen);
        assert!(
            random.chosen.contains("reaches 256.0 MiB"),
            "{}",
            random.chosen
        );
        assert_eq!(Preset::named("fsrf-sram", 0).unwrap().chosen, "");
    }

    #[test]
    fn what_does_not_fit_says_why() {
        let error = Preset::named("coyote", 0).unwrap_err().to_string();
        assert!(
            error.contains("`coyote`") && error.contains("coyote-4k"),
            "{error}"
        );
        let mut small = options("f1");
        small.channel_bytes = Some(4 << 20);
        let preset = Preset::named("tombolo", 0).unwrap();
        let error = preset.apply(&mut small, &mut OwnerOptions::default());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("f1") && error.contains("4194304"), "{error}");
        let error = Preset::named("physical", 0).unwrap().check_virtual_memory();
        assert!(error.unwrap_err().to_string().contains("--system physical"));
    }

    #[test]
    fn a_file_may_use_the_parameters_of_figure_2() {
        let parse = |text: &str| Preset::parse("own", "own.toml", text);
        let figure =
            "[figure2]\nNUM_TLB = 2\nPAGE_BITS = [12, 21]\nLOG_DEPTH = [10, 6]\nASSOC = [2, 1]\n";
        let own = parse(&format!("[shell]\nchannels = 4\nmax_walks = 0\n{figure}")).unwrap();
        assert_eq!(
            own.shell.l1,
            Preset::named("coyote-2m", 0).unwrap().shell.l1
        );
        let error = |text: &str| parse(text).unwrap_err().to_string();
        let short = error(&figure.replace("[10, 6]", "[10]"));
        assert!(
            short.contains("own.toml") && short.contains("LOG_DEPTH"),
            "{short}"
        );
        let large = error(&figure.replace("21", "32"));
        assert!(large.contains("page_bits = 32"), "{large}");
        let page = error("page_bytes = 5000\n");
        assert!(page.contains("5000"), "{page}");
        let unknown = error("pages = 1\n");
        assert!(unknown.contains("pages"), "{unknown}");
    }
}
