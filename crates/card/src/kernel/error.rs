//! Why a kernel is refused: which file, which key and line, which rule.

use super::manifest::Numbers;
use std::path::PathBuf;

/// Why a kernel is refused.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A file of the kernel could not be read.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The manifest is not TOML, misses a key, or has a key or value of no known kind.
    #[error("{path}:{line}: {message}", path = .path.display())]
    Syntax {
        /// Which manifest.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What the TOML reader says.
        message: String,
    },
    /// The manifest reads well but breaks a rule.
    #[error("{path}:{line}: {key}: {rule}", path = .path.display())]
    Manifest {
        /// Which manifest.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The key, for example `port.data_width`.
        key: &'static str,
        /// The rule it breaks.
        rule: Rule,
    },
    /// The functional card has no model of the kernel.
    #[error(
        "kernel `{name}` has no functional model: the functional card knows {known}; \
         run it on the simulated card, or register a model"
    )]
    NoFunctionalModel {
        /// The kernel's name.
        name: String,
        /// Names of the models there are.
        known: String,
    },
    /// The kernel is not the one that the functional model is of.
    #[error("kernel `{name}` does not fit its functional model, which needs {what}")]
    ModelMismatch {
        /// The kernel's name.
        name: String,
        /// What its manifest lacks.
        what: String,
    },
    /// The kernel has more ports than the slot.
    #[error("kernel `{name}` has {ports} ports, the slot {slot_ports}")]
    DoesNotFit {
        /// The kernel's name.
        name: String,
        /// Its ports.
        ports: usize,
        /// The slot's ports.
        slot_ports: usize,
    },
    /// More streams than the slot has.
    #[error(
        "kernel `{name}` needs {pairs} stream pairs, and a slot of this card has {slot_pairs}: open the \
         card with more streams a slot (`streams_per_slot`)"
    )]
    StreamsDoNotFit {
        /// The kernel's name.
        name: String,
        /// Pairs (one in, one out) that it needs.
        pairs: u8,
        /// The slot's pairs.
        slot_pairs: u8,
    },
}

/// A rule of `kernel.toml` (docs/kernels.md), with what broke it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// A name that cannot name a signal.
    #[error("`{0}` is not an identifier: up to 64 letters, digits and `_`, no digit first")]
    Identifier(String),
    /// A name used twice.
    #[error("the name `{0}` is used twice")]
    Duplicate(String),
    /// No RTL.
    #[error("a kernel has at least one source file")]
    NoSources,
    /// A path that leaves the folder.
    #[error(
        "`{0}` leaves the kernel's folder: paths are relative, without `..`, and no link leads out"
    )]
    OutsideFolder(String),
    /// A source that is not there.
    #[error("there is no file `{0}`")]
    NoSuchFile(String),
    /// A language that Verilator does not read.
    #[error("`{0}` is VHDL: `tombolo kernel import` makes Verilog of it with GHDL")]
    Vhdl(String),
    /// A library that is not there.
    #[error("there is no folder `{0}` beside the kernel's folder")]
    NoSuchLibrary(String),
    /// A width that no port of a slot has.
    #[error("{0} bits: a port's data width is a power of two from 32 to 1024")]
    DataWidth(u32),
    /// A key that ports of the directory do not have.
    #[error(
        "a port of kind `axi4_home`, `line_operations` or `host_lines` has a name and a kind only"
    )]
    CoherentPort,
    /// A memory or stream port without width.
    #[error("a port of kind `axi4` or `axi4_stream` has `data_width`")]
    NoDataWidth,
    /// Unequal numbers of both kinds.
    #[error("{homes} ports `axi4_home` and {lines} `line_operations`: one of each a slice of the directory, or no `axi4_home`")]
    CoherentPairs {
        /// Home ports.
        homes: usize,
        /// Ports of line operations.
        lines: usize,
    },
    /// More ports than a slot has.
    #[error("{0} ports: a kernel has at most 32")]
    TooManyPorts(usize),
    /// A width that no stream port has.
    #[error("{0} bits: a stream's data width is a multiple of 8 from 8 to 4096")]
    StreamWidth(u32),
    /// More streams than a kernel can have.
    #[error("{0} stream ports: a kernel has at most 16")]
    TooManyStreams(usize),
    /// Ports that share a stream, or the order of their packets, where there are none.
    #[error("{0} members: 2 to 16 ports of the kernel share a port of kind `axi4_stream`, and then `packets` is possible")]
    Members(usize),
    /// Signals that are dropped where none leaves the kernel.
    #[error("`drops` belongs to a port of kind `axi4_stream` with direction `out` and signals of its own")]
    Drops,
    /// A stream that a memory port cannot carry.
    #[error("a stream through a memory port: {0}")]
    Through(&'static str),
    /// A memory port without what it needs, or with what only streams have.
    #[error("a port of kind `axi4` has `access`, and no `direction`")]
    PortAccess,
    /// A stream port without what it needs, or with what only memory ports have.
    #[error("a port of kind `axi4_stream` has `direction` (`in` or `out`), and no `access`")]
    StreamPortDirection,
    /// An argument in the control registers.
    #[error("0x{0:x} is below 0x10: the first 16 bytes are the control registers (of all but `user_managed` kernels)")]
    OffsetReserved(u32),
    /// An argument between words.
    #[error("0x{0:x} is not a multiple of 4")]
    OffsetMisaligned(u32),
    /// An argument of a size that registers do not have.
    #[error("{0} bytes: an argument is 4 bytes or a multiple of 4")]
    ArgumentBytes(u32),
    /// An argument beyond the window.
    #[error("0x{offset:x} + {bytes} bytes ends beyond the 64 KiB of `s_axi_control`")]
    OffsetBeyondWindow {
        /// Where it starts.
        offset: u32,
        /// How long it is.
        bytes: u32,
    },
    /// Two arguments in one place.
    #[error("0x{offset:x} is inside argument `{other}` (0x{start:x} to 0x{end:x})")]
    Overlap {
        /// Where this one starts.
        offset: u32,
        /// The other one.
        other: String,
        /// Its first byte.
        start: u32,
        /// Its last byte.
        end: u32,
    },
    /// A pointer of another size than an address.
    #[error("{0} bytes: a pointer (an argument with a port) is 8 bytes, or 4 if its port has `address_width = 32`")]
    PointerBytes(u32),
    /// An alignment that is none.
    #[error("{0} bytes: a pointer's alignment is a power of two from 1 to 4096")]
    Alignment(u32),
    /// An alignment of what is no address.
    #[error("`alignment` belongs to pointers: give `port` and `access` too, or leave it out")]
    AlignmentWithoutPort,
    /// Numbers of what is none, or none at all.
    #[error(
        "`least`, `most` and `multiple_of` say which numbers an argument of up to 8 bytes without a port can be, and \
         {} is none of them",
        if .0.multiple_of == 0 { "a multiple of 0".to_owned() } else { .0.to_string() }
    )]
    Numbers(Numbers),
    /// A pointer through a port that is not there.
    #[error("there is no port `{0}`")]
    NoSuchPort(String),
    /// A pointer without a direction, or a scalar with one.
    #[error("`access` belongs to pointers: give both `port` and `access`, or neither")]
    AccessWithoutPort,
    /// A pointer used in a direction that its port does not have.
    #[error("`{access}` does not fit port `{port}`, which is `{port_access}`")]
    AccessBeyondPort {
        /// What the argument says.
        access: &'static str,
        /// The port's name.
        port: String,
        /// What the port says.
        port_access: &'static str,
    },
    /// An interrupt without registers that say what it means.
    #[error(
        "a kernel with control `ap_ctrl_none` has no interrupt: nobody would know what it means; say `user_managed` if \
         the program does"
    )]
    NoInterrupt,
    /// A folder of included files that is not there.
    #[error("there is no folder `{0}` in the kernel's folder")]
    NoSuchFolder(String),
    /// A text that Verilog cannot have between quotes.
    #[error("{0:?}: a text is printable ASCII without `\"` and `\\`")]
    Text(String),
    /// Keys that a bundle of registers does not have.
    #[error("a port of kind `axi4_lite` has a name, `prefix` and `data_width` only")]
    BundleKeys,
    /// A width that no register has.
    #[error("{0} bits: registers have 32 or 64")]
    RegisterWidth(u32),
    /// More bundles than a window has room for.
    #[error(
        "a kernel has at most two ports of kind `axi4_lite`; the window of a slot is shared by two"
    )]
    TooManyBundles,
    /// An argument in a bundle that is not there.
    #[error("there is no port `{0}` of kind `axi4_lite`")]
    NoSuchBundle(String),
    /// An argument beyond its half of the window.
    #[error("0x{0:x}: of a kernel with two bundles of registers, each has 32 KiB")]
    OffsetBeyondBundle(u32),
    /// A memory port that carries streams beside unusual registers.
    #[error(
        "a kernel with streams through a memory port has one port of kind `axi4_lite`, of 32 bits"
    )]
    ThroughBundles,
    /// An address of another width.
    #[error("{0} bits: a port's addresses have 32 to 64")]
    AddressWidth(u32),
    /// An address of what has none.
    #[error("a stream has no addresses; leave `address_width` out")]
    StreamAddress,
    /// A prefix where each member has a name.
    #[error("a port with `members` has no signals of its own, and no `prefix`; the members' names are their prefixes")]
    MemberPrefix,
    /// More clocks than the simulator drives.
    #[error("a kernel has at most four clocks beside its first")]
    TooManyClocks,
    /// A ratio that is none.
    #[error("{0:?}: a ratio is a number or a quotient such as \"3/2\", of numbers from 1 to 64: the frequency over that of the first clock")]
    Ratio(String),
}
