//! Descriptions of experiments, read from `experiments/`.

use super::claims::{any, Cells, Columns, TableClaims};
use super::graph::Form;
use super::refit::Refit;
use super::workload::Load;
use super::Cell;
use crate::claim::Statement;
use serde::Deserialize;
use simcard::{ShellConfig, Translator};
use std::collections::BTreeMap;
use std::num::NonZeroU8;
use std::path::{Path, PathBuf};
use tombolo::{PageSize, Preset, PresetError};

/// Why an experiment could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// The file cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The file is not an experiment or a preset.
    #[error("{path}: {source}", path = .path.display())]
    Syntax {
        /// Path of the file.
        path: PathBuf,
        /// The parser's error, with its location.
        source: Box<toml::de::Error>,
    },
    /// A value violates a rule.
    #[error("{path}: {rule}", path = .path.display())]
    Rule {
        /// Path of the file.
        path: PathBuf,
        /// The rule that is violated.
        rule: String,
    },
    /// A system that is not a preset.
    #[error(transparent)]
    Preset(#[from] PresetError),
}

/// Location of the data when an application starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Temperature {
    /// On the host's storage.
    Cold,
    /// In the host's page cache.
    Warm,
    /// In card memory.
    Hot,
}

impl Temperature {
    /// All temperatures, in the tables' order.
    pub const ALL: [Self; 3] = [Self::Cold, Self::Warm, Self::Hot];

    /// Name in experiment files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Hot => "hot",
        }
    }
}

/// Size of the data set relative to card memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// A small fraction of card memory.
    Small,
    /// Most of card memory.
    Large,
    /// More than card memory.
    Oversubscribed,
}

impl Size {
    /// All sizes, in the tables' order.
    pub const ALL: [Self; 3] = [Self::Small, Self::Large, Self::Oversubscribed];

    /// Name in experiment files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
            Self::Oversubscribed => "oversubscribed",
        }
    }

    /// Column heading.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Oversubscribed => "oversub",
            size => size.name(),
        }
    }
}

/// Data of a workload: `experiments/*.toml`, `[workload.small]`, `[workload.large]`, `[workload.oversubscribed]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    /// Size of each application's data set in bytes.
    pub(crate) set_bytes: u64,
    /// Bytes that an application reads and writes: a sample of the set.
    pub(crate) accessed_bytes: u64,
    /// The same if the host handles TLB misses or faults of small pages, which are slow to simulate.
    accessed_bytes_of_misses: Option<u64>,
    /// Size of a random access in bytes.
    pub(crate) access_bytes: Option<u64>,
    /// Size of the set in bytes if it is loaded in pages of 2 MiB or more while applications run: such pages are not
    /// scaled, so a set of a single page would show the latency of one fetch rather than the rate of many.
    loaded_set_bytes: Option<u64>,
    /// Bytes accessed of that set.
    loaded_accessed_bytes: Option<u64>,
    /// Runs of a hot cell (default 1); the last one counts, the others fill the TLBs.
    passes: Option<u32>,
    /// Card memory in bytes that an application may use for the set; default: all of its channel.
    card_bytes: Option<u64>,
    /// The same if the set is loaded in pages of 2 MiB or more.
    loaded_card_bytes: Option<u64>,
    /// Bytes accessed before the measured run, to fill card memory; by default the first run is measured.
    warm_up_bytes: Option<u64>,
    /// The same if the set is loaded in pages of 2 MiB or more.
    loaded_warm_up_bytes: Option<u64>,
    /// Bytes that the application accesses of a set that must be loaded: the part beyond the sample is extrapolated at
    /// the rate of a second run with all data on the card, and the rest of the set is loaded at the sample's cost.
    /// Default: the sample is everything.
    whole_bytes: Option<u64>,
    /// For graphs: distribution of edges, and their number per vertex.
    pub(crate) graph: Option<Form>,
    pub(crate) degree: Option<f64>,
    /// log2 of the factor by which TLBs are smaller than the paper's, if not that of the experiment.
    scale_log2: Option<u8>,
    /// The same if the set is loaded in pages of 2 MiB or more.
    loaded_scale_log2: Option<u8>,
}

impl Data {
    /// Number of runs of a hot cell.
    pub(crate) fn passes(&self) -> u32 {
        self.passes.unwrap_or(1)
    }

    /// The data of a cell whose pages are, or are not, loaded large.
    pub(crate) fn of(mut self, loaded_large: bool) -> Self {
        if loaded_large {
            self.set_bytes = self.loaded_set_bytes.unwrap_or(self.set_bytes);
            if let Some(bytes) = self.loaded_accessed_bytes {
                self.accessed_bytes = bytes;
                self.accessed_bytes_of_misses = None;
            }
            self.card_bytes = self.loaded_card_bytes.or(self.card_bytes);
            self.warm_up_bytes = self.loaded_warm_up_bytes.or(self.warm_up_bytes);
            self.scale_log2 = self.loaded_scale_log2.or(self.scale_log2);
        }
        self
    }

    /// log2 of the scale of its TLBs, if different from the experiment's.
    pub(crate) fn scale_log2(&self) -> Option<u8> {
        self.scale_log2
    }

    /// Limit of card memory for an application's pages in bytes, if any.
    pub(crate) fn card_bytes(&self) -> Option<u64> {
        self.card_bytes
    }

    /// Total bytes accessed, if more than the sample.
    pub(crate) fn whole_bytes(&self) -> Option<u64> {
        self.whole_bytes
    }

    /// Bytes accessed before the measured run.
    pub(crate) fn warm_up_bytes(&self) -> Option<u64> {
        self.warm_up_bytes
    }

    /// Bytes that an application accesses on a system: fewer if the host handles TLB misses or moves small pages, and
    /// the set exceeds their reach. A stream misses once per page, so with 2 MiB pages it must be as long as any other
    /// to have its share of misses.
    pub(crate) fn accessed(&self, load: Load, preset: &Preset, hot: bool) -> u64 {
        let small_pages = preset.largest_page() == PageSize::KIB_4;
        let misses = preset.shell.max_walks == 0
            && preset.shell.translator == Translator::Paged
            && self.set_bytes > preset.reach_bytes()
            && (small_pages || load.is_random());
        match self.accessed_bytes_of_misses {
            Some(bytes) if (small_pages && !hot) || misses => bytes,
            _ => self.accessed_bytes,
        }
    }
}

/// A kernel, its data, and the paper's values for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "WorkloadText")]
pub struct Workload {
    /// Name of the workload.
    pub name: String,
    /// Folder name of the kernel in `kernels/`.
    pub(crate) kernel: String,
    /// Access pattern of the kernel.
    pub(crate) load: Load,
    /// Name of the row in the paper.
    pub paper: String,
    tlb: Vec<Tlb>,
    small: Data,
    large: Data,
    oversubscribed: Option<Data>,
    /// Published values of its row, by system.
    published: BTreeMap<String, Columns>,
}

/// The TLB that FSRF used (table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tlb {
    Sram,
    Dram,
}

/// A workload in the format of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadText {
    name: String,
    kernel: String,
    paper: String,
    /// For small, large and oversubscribed data.
    tlb: Vec<Tlb>,
    /// Whether random accesses are writes.
    #[serde(default)]
    write: bool,
    /// Outstanding updates or lookups, for a workload with random updates or triangle counting; default: the kernel's
    /// maximum.
    under_way: Option<u64>,
    /// Idle cycles after each row of targets, for sequence alignment, after each image, for inference, after each
    /// lookup, for triangle counting, or after each edge, for page rank.
    pause: Option<u64>,
    /// Whether images are requested only when those before are computed, for inference.
    #[serde(default)]
    in_turn: bool,
    small: Data,
    large: Data,
    oversubscribed: Option<Data>,
}

impl TryFrom<WorkloadText> for Workload {
    type Error = String;

    fn try_from(text: WorkloadText) -> Result<Self, String> {
        let mut load = match (Load::of(&text.kernel), text.write, text.under_way) {
            (None, ..) => return Err(format!("kernel `{}` is no workload", text.kernel)),
            (Some(Load::Random), true, None) => Load::RandomWrites,
            (Some(_), true, _) => return Err("`write` is for random accesses only".to_owned()),
            (Some(Load::Updates { .. }), false, Some(under_way)) => Load::Updates { under_way },
            (Some(Load::Triangles { pause, .. }), false, Some(under_way)) => {
                Load::Triangles { under_way, pause }
            }
            (Some(_), false, Some(_)) => {
                return Err("`under_way` is for updates and triangles only".to_owned())
            }
            (Some(load), false, None) => load,
        };
        match (&mut load, text.pause) {
            (_, None) => {}
            (
                Load::Pairs { pause }
                | Load::Images { pause, .. }
                | Load::Ranks { pause }
                | Load::Triangles { pause, .. },
                Some(given),
            ) => *pause = given,
            (_, Some(_)) => {
                return Err(
                    "`pause` is for sequence alignment, inference, triangles and page rank only"
                        .to_owned(),
                )
            }
        }
        match (&mut load, text.in_turn) {
            (_, false) => {}
            (Load::Images { in_turn, .. }, true) => *in_turn = true,
            _ => return Err("`in_turn` is for inference only".to_owned()),
        }
        let all = [
            Some(&text.small),
            Some(&text.large),
            text.oversubscribed.as_ref(),
        ];
        let of_sizes = all.into_iter().flatten();
        if text.tlb.len() != of_sizes.clone().count() {
            return Err(format!(
                "workload `{}`: `tlb` says {} of its sizes' TLBs, and it has {}",
                text.name,
                text.tlb.len(),
                of_sizes.count()
            ));
        }
        for data in of_sizes {
            let loaded = data.of(true);
            let samples = [
                (data, Some(data.accessed_bytes)),
                (data, data.accessed_bytes_of_misses),
                (&loaded, data.loaded_accessed_bytes),
                (data, data.warm_up_bytes),
                (&loaded, data.loaded_warm_up_bytes),
            ];
            for (data, accessed) in samples {
                let broken = |accessed| load.broken_rule(data, accessed);
                if let Some(rule) = accessed.and_then(broken) {
                    return Err(format!("workload `{}`: {rule}", text.name));
                }
            }
        }
        Ok(Self {
            name: text.name,
            kernel: text.kernel,
            load,
            paper: text.paper,
            tlb: text.tlb,
            small: text.small,
            large: text.large,
            oversubscribed: text.oversubscribed,
            published: BTreeMap::new(),
        })
    }
}

impl Workload {
    /// Data of this size, if the workload has it.
    pub(crate) fn data(&self, size: Size) -> Option<&Data> {
        match size {
            Size::Small => Some(&self.small),
            Size::Large => Some(&self.large),
            Size::Oversubscribed => self.oversubscribed.as_ref(),
        }
    }

    fn tlb(&self, size: Size) -> Option<Tlb> {
        self.tlb.get(size as usize).copied()
    }

    /// Published value of a cell in MiB/s; `None` if the paper has no such cell.
    pub fn published(&self, system: &str, temperature: Temperature, size: Size) -> Option<f64> {
        let cell = format!("{}_{}", temperature.name(), size.name());
        self.published.get(system)?.get(&cell).copied()
    }
}

/// The presets of a system at one scale.
#[derive(Clone, Debug)]
struct Presets {
    preset: Preset,
    /// An alternative for workloads in which FSRF used its DRAM TLB.
    dram: Option<Preset>,
}

/// A system to compare: a preset for four applications, at the scale of the experiment.
#[derive(Clone, Debug)]
pub struct System {
    /// Name of the preset.
    pub name: String,
    /// The preset at the scale of the experiment, and at those of data with a different scale.
    presets: BTreeMap<Option<u8>, Presets>,
    /// Number of runs of its hot cells.
    pub(super) runs: u8,
}

/// Number of applications that run concurrently.
pub(super) const APPLICATIONS: u8 = 4;

impl System {
    fn named(name: &str, scale_log2: u8, own: &[u8], runs: u8) -> Result<Self, PresetError> {
        let scaled =
            |name, scale_log2| Ok(Preset::named(name, 0)?.scaled(APPLICATIONS, scale_log2));
        let at = |scale_log2| {
            Ok(Presets {
                preset: scaled(name, scale_log2)?,
                dram: match name {
                    "fsrf" => Some(scaled("fsrf-dram", scale_log2)?),
                    _ => None,
                },
            })
        };
        let mut presets = BTreeMap::from([(None, at(scale_log2)?)]);
        for &own in own {
            presets.insert(Some(own), at(own)?);
        }
        Ok(Self {
            name: name.to_owned(),
            presets,
            runs,
        })
    }

    /// The preset of a cell.
    pub(crate) fn preset(&self, workload: &Workload, size: Size) -> &Preset {
        self.preset_at(workload, size, None)
    }

    /// The preset with TLBs of another scale than the experiment's.
    pub(crate) fn preset_at(
        &self,
        workload: &Workload,
        size: Size,
        scale_log2: Option<u8>,
    ) -> &Preset {
        let of = self.presets.get(&scale_log2);
        // Every scale in the file has presets, and the experiment's scale always exists.
        let of = of.unwrap_or_else(|| &self.presets[&None]);
        match &of.dram {
            Some(dram) if workload.tlb(size) == Some(Tlb::Dram) => dram,
            _ => &of.preset,
        }
    }

    /// Replaces the shell at every scale.
    fn set_shell(&mut self, shell: &ShellConfig) {
        for of in self.presets.values_mut() {
            for preset in [Some(&mut of.preset), of.dram.as_mut()]
                .into_iter()
                .flatten()
            {
                preset.shell = shell.clone();
            }
        }
    }

    /// Whether the system is not one of the paper's.
    pub(super) fn is_ours(&self) -> bool {
        self.name == "tombolo"
    }

    /// Whether it changes page sizes if data exceeds card memory [FSRF section 5.1]; systems with a single page size,
    /// and FSRF's DRAM TLB, do not.
    pub(crate) fn adapts(&self, workload: &Workload, size: Size) -> bool {
        let adaptive = match self.name.as_str() {
            _ if self.is_ours() => true,
            "fsrf" => workload.tlb(size) == Some(Tlb::Sram),
            _ => false,
        };
        adaptive && size == Size::Oversubscribed
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    platform: String,
    scale_log2: u8,
    systems: Vec<String>,
    /// Systems without cells in the paper.
    #[serde(default)]
    unpublished: Vec<String>,
    /// Temperatures of their cells; empty for all.
    #[serde(default)]
    temperatures: Vec<String>,
    /// Data set sizes of their cells; empty for all.
    #[serde(default)]
    sizes: Vec<String>,
    known_differences: Vec<String>,
    /// Number of hot runs, for systems with more than one.
    #[serde(default)]
    runs: BTreeMap<String, NonZeroU8>,
    workload: Vec<Workload>,
    /// Published values of the rows that the workloads' `paper` refers to.
    claims: Option<TableClaims>,
    /// Section 6.4: standard deviations of runtimes over their mean, geometric means, in percent.
    fairness: Option<Statement<Vec<(String, f64)>>>,
    /// Figure 7, the text: system, application, share of its standalone throughput.
    mixed: Option<Statement<Vec<(String, String, f64)>>>,
    /// Reasons for deviating cells.
    #[serde(default)]
    differs: Vec<Differs>,
}

/// Cells that deviate from the published values, with the known reasons. They do not change any verdict.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Differs {
    reason: String,
    #[serde(default)]
    workloads: Vec<String>,
    #[serde(default)]
    systems: Vec<String>,
    #[serde(default)]
    columns: Vec<String>,
}

/// Systems and workloads, with the paper's values.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name of its file, without the extension.
    pub name: String,
    /// Title of the experiment.
    pub title: String,
    /// Platform of all cells.
    pub platform: String,
    /// log2 of the factor by which every capacity is smaller than the paper's.
    pub scale_log2: u8,
    /// Known differences from the paper's set-up.
    pub known_differences: Vec<String>,
    pub(super) claims: Option<TableClaims>,
    pub(super) fairness: Option<Statement<Vec<(String, f64)>>>,
    pub(super) mixed: Option<Statement<Vec<(String, String, f64)>>>,
    differs: Vec<Differs>,
    /// Cells to run; empty for all.
    pub(super) only: Vec<Cells>,
    unpublished: Vec<String>,
    temperatures: Vec<String>,
    sizes: Vec<String>,
    /// Systems to compare.
    pub systems: Vec<System>,
    /// Workloads to run.
    pub workloads: Vec<Workload>,
}

impl Experiment {
    /// Replaces the shell of every system.
    pub(super) fn set_shell(&mut self, shell: &ShellConfig) {
        for system in &mut self.systems {
            system.set_shell(shell);
        }
    }

    /// Reads an experiment from the folder `experiments`.
    ///
    /// # Errors
    /// The file does not exist, is not TOML, or violates a rule.
    pub fn read(folder: &Path, name: &str) -> Result<Self, DescriptionError> {
        let path = folder.join(name).with_extension("toml");
        let text = text_of(&path)?;
        if Refit::is(&text) {
            return parse::<Refit>(&path, &text)?.of(folder, name);
        }
        let mut file: File = parse(&path, &text)?;
        let mut own: Vec<u8> = Vec::new();
        for workload in &file.workload {
            let of_sizes = [Some(&workload.small), Some(&workload.large)];
            let of_sizes = of_sizes
                .into_iter()
                .chain([workload.oversubscribed.as_ref()]);
            for data in of_sizes.flatten() {
                own.extend(data.scale_log2.into_iter().chain(data.loaded_scale_log2));
            }
        }
        let systems = file
            .systems
            .iter()
            .map(|name| {
                let runs = file.runs.get(name).map_or(1, |runs| runs.get());
                System::named(name, file.scale_log2, &own, runs)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let claimed = file.claims.iter().flat_map(TableClaims::systems);
        let unknown = claimed
            .chain(file.runs.keys())
            .find(|name| !file.systems.contains(name))
            .cloned();
        if let Some(name) = unknown {
            return Err(DescriptionError::Rule {
                path,
                rule: format!("values or runs of `{name}`, which is none of its systems"),
            });
        }
        if let Some(claims) = &file.claims {
            for workload in &mut file.workload {
                let Some(published) = claims.published(&workload.paper) else {
                    let (name, row) = (&workload.name, &workload.paper);
                    return Err(DescriptionError::Rule {
                        rule: format!("workload `{name}`: no row `{row}` in its claims"),
                        path,
                    });
                };
                workload.published = published.clone();
            }
        }
        Ok(Self {
            name: name.to_owned(),
            title: file.title,
            platform: file.platform,
            scale_log2: file.scale_log2,
            known_differences: file.known_differences,
            claims: file.claims,
            differs: file.differs,
            only: Vec::new(),
            fairness: file.fairness,
            mixed: file.mixed,
            unpublished: file.unpublished,
            temperatures: file.temperatures,
            sizes: file.sizes,
            systems,
            workloads: file.workload,
        })
    }

    /// Whether a cell belongs to the experiment: the paper's cells, and all cells of systems without any in the paper.
    pub(super) fn has(&self, workload: &Workload, system: &str, at: (Temperature, Size)) -> bool {
        let (temperature, size) = at;
        // Hot data must fit in card memory entirely.
        let hot = temperature == Temperature::Hot;
        if workload.data(size).is_none() || hot && size == Size::Oversubscribed {
            return false;
        }
        let column = format!("{}_{}", temperature.name(), size.name());
        let left_out = |claims: &TableClaims| !claims.runs(&workload.paper, &column);
        if self.claims.as_ref().is_some_and(left_out) {
            return false;
        }
        if !self.only.is_empty() {
            return any(&self.only, (&workload.paper, system, &column));
        }
        workload.published(system, temperature, size).is_some()
            || self.unpublished.iter().any(|name| name == system)
                && listed(&self.temperatures, temperature.name())
                && listed(&self.sizes, size.name())
    }

    /// Reason for a cell's deviation, if known.
    pub fn why(&self, cell: &Cell<'_>) -> Option<&str> {
        let column = format!("{}_{}", cell.temperature.name(), cell.size.name());
        let is_of = |differs: &&Differs| {
            listed(&differs.workloads, &cell.workload.name)
                && listed(&differs.systems, &cell.system.name)
                && listed(&differs.columns, &column)
        };
        Some(&self.differs.iter().find(is_of)?.reason)
    }
}

/// Whether a list contains this name; an empty list contains all.
fn listed(list: &[String], name: &str) -> bool {
    list.is_empty() || list.iter().any(|n| n == name)
}

/// Reads and parses an experiment file.
pub(super) fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, DescriptionError> {
    parse(path, &text_of(path)?)
}

fn text_of(path: &Path) -> Result<String, DescriptionError> {
    std::fs::read_to_string(path).map_err(|source| DescriptionError::File {
        path: path.to_owned(),
        source,
    })
}

/// Parses the text of an experiment file; `path` is for messages.
fn parse<T: serde::de::DeserializeOwned>(path: &Path, text: &str) -> Result<T, DescriptionError> {
    toml::from_str(text).map_err(|source| DescriptionError::Syntax {
        path: path.to_owned(),
        source: Box::new(source),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> PathBuf {
        simcard::home().join("experiments")
    }

    #[test]
    fn the_table_of_fsrf_is_whole() {
        let experiment = Experiment::read(&folder(), "fsrf-table2").unwrap();
        let names: Vec<&str> = experiment.systems.iter().map(|s| s.name.as_str()).collect();
        let others = ["fsrf", "coyote-2m", "coyote-4k", "amorphos", "physical"];
        assert_eq!(names[1..], others);
        let cells = experiment.cells();
        for workload in &experiment.workloads {
            let of = |system: &str| {
                let of =
                    |c: &&Cell<'_>| c.workload.name == workload.name && c.system.name == system;
                cells.iter().filter(of).count()
            };
            let (published, ours) = match workload.name.as_str() {
                "page_rank" => ([4, 4, 4, 4, 2], 4),
                _ => ([8, 8, 8, 6, 2], 8),
            };
            assert_eq!(others.map(of), published, "{}", workload.name);
            assert_eq!(of("tombolo"), ours);
        }
    }

    #[test]
    fn files_that_break_a_rule_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("odd.toml");
        let error = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let error = Experiment::read(folder.path(), "odd").unwrap_err();
            error.to_string()
        };
        let rest = "title = \"\"\nplatform = \"f1\"\nscale_log2 = 6\nknown_differences = []\nworkload = []\n";
        let unknown = error(&format!("{rest}systems = [\"coyote\"]\n"));
        assert!(unknown.contains("`coyote`"), "{unknown}");
        let syntax = error(&format!("{rest}systems = []\npages = 1\n"));
        assert!(
            syntax.contains("odd.toml") && syntax.contains("pages"),
            "{syntax}"
        );
        assert!(matches!(
            Experiment::read(folder.path(), "none"),
            Err(DescriptionError::File { .. })
        ));
    }
}
