//! Why a card refuses or fails.

use crate::command::QueueId;
use crate::kernel;
use crate::stream::StreamId;
use crate::SlotId;

/// Why a card refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// The slot does not exist.
    #[error("slot {slot} does not exist: {card} has slots 0 to {last}", slot = .slot.0)]
    NoSuchSlot {
        /// The slot asked for.
        slot: SlotId,
        /// The card's name.
        card: String,
        /// The last slot it has.
        last: u8,
    },
    /// The address space does not exist.
    #[error("address space {asid} does not exist: the shell has {spaces}")]
    NoSuchSpace {
        /// The ASID asked for.
        asid: u8,
        /// Number of spaces.
        spaces: u8,
    },
    /// A stripe beyond the card's channels.
    #[error("{stripe}: the card has {channels} channels of {channel_bytes} bytes")]
    NoSuchStripe {
        /// The stripe asked for.
        stripe: units::Stripe,
        /// Channels.
        channels: u8,
        /// Bytes of address space of one.
        channel_bytes: u64,
    },
    /// A kernel is running in the slot.
    #[error("slot {slot} is running; hold it in reset first", slot = .slot.0)]
    SlotBusy {
        /// The slot.
        slot: SlotId,
    },
    /// The kernel cannot be put into a slot.
    #[error(transparent)]
    Kernel(#[from] kernel::KernelError),
    /// RTL did not become a model that runs. The error is that of the kind of card that builds.
    #[error(transparent)]
    Build(Box<dyn std::error::Error + Send + Sync>),
    /// A card of this kind cannot be made.
    #[error("simulated card: {0}")]
    Configuration(String),
    /// The card answered a register access with an error.
    #[error("register 0x{address:06x}: the card answered with an error ({what})")]
    Bus {
        /// BAR address.
        address: u32,
        /// What was tried and why it failed.
        what: &'static str,
    },
    /// Host memory could not be made reachable, or is not mapped.
    #[error("host memory: {0}")]
    HostMemory(String),
    /// The command ring is full.
    #[error("the command ring is full: {limit} commands are unfinished")]
    QueueFull {
        /// Commands that the ring holds.
        limit: usize,
    },
    /// The queue does not exist.
    #[error("command queue {queue} does not exist: the card has {queues}", queue = .queue.0)]
    NoSuchQueue {
        /// The queue asked for.
        queue: QueueId,
        /// Number of queues.
        queues: u8,
    },
    /// The slot does not have the stream.
    #[error("slot {slot} has no {stream}: it has {pairs} stream pairs", slot = .slot.0)]
    NoSuchStream {
        /// The slot.
        slot: SlotId,
        /// The stream asked for.
        stream: StreamId,
        /// Pairs of the slot.
        pairs: u8,
    },
    /// The stream has a transfer under way.
    #[error("slot {slot}, {stream}: a transfer is under way", slot = .slot.0)]
    StreamBusy {
        /// The slot.
        slot: SlotId,
        /// The stream.
        stream: StreamId,
    },
    /// The network interface does not exist.
    #[error(
        "network interface {interface}: {card} has {interfaces}; the shell's `network_pairs` says how many there are, \
         and only a simulated card has any"
    )]
    NoNetwork {
        /// The card's name.
        card: String,
        /// The interface asked for.
        interface: u8,
        /// Interfaces that it has.
        interfaces: u8,
    },
    /// A number of a slot's schedule is out of range.
    #[error("slot {slot}: {what} {value}: {least} to {most} is possible", slot = .slot.0)]
    Schedule {
        /// The slot.
        slot: SlotId,
        /// Which number.
        what: &'static str,
        /// What it is.
        value: u64,
        /// The least possible.
        least: u64,
        /// The most.
        most: u64,
    },
    /// The card lacks something that not every card has.
    #[error("{card} has no {what}")]
    Without {
        /// The card's name.
        card: String,
        /// What it lacks.
        what: &'static str,
    },
    /// Waiting would never end.
    #[error("nothing is under way that could bring an event, and no deadline was given")]
    NothingToWaitFor,
    /// The card has no coherent CPU beside it.
    #[error(
        "{card} is not coherent: it needs a platform with [link] and [cpu], such as enzian, and a \
         shell with a directory"
    )]
    NotCoherent {
        /// The card's name.
        card: String,
    },
    /// An access of a core that cannot be.
    #[error("access of core {core} at 0x{address:x}: {rule}")]
    Access {
        /// The core.
        core: u8,
        /// The address.
        address: u64,
        /// What it broke.
        rule: &'static str,
    },
    /// A register of the card contradicts the description that it was opened with.
    #[error(
        "{card}: register {register} reads {read}, and the description that the card was opened with says {described}: \
         both must describe one card; {remedy}"
    )]
    Description {
        /// The card's name.
        card: String,
        /// Register and field.
        register: &'static str,
        /// What the register says.
        read: u64,
        /// What the description says.
        described: u64,
        /// What to do.
        remedy: &'static str,
    },
    /// A slot holds another kernel than the one that is asked for.
    #[error(
        "slot {slot} holds the kernel with identity 0x{found:016x}, and {kernel} has 0x{expected:016x}: a card whose \
         kernels are in their slots is not given others; program the slot with {kernel}, or open the kernel that it holds",
        slot = .slot.0
    )]
    OtherKernel {
        /// The slot.
        slot: SlotId,
        /// The kernel asked for.
        kernel: String,
        /// What the slot's register says.
        found: u64,
        /// What the kernel's files say.
        expected: u64,
    },
    /// A card that another program has used does not come out of its reset.
    #[error(
        "{card}: register RESET reads 0x{value:08x} and stays busy: it waits for {waits_for}; what is named does not \
         answer the shell: reset the device (`echo 1 > /sys/bus/pci/devices/ADDRESS/reset`), program the card anew, or switch \
         its power off and on"
    )]
    Reset {
        /// The card's name.
        card: String,
        /// What the register says.
        value: u32,
        /// What the shell waits for.
        waits_for: String,
    },
    /// A device cannot be driven. What it is, why, and the way out.
    #[error("{0}")]
    Device(String),
    /// The card is broken; nothing more can be done with it.
    #[error("the card is broken: {0}")]
    Broken(String),
    /// A platform file that cannot be used.
    #[error("platform: {0}")]
    Platform(String),
}
