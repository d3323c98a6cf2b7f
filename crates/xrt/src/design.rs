//! What is in an `.xclbin`: kernels, compute units, and how they are connected.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A linked design.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Platform of the simulated card, for example `u280`.
    pub platform: String,
    /// Kernels, by name.
    pub kernels: Vec<Kernel>,
    /// Compute units, in the order of their slots.
    pub units: Vec<ComputeUnit>,
    /// Streams between them.
    pub streams: Vec<StreamLink>,
    /// Memory banks, then groups of neighbouring banks; a bo's memory group is an index here.
    pub memories: Vec<Memory>,
    /// Clocks that the configuration asked for.
    pub clocks: Vec<Clock>,
}

/// A kernel with its RTL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Word for `kernel.control` in `kernel.toml`.
    pub control: String,
    /// Arguments as the host counts them, streams included.
    pub arguments: Vec<Argument>,
    /// Its files: `NAME/kernel.toml` and so on, libraries beside it.
    pub files: Vec<File>,
}

/// A file of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Relative, with `/`; plain parts only.
    pub name: String,
    /// Its bytes. In a container they follow the description.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentKind {
    /// A number in registers.
    Scalar,
    /// The address of a buffer, in registers.
    Global,
    /// A stream port: it has an index and is never set.
    Stream,
}

/// An argument as the host sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// The host's index.
    pub index: u32,
    /// Name.
    pub name: String,
    /// What it is.
    pub kind: ArgumentKind,
    /// The port: a memory port, a stream, or `s_axi_control`.
    pub port: String,
    /// Bytes of its registers; 0 for a stream.
    pub bytes: u32,
    /// Bytes of the host's value.
    pub host_bytes: u32,
    /// Offset of its first register.
    pub offset: u32,
    /// Type in the kernel's language, for people.
    pub host_type: String,
}

/// An instance of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputeUnit {
    /// Name without the kernel's.
    pub name: String,
    /// Index of its kernel.
    pub kernel: usize,
    /// Address of its registers, as an XRT program sees it.
    pub base_address: u64,
    /// Memory group by index of argument.
    pub groups: BTreeMap<u32, u32>,
}

/// A stream from one compute unit to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamLink {
    /// Index of the sending unit.
    pub from: usize,
    /// Its port.
    pub output: String,
    /// Index of the receiving unit.
    pub to: usize,
    /// Its port.
    pub input: String,
}

/// Kind of a memory bank; numbers of XRT's `mem_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryType {
    /// DDR4 modules.
    Ddr,
    /// A pseudo-channel of HBM.
    Hbm,
    /// Small memory of the FPGA.
    Plram,
    /// Memory of the host, reached over PCIe.
    Host,
}

/// A memory bank, or a group of neighbouring ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// `DDR[0]`, or `HBM[0:3]` for a group.
    pub tag: String,
    /// What it is.
    pub kind: MemoryType,
    /// Bytes.
    pub bytes: u64,
    /// Number of the first bank of its kind, and of the last.
    pub banks: (u32, u32),
    /// A port of a compute unit is connected to it.
    pub used: bool,
}

impl Memory {
    /// Whether a buffer in `other` lies in this group.
    pub fn contains(&self, other: &Self) -> bool {
        let ((first, last), (low, high)) = (self.banks, other.banks);
        self.kind == other.kind && first <= low && high <= last
    }
}

/// A clock that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Compute unit and pin, or empty for all.
    pub target: String,
    /// Frequency in Hz.
    pub hz: u64,
}

impl Design {
    /// `kernel:unit` of a compute unit.
    pub fn full_name(&self, unit: &ComputeUnit) -> String {
        let kernel = self
            .kernels
            .get(unit.kernel)
            .map_or("", |kernel| &kernel.name);
        format!("{kernel}:{}", unit.name)
    }

    /// Full names of all compute units, for messages.
    pub fn unit_names(&self) -> String {
        let names: Vec<String> = self.units.iter().map(|unit| self.full_name(unit)).collect();
        match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        }
    }

    /// The compute units that `name` means: `kernel`, `kernel:unit` or `kernel:{unit,unit}`. Those of a list come in its
    /// order. Empty if the kernel or one of the units is not there.
    pub fn units_of(&self, name: &str) -> Vec<usize> {
        let (kernel, units) = match name.split_once(':') {
            None => (name, None),
            Some((kernel, units)) => (kernel, Some(units)),
        };
        let of_kernel = |at: &usize| {
            let number = self.units[*at].kernel;
            self.kernels
                .get(number)
                .is_some_and(|found| found.name == kernel)
        };
        let all: Vec<usize> = (0..self.units.len()).filter(of_kernel).collect();
        let Some(units) = units else {
            return all;
        };
        let inner = units
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        let wanted = inner.unwrap_or(units).split(',').map(str::trim);
        let find = |wanted: &str| {
            all.iter()
                .copied()
                .find(|at| self.units[*at].name == wanted)
        };
        let found: Option<Vec<usize>> = wanted.map(find).collect();
        found.unwrap_or_default()
    }

    /// Address of a memory bank, as an XRT program sees it: banks lie one behind the other, groups where their first
    /// bank does. Nothing lies there: a buffer's address is that of its space.
    pub fn base_of(&self, index: usize) -> Option<u64> {
        let memory = self.memories.get(index)?;
        let first = |one: &&Memory| one.kind == memory.kind && one.banks.0 == memory.banks.0;
        let at = self.memories.iter().position(|one| first(&one))?;
        Some(self.memories[..at].iter().map(|one| one.bytes).sum())
    }

    /// The rule that a description breaks, if any: whoever reads it indexes with its numbers.
    pub(crate) fn broken_rule(&self) -> Option<String> {
        let plain = |name: &str| {
            let part = |part: &str| {
                let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
                !part.is_empty() && !part.starts_with('.') && part.chars().all(allowed)
            };
            name.len() <= 512 && name.split('/').all(part)
        };
        for kernel in &self.kernels {
            if let Some(file) = kernel.files.iter().find(|file| !plain(&file.name)) {
                return Some(format!("file {:?} is no plain relative name", file.name));
            }
            if !plain(&kernel.name) || kernel.name.contains('/') {
                return Some(format!("{:?} is no name of a kernel", kernel.name));
            }
        }
        if self.units.is_empty() || self.units.len() > 16 {
            return Some(format!(
                "{} compute units; a card has 1 to 16",
                self.units.len()
            ));
        }
        for unit in &self.units {
            if unit.kernel >= self.kernels.len() {
                return Some(format!("compute unit `{}` is of no kernel", unit.name));
            }
            let mut groups = unit.groups.values();
            if let Some(group) = groups.find(|group| **group as usize >= self.memories.len()) {
                return Some(format!("memory group {group} is not there"));
            }
        }
        let count = self.units.len();
        let loose = self
            .streams
            .iter()
            .find(|one| one.from >= count || one.to >= count);
        loose.map(|_| "a stream ends at no compute unit".to_owned())
    }
}
