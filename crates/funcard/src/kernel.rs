//! Kernels modelled in Rust, and the registry of their models.

use super::control::ControlRegisters;
use super::models;
use card::kernel::{ControlProtocol, KernelError, Manifest};
use std::collections::BTreeMap;
use std::fmt;

/// Result of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The access is complete.
    Done,
    /// It waits for the host; no bytes were moved. Repeat the same access in a later step.
    Blocked,
    /// It ended with an error response (SLVERR); a read returned zeroes.
    Failed,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Call again.
    Working,
    /// Every access that the kernel could make is blocked: call again when one is answered.
    Blocked,
    /// The run has ended, and the kernel is ready for the next one.
    Done,
}

/// A kernel's memory, accessed through its ports.
///
/// A *burst* is at most 4 KiB long and within one 4 KiB block. The bursts of one port and direction keep their order:
/// while one is blocked, the port accepts no other in that direction.
pub trait VirtualMemory {
    /// Reads a burst through a port of the kernel.
    fn read(&mut self, port: usize, address: u64, to: &mut [u8]) -> Access;

    /// Writes a burst through a port of the kernel.
    fn write(&mut self, port: usize, address: u64, from: &[u8]) -> Access;

    /// Posts a write to a port, which accepts it now and answers it later, in order with the port's other writes.
    /// False: there is no room, and the write was not accepted; try again in a later step.
    fn post(&mut self, port: usize, address: u64, from: &[u8]) -> bool;

    /// Announces the start addresses of the bursts that follow the blocked one of this port and direction, like a
    /// kernel that requests ahead of its data. The card may report their faults, too.
    fn announce(&mut self, port: usize, write: bool, addresses: &[u64]);

    /// Receives up to `most` bytes, within one packet, from the stream into the kernel of a stream pair, and whether
    /// they end the packet. `None`: no bytes are available.
    fn receive(&mut self, pair: usize, most: usize) -> Option<(Vec<u8>, bool)>;

    /// Sends bytes on the stream out of the kernel of a stream pair; `last`: they end a packet. `false`: there is no
    /// room, and nothing was sent.
    fn send(&mut self, pair: usize, bytes: &[u8], last: bool) -> bool;
}

/// The arguments of a run, by the names of `kernel.toml`.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) registers: &'a ControlRegisters,
}

impl Arguments<'_> {
    /// The bytes of an argument; empty if the manifest has no such argument.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let Some(argument) = self.manifest.argument(name) else {
            return Vec::new();
        };
        (argument.offset..argument.offset + argument.bytes)
            .step_by(4)
            .flat_map(|offset| self.registers.argument(offset).to_le_bytes())
            .collect()
    }

    /// An argument of up to 8 bytes as a number; zero if the manifest has no such argument.
    pub fn number(&self, name: &str) -> u64 {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(self.bytes(name)) {
            *to = from;
        }
        u64::from_le_bytes(word)
    }

    /// The first `N` bytes of an argument, padded with zeroes.
    pub fn array<const N: usize>(&self, name: &str) -> [u8; N] {
        let mut array = [0; N];
        for (to, from) in array.iter_mut().zip(self.bytes(name)) {
            *to = from;
        }
        array
    }
}

/// A kernel without RTL.
pub trait FunctionalKernel: Send {
    /// Makes a little progress: a few accesses at most. The first call, and the first after [`Step::Done`], begins a
    /// run.
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step;
}

/// Constructor of a kernel's model, with the requirements on its manifest.
#[derive(Clone, Copy)]
pub struct KernelModel {
    /// Name of the kernel in its manifest.
    pub name: &'static str,
    /// Names and sizes in bytes of the arguments that the model reads.
    pub arguments: &'static [(&'static str, u32)],
    /// Number of ports that it uses, from port 0.
    pub ports: usize,
    /// Creates an idle model.
    pub create: fn() -> Box<dyn FunctionalKernel>,
}

impl fmt::Debug for KernelModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelModel")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The models of a functional card, by kernel name.
#[derive(Clone, Debug)]
pub struct Registry {
    models: BTreeMap<&'static str, KernelModel>,
}

impl Registry {
    /// A registry without models.
    pub const fn empty() -> Self {
        Self {
            models: BTreeMap::new(),
        }
    }

    /// Adds a model, replacing one of the same name.
    pub fn register(&mut self, model: KernelModel) {
        self.models.insert(model.name, model);
    }

    /// The model of a kernel, if the manifest meets its requirements.
    pub(super) fn find(&self, manifest: &Manifest) -> Result<KernelModel, KernelError> {
        let Some(model) = self.models.get(manifest.name.as_str()) else {
            return Err(KernelError::NoFunctionalModel {
                name: manifest.name.clone(),
                known: self.names(),
            });
        };
        let mismatch = |what: String| KernelError::ModelMismatch {
            name: manifest.name.clone(),
            what,
        };
        let data_driven = manifest.control == ControlProtocol::ApCtrlNone
            && model.arguments.is_empty()
            && !manifest.streams.is_empty();
        if manifest.control != ControlProtocol::ApCtrlHs && !data_driven {
            return Err(mismatch("control `ap_ctrl_hs`".to_owned()));
        }
        if manifest.ports.len() < model.ports {
            return Err(mismatch(format!("{} ports", model.ports)));
        }
        for &(name, bytes) in model.arguments {
            if manifest
                .argument(name)
                .is_none_or(|argument| argument.bytes != bytes)
            {
                return Err(mismatch(format!("an argument `{name}` of {bytes} bytes")));
            }
        }
        Ok(*model)
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.models.keys().map(|name| format!("`{name}`")).collect();
        match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        }
    }
}

impl Default for Registry {
    /// The kernels of this repository.
    fn default() -> Self {
        let mut registry = Self::empty();
        for model in models::ALL {
            registry.register(model);
        }
        registry
    }
}
