//! Errors of streams, each with the port, the rule and the remedy.

use units::{Picoseconds, SlotId, StreamDirection};
use wire::StreamErrorKind;

/// A port of a kernel in a slot, as messages name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortName {
    /// Slot of the kernel.
    pub slot: SlotId,
    /// Name of the kernel in the slot.
    pub kernel: String,
    /// Name of the kernel's port.
    pub port: String,
}

impl std::fmt::Display for PortName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { slot, kernel, port } = self;
        write!(f, "slot {} (kernel {kernel}), port {port}", slot.0)
    }
}

/// A failure of a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The kernel has no such stream port.
    #[error("{name}: the kernel has no such stream; it has {known}")]
    NoSuchPort {
        /// Requested port.
        name: PortName,
        /// Stream ports that the kernel has.
        known: String,
    },
    /// The port is already open.
    #[error("{name}: it is taken; close it there first")]
    Taken {
        /// Port, with its slot and kernel.
        name: PortName,
    },
    /// The handle outlived its stream: another kernel was loaded, or the slot was given up.
    #[error(
        "slot {slot}: the stream is not open any more, because another kernel was loaded or the slot was \
         given up; open it again",
        slot = .slot.0
    )]
    NotOpen {
        /// Slot of the kernel.
        slot: SlotId,
    },
    /// A read on a stream into the kernel, or a write on one out of it.
    #[error(
        "{name}: its data go {has}; {} is for streams that go {}",
        match .has { StreamDirection::In => "write", StreamDirection::Out => "read" },
        match .has { StreamDirection::In => "out of the kernel", StreamDirection::Out => "into the kernel" },
        has = .has.as_str()
    )]
    WrongDirection {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Direction of the port.
        has: StreamDirection,
    },
    /// A connection was asked to lead from an incoming port, or to an outgoing one.
    #[error(
        "{name}: its data go {has}; a connection leads from a port whose data go out of a kernel to one whose \
         data go into a kernel",
        has = .has.as_str()
    )]
    WrongEnd {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Direction of the port.
        has: StreamDirection,
    },
    /// The switch waits for the end of a packet.
    #[error(
        "{from} to {to}: a packet is not over on one of them, so the switch waits; let it end, or stop the slot \
         that is in its middle"
    )]
    MidPacket {
        /// Outgoing port.
        from: PortName,
        /// Incoming port.
        to: PortName,
    },
    /// TID or TDEST of a port would be lost on the way.
    #[error("{from} to {to}: {lost}")]
    Ids {
        /// Outgoing port.
        from: PortName,
        /// Where its beats would go.
        to: String,
        /// The signal with its width, rule and remedy.
        lost: String,
    },
    /// The handle outlived its connection.
    #[error(
        "the ports are not connected any more, because they were taken apart, or another kernel was loaded into \
         one of the slots; connect them again"
    )]
    NotConnected,
    /// The range exceeds its mapping.
    #[error("{bytes} bytes from offset {offset}: the mapping has {mapped} bytes, and a transfer at least 1")]
    OutOfMapping {
        /// Requested bytes.
        bytes: u64,
        /// Offset in the mapping, in bytes.
        offset: u64,
        /// Size of the mapping in bytes.
        mapped: u64,
    },
    /// The memory belongs to another address space than the slot.
    #[error("{name}: the memory is mapped in another address space than the slot's; map it there")]
    OtherSpace {
        /// Port, with its slot and kernel.
        name: PortName,
    },
    /// A wait without a transfer under way.
    #[error("{name}: no transfer was begun, or all were waited for")]
    NothingUnderWay {
        /// Port, with its slot and kernel.
        name: PortName,
    },
    /// The port was closed with a transfer under way.
    #[error(
        "{name}: a transfer is under way ({moved} of {bytes} bytes moved); wait for it, or stop the slot"
    )]
    UnderWay {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Bytes moved so far.
        moved: u64,
        /// Size of the transfer in bytes.
        bytes: u64,
    },
    /// The transfer was not complete at the deadline, or never will be.
    #[error(
        "{name}: not over after {elapsed} of virtual time, with {moved} of {bytes} bytes moved: {waiting}. \
         The transfer is still under way; wait longer, or stop the slot"
    )]
    Stuck {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Virtual time since the wait began.
        elapsed: Picoseconds,
        /// Bytes moved so far.
        moved: u64,
        /// Size of the transfer in bytes.
        bytes: u64,
        /// Which side is stalled, on this port and the slot's others.
        waiting: String,
    },
    /// The kernel sent more data than was taken from the port; it would be lost.
    #[error(
        "{name}: {left}, behind the {bytes} bytes in {packets} packets that were taken: nothing is dropped without being \
         asked for; {}",
        match .full {
            true => "its memory is full: give it more, or say packets=any",
            false => "say packets=all to take every one, or packets=N, to take so many and no more",
        }
    )]
    Untaken {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Packets that were taken.
        packets: u64,
        /// Bytes taken, including those of an incomplete packet.
        bytes: u64,
        /// Data left at the port.
        left: String,
        /// The receive buffer was full.
        full: bool,
    },
    /// The port was closed although the kernel had sent more data than was taken from it.
    #[error(
        "{name}: closed, and {left}, behind the {bytes} bytes in {packets} packets that were taken: it would be lost \
         with the kernel; begin transfers for all that the kernel sends, or, if it is not wanted, drop the stream \
         without closing it"
    )]
    Unread {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Packets that were taken.
        packets: u64,
        /// Bytes taken, including those of an incomplete packet.
        bytes: u64,
        /// Data left at the port.
        left: String,
    },
    /// The kernel sent fewer packets than expected.
    #[error(
        "{name}: {wanted} packets are wanted, and there is no room behind {packets} of them, of {bytes} bytes; give it \
         more memory"
    )]
    TooFew {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Expected packets.
        wanted: u64,
        /// Received packets.
        packets: u64,
        /// Bytes in the received packets.
        bytes: u64,
    },
    /// The slot was reset during the transfer.
    #[error(
        "{name}: the slot was reset before the transfer of {bytes} bytes was over; what has arrived is not \
         known. Begin it again"
    )]
    Reset {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Size of the transfer in bytes.
        bytes: u64,
    },
    /// A memory access of the transfer failed.
    #[error(
        "{name}: an access to memory failed after {moved} of {bytes} bytes; is all of it mapped?"
    )]
    AccessFailed {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Bytes moved before.
        moved: u64,
        /// Size of the transfer in bytes.
        bytes: u64,
    },
    /// No network interface is free for the port.
    #[error(
        "{name}: the card has {interfaces} network interfaces, and none is free in this direction; a shell has as many \
         as its `network_pairs` says, on a simulated card"
    )]
    NoInterface {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Number of network interfaces of the card.
        interfaces: u8,
    },
    /// A transfer with a peer on a port without a network interface, or one with memory on a port with one.
    #[error("{name}: {}", match .plugged {
        true => "it is plugged into a network interface: its transfers are with the peer's memory",
        false => "it is not plugged into a network interface: plug a peer in first",
    })]
    NoPeer {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Whether the port is connected to a network interface.
        plugged: bool,
    },
    /// The switch waits for the end of a packet.
    #[error("{name}: a packet is not over, so the switch waits; let it end, or stop the slot")]
    BetweenPackets {
        /// Port, with its slot and kernel.
        name: PortName,
    },
    /// The network interface or the peer failed.
    #[error(
        "{name}: the network failed after {moved} of {bytes} bytes: {why}. Plug the peer in again, and begin anew"
    )]
    Network {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Bytes transferred; in the direction to the peer, bytes acknowledged.
        moved: u64,
        /// Size of the transfer in bytes.
        bytes: u64,
        /// Peer and cause.
        why: String,
    },
    /// The kernel sent a beat whose TKEEP is not contiguous.
    #[error(
        "{name}: the kernel sent a beat whose TKEEP has a hole, after {moved} bytes; the kept bytes of a \
         beat must be the first ones"
    )]
    MalformedBeat {
        /// Port, with its slot and kernel.
        name: PortName,
        /// Bytes moved before.
        moved: u64,
    },
}

impl StreamError {
    /// Kind, for programs; `None`: none beyond the error code.
    pub fn kind(&self) -> Option<StreamErrorKind> {
        Some(match self {
            Self::NothingUnderWay { .. } => StreamErrorKind::NothingUnderWay,
            Self::Stuck { moved, .. } => StreamErrorKind::Stuck { moved: *moved },
            Self::Reset { .. }
            | Self::AccessFailed { .. }
            | Self::MalformedBeat { .. }
            | Self::Network { .. } => StreamErrorKind::TransferFailed,
            Self::NotOpen { .. } => StreamErrorKind::NotOpen,
            Self::Unread { .. } => StreamErrorKind::Unread,
            Self::NoSuchPort { .. }
            | Self::WrongDirection { .. }
            | Self::WrongEnd { .. }
            | Self::OutOfMapping { .. }
            | Self::OtherSpace { .. }
            | Self::NoPeer { .. } => StreamErrorKind::Argument,
            Self::NoInterface { .. } => StreamErrorKind::NoInterface,
            _ => return None,
        })
    }
}
