//! What an experiment compares: read from `experiments/`.

use super::claims::{Claims, Columns};
use super::graph::Form;
use super::workload::Load;
use super::Cell;
use serde::Deserialize;
use simcard::Translator;
use std::collections::BTreeMap;
use std::num::NonZeroU8;
use std::path::{Path, PathBuf};
use tombolo::{PageSize, Picoseconds, Preset, PresetError};

/// An experiment that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// The file cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not an experiment or a preset.
    #[error("{path}: {source}", path = .path.display())]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: Box<toml::de::Error>,
    },
    /// A value breaks a rule.
    #[error("{path}: {rule}", path = .path.display())]
    Rule {
        /// Which file.
        path: PathBuf,
        /// The rule.
        rule: String,
    },
    /// A system that is no preset.
    #[error(transparent)]
    Preset(#[from] PresetError),
}

/// Where the data is when an application starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Temperature {
    /// On the host's storage.
    Cold,
    /// In the host's page cache.
    Warm,
    /// On the card.
    Hot,
}

impl Temperature {
    /// All, as the tables print them.
    pub const ALL: [Self; 3] = [Self::Cold, Self::Warm, Self::Hot];

    /// Its name in experiments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Hot => "hot",
        }
    }
}

/// Which of the data sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// A small part of card memory.
    Small,
    /// Most of card memory.
    Large,
    /// More than card memory.
    Oversubscribed,
}

impl Size {
    /// All, as the tables print them.
    pub const ALL: [Self; 3] = [Self::Small, Self::Large, Self::Oversubscribed];

    /// Its name in experiments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
            Self::Oversubscribed => "oversubscribed",
        }
    }

    /// As columns are headed.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Oversubscribed => "oversub",
            size => size.name(),
        }
    }
}

/// The data of a workload: `experiments/*.toml`, `[workload.small]`, `[workload.large]`, `[workload.oversubscribed]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    /// Bytes of each application's set.
    pub(crate) set_bytes: u64,
    /// Bytes that an application reads and writes: a sample of the set.
    pub(crate) accessed_bytes: u64,
    /// The same where the host answers TLB misses or faults of small pages, which take long to simulate.
    accessed_bytes_of_misses: Option<u64>,
    /// Bytes of a random access.
    pub(crate) access_bytes: Option<u64>,
    /// The set, where it is loaded in pages of 2 MiB and more while applications run: they do not shrink, so a
    /// set of one page would show how a page is fetched, and not how many are.
    loaded_set_bytes: Option<u64>,
    /// What is accessed of it.
    loaded_accessed_bytes: Option<u64>,
    /// Runs of a hot cell; the last one counts, the others fill the TLBs. 1 without.
    passes: Option<u32>,
    /// Card memory that an application may use for the set; without, all of its channel.
    card_bytes: Option<u64>,
    /// The same where the set is loaded in pages of 2 MiB and more.
    loaded_card_bytes: Option<u64>,
    /// What is accessed before the run that counts, so that card memory is full by then; without, the first run counts.
    warm_up_bytes: Option<u64>,
    /// The same where the set is loaded in pages of 2 MiB and more.
    loaded_warm_up_bytes: Option<u64>,
    /// What the application accesses of a set that has to be loaded: what the sample leaves out is reckoned at the rate
    /// of a second run, which finds loaded what fits. Without, the sample is all.
    whole_bytes: Option<u64>,
    /// Of graphs: how edges are spread, and how many there are a vertex.
    pub(crate) graph: Option<Form>,
    pub(crate) degree: Option<f64>,
    /// log2 of how much smaller than the paper's the TLBs are, if not as those of the experiment.
    scale_log2: Option<u8>,
    /// The same where the set is loaded in pages of 2 MiB and more.
    loaded_scale_log2: Option<u8>,
}

impl Data {
    /// Runs of a hot cell.
    pub(crate) fn passes(&self) -> u32 {
        self.passes.unwrap_or(1)
    }

    /// As a cell has it whose pages come to the card large, or not.
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

    /// log2 of the scale of its TLBs, if it has one of its own.
    pub(crate) fn scale_log2(&self) -> Option<u8> {
        self.scale_log2
    }

    /// Card memory of an application's pages, if it is less than there is.
    pub(crate) fn card_bytes(&self) -> Option<u64> {
        self.card_bytes
    }

    /// What is accessed in all, if the sample is not all.
    pub(crate) fn whole_bytes(&self) -> Option<u64> {
        self.whole_bytes
    }

    /// What is accessed before the run that counts.
    pub(crate) fn warm_up_bytes(&self) -> Option<u64> {
        self.warm_up_bytes
    }

    /// Bytes that an application accesses on a system: fewer where the host answers what misses in the TLBs, or
    /// moves small pages, and the set is beyond their reach. A stream misses once a page, so one of 2 MiB pages has to
    /// be as long as any other to have its share of misses.
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

/// A kernel, its data, and what the paper has for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "WorkloadText")]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// The kernel's folder in `kernels/`.
    pub(crate) kernel: String,
    /// What the kernel does with its data.
    pub(crate) load: Load,
    /// The row of the paper.
    pub paper: String,
    tlb: Vec<Tlb>,
    small: Data,
    large: Data,
    oversubscribed: Option<Data>,
    /// Values of its row, by system.
    published: BTreeMap<String, Columns>,
}

/// Which of its TLBs FSRF used (table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tlb {
    Sram,
    Dram,
}

/// A workload as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadText {
    name: String,
    kernel: String,
    paper: String,
    /// Small, large, oversubscribed.
    tlb: Vec<Tlb>,
    /// Random accesses write.
    #[serde(default)]
    write: bool,
    /// Updates or lookups at once, of a workload that changes words at random or counts triangles; without, as many as
    /// the kernel can have.
    under_way: Option<u64>,
    small: Data,
    large: Data,
    oversubscribed: Option<Data>,
}

impl TryFrom<WorkloadText> for Workload {
    type Error = String;

    fn try_from(text: WorkloadText) -> Result<Self, String> {
        let load = match (Load::of(&text.kernel), text.write, text.under_way) {
            (None, ..) => return Err(format!("kernel `{}` is no workload", text.kernel)),
            (Some(Load::Random), true, None) => Load::RandomWrites,
            (Some(_), true, _) => return Err("`write` is for random accesses only".to_owned()),
            (Some(Load::Updates { .. }), false, Some(under_way)) => Load::Updates { under_way },
            (Some(Load::Triangles { .. }), false, Some(under_way)) => Load::Triangles { under_way },
            (Some(_), false, Some(_)) => {
                return Err("`under_way` is for updates and triangles only".to_owned())
            }
            (Some(load), false, None) => load,
        };
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
    /// The data of a size, if it has that.
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

    /// What the paper prints for a cell, in MiB/s; `None` where it has no such cell.
    pub fn published(&self, system: &str, temperature: Temperature, size: Size) -> Option<f64> {
        let cell = format!("{}_{}", temperature.name(), size.name());
        self.published.get(system)?.get(&cell).copied()
    }
}

/// The presets of a system at a scale.
#[derive(Clone, Debug)]
struct Presets {
    preset: Preset,
    /// Another one, where FSRF used its DRAM TLB.
    dram: Option<Preset>,
}

/// A system to compare: a preset for four applications, at the scale of the experiment.
#[derive(Clone, Debug)]
pub struct System {
    /// The preset's name.
    pub name: String,
    /// The preset at the scale of the experiment, and at those of data with one of its own.
    presets: BTreeMap<Option<u8>, Presets>,
    /// Runs of its cells with hot data.
    pub(super) runs: u8,
}

/// Applications that run beside each other.
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

    /// The same with TLBs of another scale than the experiment's.
    pub(crate) fn preset_at(
        &self,
        workload: &Workload,
        size: Size,
        scale_log2: Option<u8>,
    ) -> &Preset {
        let of = self.presets.get(&scale_log2);
        // Each scale of the file has its presets, and there is always that of the experiment.
        let of = of.unwrap_or_else(|| &self.presets[&None]);
        match &of.dram {
            Some(dram) if workload.tlb(size) == Some(Tlb::Dram) => dram,
            _ => &of.preset,
        }
    }

    /// Whether it is none of the paper's.
    pub(super) fn is_ours(&self) -> bool {
        self.name == "tombolo"
    }

    /// Whether its pages change their size where data is larger than card memory [FSRF section 5.1]; of systems with pages
    /// of one size, and of FSRF's DRAM TLB, they do not.
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
    /// Systems whose cells the paper does not have.
    #[serde(default)]
    unpublished: Vec<String>,
    /// Of those the cells with data there; all of them without.
    #[serde(default)]
    temperatures: Vec<String>,
    /// And with data sets of this size.
    #[serde(default)]
    sizes: Vec<String>,
    known_differences: Vec<String>,
    /// What the host takes for a TLB miss that it answers with a page that is on the card; without it, what the
    /// platform has for any event.
    host_miss_ps: Option<u64>,
    /// Runs with hot data, of the systems where it is not one.
    #[serde(default)]
    runs: BTreeMap<String, NonZeroU8>,
    workload: Vec<Workload>,
    /// Published values of the rows that `paper` of a workload names.
    claims: Option<Claims>,
    /// Why cells that are off are off.
    #[serde(default)]
    differs: Vec<Differs>,
}

/// Cells that came out otherwise than published, as far as it is known why. It changes no verdict.
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

/// Systems, workloads and what the paper has for them.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its file, without the extension.
    pub name: String,
    /// What it is.
    pub title: String,
    /// The platform of all cells.
    pub platform: String,
    /// log2 of how much smaller than the paper's every capacity is.
    pub scale_log2: u8,
    /// What is known to differ from the paper's set-up.
    pub known_differences: Vec<String>,
    pub(super) host_miss: Option<Picoseconds>,
    pub(super) claims: Option<Claims>,
    differs: Vec<Differs>,
    unpublished: Vec<String>,
    temperatures: Vec<String>,
    sizes: Vec<String>,
    /// Its systems.
    pub systems: Vec<System>,
    /// Its workloads.
    pub workloads: Vec<Workload>,
}

impl Experiment {
    /// Reads an experiment from the folder `experiments`.
    ///
    /// # Errors
    /// A file that is not there, not TOML, or that breaks a rule.
    pub fn read(folder: &Path, name: &str) -> Result<Self, DescriptionError> {
        let path = folder.join(name).with_extension("toml");
        let mut file: File = read(&path)?;
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
        let claimed = file.claims.iter().flat_map(Claims::systems);
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
            host_miss: file.host_miss_ps.map(Picoseconds::new),
            claims: file.claims,
            differs: file.differs,
            unpublished: file.unpublished,
            temperatures: file.temperatures,
            sizes: file.sizes,
            systems,
            workloads: file.workload,
        })
    }

    /// Whether a cell is of the experiment: those that the paper has, and all of systems that it lacks.
    pub(super) fn has(&self, workload: &Workload, system: &str, at: (Temperature, Size)) -> bool {
        let (temperature, size) = at;
        // Hot data is on the card, all of it.
        let hot = temperature == Temperature::Hot;
        if workload.data(size).is_none() || hot && size == Size::Oversubscribed {
            return false;
        }
        let column = format!("{}_{}", temperature.name(), size.name());
        let left_out = |claims: &Claims| !claims.runs(&workload.paper, &column);
        if self.claims.as_ref().is_some_and(left_out) {
            return false;
        }
        workload.published(system, temperature, size).is_some()
            || self.unpublished.iter().any(|name| name == system)
                && listed(&self.temperatures, temperature.name())
                && listed(&self.sizes, size.name())
    }

    /// Why a cell is off, if that is known.
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

/// Whether a list that means all when it is empty has this name.
fn listed(list: &[String], name: &str) -> bool {
    list.is_empty() || list.iter().any(|n| n == name)
}

/// Reads a file of experiments.
pub(super) fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, DescriptionError> {
    let text = std::fs::read_to_string(path).map_err(|source| DescriptionError::File {
        path: path.to_owned(),
        source,
    })?;
    toml::from_str(&text).map_err(|source| DescriptionError::Syntax {
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
