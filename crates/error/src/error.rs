//! The library's error type: each error names the object, the rule and the remedy.

use crate::stream::StreamError;
use card::guard::{Unanswered, Violation};
use card::kernel::{KernelError, Numbers};
use card::CardError;
use pager::{ConfigError, PagerError};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use trap::RangeError;
use units::{PageSize, PageSizes, Picoseconds, SlotId, VirtAddr};
use wire::Failure;
use wire::TranslationMode;

/// A kernel access that could not be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "slot {slot} (kernel {kernel}), port {port}: {verb} at {address} failed: {reason}",
    slot = .slot.0,
    verb = if *.write { "a write" } else { "a read" }
)]
pub struct AccessError {
    /// Slot of the kernel.
    pub slot: SlotId,
    /// Name of the kernel in the slot.
    pub kernel: String,
    /// Port that issued the access.
    pub port: String,
    /// `true` for a write, `false` for a read.
    pub write: bool,
    /// Address of the first byte of the burst.
    pub address: VirtAddr,
    /// Broken rule, with the nearest mapping.
    pub reason: String,
}

/// A kernel broke a rule of the slot boundary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "kernel `{kernel}` in slot {slot}: port {port} {violation}; the slot was closed. Its results are not \
     to be trusted; start the kernel anew, or load another",
    slot = .slot.0
)]
pub struct ViolationError {
    /// Slot of the kernel.
    pub slot: SlotId,
    /// Name of the kernel in the slot.
    pub kernel: String,
    /// Name of the kernel's port.
    pub port: String,
    /// Broken rule, with the burst that broke it.
    pub violation: Violation,
}

/// The kernel behind the directory (the home agent) is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}` in slot {slot} {what}", slot = .slot.0)]
pub struct HomeError {
    /// Slot of the kernel.
    pub slot: SlotId,
    /// Name of the kernel in the slot.
    pub kernel: String,
    /// Broken rule and remedy.
    pub what: String,
}

/// Names the home agent in messages.
fn home_name(slot: Option<SlotId>) -> String {
    match slot {
        Some(slot) => format!("the kernel in slot {}", slot.0),
        None => "card memory".to_owned(),
    }
}

/// Any failure of the library; [`code`](Error::code) gives its kind.
///
/// Its `Debug` equals its `Display`, so that a program whose `main` returns it prints the failure and the remedy.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The card refused a request or failed.
    #[error(transparent)]
    Card(#[from] CardError),
    /// The kernel's folder or RTL was rejected.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The pager refused: overlap, bad range, out of memory, or a write-back that failed.
    #[error(transparent)]
    Pager(#[from] PagerError),
    /// The owner's page size is not supported by the card.
    #[error(
        "pages of {page} are not possible on this card, which has {sizes}: choose one of these in \
         OwnerOptions"
    )]
    NoSuchPageSize {
        /// Page size of the owner.
        page: PageSize,
        /// Page sizes that the card supports.
        sizes: PageSizes,
    },
    /// The card does not support the translation mode of the space.
    #[error("address spaces of this card cannot be translated by {mode}: {rule}")]
    NoSuchTranslation {
        /// Requested translation mode.
        mode: TranslationMode,
        /// Capability that the card is missing.
        rule: &'static str,
    },
    /// The owner cannot work with this card-memory layout.
    #[error(
        "card memory of {channels} channels with {channel_bytes} bytes each: {source}; give the card more \
         memory (--card-memory), or the owner smaller pages (OwnerOptions::page_size)"
    )]
    CardMemory {
        /// Number of memory channels.
        channels: u8,
        /// Bytes per channel.
        channel_bytes: u64,
        /// Rule that the layout breaks.
        source: ConfigError,
    },
    /// A file could not be opened, measured or extended.
    #[error("{path}: {what}: {source}", path = .path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Operation that failed.
        what: &'static str,
        /// Cause, from the operating system.
        source: io::Error,
    },
    /// The file cannot be mapped with these options.
    #[error("{path}: {rule}", path = .path.display())]
    Unmappable {
        /// Path of the file.
        path: PathBuf,
        /// Broken rule and remedy.
        rule: String,
    },
    /// A kernel wrote outside a mapping, on its first or last page.
    #[error(
        "{path}: a kernel wrote outside the {bytes} bytes that are mapped from offset {offset}: first at \
         {address}, {place}. Nothing of it is in the file, whose mapped bytes were written; map as much as the \
         kernel writes",
        path = .path.display()
    )]
    Outside {
        /// Path of the file.
        path: PathBuf,
        /// File offset of the first mapped byte.
        offset: u64,
        /// Size of the mapping in bytes.
        bytes: u64,
        /// Address of the first such byte, in the kernel's address space.
        address: VirtAddr,
        /// Distance from the mapping.
        place: String,
    },
    /// A transfer between a file and the card failed.
    #[error("{label}: {direction} of {bytes} bytes at offset {offset} failed: {source}")]
    Transfer {
        /// Name of the file.
        label: String,
        /// Direction: `reading` or `writing back`.
        direction: &'static str,
        /// Size of the transfer in bytes.
        bytes: u64,
        /// Offset in the file.
        offset: u64,
        /// Cause, from the operating system.
        source: io::Error,
    },
    /// The kernel has no such argument.
    #[error("kernel {kernel} has no argument `{argument}`; it has {known}")]
    NoSuchArgument {
        /// Name of the kernel.
        kernel: String,
        /// Requested name.
        argument: String,
        /// Names that the kernel has.
        known: String,
    },
    /// The value's size does not fit the argument.
    #[error("kernel {kernel}: argument `{argument}` takes {expected} bytes, not {given}")]
    ArgumentSize {
        /// Name of the kernel.
        kernel: String,
        /// Name of the argument.
        argument: String,
        /// Size of the argument in bytes.
        expected: u32,
        /// Size of the value in bytes.
        given: usize,
    },
    /// The kernel does not accept this number for the argument.
    #[error("kernel {kernel}: argument `{argument}` cannot be {value} (0x{value:x}); it takes {numbers}")]
    ArgumentValue {
        /// Name of the kernel.
        kernel: String,
        /// Name of the argument.
        argument: String,
        /// Rejected number.
        value: u64,
        /// Numbers that it accepts.
        numbers: Numbers,
    },
    /// An address breaks the alignment that the kernel's pointers need.
    #[error(
        "kernel {kernel}: argument `{argument}` takes addresses that are multiples of {alignment}, and 0x{address:x} \
         is {} too high: map from an offset that is a multiple of {alignment}; if the kernel can do with less, \
         say so in its kernel.toml (alignment)",
        address % u64::from(*alignment)
    )]
    MisalignedPointer {
        /// Name of the kernel.
        kernel: String,
        /// Name of the argument.
        argument: String,
        /// Rejected address.
        address: u64,
        /// Required alignment in bytes.
        alignment: u32,
    },
    /// A kernel access failed; the kernel's results are invalid.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The kernel behind the directory broke a rule, or cannot be used there.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// No kernel is loaded as home agent of the lines behind the directory.
    #[error(
        "no kernel stands behind the directory: load one with ports of kind `axi4_home`, or use \
         Card::home_memory"
    )]
    NoHome,
    /// No card memory is reserved for the directory.
    #[error(
        "no card memory is kept for the directory: say how much with OwnerOptions::home_bytes"
    )]
    NoHomeMemory,
    /// The card has no cache of host lines.
    #[error("the card has no cache of the CPU's lines: open it with a shell with [cache], as ShellConfig::coherent_host")]
    NoHostLines,
    /// The size of the directory's reserved card memory is not possible.
    #[error(
        "{bytes} bytes of card memory behind the directory: a multiple of {unit} below {limit} is possible \
         (OwnerOptions::home_bytes)"
    )]
    HomeMemory {
        /// Requested bytes.
        bytes: u64,
        /// The size must be a multiple of this many bytes.
        unit: u64,
        /// Upper limit in bytes, exclusive.
        limit: u64,
    },
    /// An access of a core received no response in time.
    #[error(
        "line 0x{address:x}: {who} has not answered at {now}; the access is given up",
        who = home_name(*.slot)
    )]
    LineLate {
        /// Address of the access.
        address: u64,
        /// Slot of the home agent; `None` if it is not a slot.
        slot: Option<SlotId>,
        /// Virtual time at which the access was abandoned.
        now: Picoseconds,
    },
    /// The range is not possible for coherent memory.
    #[error(
        "coherent memory of {bytes} bytes from 0x{base:x}: both are multiples of 128, not empty, and end \
         below 2^40"
    )]
    CoherentRange {
        /// Address of the first byte.
        base: u64,
        /// Size in bytes.
        bytes: u64,
    },
    /// Coherent memory cannot be mapped.
    #[error("mapping coherent memory of {bytes} bytes from 0x{base:x}: {what}")]
    CoherentMap {
        /// Address of the first byte.
        base: u64,
        /// Size in bytes.
        bytes: u64,
        /// Cause of the failure.
        what: String,
    },
    /// An access lies outside coherent memory, or crosses a line.
    #[error(
        "{bytes} bytes at offset {offset} of {range} bytes of coherent memory: an access stays inside, and \
         inside one line of 128 bytes; lines start at multiples of 128"
    )]
    CoherentOffset {
        /// Offset in bytes.
        offset: u64,
        /// Size in bytes.
        bytes: u64,
        /// Size of the coherent memory in bytes.
        range: u64,
    },
    /// The kernel broke a rule of the slot boundary.
    #[error(transparent)]
    Violation(#[from] ViolationError),
    /// The kernel does not respond on its control interface.
    #[error(
        "kernel `{kernel}` in slot {slot} {unanswered}; the slot was closed. Start the kernel anew, or \
         load another",
        slot = .slot.0
    )]
    Unanswered {
        /// Slot of the kernel.
        slot: SlotId,
        /// Name of the kernel in the slot.
        kernel: String,
        /// Access that received no response.
        unanswered: Unanswered,
    },
    /// The kernel raises its interrupt without being done.
    #[error(
        "kernel `{kernel}` in slot {slot} raised its interrupt {count} times without being done; it is \
         held in reset now. An interrupt announces a finished run (ap_done)",
        slot = .slot.0
    )]
    InterruptStorm {
        /// Slot of the kernel.
        slot: SlotId,
        /// Name of the kernel in the slot.
        kernel: String,
        /// Interrupts within one run.
        count: u32,
    },
    /// The kernel terminated itself or broke a protocol.
    #[error("slot {slot} (kernel {kernel}) failed: {reason}", slot = .slot.0)]
    KernelFailed {
        /// Slot of the kernel.
        slot: SlotId,
        /// Name of the kernel in the slot.
        kernel: String,
        /// Cause of the failure.
        reason: String,
    },
    /// The kernel was not done at the deadline.
    #[error(
        "slot {slot} (kernel {kernel}) was not done after {elapsed} of virtual time: {waiting}; \
         it is held in reset now. Give it longer (--deadline), or look at what it waits for",
        slot = .slot.0
    )]
    Deadline {
        /// Slot of the kernel.
        slot: SlotId,
        /// Name of the kernel in the slot.
        kernel: String,
        /// Virtual time since its start.
        elapsed: Picoseconds,
        /// Cause of the wait, as far as the shell can observe it.
        waiting: String,
    },
    /// None of several kernels was done at the deadline.
    #[error(
        "none of {slots} kernels was done after {elapsed} of virtual time; they go on. Wait longer, or \
         close their slots"
    )]
    NoneDone {
        /// Number of kernels waited for.
        slots: usize,
        /// Virtual time spent waiting.
        elapsed: Picoseconds,
    },
    /// The call needs a running slot and it is not, or the reverse.
    #[error("slot {slot} {rule}", slot = .slot.0)]
    SlotState {
        /// Slot of the kernel.
        slot: SlotId,
        /// Broken rule and remedy.
        rule: Cow<'static, str>,
    },
    /// The handle's object has ended, or belongs to another owner.
    #[error("{what} is gone: {why}")]
    Gone {
        /// Object that the handle named.
        what: String,
        /// How such objects end.
        why: Cow<'static, str>,
    },
    /// The address space and the slot belong to different cards.
    #[error("the address space belongs to another card; make one with this card's create_space")]
    OtherCard,
    /// The mapping and the kernel belong to different address spaces.
    #[error(
        "kernel `{kernel}`, argument `{argument}`: the mapping is of another address space than the kernel, which cannot \
         reach it; map in the space that the kernel was loaded with"
    )]
    OtherSpace {
        /// Name of the kernel.
        kernel: String,
        /// Name of the argument.
        argument: String,
    },
    /// A stream failed or was misused.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A device connected to a port failed.
    #[error(transparent)]
    Device(#[from] crate::device::DeviceError),
    /// Memory cannot be shared.
    #[error("{bytes} bytes of shared memory cannot be had: {source}")]
    Unshareable {
        /// Requested bytes.
        bytes: usize,
        /// Cause, from the operating system.
        source: io::Error,
    },
    /// Memory of the program cannot be shared in place.
    #[error("{bytes} bytes at 0x{start:x} cannot be shared in place: {rule}")]
    Unregistrable {
        /// Address of the first byte, in the program.
        start: usize,
        /// Size of the range in bytes.
        bytes: usize,
        /// Rule that the range breaks.
        rule: RangeError,
    },
    /// The address lies outside the shared memory.
    #[error(
        "address 0x{address:x} is not in this block of shared memory; kernels reach only what was allocated \
         with AddressSpace::alloc, or registered"
    )]
    NotShared {
        /// Rejected address.
        address: usize,
    },
    /// The shared memory cannot be freed: a kernel may be using it.
    #[error(
        "shared memory at {address} cannot be freed while the kernel in slot {slot} runs in its address \
         space; wait for it first",
        slot = .slot.0
    )]
    MemoryInUse {
        /// Address of the first byte.
        address: VirtAddr,
        /// Slot whose kernel is running.
        slot: SlotId,
    },
    /// All address spaces are in use.
    #[error("all {spaces} address spaces of the shell are in use; drop one first")]
    NoFreeSpace {
        /// Number of address spaces of the card.
        spaces: u8,
    },
    /// Every slot holds a kernel.
    #[error("all {slots} slots of the card have a kernel; close one, or wait until one is closed")]
    NoFreeSlot {
        /// Number of slots of the card.
        slots: u8,
    },
    /// The quota of a daemon's tenant is exhausted.
    #[error(
        "the quota of tenant {tenant} is {most} {what}, and {used} are in use; end one first, or ask who runs the daemon for \
         more"
    )]
    Quota {
        /// Name of the tenant.
        tenant: String,
        /// Resource that the quota limits.
        what: &'static str,
        /// Units in use.
        used: u64,
        /// Maximum of the quota.
        most: u64,
    },
    /// The daemon cannot be reached, refused the request, or has ended.
    #[error("{socket}: {what}", socket = .socket.display())]
    Daemon {
        /// Path of the daemon's socket.
        socket: PathBuf,
        /// Failure and remedy.
        what: String,
    },
    /// The daemon's protocol does not carry this call.
    #[error(
        "{what} cannot be used through a daemon's socket; open the card in this process for that"
    )]
    NotCarried {
        /// Subject of the call.
        what: &'static str,
    },
    /// A failure in the daemon, for which no other variant carries the values.
    #[error(transparent)]
    Served(#[from] Failure),
    /// Virtual time is stalled: a thread waits for something outside of it.
    #[error(
        "virtual time stands still: {thread} {call}, while this call waits for it. A registered thread that \
         waits for something else does so in Card::outside, or gives its Participant up; or choose \
         ClockMode::Free"
    )]
    Stalled {
        /// Name of the thread.
        thread: String,
        /// Call that the thread is in.
        call: String,
    },
    /// The user asked to stop.
    #[error("interrupted; the kernel was stopped")]
    Interrupted,
    /// An internal invariant failed; the message describes it for a bug report.
    #[error("internal error: {0}. Please report it with the command that led here")]
    Internal(String),
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_that_returns_an_error_speaks_to_people() {
        let error = KernelError::Io {
            path: "kernels/nowhere/kernel.toml".into(),
            source: io::ErrorKind::NotFound.into(),
        };
        let error = Error::from(error);
        assert_eq!(format!("{error:?}"), error.to_string());
        assert!(!format!("{error:?}").contains("Io {"));
    }
}
