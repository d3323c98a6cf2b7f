//! What `kernel.toml` says (docs/kernels.md).

use super::error::KernelError;
use super::rtl::{ClockInput, Constant, Parameter};
use crate::stream::{StreamDirection, StreamId};
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// How a kernel is started and how it says that it is done (the Vitis RTL kernel convention).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlProtocol {
    /// One run in flight.
    ApCtrlHs,
    /// The next run may start before the last one is done; `continue` after done.
    ApCtrlChain,
    /// Runs whenever it has data; no control register.
    ApCtrlNone,
    /// Raw registers; the user's program knows them.
    UserManaged,
}

/// Active level of the reset (present or absent).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetPolarity {
    /// Low, as `ap_rst_n`.
    #[default]
    ActiveLow,
    /// High.
    ActiveHigh,
    /// The kernel has no reset.
    Absent,
}

/// Which directions of an AXI4 port exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessMode {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Both.
    ReadWrite,
}

impl AccessMode {
    /// Whether it reads.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// Whether it writes.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }

    /// The word in `kernel.toml`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "read_write",
        }
    }
}

/// What a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PortKind {
    /// An AXI4 manager.
    Axi4,
    /// An AXI4-Lite subordinate: a bundle of registers.
    Axi4Lite,
    /// An AXI4-Stream of one direction.
    #[serde(rename = "axi4_stream")]
    Axi4Stream,
    /// An AXI4 subordinate of 512 bits that serves the lines of a slice of the directory.
    #[serde(rename = "axi4_home")]
    Axi4Home,
    /// Line operations to a slice of the directory, and their acknowledgements.
    LineOperations,
    /// Loads, stores and holds of lines whose home is the CPU, in a slice of the link.
    HostLines,
}

/// One stream port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPort {
    /// Name; `data_in` has `data_in_tdata` and so on, unless there is a prefix.
    pub name: String,
    /// What the names of its signals begin with, if not with its name and `_`.
    pub prefix: Option<String>,
    /// Which way the data go.
    pub direction: StreamDirection,
    /// Data width in bits, a multiple of 8.
    pub data_width: u32,
    /// The kernel's own ports that share this one, by name; none: it is one itself.
    pub members: Vec<String>,
    /// Which packet is whose, where there are members.
    pub packets: PacketOrder,
    /// The memory port whose data channels carry it (index into [`Manifest::ports`]), instead of signals of its own.
    pub through: Option<usize>,
    /// Signals out of the kernel that no device gets.
    pub drops: Vec<Sideband>,
}

impl StreamPort {
    /// What the names of the signals begin with, of the port itself or of one that shares it.
    pub fn signal_prefix(&self, member: &str) -> String {
        signal_prefix(self.prefix.as_deref(), member)
    }

    /// The bit that the slot's registers have for it ([`STREAMS_CLOSED`], [`STREAMS_OPEN`]), if a memory port carries it.
    pub fn register_bit(&self) -> Option<u32> {
        let port = u32::try_from(self.through?).ok()?;
        let out = u32::from(self.direction == StreamDirection::Out);
        Some(1 << (2 * port + out))
    }
}

/// In a kernel's control window: the host's ends of streams through memory ports that are closed. It and what lies
/// behind it belong to the slot, if the kernel has such streams (docs/kernels.md, FSRF §4.8).
pub const STREAMS_CLOSED: u32 = 0xff00;
/// Likewise: the streams that the kernel has open. Read only.
pub const STREAMS_OPEN: u32 = 0xff04;

/// A signal of AXI4-Stream that says something about a beat and is not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sideband {
    /// Which stream of several it is of.
    Tid,
    /// Where it goes.
    Tdest,
    /// The user's.
    Tuser,
}

impl Sideband {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tid, Self::Tdest, Self::Tuser];
}

impl fmt::Display for Sideband {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tid => "tid",
            Self::Tdest => "tdest",
            Self::Tuser => "tuser",
        })
    }
}

/// How the packets of a stream belong to the ports that share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PacketOrder {
    /// One after the other: packet n is of port n modulo their number.
    #[default]
    InTurn,
    /// Of the next port in the round that is ready for one, or has one.
    AsReady,
}

fn signal_prefix(prefix: Option<&str>, name: &str) -> String {
    prefix.map_or_else(|| format!("{name}_"), str::to_owned)
}

/// One memory port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name; `m_axi_gmem` has `m_axi_gmem_araddr` and so on, unless there is a prefix.
    pub name: String,
    /// What the names of its signals begin with, if not with its name and `_`.
    pub prefix: Option<String>,
    /// Kind.
    pub kind: PortKind,
    /// Data width in bits.
    pub data_width: u32,
    /// Bits of an address.
    pub address_width: u32,
    /// Directions.
    pub access: AccessMode,
}

impl Port {
    /// What the names of the signals begin with.
    pub fn signal_prefix(&self) -> String {
        signal_prefix(self.prefix.as_deref(), &self.name)
    }

    /// The highest address that the port has.
    pub fn last_address(&self) -> u64 {
        u64::MAX >> (64 - self.address_width.clamp(1, 64))
    }
}

/// One bundle of registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterPort {
    /// Name.
    pub name: String,
    /// What the names of its signals begin with, if not with its name and `_`.
    pub prefix: Option<String>,
    /// Bits of a register: 32 or 64.
    pub data_width: u32,
}

impl RegisterPort {
    /// The port of a kernel whose manifest does not describe one.
    pub const DEFAULT_NAME: &'static str = "s_axi_control";

    /// What the names of the signals begin with.
    pub fn signal_prefix(&self) -> String {
        signal_prefix(self.prefix.as_deref(), &self.name)
    }
}

/// Where the second bundle of registers begins in the slot's window, if there are two.
pub const SECOND_BUNDLE: u32 = 0x8000;

/// Which numbers a scalar can be. What the kernel cannot tell from another number it should not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// The smallest.
    pub least: u64,
    /// The largest.
    pub most: u64,
    /// All are multiples of this.
    pub multiple_of: u64,
}

impl Numbers {
    /// All of them.
    pub const ALL: Self = Self {
        least: 0,
        most: u64::MAX,
        multiple_of: 1,
    };

    /// Whether a number is one of them.
    pub fn have(&self, number: u64) -> bool {
        (self.least..=self.most).contains(&number) && number % self.multiple_of.max(1) == 0
    }
}

impl std::fmt::Display for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.least, self.most) {
            (0, u64::MAX) if self.multiple_of <= 1 => return f.write_str("any number"),
            (0, u64::MAX) => return write!(f, "multiples of {}", self.multiple_of),
            (least, u64::MAX) => write!(f, "numbers from {least} on")?,
            (least, most) => write!(f, "{least} to {most}")?,
        }
        match self.multiple_of {
            0 | 1 => Ok(()),
            unit => write!(f, ", multiples of {unit}"),
        }
    }
}

/// One argument in the register map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Name.
    pub name: String,
    /// Byte offset in the slot's window. The second bundle begins at [`SECOND_BUNDLE`].
    pub offset: u32,
    /// Size in bytes, a multiple of 4.
    pub bytes: u32,
    /// For pointers: the port that dereferences it (index into [`Manifest::ports`]).
    pub port: Option<usize>,
    /// For pointers: what the kernel does with the memory. `Read` for scalars.
    pub access: AccessMode,
    /// For pointers: the address is a multiple of so many bytes. 1 for scalars.
    pub alignment: u32,
    /// For scalars: the numbers that the kernel takes.
    pub numbers: Numbers,
    /// One line for people.
    pub description: String,
}

/// `kernel.toml`, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Name of the kernel.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Top module.
    pub top: String,
    /// RTL files, relative to the folder.
    pub sources: Vec<PathBuf>,
    /// Folders beside the kernel's own whose RTL it uses.
    pub libraries: Vec<String>,
    /// Folders where `` `include `` looks first, relative to the folder.
    pub include: Vec<PathBuf>,
    /// Parameters of the top module with values other than its own.
    pub parameters: Vec<Parameter>,
    /// Inputs of the top module that hold a value.
    pub constants: Vec<Constant>,
    /// Macros: `NAME`, or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// Name of the clock.
    pub clock: String,
    /// Clocks of other frequencies.
    pub clocks: Vec<ClockInput>,
    /// Control protocol.
    pub control: ControlProtocol,
    /// Reset.
    pub reset: ResetPolarity,
    /// Name of the reset.
    pub reset_name: String,
    /// Bundles of registers, two at most; none: the kernel has no registers.
    pub registers: Vec<RegisterPort>,
    /// Name of its interrupt output, if it has one.
    pub interrupt: Option<String>,
    /// Memory ports, in the order of the slot's ports.
    pub ports: Vec<Port>,
    /// Stream ports. The first into the kernel and the first out of it are the slot's stream pair 0, and
    /// so on.
    pub streams: Vec<StreamPort>,
    /// Names of the home ports: one a slice of the directory, in its order; none: the kernel does not
    /// stand behind it.
    pub homes: Vec<String>,
    /// Names of the ports for line operations, likewise. A kernel that has these and no home ports is beside
    /// card memory, which serves the lines.
    pub lines: Vec<String>,
    /// Names of the ports for the CPU's lines: one a slice of the link; none: the kernel does not use them.
    pub accesses: Vec<String>,
    /// Arguments.
    pub arguments: Vec<Argument>,
}

impl Manifest {
    /// Whether the kernel has an interrupt.
    pub fn has_interrupt(&self) -> bool {
        self.interrupt.is_some()
    }

    /// Checks everything that the text alone can tell: not whether files exist. `path` only names
    /// the manifest in errors.
    ///
    /// # Errors
    /// [`KernelError`], naming the file, the line, the key and the rule.
    pub fn parse(path: &Path, text: &str) -> Result<Self, KernelError> {
        super::read::parse(path, text)
    }

    /// Reads and checks a manifest, with the existence of its sources and libraries.
    ///
    /// # Errors
    /// [`KernelError`], naming the file, the line, the key and the rule.
    pub fn read(path: &Path) -> Result<Self, KernelError> {
        super::read::read(path)
    }

    /// The stream port of that name, as the slot numbers it.
    pub fn stream(&self, name: &str) -> Option<(&StreamPort, StreamId)> {
        let index = self.streams.iter().position(|port| port.name == name)?;
        let port = &self.streams[index];
        let direction = port.direction;
        let before = self.streams[..index].iter();
        let pair = before.filter(|port| port.direction == direction).count() as u8;
        Some((port, StreamId { pair, direction }))
    }

    /// The stream port that the slot has at a place.
    pub fn stream_at(&self, stream: StreamId) -> Option<&StreamPort> {
        let alike = |port: &&StreamPort| port.direction == stream.direction;
        self.streams.iter().filter(alike).nth(stream.pair.into())
    }

    /// The name of what carries data at a slot's port: memory ports come first, then a port for each stream
    /// pair, whose reads feed the stream into the kernel and whose writes take the one out of it.
    pub fn port_name(&self, memory_ports: usize, port: usize, write: bool) -> Option<&str> {
        let Some(pair) = port.checked_sub(memory_ports) else {
            return self.ports.get(port).map(|port| port.name.as_str());
        };
        let pair = u8::try_from(pair).ok()?;
        let direction = match write {
            false => StreamDirection::In,
            true => StreamDirection::Out,
        };
        let stream = self.stream_at(StreamId { pair, direction });
        stream.map(|port| port.name.as_str())
    }

    /// Stream pairs that a slot needs for the kernel.
    pub fn stream_pairs(&self) -> u8 {
        let count = |direction| {
            let alike = |port: &&StreamPort| port.direction == direction;
            self.streams.iter().filter(alike).count() as u8
        };
        count(StreamDirection::In).max(count(StreamDirection::Out))
    }

    /// The argument of that name.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}
