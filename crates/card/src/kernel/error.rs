//! Why a kernel is refused: which file, which key and line, which rule.

use super::manifest::Numbers;
use std::path::PathBuf;

/// The reason why a kernel is refused.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A file of the kernel could not be read.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The manifest is not TOML, lacks a key, or has an unknown key or value.
    #[error("{path}:{line}: {message}", path = .path.display())]
    Syntax {
        /// Path of the manifest.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Message of the TOML parser.
        message: String,
    },
    /// The manifest is well-formed but breaks a rule.
    #[error("{path}:{line}: {key}: {rule}", path = .path.display())]
    Manifest {
        /// Path of the manifest.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The key, for example `port.data_width`.
        key: &'static str,
        /// Violated rule.
        rule: ManifestRule,
    },
    /// The functional card has no model of the kernel.
    #[error(
        "kernel `{name}` has no functional model: the functional card knows {known}; \
         run it on the simulated card, or register a model"
    )]
    NoFunctionalModel {
        /// Name of the kernel.
        name: String,
        /// Names of the available models.
        known: String,
    },
    /// The kernel does not match its functional model.
    #[error("kernel `{name}` does not fit its functional model, which needs {what}")]
    ModelMismatch {
        /// Name of the kernel.
        name: String,
        /// Difference between its manifest and the model.
        what: String,
    },
    /// The kernel has more ports than the slot.
    #[error("kernel `{name}` has {ports} ports, the slot {slot_ports}")]
    DoesNotFit {
        /// Name of the kernel.
        name: String,
        /// Number of ports of the kernel.
        ports: usize,
        /// Number of ports of the slot.
        slot_ports: usize,
    },
    /// The kernel has more streams than the slot.
    #[error(
        "kernel `{name}` needs {pairs} stream pairs, and a slot of this card has {slot_pairs}: open the \
         card with more streams a slot (`streams_per_slot`)"
    )]
    StreamsDoNotFit {
        /// Name of the kernel.
        name: String,
        /// Number of pairs (one in, one out) that it needs.
        pairs: u8,
        /// Number of pairs of the slot.
        slot_pairs: u8,
    },
}

/// A rule of `kernel.toml` (docs/kernels.md), with the value that broke it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestRule {
    /// A name that is no valid signal name.
    #[error("`{0}` is not an identifier: up to 64 letters, digits and `_`, no digit first")]
    Identifier(String),
    /// A name used twice.
    #[error("the name `{0}` is used twice")]
    Duplicate(String),
    /// No RTL sources.
    #[error("a kernel has at least one source file")]
    NoSources,
    /// A path that leaves the kernel's folder.
    #[error(
        "`{0}` leaves the kernel's folder: paths are relative, without `..`, and no link leads out"
    )]
    OutsideFolder(String),
    /// A source that does not exist.
    #[error("there is no file `{0}`")]
    NoSuchFile(String),
    /// A source language that Verilator does not read.
    #[error("`{0}` is VHDL: `tombolo kernel import` makes Verilog of it with GHDL")]
    Vhdl(String),
    /// A library that does not exist.
    #[error("there is no folder `{0}` beside the kernel's folder")]
    NoSuchLibrary(String),
    /// A data width that slot ports do not support.
    #[error("{0} bits: a port's data width is a power of two from 32 to 1024")]
    DataWidth(u32),
    /// A key that ports of the directory do not support.
    #[error(
        "a port of kind `axi4_home`, `line_operations` or `host_lines` has a name and a kind only"
    )]
    CoherentPort,
    /// A memory or stream port without a data width.
    #[error("a port of kind `axi4` or `axi4_stream` has `data_width`")]
    NoDataWidth,
    /// Unequal numbers of home ports and ports of line operations.
    #[error("{homes} ports `axi4_home` and {lines} `line_operations`: one of each a slice of the directory, or no `axi4_home`")]
    CoherentPairs {
        /// Number of home ports.
        homes: usize,
        /// Number of ports of line operations.
        lines: usize,
    },
    /// More ports than a slot has.
    #[error("{0} ports: a kernel has at most 32")]
    TooManyPorts(usize),
    /// A data width that stream ports do not support.
    #[error("{0} bits: a stream's data width is a multiple of 8 from 8 to 4096")]
    StreamWidth(u32),
    /// More streams than a kernel may have.
    #[error("{0} stream ports: a kernel has at most 16")]
    TooManyStreams(usize),
    /// An invalid list of ports that share a stream, or a packet order without such
    /// ports.
    #[error("{0} members: 2 to 16 ports of the kernel share a port of kind `axi4_stream`, and then `packets` is possible")]
    Members(usize),
    /// Dropped signals on a stream that does not leave the kernel.
    #[error("`drops` belongs to a port of kind `axi4_stream` with direction `out` and signals of its own")]
    Drops,
    /// TID or TDEST where none is carried.
    #[error(
        "`tid_width` and `tdest_width` belong to a port of kind `axi4_stream` with signals of its own, without `members` \
         and `through`: 1 to {most} bits, whose beats keep their ID from kernel to kernel",
        most = crate::kernel::MAX_STREAM_ID_WIDTH
    )]
    StreamIds,
    /// A stream that a memory port cannot carry.
    #[error("a stream through a memory port: {0}")]
    Through(&'static str),
    /// A memory port that lacks a required key, or has a key of stream ports.
    #[error("a port of kind `axi4` has `access`, and no `direction`")]
    PortAccess,
    /// A stream port that lacks a required key, or has a key of memory ports.
    #[error("a port of kind `axi4_stream` has `direction` (`in` or `out`), and no `access`")]
    StreamPortDirection,
    /// An argument that overlaps the control registers.
    #[error("0x{0:x} is below 0x10: the first 16 bytes are the control registers (of all but `user_managed` kernels)")]
    OffsetReserved(u32),
    /// An argument that is not aligned to a register.
    #[error("0x{0:x} is not a multiple of 4")]
    OffsetMisaligned(u32),
    /// An unsupported argument size.
    #[error("{0} bytes: an argument is 4 bytes or a multiple of 4")]
    ArgumentBytes(u32),
    /// An argument that exceeds the control window.
    #[error("0x{offset:x} + {bytes} bytes ends beyond the 64 KiB of `s_axi_control`")]
    OffsetBeyondWindow {
        /// Offset of the argument, in bytes.
        offset: u32,
        /// Size of the argument, in bytes.
        bytes: u32,
    },
    /// Two overlapping arguments.
    #[error("0x{offset:x} is inside argument `{other}` (0x{start:x} to 0x{end:x})")]
    Overlap {
        /// Offset of this argument, in bytes.
        offset: u32,
        /// Name of the other argument.
        other: String,
        /// Offset of the other argument's first byte.
        start: u32,
        /// Offset of the other argument's last byte.
        end: u32,
    },
    /// A pointer whose size is not that of an address.
    #[error("{0} bytes: a pointer (an argument with a port) is 8 bytes, or 4 if its port has `address_width = 32`")]
    PointerBytes(u32),
    /// An invalid alignment.
    #[error("{0} bytes: a pointer's alignment is a power of two from 1 to 4096")]
    Alignment(u32),
    /// An alignment of an argument that is no address.
    #[error("`alignment` belongs to pointers: give `port` and `access` too, or leave it out")]
    AlignmentWithoutPort,
    /// Limits of an argument that is no number, or limits that no number meets.
    #[error(
        "`least`, `most` and `multiple_of` say which numbers an argument of up to 8 bytes without a port can be, and \
         {} is none of them",
        if .0.multiple_of == 0 { "a multiple of 0".to_owned() } else { .0.to_string() }
    )]
    Numbers(Numbers),
    /// A pointer through a port that does not exist.
    #[error("there is no port `{0}`")]
    NoSuchPort(String),
    /// A pointer without a direction, or a scalar with one.
    #[error("`access` belongs to pointers: give both `port` and `access`, or neither")]
    AccessWithoutPort,
    /// A pointer with an access that its port does not support.
    #[error("`{access}` does not fit port `{port}`, which is `{port_access}`")]
    AccessBeyondPort {
        /// Access of the argument.
        access: &'static str,
        /// Name of the port.
        port: String,
        /// Access of the port.
        port_access: &'static str,
    },
    /// An interrupt without registers that define its meaning.
    #[error(
        "a kernel with control `ap_ctrl_none` has no interrupt: nobody would know what it means; say `user_managed` if \
         the program does"
    )]
    NoInterrupt,
    /// An include folder that does not exist.
    #[error("there is no folder `{0}` in the kernel's folder")]
    NoSuchFolder(String),
    /// A text that cannot be a Verilog string.
    #[error("{0:?}: a text is printable ASCII without `\"` and `\\`")]
    Text(String),
    /// Keys that a register bundle does not support.
    #[error("a port of kind `axi4_lite` has a name, `prefix` and `data_width` only")]
    BundleKeys,
    /// An unsupported register width.
    #[error("{0} bits: registers have 32 or 64")]
    RegisterWidth(u32),
    /// More register bundles than the window has room for.
    #[error(
        "a kernel has at most two ports of kind `axi4_lite`; the window of a slot is shared by two"
    )]
    TooManyBundles,
    /// An argument in a bundle that does not exist.
    #[error("there is no port `{0}` of kind `axi4_lite`")]
    NoSuchBundle(String),
    /// An argument that exceeds its half of the window.
    #[error("0x{0:x}: of a kernel with two bundles of registers, each has 32 KiB")]
    OffsetBeyondBundle(u32),
    /// A memory port that carries streams in a kernel with unusual registers.
    #[error(
        "a kernel with streams through a memory port has one port of kind `axi4_lite`, of 32 bits"
    )]
    ThroughBundles,
    /// An unsupported address width.
    #[error("{0} bits: a port's addresses have 32 to 64")]
    AddressWidth(u32),
    /// An address width of a port that has no addresses.
    #[error("a stream has no addresses; leave `address_width` out")]
    StreamAddress,
    /// A prefix on a port with named members.
    #[error("a port with `members` has no signals of its own, and no `prefix`; the members' names are their prefixes")]
    MemberPrefix,
    /// More clocks than the simulator drives.
    #[error("a kernel has at most four clocks beside its first")]
    TooManyClocks,
    /// An invalid clock ratio.
    #[error("{0:?}: a ratio is a number or a quotient such as \"3/2\", of numbers from 1 to 64: the frequency over that of the first clock")]
    Ratio(String),
}
