//! The contents of `kernel.toml` (docs/kernels.md).

use super::error::KernelError;
use super::rtl::{ClockInput, Constant, Parameter};
use crate::stream::{StreamDirection, StreamId};
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// Control protocol: how a kernel is started and signals completion (the Vitis RTL kernel convention).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlProtocol {
    /// One run at a time.
    ApCtrlHs,
    /// The next run may start before the last one is done; `continue` after done.
    ApCtrlChain,
    /// Runs whenever it has data; no control register.
    ApCtrlNone,
    /// Raw registers, whose meaning is known to the user's program.
    UserManaged,
}

/// Active level of the reset, if there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetPolarity {
    /// Low level resets the kernel, as for `ap_rst_n`.
    #[default]
    ActiveLow,
    /// High level resets the kernel.
    ActiveHigh,
    /// The kernel has no reset.
    Absent,
}

/// Directions of an AXI4 port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessMode {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads and writes.
    ReadWrite,
}

impl AccessMode {
    /// Whether it includes reads.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// Whether it includes writes.
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

/// Kind of a port.
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

/// A stream port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPort {
    /// Name; the signals of `data_in` are `data_in_tdata` and so on, unless there is a prefix.
    pub name: String,
    /// Prefix of its signal names, if it is not the name and `_`.
    pub prefix: Option<String>,
    /// Direction of the data.
    pub direction: StreamDirection,
    /// Data width in bits, a multiple of 8.
    pub data_width: u32,
    /// Names of the kernel's ports that share this one; empty if it is itself a port.
    pub members: Vec<String>,
    /// Assignment of packets to members, if there are any.
    pub packets: PacketOrder,
    /// The memory port that carries it on its data channels (index into [`Manifest::ports`]), instead of signals of its
    /// own.
    pub through: Option<usize>,
    /// Signals out of the kernel that are dropped where they are not carried.
    pub drops: Vec<Sideband>,
    /// Width of TID in bits; 0: the port has none, or the kernel does not use it.
    pub tid_width: u8,
    /// Width of TDEST in bits, likewise.
    pub tdest_width: u8,
}

/// Maximum width of TID and of TDEST, in bits.
pub const MAX_STREAM_ID_WIDTH: u8 = 16;

impl StreamPort {
    /// Prefix of the signal names, of the port itself or of a member.
    pub fn signal_prefix(&self, member: &str) -> String {
        signal_prefix(self.prefix.as_deref(), member)
    }

    /// Width of a signal that passes from kernel to kernel, in bits; 0: it does not.
    pub fn carried_width(&self, signal: Sideband) -> u8 {
        match signal {
            Sideband::Tid => self.tid_width,
            Sideband::Tdest => self.tdest_width,
            Sideband::Tuser => 0,
        }
    }

    /// Its bit in the slot's registers [`STREAMS_CLOSED`] and [`STREAMS_OPEN`], if a memory port carries it.
    pub fn register_bit(&self) -> Option<u32> {
        let port = u32::try_from(self.through?).ok()?;
        let out = u32::from(self.direction == StreamDirection::Out);
        Some(1 << (2 * port + out))
    }
}

/// Offset in a kernel's control window: streams through memory ports whose end at the host is closed. This register and
/// those behind it belong to the slot, if the kernel has such streams (docs/kernels.md, FSRF §4.8).
pub const STREAMS_CLOSED: u32 = 0xff00;
/// Offset in a kernel's control window: streams that the kernel has open. Read only.
pub const STREAMS_OPEN: u32 = 0xff04;

/// A sideband signal of AXI4-Stream. No device receives it; TID and TDEST pass from kernel to kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sideband {
    /// Stream identifier.
    Tid,
    /// Routing destination.
    Tdest,
    /// User-defined sideband.
    Tuser,
}

impl Sideband {
    /// All sideband signals.
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

/// Assignment of a stream's packets to the ports that share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PacketOrder {
    /// In turn: packet n belongs to port n modulo the number of ports.
    #[default]
    InTurn,
    /// Round robin over the ports that are ready for a packet, or have one.
    AsReady,
}

fn signal_prefix(prefix: Option<&str>, name: &str) -> String {
    prefix.map_or_else(|| format!("{name}_"), str::to_owned)
}

/// A memory port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name; the signals of `m_axi_gmem` are `m_axi_gmem_araddr` and so on, unless there is a prefix.
    pub name: String,
    /// Prefix of its signal names, if it is not the name and `_`.
    pub prefix: Option<String>,
    /// Protocol of the port.
    pub kind: PortKind,
    /// Data width in bits.
    pub data_width: u32,
    /// Address width in bits.
    pub address_width: u32,
    /// Directions that exist.
    pub access: AccessMode,
}

impl Port {
    /// Prefix of the signal names.
    pub fn signal_prefix(&self) -> String {
        signal_prefix(self.prefix.as_deref(), &self.name)
    }

    /// The highest address that the port can drive.
    pub fn last_address(&self) -> u64 {
        u64::MAX >> (64 - self.address_width.clamp(1, 64))
    }
}

/// A register bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterPort {
    /// Name of the AXI4-Lite port.
    pub name: String,
    /// Prefix of its signal names, if it is not the name and `_`.
    pub prefix: Option<String>,
    /// Register width in bits: 32 or 64.
    pub data_width: u32,
}

impl RegisterPort {
    /// Name of the port if the manifest does not describe one.
    pub const DEFAULT_NAME: &'static str = "s_axi_control";

    /// Prefix of the signal names.
    pub fn signal_prefix(&self) -> String {
        signal_prefix(self.prefix.as_deref(), &self.name)
    }
}

/// Offset of the second register bundle in the slot's window, in bytes.
pub const SECOND_BUNDLE: u32 = 0x8000;

/// Permitted values of a scalar; values that the kernel would confuse with others are excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Minimum value.
    pub least: u64,
    /// Maximum value.
    pub most: u64,
    /// Divisor of all values.
    pub multiple_of: u64,
}

impl Numbers {
    /// All values.
    pub const ALL: Self = Self {
        least: 0,
        most: u64::MAX,
        multiple_of: 1,
    };

    /// Whether a value is permitted.
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

/// An argument in the register map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Name of the argument.
    pub name: String,
    /// Offset in the slot's window, in bytes. The second bundle begins at [`SECOND_BUNDLE`].
    pub offset: u32,
    /// Size in bytes, a multiple of 4.
    pub bytes: u32,
    /// For pointers: the port that dereferences it (index into [`Manifest::ports`]).
    pub port: Option<usize>,
    /// For pointers: the kernel's access to the memory. `Read` for scalars.
    pub access: AccessMode,
    /// For pointers: alignment of the address, in bytes. 1 for scalars.
    pub alignment: u32,
    /// For scalars: the permitted values.
    pub numbers: Numbers,
    /// One line, human-readable.
    pub description: String,
}

/// A checked `kernel.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Name of the kernel.
    pub name: String,
    /// One line, human-readable.
    pub description: String,
    /// Top module.
    pub top: String,
    /// RTL files, relative to the folder.
    pub sources: Vec<PathBuf>,
    /// Other kernels' or shared folders, siblings of the kernel's own, whose RTL it uses.
    pub libraries: Vec<String>,
    /// Folders that are searched first for `` `include ``, relative to the kernel's folder.
    pub include: Vec<PathBuf>,
    /// Parameters of the top module that are set explicitly.
    pub parameters: Vec<Parameter>,
    /// Inputs of the top module with constant values.
    pub constants: Vec<Constant>,
    /// Macros: `NAME`, or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// Name of the main clock.
    pub clock: String,
    /// Additional clocks, at other frequencies.
    pub clocks: Vec<ClockInput>,
    /// Control protocol.
    pub control: ControlProtocol,
    /// Active level of the reset.
    pub reset: ResetPolarity,
    /// Name of the reset.
    pub reset_name: String,
    /// Register bundles, two at most; empty: the kernel has no registers.
    pub registers: Vec<RegisterPort>,
    /// Name of its interrupt output, if it has one.
    pub interrupt: Option<String>,
    /// Memory ports, in the order of the slot's ports.
    pub ports: Vec<Port>,
    /// Stream ports. The first into the kernel and the first out of it are the slot's stream pair 0, and
    /// so on.
    pub streams: Vec<StreamPort>,
    /// Names of the home ports: one per slice of the directory, in order; empty: the kernel is not behind the
    /// directory.
    pub homes: Vec<String>,
    /// Names of the ports for line operations, likewise. A kernel with these and without home ports operates on lines
    /// that card memory serves.
    pub lines: Vec<String>,
    /// Names of the ports for the CPU's lines: one per slice of the link; empty: the kernel does not use them.
    pub accesses: Vec<String>,
    /// Arguments, in the order of the manifest.
    pub arguments: Vec<Argument>,
}

impl Manifest {
    /// Whether the kernel has an interrupt.
    pub fn has_interrupt(&self) -> bool {
        self.interrupt.is_some()
    }

    /// Checks everything that depends on the text alone, but not whether files exist. `path` only names the manifest in
    /// errors.
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

    /// The stream port with this name, and its number in the slot.
    pub fn stream(&self, name: &str) -> Option<(&StreamPort, StreamId)> {
        let index = self.streams.iter().position(|port| port.name == name)?;
        let port = &self.streams[index];
        let direction = port.direction;
        let before = self.streams[..index].iter();
        let pair = before.filter(|port| port.direction == direction).count() as u8;
        Some((port, StreamId { pair, direction }))
    }

    /// The stream port with this number in the slot.
    pub fn stream_at(&self, stream: StreamId) -> Option<&StreamPort> {
        let alike = |port: &&StreamPort| port.direction == stream.direction;
        self.streams.iter().filter(alike).nth(stream.pair.into())
    }

    /// Name of the unit that carries data at a slot's port: memory ports come first, then a port per stream pair; its
    /// reads feed the stream into the kernel, and its writes drain the one out of it.
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

    /// Number of stream pairs of a slot that the kernel needs.
    pub fn stream_pairs(&self) -> u8 {
        let count = |direction| {
            let alike = |port: &&StreamPort| port.direction == direction;
            self.streams.iter().filter(alike).count() as u8
        };
        count(StreamDirection::In).max(count(StreamDirection::Out))
    }

    /// The argument with this name.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}
