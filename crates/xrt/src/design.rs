//! Contents of an `.xclbin`: kernels, compute units, and their connections.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A linked design.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Platform of the simulated card, such as `u280`.
    pub platform: String,
    /// Kernels, by name.
    pub kernels: Vec<KernelImage>,
    /// Compute units, in slot order.
    pub units: Vec<ComputeUnit>,
    /// Streams between compute units.
    pub streams: Vec<StreamLink>,
    /// Memory banks, followed by groups of adjacent banks; a buffer's memory group is an index into this list.
    pub memories: Vec<Memory>,
    /// Clocks that the configuration requests.
    pub clocks: Vec<Clock>,
}

/// A kernel with its RTL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelImage {
    /// Kernel name, unique in the design.
    pub name: String,
    /// Value of `kernel.control` in `kernel.toml`.
    pub control: String,
    /// Arguments in the host's numbering, including streams.
    pub arguments: Vec<Argument>,
    /// Files: `NAME/kernel.toml` and so on, with the folders of libraries next to `NAME`.
    pub files: Vec<File>,
}

/// A file of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Relative path with `/` as separator; no part begins with a dot.
    pub name: String,
    /// Contents. In a container they follow the description.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// Kind of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentKind {
    /// A number, in registers.
    Scalar,
    /// The address of a buffer, in registers.
    Global,
    /// A stream port: it has an index, but is never set.
    Stream,
}

/// An argument as the host sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// Index in the host's numbering.
    pub index: u32,
    /// Argument name.
    pub name: String,
    /// Scalar, buffer address or stream.
    pub kind: ArgumentKind,
    /// The port: a memory port, a stream port, or `s_axi_control`.
    pub port: String,
    /// Size of its registers in bytes; 0 for a stream.
    pub bytes: u32,
    /// Size of the host's value in bytes.
    pub host_bytes: u32,
    /// Byte offset of its first register.
    pub offset: u32,
    /// Type in the kernel's language, for display.
    pub host_type: String,
}

/// An instance of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputeUnit {
    /// Name of the instance, without the kernel's name.
    pub name: String,
    /// Index into [`Design::kernels`].
    pub kernel: usize,
    /// Base address of its registers, as an XRT program sees it.
    pub base_address: u64,
    /// Memory group by argument index.
    pub groups: BTreeMap<u32, u32>,
}

/// A stream from one compute unit to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamLink {
    /// Index of the sending compute unit.
    pub from: usize,
    /// Output port of the sender.
    pub output: String,
    /// Index of the receiving compute unit.
    pub to: usize,
    /// Input port of the receiver.
    pub input: String,
}

/// Kind of a memory bank; values of XRT's `mem_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryType {
    /// DDR4 channel.
    Ddr,
    /// HBM pseudo-channel.
    Hbm,
    /// On-chip memory of the FPGA.
    Plram,
    /// Host memory, accessed over PCIe.
    Host,
}

/// A memory bank, or a group of adjacent banks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// `DDR[0]`, or `HBM[0:3]` for a group.
    pub tag: String,
    /// Memory technology.
    pub kind: MemoryType,
    /// Size in bytes.
    pub bytes: u64,
    /// Numbers of the first and last bank, among banks of the same kind.
    pub banks: (u32, u32),
    /// Whether a port of a compute unit is connected to it.
    pub used: bool,
}

impl Memory {
    /// Whether all banks of `other` belong to this group.
    pub fn contains(&self, other: &Self) -> bool {
        let ((first, last), (low, high)) = (self.banks, other.banks);
        self.kind == other.kind && first <= low && high <= last
    }
}

/// A clock frequency requested by the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Compute unit and pin; empty for all.
    pub target: String,
    /// Frequency in Hz.
    pub hz: u64,
}

impl Design {
    /// Full name of a compute unit: `kernel:unit`.
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

    /// Indices of the compute units that `name` selects: `kernel`, `kernel:unit` or `kernel:{unit,unit}`. Units of a
    /// list keep its order. Empty if the kernel or one of the units does not exist.
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

    /// Base address of a memory bank, as an XRT program sees it: banks are consecutive, and a group starts at its first
    /// bank. For information only: buffer addresses come from the address space.
    pub fn base_of(&self, index: usize) -> Option<u64> {
        let memory = self.memories.get(index)?;
        let first = |one: &&Memory| one.kind == memory.kind && one.banks.0 == memory.banks.0;
        let at = self.memories.iter().position(|one| first(&one))?;
        Some(self.memories[..at].iter().map(|one| one.bytes).sum())
    }

    /// The rule that a description violates, if any. Other code indexes with its numbers unchecked.
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
