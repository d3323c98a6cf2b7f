//! Errors, and the exception of XRT's documentation that each corresponds to.

use std::path::PathBuf;
use tombolo::ErrorCode;

/// The class of exception that a program receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `std::system_error` with this errno.
    System(i32),
    /// `std::runtime_error`.
    Runtime,
    /// `std::out_of_range`.
    OutOfRange,
}

/// Why a call of XRT's interface failed.
#[derive(Debug, thiserror::Error)]
pub enum XrtError {
    /// No device with this number or name.
    #[error(
        "device {name}: there is none of that name or number: this machine has {count}, from 0 on"
    )]
    NoDevice {
        /// Number or name, as given.
        name: String,
        /// Number of devices.
        count: u32,
    },
    /// A file could not be read.
    #[error("xclbin {path}: {source}", path = .path.display())]
    File {
        /// Path of the `.xclbin`.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// An `.xclbin` from AMD's tools.
    #[error(
        "{origin}: made by v++ for a real card: it holds a bitstream, which no simulation runs; link the \
         .xo files with `tombolo link` instead"
    )]
    ForeignXclbin {
        /// Path, or "the bytes given".
        origin: String,
    },
    /// Not an `.xclbin`, or a damaged one.
    #[error("{origin}: {rule}; link it anew with `tombolo link`")]
    BadXclbin {
        /// Path, or "the bytes given".
        origin: String,
        /// The format rule that is violated.
        rule: String,
    },
    /// Linked for another platform than the card's.
    #[error("{origin}: linked for platform {linked}, but the card is {card}; link it with --platform {card}")]
    OtherPlatform {
        /// Path of the `.xclbin`.
        origin: String,
        /// Platform that the `.xclbin` was linked for.
        linked: String,
        /// Platform of the card.
        card: String,
    },
    /// Load of another design while objects of the present one are alive.
    #[error(
        "device {device}: another xclbin ({present}) is loaded, and {users} objects of the program use it; destroy \
         its kernels, runs and buffers first"
    )]
    DeviceBusy {
        /// Device number.
        device: u32,
        /// UUID of the loaded design.
        present: String,
        /// Number of live objects.
        users: usize,
    },
    /// A call that needs an xclbin on the device.
    #[error("device {device}: {call}: no xclbin is loaded; call load_xclbin first")]
    NothingLoaded {
        /// Device number.
        device: u32,
        /// Name of the failed call.
        call: &'static str,
    },
    /// A UUID other than that of the loaded design.
    #[error("device {device}: xclbin {given} is not loaded: {present} is")]
    OtherUuid {
        /// Device number.
        device: u32,
        /// UUID, as given.
        given: String,
        /// UUID of the loaded design.
        present: String,
    },
    /// Unknown kernel or compute unit.
    #[error("no such kernel `{name}`: the xclbin has {known}")]
    NoSuchKernel {
        /// Name, as given.
        name: String,
        /// Compute units of the xclbin.
        known: String,
    },
    /// Several compute units match, but exactly one is required.
    #[error("ip `{name}`: {count} compute units match; name one as \"kernel:{{unit}}\"")]
    Ambiguous {
        /// Name, as given.
        name: String,
        /// Number of matches.
        count: usize,
    },
    /// A free-running kernel, which cannot be started.
    #[error(
        "kernel `{name}`: its control is {control}: it has no start and no done; use xrt::ip for its registers"
    )]
    NotStartable {
        /// Kernel name.
        name: String,
        /// Its control protocol.
        control: &'static str,
    },
    /// The compute unit is already open.
    #[error("compute unit `{unit}`: it is open {how}; close that first")]
    UnitTaken {
        /// Full name of the compute unit.
        unit: String,
        /// `exclusively`, or `by others`.
        how: &'static str,
    },
    /// The kernel has no argument with this index or name.
    #[error("kernel `{kernel}`: argument {argument}: there is none; it has {known}")]
    NoSuchArgument {
        /// Kernel name.
        kernel: String,
        /// Index or name.
        argument: String,
        /// The kernel's arguments.
        known: String,
    },
    /// A value of the wrong kind for an argument.
    #[error("kernel `{kernel}`: argument {argument}: {rule}")]
    ArgumentKind {
        /// Kernel name.
        kernel: String,
        /// Name of the argument.
        argument: String,
        /// The rule that is violated.
        rule: &'static str,
    },
    /// An address that does not fit the argument's register, or its memory port.
    #[error(
        "kernel `{kernel}`: argument {argument}: the bo lies at {address:#x} to {last:#x}, and register and memory port \
         take addresses up to {limit:#x}: an address that does not fit is not cut; give the kernel addresses of 64 bits, \
         or map files (`tombolo run`), which lie below 4 GiB"
    )]
    AddressWidth {
        /// Kernel name.
        kernel: String,
        /// Name of the argument.
        argument: String,
        /// Address of the buffer's first byte.
        address: u64,
        /// Address of its last byte.
        last: u64,
        /// The highest address that fits.
        limit: u64,
    },
    /// A buffer in host memory, for a kernel that has no way to it.
    #[error(
        "kernel `{kernel}`: argument {argument}: the bo is host_only, and the card has no way to host memory; link the \
         kernel with sp=UNIT.{argument}:HOST[0]"
    )]
    OutOfReach {
        /// Kernel name.
        kernel: String,
        /// Name of the argument.
        argument: String,
    },
    /// A descriptor that stands for no buffer of this process.
    #[error(
        "bo: the export handle is of no bo of this process: a card is of one process, and an exported bo lives as long as \
         its own objects; pass on the handle in the process that exports it, or share a file"
    )]
    NotExported,
    /// No descriptor for a buffer.
    #[error("bo: export_buffer: {source}")]
    Export {
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A memory group that the design does not use.
    #[error("bo: memory group {group}: {rule}; take the group from kernel.group_id(argument)")]
    NoSuchGroup {
        /// Group number, as given.
        group: u32,
        /// The rule that is violated.
        rule: String,
    },
    /// A buffer of 0 bytes, or larger than its memory.
    #[error("bo of {bytes} bytes: {rule}")]
    BufferSize {
        /// Size, as given.
        bytes: usize,
        /// The rule that is violated.
        rule: String,
    },
    /// A misaligned user pointer.
    #[error("bo: user pointer {pointer:#x}: it must be aligned to 4096 bytes; allocate it with aligned_alloc(4096, ...)")]
    UserPointer {
        /// Address, as given.
        pointer: usize,
    },
    /// A range outside the buffer.
    #[error("bo: {call}: {bytes} bytes from {offset} on are not in its {size} bytes")]
    BufferRange {
        /// Name of the failed call.
        call: &'static str,
        /// Offset of the first byte.
        offset: usize,
        /// Length of the range in bytes.
        bytes: usize,
        /// Size of the buffer in bytes.
        size: usize,
    },
    /// A buffer without a host copy.
    #[error(
        "bo: map: a device_only buffer has no copy in the host; use read and write, or other flags"
    )]
    NoHostCopy,
    /// Incompatible flags, or flags that this card does not support.
    #[error("bo: flags {flags:#x}: {rule}")]
    Flags {
        /// Flags, as given.
        flags: u32,
        /// The rule that is violated.
        rule: &'static str,
    },
    /// Objects of two devices, or of two loads of an xclbin.
    #[error("{what}: it belongs to another device, or to an xclbin that was loaded before")]
    OtherDevice {
        /// Kind of the object.
        what: &'static str,
    },
    /// The run is still under way.
    #[error("run of kernel `{kernel}`: {call}: it is under way; wait for it first")]
    RunBusy {
        /// Kernel name.
        kernel: String,
        /// Name of the failed call.
        call: &'static str,
    },
    /// The run was never started.
    #[error("run of kernel `{kernel}`: {call}: it was never started; call start first")]
    NotStarted {
        /// Kernel name.
        kernel: String,
        /// Name of the failed call.
        call: &'static str,
    },
    /// Register access through a kernel that is opened shared or has several compute units.
    #[error(
        "kernel `{kernel}`: {call}: registers need one compute unit, opened exclusively; here are {units}{shared}"
    )]
    RegisterAccess {
        /// Kernel name.
        kernel: String,
        /// Name of the failed call.
        call: &'static str,
        /// Number of compute units.
        units: usize,
        /// `, shared`, or empty.
        shared: &'static str,
    },
    /// A register offset outside the window, or misaligned.
    #[error("compute unit `{unit}`: register {offset:#x}: registers are at multiples of 4 below {window:#x}")]
    RegisterOffset {
        /// Full name of the compute unit.
        unit: String,
        /// Byte offset, as given.
        offset: u32,
        /// Size of the window in bytes.
        window: u32,
    },
    /// A kernel without an interrupt.
    #[error("ip `{unit}`: its kernel has no interrupt; read a register of it in a loop")]
    NoInterrupt {
        /// Name of the compute unit.
        unit: String,
    },
    /// A valid request that is not supported.
    #[error("{what}: not offered: {why}")]
    Unsupported {
        /// The unsupported feature.
        what: &'static str,
        /// Reason and remedy.
        why: &'static str,
    },
    /// Invalid environment variable.
    #[error("{variable}={value}: {rule}")]
    Environment {
        /// Variable name.
        variable: &'static str,
        /// Value of the variable.
        value: String,
        /// The rule that is violated.
        rule: &'static str,
    },
    /// Error of the `tombolo` library.
    #[error(transparent)]
    Library(#[from] tombolo::Error),
}

impl XrtError {
    /// The corresponding exception of XRT's documentation, or the nearest one.
    pub fn class(&self) -> Class {
        Class::System(match self {
            Self::NoDevice { .. } | Self::NothingLoaded { .. } => libc::ENODEV,
            Self::File { source, .. } | Self::Export { source } => {
                source.raw_os_error().unwrap_or(libc::EIO)
            }
            Self::ForeignXclbin { .. }
            | Self::BadXclbin { .. }
            | Self::OtherPlatform { .. }
            | Self::OtherUuid { .. }
            | Self::Ambiguous { .. }
            | Self::NoSuchArgument { .. }
            | Self::ArgumentKind { .. }
            | Self::AddressWidth { .. }
            | Self::OutOfReach { .. }
            | Self::NotExported
            | Self::NoSuchGroup { .. }
            | Self::BufferSize { .. }
            | Self::UserPointer { .. }
            | Self::BufferRange { .. }
            | Self::NoHostCopy
            | Self::Flags { .. }
            | Self::OtherDevice { .. }
            | Self::NotStarted { .. }
            | Self::NoInterrupt { .. }
            | Self::Environment { .. } => libc::EINVAL,
            Self::NoSuchKernel { .. } => libc::ENOENT,
            Self::NotStartable { .. } | Self::Unsupported { .. } => libc::ENOTSUP,
            Self::DeviceBusy { .. } | Self::UnitTaken { .. } | Self::RunBusy { .. } => libc::EBUSY,
            Self::RegisterAccess { .. } => return Class::Runtime,
            Self::RegisterOffset { .. } => return Class::OutOfRange,
            Self::Library(error) => match error.code() {
                ErrorCode::NoSuchArgument
                | ErrorCode::ArgumentSize
                | ErrorCode::ArgumentValue
                | ErrorCode::MisalignedPointer
                | ErrorCode::Configuration
                | ErrorCode::Kernel => libc::EINVAL,
                ErrorCode::SlotState | ErrorCode::MemoryInUse => libc::EBUSY,
                ErrorCode::Unshareable => libc::ENOMEM,
                ErrorCode::Gone => libc::ENODEV,
                ErrorCode::Deadline => libc::ETIMEDOUT,
                _ => libc::EIO,
            },
        })
    }
}
