//! What can go wrong, each with the thing, the rule and what to do.

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

/// An access of a kernel that could not be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "slot {slot} (kernel {kernel}), port {port}: {verb} at {address} failed: {reason}",
    slot = .slot.0,
    verb = if *.write { "a write" } else { "a read" }
)]
pub struct AccessError {
    /// The slot.
    pub slot: SlotId,
    /// The kernel in it.
    pub kernel: String,
    /// The port that accessed.
    pub port: String,
    /// A write.
    pub write: bool,
    /// First byte of the burst.
    pub address: VirtAddr,
    /// The rule that was broken, with the nearest mapping.
    pub reason: String,
}

/// A rule of the slot boundary that a kernel broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "kernel `{kernel}` in slot {slot}: port {port} {violation}; the slot was closed. Its results are not \
     to be trusted; start the kernel anew, or load another",
    slot = .slot.0
)]
pub struct ViolationError {
    /// The slot.
    pub slot: SlotId,
    /// The kernel in it.
    pub kernel: String,
    /// The port.
    pub port: String,
    /// The rule, and the burst that broke it.
    pub violation: Violation,
}

/// What is wrong with the kernel behind the directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}` in slot {slot} {what}", slot = .slot.0)]
pub struct HomeError {
    /// The slot.
    pub slot: SlotId,
    /// The kernel in it.
    pub kernel: String,
    /// The rule, and what to do.
    pub what: String,
}

/// Who is behind the directory, in messages.
fn home_name(slot: Option<SlotId>) -> String {
    match slot {
        Some(slot) => format!("the kernel in slot {}", slot.0),
        None => "card memory".to_owned(),
    }
}

/// Any failure of the library. [`code`](Error::code) says of what kind it is.
///
/// Its `Debug` is its `Display`, so that a program whose `main` returns it says what happened and what to do.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The card refused or failed.
    #[error(transparent)]
    Card(#[from] CardError),
    /// The kernel's folder or RTL is refused.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The pager refused: overlap, bad range, out of memory, a write-back that failed.
    #[error(transparent)]
    Pager(#[from] PagerError),
    /// The owner's pages are of a size that the card does not have.
    #[error(
        "pages of {page} are not possible on this card, which has {sizes}: choose one of these in \
         OwnerOptions"
    )]
    NoSuchPageSize {
        /// The size.
        page: PageSize,
        /// The card's.
        sizes: PageSizes,
    },
    /// A space cannot be translated in such a way.
    #[error("address spaces of this card cannot be translated by {mode}: {rule}")]
    NoSuchTranslation {
        /// The way.
        mode: TranslationMode,
        /// What the card lacks.
        rule: &'static str,
    },
    /// The card's memory is none that the owner can work with.
    #[error(
        "card memory of {channels} channels with {channel_bytes} bytes each: {source}; give the card more \
         memory (--card-memory), or the owner smaller pages (OwnerOptions::page_size)"
    )]
    CardMemory {
        /// Memory channels.
        channels: u8,
        /// Bytes of one.
        channel_bytes: u64,
        /// The rule.
        source: ConfigError,
    },
    /// A file could not be opened, measured or grown.
    #[error("{path}: {what}: {source}", path = .path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A file that cannot be mapped as asked.
    #[error("{path}: {rule}", path = .path.display())]
    Unmappable {
        /// Which file.
        path: PathBuf,
        /// The rule, and what to do.
        rule: String,
    },
    /// A kernel wrote around a mapping, on its first or last page.
    #[error(
        "{path}: a kernel wrote outside the {bytes} bytes that are mapped from offset {offset}: first at \
         {address}, {place}. Nothing of it is in the file, whose mapped bytes were written; map as much as the \
         kernel writes",
        path = .path.display()
    )]
    Outside {
        /// Which file.
        path: PathBuf,
        /// First byte mapped.
        offset: u64,
        /// Bytes mapped.
        bytes: u64,
        /// Where the first such byte lies, as the kernel sees it.
        address: VirtAddr,
        /// How far from the mapping.
        place: String,
    },
    /// Bytes could not be moved between a file and the card.
    #[error("{label}: {direction} of {bytes} bytes at offset {offset} failed: {source}")]
    Transfer {
        /// The file.
        label: String,
        /// `reading` or `writing back`.
        direction: &'static str,
        /// Bytes of the transfer.
        bytes: u64,
        /// Offset in the file.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// The kernel has no such argument.
    #[error("kernel {kernel} has no argument `{argument}`; it has {known}")]
    NoSuchArgument {
        /// The kernel.
        kernel: String,
        /// The name asked for.
        argument: String,
        /// The names there are.
        known: String,
    },
    /// A value does not fit an argument.
    #[error("kernel {kernel}: argument `{argument}` takes {expected} bytes, not {given}")]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// The argument.
        argument: String,
        /// Its size.
        expected: u32,
        /// Bytes of the value.
        given: usize,
    },
    /// A number that the kernel does not take.
    #[error("kernel {kernel}: argument `{argument}` cannot be {value} (0x{value:x}); it takes {numbers}")]
    ArgumentValue {
        /// The kernel.
        kernel: String,
        /// The argument.
        argument: String,
        /// The number.
        value: u64,
        /// Those that it takes.
        numbers: Numbers,
    },
    /// An address that is no multiple of what the kernel's pointers are aligned to.
    #[error(
        "kernel {kernel}: argument `{argument}` takes addresses that are multiples of {alignment}, and 0x{address:x} \
         is {} too high: map from an offset that is a multiple of {alignment}; if the kernel can do with less, \
         say so in its kernel.toml (alignment)",
        address % u64::from(*alignment)
    )]
    MisalignedPointer {
        /// The kernel.
        kernel: String,
        /// The argument.
        argument: String,
        /// The address.
        address: u64,
        /// Bytes of which it should be a multiple.
        alignment: u32,
    },
    /// An access of the kernel failed; its results are not to be trusted.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The kernel behind the directory broke a rule, or cannot be put there.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// Nobody serves the lines behind the directory.
    #[error(
        "no kernel stands behind the directory: load one with ports of kind `axi4_home`, or use \
         Card::home_memory"
    )]
    NoHome,
    /// No card memory was kept for the directory.
    #[error(
        "no card memory is kept for the directory: say how much with OwnerOptions::home_bytes"
    )]
    NoHomeMemory,
    /// The card has no cache of the CPU's lines.
    #[error("the card has no cache of the CPU's lines: open it with a shell with [cache], as ShellConfig::coherent_host")]
    NoHostLines,
    /// So much card memory cannot be kept for the directory.
    #[error(
        "{bytes} bytes of card memory behind the directory: a multiple of {unit} below {limit} is possible \
         (OwnerOptions::home_bytes)"
    )]
    HomeMemory {
        /// Bytes asked for.
        bytes: u64,
        /// What they must be a multiple of.
        unit: u64,
        /// What they must be below.
        limit: u64,
    },
    /// An access of a core is not answered.
    #[error(
        "line 0x{address:x}: {who} has not answered at {now}; the access is given up",
        who = home_name(*.slot)
    )]
    LineLate {
        /// Address of the access.
        address: u64,
        /// The slot behind the directory, if it is a slot.
        slot: Option<SlotId>,
        /// Virtual time.
        now: Picoseconds,
    },
    /// A range that coherent memory cannot have.
    #[error(
        "coherent memory of {bytes} bytes from 0x{base:x}: both are multiples of 128, not empty, and end \
         below 2^40"
    )]
    CoherentRange {
        /// First address.
        base: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Coherent memory cannot be mapped.
    #[error("mapping coherent memory of {bytes} bytes from 0x{base:x}: {what}")]
    CoherentMap {
        /// First address.
        base: u64,
        /// Bytes.
        bytes: u64,
        /// Why not.
        what: String,
    },
    /// An offset outside of coherent memory, or across a line.
    #[error(
        "{bytes} bytes at offset {offset} of {range} bytes of coherent memory: an access stays inside, and \
         inside one line of 128 bytes; lines start at multiples of 128"
    )]
    CoherentOffset {
        /// Offset.
        offset: u64,
        /// Bytes.
        bytes: u64,
        /// Bytes of the memory.
        range: u64,
    },
    /// The kernel broke a rule of the slot boundary.
    #[error(transparent)]
    Violation(#[from] ViolationError),
    /// The kernel does not answer its control interface.
    #[error(
        "kernel `{kernel}` in slot {slot} {unanswered}; the slot was closed. Start the kernel anew, or \
         load another",
        slot = .slot.0
    )]
    Unanswered {
        /// The slot.
        slot: SlotId,
        /// The kernel in it.
        kernel: String,
        /// The access.
        unanswered: Unanswered,
    },
    /// The kernel raises its interrupt without being done.
    #[error(
        "kernel `{kernel}` in slot {slot} raised its interrupt {count} times without being done; it is \
         held in reset now. An interrupt announces a finished run (ap_done)",
        slot = .slot.0
    )]
    InterruptStorm {
        /// The slot.
        slot: SlotId,
        /// The kernel in it.
        kernel: String,
        /// Interrupts in one run.
        count: u32,
    },
    /// The kernel ended itself or broke a protocol.
    #[error("slot {slot} (kernel {kernel}) failed: {reason}", slot = .slot.0)]
    KernelFailed {
        /// The slot.
        slot: SlotId,
        /// The kernel in it.
        kernel: String,
        /// What happened.
        reason: String,
    },
    /// The kernel was not done at the deadline.
    #[error(
        "slot {slot} (kernel {kernel}) was not done after {elapsed} of virtual time: {waiting}; \
         it is held in reset now. Give it longer (--deadline), or look at what it waits for",
        slot = .slot.0
    )]
    Deadline {
        /// The slot.
        slot: SlotId,
        /// The kernel in it.
        kernel: String,
        /// Virtual time since its start.
        elapsed: Picoseconds,
        /// What it waits for, as far as the shell can see.
        waiting: String,
    },
    /// None of several kernels was done at the deadline.
    #[error(
        "none of {slots} kernels was done after {elapsed} of virtual time; they go on. Wait longer, or \
         close their slots"
    )]
    NoneDone {
        /// How many were waited for.
        slots: usize,
        /// How long.
        elapsed: Picoseconds,
    },
    /// The slot is running, or not, against what the call needs.
    #[error("slot {slot} {rule}", slot = .slot.0)]
    SlotState {
        /// The slot.
        slot: SlotId,
        /// The rule.
        rule: Cow<'static, str>,
    },
    /// A handle whose object has ended, or another's.
    #[error("{what} is gone: {why}")]
    Gone {
        /// What the handle named.
        what: String,
        /// How such things end.
        why: Cow<'static, str>,
    },
    /// An address space of one card, a slot of another.
    #[error("the address space belongs to another card; make one with this card's create_space")]
    OtherCard,
    /// A mapping of one address space, a kernel of another.
    #[error(
        "kernel `{kernel}`, argument `{argument}`: the mapping is of another address space than the kernel, which cannot \
         reach it; map in the space that the kernel was loaded with"
    )]
    OtherSpace {
        /// The kernel.
        kernel: String,
        /// The argument.
        argument: String,
    },
    /// A stream failed, or was used against its rules.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A device that a port is plugged into.
    #[error(transparent)]
    Device(#[from] crate::device::DeviceError),
    /// Memory cannot be shared.
    #[error("{bytes} bytes of shared memory cannot be had: {source}")]
    Unshareable {
        /// Bytes asked for.
        bytes: usize,
        /// Why.
        source: io::Error,
    },
    /// Memory that the program has cannot be shared in place.
    #[error("{bytes} bytes at 0x{start:x} cannot be shared in place: {rule}")]
    Unregistrable {
        /// First byte.
        start: usize,
        /// How many.
        bytes: usize,
        /// Why not.
        rule: RangeError,
    },
    /// An address outside the shared memory.
    #[error(
        "address 0x{address:x} is not in this block of shared memory; kernels reach only what was allocated \
         with AddressSpace::alloc, or registered"
    )]
    NotShared {
        /// The address.
        address: usize,
    },
    /// Memory that a kernel may be using cannot be freed.
    #[error(
        "shared memory at {address} cannot be freed while the kernel in slot {slot} runs in its address \
         space; wait for it first",
        slot = .slot.0
    )]
    MemoryInUse {
        /// First byte.
        address: VirtAddr,
        /// Whose kernel runs.
        slot: SlotId,
    },
    /// No address space is free.
    #[error("all {spaces} address spaces of the shell are in use; drop one first")]
    NoFreeSpace {
        /// How many there are.
        spaces: u8,
    },
    /// Every slot has a kernel.
    #[error("all {slots} slots of the card have a kernel; close one, or wait until one is closed")]
    NoFreeSlot {
        /// How many there are.
        slots: u8,
    },
    /// The quota of a tenant of a daemon is used up.
    #[error(
        "the quota of tenant {tenant} is {most} {what}, and {used} are in use; end one first, or ask who runs the daemon for \
         more"
    )]
    Quota {
        /// Its name.
        tenant: String,
        /// What is counted.
        what: &'static str,
        /// How many there are.
        used: u64,
        /// How many there may be.
        most: u64,
    },
    /// The daemon of a card cannot be reached, refuses, or has ended.
    #[error("{socket}: {what}", socket = .socket.display())]
    Daemon {
        /// Where it listens.
        socket: PathBuf,
        /// What happened, and what to do.
        what: String,
    },
    /// A call that the socket of a daemon does not carry.
    #[error(
        "{what} cannot be used through a daemon's socket; open the card in this process for that"
    )]
    NotCarried {
        /// What the call is about.
        what: &'static str,
    },
    /// What went wrong at a daemon, where no other variant has its values.
    #[error(transparent)]
    Served(#[from] Failure),
    /// Virtual time waits for a thread that waits for something else.
    #[error(
        "virtual time stands still: {thread} {call}, while this call waits for it. A registered thread that \
         waits for something else does so in Card::outside, or gives its Participant up; or choose \
         ClockMode::Free"
    )]
    Stalled {
        /// Which thread.
        thread: String,
        /// What it does.
        call: String,
    },
    /// The user asked to stop.
    #[error("interrupted; the kernel was stopped")]
    Interrupted,
    /// Something that must not happen did; the message says what, for a bug report.
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
