//! What an experiment compares: read from `experiments/`.

use super::workload::Load;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tombolo::{PageSize, Preset, PresetError};

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
    /// In the host's page cache.
    Warm,
    /// On the card.
    Hot,
}

impl Temperature {
    /// Both, as the tables print them.
    pub const ALL: [Self; 2] = [Self::Warm, Self::Hot];

    /// Its name in experiments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Hot => "hot",
        }
    }
}

/// Which of the two data sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// A small part of card memory.
    Small,
    /// Most of card memory.
    Large,
}

impl Size {
    /// Both, as the tables print them.
    pub const ALL: [Self; 2] = [Self::Small, Self::Large];

    /// Its name in experiments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }
}

/// The data of a workload: `experiments/*.toml`, `[workload.small]` and `[workload.large]`.
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
    /// Runs of a hot cell; the last one counts, the others fill the TLBs. 1 without.
    passes: Option<u32>,
}

impl Data {
    /// Runs of a hot cell.
    pub(crate) fn passes(&self) -> u32 {
        self.passes.unwrap_or(1)
    }

    /// Bytes that an application accesses on a system.
    pub(crate) fn accessed(&self, system: &System) -> u64 {
        match self.accessed_bytes_of_misses {
            Some(bytes)
                if system.preset.page == PageSize::KIB_4 || system.preset.shell.max_walks == 0 =>
            {
                bytes
            }
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
    small: Data,
    large: Data,
    published: BTreeMap<String, BTreeMap<String, f64>>,
}

/// A workload as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadText {
    name: String,
    kernel: String,
    paper: String,
    small: Data,
    large: Data,
    #[serde(default)]
    published: BTreeMap<String, BTreeMap<String, f64>>,
}

impl TryFrom<WorkloadText> for Workload {
    type Error = String;

    fn try_from(text: WorkloadText) -> Result<Self, String> {
        let load = Load::of(&text.kernel)
            .ok_or_else(|| format!("kernel `{}` is no workload", text.kernel))?;
        for data in [&text.small, &text.large] {
            let samples = [Some(data.accessed_bytes), data.accessed_bytes_of_misses];
            for accessed in samples.into_iter().flatten() {
                if let Some(rule) = load.broken_rule(data, accessed) {
                    return Err(format!("workload `{}`: {rule}", text.name));
                }
            }
        }
        Ok(Self {
            name: text.name,
            kernel: text.kernel,
            load,
            paper: text.paper,
            small: text.small,
            large: text.large,
            published: text.published,
        })
    }
}

impl Workload {
    /// The data of a size.
    pub(crate) fn data(&self, size: Size) -> &Data {
        match size {
            Size::Small => &self.small,
            Size::Large => &self.large,
        }
    }

    /// What the paper prints for a cell, in MiB/s; `None` where it has no such cell.
    pub fn published(&self, system: &str, temperature: Temperature, size: Size) -> Option<f64> {
        let cell = format!("{}_{}", temperature.name(), size.name());
        self.published.get(system)?.get(&cell).copied()
    }
}

/// A system to compare: a preset for four applications, at the scale of the experiment.
#[derive(Clone, Debug)]
pub struct System {
    /// The preset's name.
    pub name: String,
    /// The preset, scaled.
    pub(crate) preset: Preset,
}

/// Applications that run beside each other.
const APPLICATIONS: u8 = 4;

impl System {
    fn named(name: &str, scale_log2: u8) -> Result<Self, PresetError> {
        let preset = Preset::named(name, 0)?.scaled(APPLICATIONS, scale_log2);
        Ok(Self {
            name: name.to_owned(),
            preset,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    platform: String,
    scale_log2: u8,
    systems: Vec<String>,
    known_differences: Vec<String>,
    workload: Vec<Workload>,
}

/// Systems, workloads and what the paper has for them.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// What it is.
    pub title: String,
    /// The platform of all cells.
    pub platform: String,
    /// log2 of how much smaller than the paper's every capacity is.
    pub scale_log2: u8,
    /// What is known to differ from the paper's set-up.
    pub known_differences: Vec<String>,
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
        let file: File = read(&path)?;
        let systems = file
            .systems
            .iter()
            .map(|name| System::named(name, file.scale_log2))
            .collect::<Result<Vec<_>, _>>()?;
        let unknown = file
            .workload
            .iter()
            .flat_map(|workload| workload.published.keys())
            .find(|name| !file.systems.contains(name));
        if let Some(name) = unknown {
            return Err(DescriptionError::Rule {
                path,
                rule: format!("values of `{name}` are published, which is none of its systems"),
            });
        }
        Ok(Self {
            title: file.title,
            platform: file.platform,
            scale_log2: file.scale_log2,
            known_differences: file.known_differences,
            systems,
            workloads: file.workload,
        })
    }
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
        card::sim::home().join("experiments")
    }

    #[test]
    fn the_table_of_fsrf_is_whole() {
        let experiment = Experiment::read(&folder(), "fsrf-table2").unwrap();
        let names: Vec<&str> = experiment.systems.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["tombolo", "coyote-2m", "coyote-4k", "physical"]);
        for workload in &experiment.workloads {
            for system in &experiment.systems {
                for size in Size::ALL {
                    assert!(workload
                        .published(&system.name, Temperature::Hot, size)
                        .is_some());
                    let warm = workload.published(&system.name, Temperature::Warm, size);
                    assert_eq!(warm.is_some(), system.name != "physical");
                }
            }
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
