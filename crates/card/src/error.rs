//! Errors of a card.

use crate::command::QueueId;
use crate::kernel;
use crate::stream::StreamId;
use crate::SlotId;

/// The reason why a card refused a request or failed.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// The slot does not exist.
    #[error("slot {slot} does not exist: {card} has slots 0 to {last}", slot = .slot.0)]
    NoSuchSlot {
        /// Requested slot.
        slot: SlotId,
        /// Name of the card.
        card: String,
        /// Last slot of the card.
        last: u8,
    },
    /// The address space does not exist.
    #[error("address space {asid} does not exist: the shell has {spaces}")]
    NoSuchSpace {
        /// Requested address space identifier.
        asid: u8,
        /// Number of address spaces.
        spaces: u8,
    },
    /// A stripe beyond the card's channels.
    #[error("{stripe}: the card has {channels} channels of {channel_bytes} bytes")]
    NoSuchStripe {
        /// Requested stripe.
        stripe: units::Stripe,
        /// Number of channels of the card.
        channels: u8,
        /// Address space of one channel, in bytes.
        channel_bytes: u64,
    },
    /// A kernel is running in the slot.
    #[error("slot {slot} is running; hold it in reset first", slot = .slot.0)]
    SlotBusy {
        /// Number of the slot.
        slot: SlotId,
    },
    /// The kernel cannot be put into a slot.
    #[error(transparent)]
    Kernel(#[from] kernel::KernelError),
    /// RTL could not be built into a model. The error belongs to the kind of card that builds.
    #[error(transparent)]
    Build(Box<dyn std::error::Error + Send + Sync>),
    /// The configuration of a card is invalid.
    #[error("simulated card: {0}")]
    Configuration(String),
    /// The card answered a register access with an error.
    #[error("register 0x{address:06x}: the card answered with an error ({what})")]
    Bus {
        /// Address in the BAR, in bytes.
        address: u32,
        /// Operation that failed, and the reason.
        what: &'static str,
    },
    /// Host memory could not be made reachable, or is not mapped.
    #[error("host memory: {0}")]
    HostMemory(String),
    /// The command ring is full.
    #[error("the command ring is full: {limit} commands are unfinished")]
    QueueFull {
        /// Capacity of the ring, in commands.
        limit: usize,
    },
    /// The queue does not exist.
    #[error("command queue {queue} does not exist: the card has {queues}", queue = .queue.0)]
    NoSuchQueue {
        /// Requested queue.
        queue: QueueId,
        /// Number of queues.
        queues: u8,
    },
    /// The slot does not have the stream.
    #[error("slot {slot} has no {stream}: it has {pairs} stream pairs", slot = .slot.0)]
    NoSuchStream {
        /// Number of the slot.
        slot: SlotId,
        /// Requested stream.
        stream: StreamId,
        /// Stream pairs of the slot.
        pairs: u8,
    },
    /// The stream has a transfer under way.
    #[error("slot {slot}, {stream}: a transfer is under way", slot = .slot.0)]
    StreamBusy {
        /// Number of the slot.
        slot: SlotId,
        /// Stream with the transfer.
        stream: StreamId,
    },
    /// The network interface does not exist.
    #[error(
        "network interface {interface}: {card} has {interfaces}; the shell's `network_pairs` says how many there are, \
         and only a simulated card has any"
    )]
    NoNetwork {
        /// Name of the card.
        card: String,
        /// Requested interface.
        interface: u8,
        /// Number of interfaces of the card.
        interfaces: u8,
    },
    /// A parameter of a slot's schedule is out of range.
    #[error("slot {slot}: {what} {value}: {least} to {most} is possible", slot = .slot.0)]
    Schedule {
        /// Number of the slot.
        slot: SlotId,
        /// Name of the parameter.
        what: &'static str,
        /// Value of the parameter.
        value: u64,
        /// Minimum value.
        least: u64,
        /// Maximum value.
        most: u64,
    },
    /// The card lacks an optional feature.
    #[error("{card} has no {what}")]
    Without {
        /// Name of the card.
        card: String,
        /// Missing feature.
        what: &'static str,
    },
    /// No event can end the wait.
    #[error("nothing is under way that could bring an event, and no deadline was given")]
    NothingToWaitFor,
    /// The card is not attached to a coherent CPU.
    #[error(
        "{card} is not coherent: it needs a platform with [link] and [cpu], such as enzian, and a \
         shell with a directory"
    )]
    NotCoherent {
        /// Name of the card.
        card: String,
    },
    /// An access of a core is invalid.
    #[error("access of core {core} at 0x{address:x}: {rule}")]
    Access {
        /// Number of the core.
        core: u8,
        /// Address of the access.
        address: u64,
        /// Violated rule.
        rule: &'static str,
    },
    /// A register of the card contradicts the description that it was opened with.
    #[error(
        "{card}: register {register} reads {read}, and the description that the card was opened with says {described}: \
         both must describe one card; {remedy}"
    )]
    Description {
        /// Name of the card.
        card: String,
        /// Name of the register and its field.
        register: &'static str,
        /// Value of the field in the register.
        read: u64,
        /// Value in the description.
        described: u64,
        /// Remedy, for the message.
        remedy: &'static str,
    },
    /// A slot holds another kernel than requested.
    #[error(
        "slot {slot} holds the kernel with identity 0x{found:016x}, and {kernel} has 0x{expected:016x}: a card whose \
         kernels are in their slots is not given others; program the slot with {kernel}, or open the kernel that it holds",
        slot = .slot.0
    )]
    OtherKernel {
        /// Number of the slot.
        slot: SlotId,
        /// Name of the requested kernel.
        kernel: String,
        /// Identity in the slot's register.
        found: u64,
        /// Identity of the kernel's files.
        expected: u64,
    },
    /// The reset of a card that another program has used does not complete.
    #[error(
        "{card}: register RESET reads 0x{value:08x} and stays busy: it waits for {waits_for}; what is named does not \
         answer the shell: reset the device (`echo 1 > /sys/bus/pci/devices/ADDRESS/reset`), program the card anew, or switch \
         its power off and on"
    )]
    Reset {
        /// Name of the card.
        card: String,
        /// Value of the register.
        value: u32,
        /// Units that the shell waits for.
        waits_for: String,
    },
    /// A device cannot be driven: the device, the reason, and the remedy.
    #[error("{0}")]
    Device(String),
    /// The card is broken; nothing more can be done with it.
    #[error("the card is broken: {0}")]
    Broken(String),
    /// A platform file that cannot be used.
    #[error("platform: {0}")]
    Platform(String),
}
