//! vFPIO's figures 5 to 7 and tables 4 to 6: streaming kernels, run unchanged on each device, compared with the
//! published values. `experiments/vfpio.toml` describes the runs.

mod complexity;
mod page;
pub mod priorities;
pub mod resources;
mod run;
mod table;

pub use complexity::Complexity;
pub use page::{study, VfpioFigures};
pub use run::{data, ApplicationOutcome, Device, StreamBench};

use super::{description, DescriptionError};
use crate::claim::{State, Statement};
use serde::Deserialize;
use simcard::{ShellConfig, SimOptions};
use std::collections::BTreeMap;
use std::path::Path;

/// The experiment, as described by its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vfpio {
    /// Title of the comparison.
    pub title: String,
    /// Platform file of the card.
    pub platform: String,
    /// Number of transfers of each size in figure 7.
    pub transfers: u32,
    /// Sizes of these transfers in bytes.
    pub sizes: Vec<u64>,
    /// Reasons for deviations that are not errors of the model.
    pub known_differences: Vec<String>,
    /// Kernels to run.
    pub application: Vec<Application>,
    /// How the columns of tables 4 and 5 may be compared, by their names in `paper` of an application.
    pub columns: BTreeMap<String, ColumnState>,
    /// Section 6.3: maximum loss of a kernel's rate through virtual I/O.
    pub loss: Statement<f64>,
    /// Section 6.4.1: speedup of the prioritised kernel relative to the others, and to equal priorities; time of the
    /// others relative to equal priorities.
    pub priorities: Statement<[f64; 3]>,
    /// Lines of table 6.
    pub resource: Vec<resources::Resource>,
}

/// How a column of published values may be compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnState {
    /// The state of all its values.
    pub state: State,
    /// Reason for any state but predicted.
    #[serde(default)]
    pub why: String,
}

/// A kernel, its inputs, and the published values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Name in the paper.
    pub name: String,
    /// Folder name in `kernels/`.
    pub kernel: String,
    /// The equivalent kernel with dedicated memory ports, if there is one.
    pub wired: Option<String>,
    /// Packet size in bytes.
    pub bytes: u64,
    /// Maximum size of the output in bytes.
    pub room: u64,
    /// Whether it is a source, without input; `bytes` is then the output's size.
    #[serde(default)]
    pub source: bool,
    /// Arguments: numbers, or bytes in hexadecimal.
    #[serde(default)]
    pub arguments: BTreeMap<String, ArgumentValue>,
    /// Published values.
    pub paper: Paper,
}

/// Value of an argument.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum ArgumentValue {
    /// Number of at most 64 bits.
    Number(u64),
    /// Bytes, two hexadecimal digits each.
    Bytes(String),
}

/// Values of tables 4 and 5.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Throughput in MiB/s, HBM.
    pub card: f64,
    /// Throughput in MiB/s, host memory.
    pub host: f64,
    /// Per cent of Coyote's throughput, HBM.
    pub card_percent: f64,
    /// Per cent of Coyote's throughput, host memory.
    pub host_percent: f64,
    /// Coyote's reconfiguration time in ms, HBM.
    pub coyote_card_ms: f64,
    /// Coyote's reconfiguration time in ms, host memory.
    pub coyote_host_ms: f64,
    /// Source lines of the user logic: Coyote, vFPIO.
    pub lines: [u32; 2],
    /// Cyclomatic complexity of the user logic: Coyote, vFPIO.
    pub complexity: [u32; 2],
}

impl Vfpio {
    /// Reads `vfpio.toml` from a folder.
    ///
    /// # Errors
    /// The file is missing or malformed.
    pub fn read(folder: &Path) -> Result<Self, DescriptionError> {
        description::read(&folder.join("vfpio.toml"))
    }

    /// Options of the card; the shell is that of the streaming tests.
    ///
    /// # Errors
    /// The platform does not exist.
    pub fn options(&self) -> Result<SimOptions, super::Failure> {
        let mut options = SimOptions::named(&self.platform)?;
        options.shell = ShellConfig {
            slots: 2,
            streams_per_slot: 1,
            queues: 3,
            ..ShellConfig::default()
        };
        Ok(options)
    }

    /// The application with this name.
    pub fn application(&self, name: &str) -> Option<&Application> {
        self.application.iter().find(|one| one.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE6: [&str; 9] = [
        "U280",
        "Coyote",
        "vFPIO",
        "RDMA",
        "PCIe DMA",
        "Local DMA",
        "MMU",
        "Scheduler",
        "Virtual IO",
    ];

    /// Names of the columns of published values.
    const COLUMNS: [&str; 8] = [
        "card",
        "card_percent",
        "complexity",
        "coyote_card_ms",
        "coyote_host_ms",
        "host",
        "host_percent",
        "lines",
    ];

    #[test]
    fn the_experiment_is_understood() {
        let experiment = Vfpio::read(&simcard::home().join("experiments")).unwrap();
        assert_eq!(experiment.application.len(), 8);
        let columns: Vec<&String> = experiment.columns.keys().collect();
        assert_eq!(columns, COLUMNS);
        for (name, column) in &experiment.columns {
            let needs_reason = column.state != State::Predicted;
            assert_eq!(needs_reason, !column.why.is_empty(), "{name}");
        }
        // Each line of the paper's table 6 is included, and is either measured or has a reason.
        for name in TABLE6 {
            let mut lines = experiment.resource.iter();
            assert!(lines.any(|line| line.name == name), "{name}");
        }
        for line in &experiment.resource {
            assert!(!line.ours.is_empty(), "{}", line.name);
            let Some(block) = &line.block else { continue };
            let list = simcard::home().join(&block.list);
            let files = std::fs::read_to_string(list).unwrap();
            let wanted = format!("/{}.sv", block.top);
            assert!(
                files.lines().any(|file| file.ends_with(&wanted)),
                "{wanted}"
            );
        }
        for application in &experiment.application {
            let folder = simcard::home().join("kernels").join(&application.kernel);
            let kernel = card::kernel::KernelPackage::open(&folder).unwrap();
            for (name, value) in &application.arguments {
                let argument = kernel.manifest.argument(name).unwrap();
                assert_eq!(
                    value.bytes().unwrap().len(),
                    argument.bytes as usize,
                    "{name}"
                );
            }
        }
    }
}
