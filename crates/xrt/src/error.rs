//! What can go wrong, and which exception of XRT's documentation it is.

use std::path::PathBuf;
use tombolo::ErrorCode;

/// Which exception a program gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `std::system_error` with this errno.
    System(i32),
    /// `std::runtime_error`.
    Runtime,
    /// `std::out_of_range`.
    OutOfRange,
}

/// Why a call of XRT's interface fails.
#[derive(Debug, thiserror::Error)]
pub enum XrtError {
    /// No such device.
    #[error(
        "device {name}: there is none of that name or number: this machine has {count}, from 0 on"
    )]
    NoDevice {
        /// As given.
        name: String,
        /// How many there are.
        count: u32,
    },
    /// A file could not be read.
    #[error("xclbin {path}: {source}", path = .path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// An `.xclbin` of AMD's tools.
    #[error(
        "{origin}: made by v++ for a real card: it holds a bitstream, which no simulation runs; link the \
         .xo files with `tombolo link` instead"
    )]
    ForeignXclbin {
        /// Which file, or "the bytes given".
        origin: String,
    },
    /// Not an `.xclbin`, or a damaged one.
    #[error("{origin}: {rule}; link it anew with `tombolo link`")]
    BadXclbin {
        /// Which file, or "the bytes given".
        origin: String,
        /// What is wrong.
        rule: String,
    },
    /// Linked for a platform that is not the card's.
    #[error("{origin}: linked for platform {linked}, but the card is {card}; link it with --platform {card}")]
    OtherPlatform {
        /// Which file.
        origin: String,
        /// Its platform.
        linked: String,
        /// The card's.
        card: String,
    },
    /// Another design while objects of the present one are alive.
    #[error(
        "device {device}: another xclbin ({present}) is loaded, and {users} objects of the program use it; destroy \
         its kernels, runs and buffers first"
    )]
    DeviceBusy {
        /// Which device.
        device: u32,
        /// UUID of the one that is loaded.
        present: String,
        /// Live objects.
        users: usize,
    },
    /// A call that needs an xclbin on the device.
    #[error("device {device}: {call}: no xclbin is loaded; call load_xclbin first")]
    NothingLoaded {
        /// Which device.
        device: u32,
        /// The call.
        call: &'static str,
    },
    /// A UUID that is not that of the loaded design.
    #[error("device {device}: xclbin {given} is not loaded: {present} is")]
    OtherUuid {
        /// Which device.
        device: u32,
        /// As given.
        given: String,
        /// What is loaded.
        present: String,
    },
    /// No such kernel or compute unit.
    #[error("no such kernel `{name}`: the xclbin has {known}")]
    NoSuchKernel {
        /// As given.
        name: String,
        /// Compute units there are.
        known: String,
    },
    /// Several compute units where one is meant.
    #[error("ip `{name}`: {count} compute units match; name one as \"kernel:{{unit}}\"")]
    Ambiguous {
        /// As given.
        name: String,
        /// How many match.
        count: usize,
    },
    /// A kernel that runs without being started.
    #[error(
        "kernel `{name}`: its control is {control}: it has no start and no done; use xrt::ip for its registers"
    )]
    NotStartable {
        /// Its name.
        name: String,
        /// Its protocol.
        control: &'static str,
    },
    /// Somebody else has it.
    #[error("compute unit `{unit}`: it is open {how}; close that first")]
    UnitTaken {
        /// Which one.
        unit: String,
        /// `exclusively`, or `by others`.
        how: &'static str,
    },
    /// No such argument.
    #[error("kernel `{kernel}`: argument {argument}: there is none; it has {known}")]
    NoSuchArgument {
        /// Which kernel.
        kernel: String,
        /// Index or name.
        argument: String,
        /// Those it has.
        known: String,
    },
    /// A value of the wrong kind for an argument.
    #[error("kernel `{kernel}`: argument {argument}: {rule}")]
    ArgumentKind {
        /// Which kernel.
        kernel: String,
        /// Its name.
        argument: String,
        /// What is wrong.
        rule: &'static str,
    },
    /// An address that an argument's register cannot hold.
    #[error(
        "kernel `{kernel}`: argument {argument}: the bo lies at {address:#x}, and its register has {bytes} bytes: an \
         address that does not fit is not cut; give the kernel a pointer of 64 bits, or map files (`tombolo run`), which \
         lie below 4 GiB"
    )]
    AddressWidth {
        /// Which kernel.
        kernel: String,
        /// Its name.
        argument: String,
        /// Of the first byte.
        address: u64,
        /// What the register holds.
        bytes: u32,
    },
    /// A memory group that the design does not use.
    #[error("bo: memory group {group}: {rule}; take the group from kernel.group_id(argument)")]
    NoSuchGroup {
        /// As given.
        group: u32,
        /// What is wrong.
        rule: String,
    },
    /// A buffer of no bytes, or of more than there are.
    #[error("bo of {bytes} bytes: {rule}")]
    BufferSize {
        /// As given.
        bytes: usize,
        /// What is wrong.
        rule: String,
    },
    /// A user pointer that is not aligned.
    #[error("bo: user pointer {pointer:#x}: it must be aligned to 4096 bytes; allocate it with aligned_alloc(4096, ...)")]
    UserPointer {
        /// As given.
        pointer: usize,
    },
    /// A range that is not in the buffer.
    #[error("bo: {call}: {bytes} bytes from {offset} on are not in its {size} bytes")]
    BufferRange {
        /// The call.
        call: &'static str,
        /// First byte.
        offset: usize,
        /// Bytes.
        bytes: usize,
        /// Of the buffer.
        size: usize,
    },
    /// A buffer without a copy in the host.
    #[error(
        "bo: map: a device_only buffer has no copy in the host; use read and write, or other flags"
    )]
    NoHostCopy,
    /// Flags that do not go together, or that this card does not have.
    #[error("bo: flags {flags:#x}: {rule}")]
    Flags {
        /// As given.
        flags: u32,
        /// What is wrong.
        rule: &'static str,
    },
    /// Objects of two devices, or of two loads.
    #[error("{what}: it belongs to another device, or to an xclbin that was loaded before")]
    OtherDevice {
        /// What.
        what: &'static str,
    },
    /// A run that is under way.
    #[error("run of kernel `{kernel}`: {call}: it is under way; wait for it first")]
    RunBusy {
        /// Which kernel.
        kernel: String,
        /// The call.
        call: &'static str,
    },
    /// A run that nobody started.
    #[error("run of kernel `{kernel}`: {call}: it was never started; call start first")]
    NotStarted {
        /// Which kernel.
        kernel: String,
        /// The call.
        call: &'static str,
    },
    /// Registers of a kernel that is shared.
    #[error(
        "kernel `{kernel}`: {call}: registers need one compute unit, opened exclusively; here are {units}{shared}"
    )]
    RegisterAccess {
        /// Which kernel.
        kernel: String,
        /// The call.
        call: &'static str,
        /// How many units.
        units: usize,
        /// `, shared`, or nothing.
        shared: &'static str,
    },
    /// A register beyond the window.
    #[error("compute unit `{unit}`: register {offset:#x}: registers are at multiples of 4 below {window:#x}")]
    RegisterOffset {
        /// Which one.
        unit: String,
        /// As given.
        offset: u32,
        /// Bytes of the window.
        window: u32,
    },
    /// A kernel without an interrupt.
    #[error("ip `{unit}`: its kernel has no interrupt; read a register of it in a loop")]
    NoInterrupt {
        /// Which unit.
        unit: String,
    },
    /// Makes sense, but is not offered.
    #[error("{what}: not offered: {why}")]
    Unsupported {
        /// What.
        what: &'static str,
        /// Why, and what to do.
        why: &'static str,
    },
    /// An environment that cannot be meant.
    #[error("{variable}={value}: {rule}")]
    Environment {
        /// Which variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What is wrong.
        rule: &'static str,
    },
    /// The library below.
    #[error(transparent)]
    Library(#[from] tombolo::Error),
}

impl XrtError {
    /// The exception of XRT's documentation, or the nearest to it.
    pub fn class(&self) -> Class {
        Class::System(match self {
            Self::NoDevice { .. } | Self::NothingLoaded { .. } => libc::ENODEV,
            Self::File { source, .. } => source.raw_os_error().unwrap_or(libc::EIO),
            Self::ForeignXclbin { .. }
            | Self::BadXclbin { .. }
            | Self::OtherPlatform { .. }
            | Self::OtherUuid { .. }
            | Self::Ambiguous { .. }
            | Self::NoSuchArgument { .. }
            | Self::ArgumentKind { .. }
            | Self::AddressWidth { .. }
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
