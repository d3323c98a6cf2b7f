//! vFPIO's figures 5 to 7 and tables 4 to 6: kernels with streams, the same one unchanged on each device, beside the
//! published values. `experiments/vfpio.toml` says what runs.

mod complexity;
mod page;
pub mod priorities;
pub mod resources;
mod run;
mod table;

pub use complexity::Complexity;
pub use page::{study, VfpioFigures};
pub use run::{data, ApplicationOutcome, Device, Station};

use super::{description, DescriptionError};
use serde::Deserialize;
use simcard::{ShellConfig, SimOptions};
use std::collections::BTreeMap;
use std::path::Path;

/// The experiment, as its file says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vfpio {
    /// What it compares.
    pub title: String,
    /// Figures of the card.
    pub platform: String,
    /// Transfers of each size, figure 7.
    pub transfers: u32,
    /// Bytes of these transfers.
    pub sizes: Vec<u64>,
    /// Why figures may differ although the model is right.
    pub known_differences: Vec<String>,
    /// The kernels.
    pub application: Vec<Application>,
    /// Table 6.
    pub resource: Vec<resources::Resource>,
}

/// A kernel, what it is given, and what the paper prints.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// The paper's name.
    pub name: String,
    /// Folder in `kernels/`.
    pub kernel: String,
    /// The kernel that does the same through memory ports of its own, if there is one.
    pub wired: Option<String>,
    /// Bytes of a packet.
    pub bytes: u64,
    /// Bytes that may come out.
    pub room: u64,
    /// It takes nothing: `bytes` come out.
    #[serde(default)]
    pub source: bool,
    /// Arguments: numbers, or bytes in hexadecimal.
    #[serde(default)]
    pub arguments: BTreeMap<String, ArgumentValue>,
    /// What the paper prints.
    pub paper: Paper,
}

/// An argument.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum ArgumentValue {
    /// A number.
    Number(u64),
    /// Bytes, two digits each.
    Bytes(String),
}

/// Tables 4 and 5.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// MiB/s, HBM.
    pub card: f64,
    /// MiB/s, host memory.
    pub host: f64,
    /// Of Coyote's, HBM.
    pub card_percent: f64,
    /// Of Coyote's, host memory.
    pub host_percent: f64,
    /// Coyote's reconfiguration.
    pub coyote_card_ms: f64,
    /// Likewise.
    pub coyote_host_ms: f64,
    /// Source lines of the user logic: Coyote, vFPIO.
    pub lines: [u32; 2],
    /// Cyclomatic complexity, likewise.
    pub complexity: [u32; 2],
}

impl Vfpio {
    /// Reads `vfpio.toml` in a folder.
    ///
    /// # Errors
    /// It is missing or malformed.
    pub fn read(folder: &Path) -> Result<Self, DescriptionError> {
        description::read(&folder.join("vfpio.toml"))
    }

    /// The shell: that of the tests of streams.
    ///
    /// # Errors
    /// There is no such platform.
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

    /// The application of that name.
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

    #[test]
    fn the_experiment_is_understood() {
        let experiment = Vfpio::read(&simcard::home().join("experiments")).unwrap();
        assert_eq!(experiment.application.len(), 8);
        // Each line of the paper's table 6 is there, and is measured or says why not.
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
