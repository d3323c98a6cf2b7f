//! Sweeps: a workload on every combination of some fields' values of a shell and a platform. A TOML file describes each
//! (`experiments/sweeps/`); its points run in processes and their results are kept, as those of the papers' cells.

mod field;
mod job;
mod page;

pub use crate::synthesis::is_available as area_is_available;
pub use job::{PointFigures, PointOutcome};
pub use page::{SweepResults, SweepWork};

use super::{description, Experiment, Failure};
use crate::experiment::DescriptionError;
use field::Base;
use job::SweepJob;
use serde::Deserialize;
use simcard::ShellConfig;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use timing::platform::Platform;

/// Maximum number of points of a sweep.
const MAX_POINTS: usize = 4096;

/// Why a sweep cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The file cannot be read or parsed.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// The base shell or platform has no such field.
    #[error("{}: field `{field}`: `{unknown}` is unknown: there are {}", .path.display(), .known.join(", "))]
    UnknownField {
        /// The sweep's file.
        path: PathBuf,
        /// The whole name.
        field: String,
        /// The part of the name that is unknown.
        unknown: String,
        /// Names that are known there.
        known: Vec<String>,
    },
    /// A part of the file breaks a rule.
    #[error("{}: {what}", .path.display())]
    Rule {
        /// The sweep's file.
        path: PathBuf,
        /// What, which value, which rule.
        what: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepFile {
    title: String,
    /// Platform file; that of the experiment for a cell.
    platform: Option<String>,
    /// Base of the shell; that of the cell's system for a cell.
    shell: Option<ShellConfig>,
    workload: SweepWorkloadText,
    fields: BTreeMap<String, toml::Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepWorkloadText {
    kernel: Option<String>,
    #[serde(default)]
    arguments: BTreeMap<String, ArgumentText>,
    experiment: Option<String>,
    cell: Option<String>,
}

/// Value of an argument.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum ArgumentText {
    Number(u64),
    Buffer(BufferText),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct BufferText {
    /// Size of the buffer that the argument points to.
    bytes: u64,
}

/// The work at each point.
#[derive(Clone, Debug)]
enum SweepWorkload {
    /// A kernel with its data on the card.
    Kernel {
        name: String,
        arguments: BTreeMap<String, ArgumentText>,
    },
    /// A cell of an experiment, by its name.
    Cell {
        experiment: Box<Experiment>,
        cell: String,
    },
}

/// Points of a workload, one for each combination of values.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Title of the page.
    pub title: String,
    /// Points, in the order of the fields' values.
    pub points: Vec<SweepPoint>,
    path: PathBuf,
    /// Names of the fields with several values.
    fields: Vec<String>,
    workload: SweepWorkload,
}

/// A combination of values.
#[derive(Clone, Debug)]
pub struct SweepPoint {
    /// Values of the sweep's fields, in their order.
    pub values: Vec<String>,
    /// Name, such as `shell.lanes=2 shell.slots=1`.
    pub name: String,
    /// The shell and the platform, or the rule that they break.
    pub setup: Result<Setup, String>,
}

/// Shell and platform of a point.
#[derive(Clone, Debug)]
pub struct Setup {
    shell: ShellConfig,
    platform: Platform,
}

impl Setup {
    /// The rule that the setup breaks, if any.
    fn broken_rule(&self) -> Option<String> {
        let channels = u32::from(self.shell.channels);
        let deals = || {
            let there: u32 = self
                .platform
                .memories()
                .iter()
                .map(|one| one.channels)
                .sum();
            let missing = self.platform.deal(channels).is_none();
            missing.then(|| {
                format!("channels = {channels}: the platform's {there} cannot be dealt to them")
            })
        };
        self.shell.broken_rule().or_else(deals)
    }

    /// On-chip memory in KiB: the ports' buffers, and 8 bytes per entry of an L1 TLB.
    fn on_chip_kib(&self) -> f64 {
        let shell = &self.shell;
        let rows = u32::from(shell.read_buffer_rows) + u32::from(shell.write_buffer_rows);
        let entries = shell.l1.iter();
        let entries: u32 = entries.map(|l1| u32::from(l1.ways) << l1.sets_log2).sum();
        let bytes = shell.ports() * rows * 64 + u32::from(shell.lanes) * entries * 8;
        f64::from(bytes) / 1024.0
    }
}

impl Sweep {
    /// Reads a sweep and checks its fields.
    ///
    /// # Errors
    /// [`SweepError`]; a shell that is impossible is no error, but a point that is refused.
    pub fn read(path: &Path) -> Result<Self, SweepError> {
        let file: SweepFile = description::read(path)?;
        let rule = |what: String| SweepError::Rule {
            path: path.to_owned(),
            what,
        };
        let workload = file.workload.read(path)?;
        let (shell, platform) = match &workload {
            SweepWorkload::Kernel { .. } => (None, None),
            SweepWorkload::Cell { experiment, cell } => {
                let found = experiment.cell(cell);
                let found = found.ok_or_else(|| {
                    rule(format!(
                        "cell `{cell}`: {} has no such cell; its cells are named as in `--csv`",
                        experiment.name
                    ))
                })?;
                (
                    Some(found.preset().shell.clone()),
                    Some(experiment.platform.clone()),
                )
            }
        };
        let platform = file.platform.or(platform).ok_or_else(|| {
            rule("platform: missing: name a file of platforms/, such as u280".to_owned())
        })?;
        let base = Base::new(path, file.shell.or(shell).unwrap_or_default(), &platform)?;
        let mut fields = Vec::new();
        for (name, value) in file.fields {
            let values = match value {
                toml::Value::Table(_) => {
                    return Err(rule(format!(
                        "field `{name}`: is a table: quote the whole name, as in \"shell.lanes\" = [1, 2]"
                    )));
                }
                // A list of lists or tables sweeps a field that is a list.
                toml::Value::Array(values) if values.is_empty() => {
                    return Err(rule(format!("field `{name}`: has no values: list some")));
                }
                toml::Value::Array(values) => values,
                one => vec![one],
            };
            fields.push((name, values));
        }
        let count = fields.iter().try_fold(1usize, |all, (_, values)| {
            all.checked_mul(values.len())
                .filter(|all| *all <= MAX_POINTS)
        });
        let count = count.ok_or_else(|| {
            rule(format!(
                "fields: more than {MAX_POINTS} combinations: list fewer values"
            ))
        })?;
        let mut points = Vec::with_capacity(count);
        for number in 0..count {
            points.push(base.point(&fields, number)?);
        }
        Ok(Self {
            title: file.title,
            points,
            path: path.canonicalize().unwrap_or_else(|_| path.to_owned()),
            fields: fields.into_iter().map(|(name, _)| name).collect(),
            workload,
        })
    }

    /// The work of points that are possible: throughput, and with `area` the shell's area.
    pub(super) fn jobs(&self, area: bool) -> Vec<SweepJob<'_>> {
        let possible = self.points.iter().filter_map(|point| {
            let setup = point.setup.as_ref().ok()?;
            Some((point, setup))
        });
        let of = move |(point, setup)| {
            let job = move |area| SweepJob::new(self, point, setup, area);
            [Some(job(false)), area.then(|| job(true))]
        };
        possible.flat_map(of).flatten().collect()
    }

    /// Does the work with this name in this process and keeps the result.
    ///
    /// # Errors
    /// No such work, or it failed.
    pub fn work(&self, name: &str) -> Result<(), Failure> {
        use super::workers::KeptWork;
        let jobs = self.jobs(true);
        let job = jobs.iter().find(|job| job.name() == name);
        let job = job.ok_or_else(|| format!("{}: no point `{name}`", self.path.display()))?;
        job.perform()?;
        Ok(())
    }
}

impl SweepWorkloadText {
    fn read(&self, path: &Path) -> Result<SweepWorkload, SweepError> {
        let rule = |what: String| SweepError::Rule {
            path: path.to_owned(),
            what,
        };
        match (&self.kernel, &self.experiment, &self.cell) {
            (Some(kernel), None, None) => {
                let folder = simcard::home().join("kernels").join(kernel);
                let package = card::kernel::KernelPackage::open(&folder)
                    .map_err(|error| rule(format!("workload: kernel `{kernel}`: {error}")))?;
                for (name, value) in &self.arguments {
                    let argument = package.manifest.argument(name).ok_or_else(|| {
                        let known = package.manifest.arguments.iter();
                        let known: Vec<_> = known.map(|one| one.name.as_str()).collect();
                        rule(format!(
                            "argument `{name}`: kernel `{kernel}` has {}",
                            known.join(", ")
                        ))
                    })?;
                    let buffer = matches!(value, ArgumentText::Buffer(_));
                    if buffer != argument.port.is_some() {
                        return Err(rule(format!(
                            "argument `{name}`: a pointer takes a buffer, {{ bytes = N }}, any other a number"
                        )));
                    }
                }
                Ok(SweepWorkload::Kernel {
                    name: kernel.clone(),
                    arguments: self.arguments.clone(),
                })
            }
            (None, Some(name), Some(cell)) if self.arguments.is_empty() => {
                let folder = simcard::home().join("experiments");
                Ok(SweepWorkload::Cell {
                    experiment: Box::new(Experiment::read(&folder, name)?),
                    cell: cell.clone(),
                })
            }
            _ => Err(rule(
                "workload: either `kernel` with its `arguments`, or `experiment` and `cell`"
                    .to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests;
