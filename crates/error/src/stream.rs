//! What can go wrong with streams, each with the port, the rule and what to do.

use units::{Picoseconds, SlotId, StreamDirection};

/// A port of a kernel in a slot, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortName {
    /// The slot.
    pub slot: SlotId,
    /// The kernel in it.
    pub kernel: String,
    /// The port.
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
        /// The port asked for.
        name: PortName,
        /// The stream ports that there are.
        known: String,
    },
    /// The port is open already.
    #[error("{name}: it is taken; close it there first")]
    Taken {
        /// The port.
        name: PortName,
    },
    /// The handle outlived its connection.
    #[error(
        "slot {slot}: the stream is not open any more, because another kernel was loaded or the slot was \
         given up; open it again",
        slot = .slot.0
    )]
    NotOpen {
        /// The slot.
        slot: SlotId,
    },
    /// A read on a stream out of the kernel, or a write on one into it.
    #[error(
        "{name}: its data go {has}; {} is for streams that go {}",
        match .has { StreamDirection::In => "write", StreamDirection::Out => "read" },
        match .has { StreamDirection::In => "out of the kernel", StreamDirection::Out => "into the kernel" },
        has = .has.as_str()
    )]
    WrongDirection {
        /// The port.
        name: PortName,
        /// Which way it goes.
        has: StreamDirection,
    },
    /// A connection from a port into a kernel, or to one out of it.
    #[error(
        "{name}: its data go {has}; a connection leads from a port whose data go out of a kernel to one whose \
         data go into a kernel",
        has = .has.as_str()
    )]
    WrongEnd {
        /// The port.
        name: PortName,
        /// Which way it goes.
        has: StreamDirection,
    },
    /// The switch waits for the end of a packet.
    #[error(
        "{from} to {to}: a packet is not over on one of them, so the switch waits; let it end, or stop the slot \
         that is in its middle"
    )]
    MidPacket {
        /// The outgoing port.
        from: PortName,
        /// The incoming port.
        to: PortName,
    },
    /// The handle outlived its connection.
    #[error(
        "the ports are not connected any more, because they were taken apart, or another kernel was loaded into \
         one of the slots; connect them again"
    )]
    NotConnected,
    /// A range beyond its mapping.
    #[error("{bytes} bytes from offset {offset}: the mapping has {mapped} bytes, and a transfer at least 1")]
    OutOfMapping {
        /// Bytes asked for.
        bytes: u64,
        /// Where in the mapping.
        offset: u64,
        /// Bytes of the mapping.
        mapped: u64,
    },
    /// Memory of another address space than the slot's.
    #[error("{name}: the memory is mapped in another address space than the slot's; map it there")]
    OtherSpace {
        /// The port.
        name: PortName,
    },
    /// A wait for nothing.
    #[error("{name}: no transfer was begun, or all were waited for")]
    NothingUnderWay {
        /// The port.
        name: PortName,
    },
    /// Closed too early.
    #[error(
        "{name}: a transfer is under way ({moved} of {bytes} bytes moved); wait for it, or stop the slot"
    )]
    UnderWay {
        /// The port.
        name: PortName,
        /// Bytes moved.
        moved: u64,
        /// Bytes of the transfer.
        bytes: u64,
    },
    /// The transfer was not over at the deadline, or never will be.
    #[error(
        "{name}: not over after {elapsed} of virtual time, with {moved} of {bytes} bytes moved: {waiting}. \
         The transfer is still under way; wait longer, or stop the slot"
    )]
    Stuck {
        /// The port.
        name: PortName,
        /// Virtual time since the wait began.
        elapsed: Picoseconds,
        /// Bytes moved.
        moved: u64,
        /// Bytes of the transfer.
        bytes: u64,
        /// Who keeps whom waiting, on this port and the slot's others.
        waiting: String,
    },
    /// The kernel has sent more than was taken from the port, and it would be lost.
    #[error(
        "{name}: {left}, behind the {bytes} bytes in {packets} packets that were taken: nothing is dropped without being \
         asked for; {}",
        match .full {
            true => "its memory is full: give it more, or say packets=any",
            false => "say packets=all to take every one, or packets=N, to take so many and no more",
        }
    )]
    Untaken {
        /// The port.
        name: PortName,
        /// Packets that were taken.
        packets: u64,
        /// Bytes of them, and of one that is not over.
        bytes: u64,
        /// What waits there.
        left: String,
        /// There was no room for it.
        full: bool,
    },
    /// The port was closed, and the kernel had sent more than was taken from it.
    #[error(
        "{name}: closed, and {left}, behind the {bytes} bytes in {packets} packets that were taken: it would be lost \
         with the kernel; begin transfers for all that the kernel sends, or, if it is not wanted, drop the stream \
         without closing it"
    )]
    Unread {
        /// The port.
        name: PortName,
        /// Packets that were taken.
        packets: u64,
        /// Bytes of them, and of one that is not over.
        bytes: u64,
        /// What waits there.
        left: String,
    },
    /// The kernel has sent fewer packets than were wanted.
    #[error(
        "{name}: {wanted} packets are wanted, and there is no room behind {packets} of them, of {bytes} bytes; give it \
         more memory"
    )]
    TooFew {
        /// The port.
        name: PortName,
        /// Packets wanted.
        wanted: u64,
        /// Packets that came.
        packets: u64,
        /// Bytes of them.
        bytes: u64,
    },
    /// The slot was reset in the middle of it.
    #[error(
        "{name}: the slot was reset before the transfer of {bytes} bytes was over; what has arrived is not \
         known. Begin it again"
    )]
    Reset {
        /// The port.
        name: PortName,
        /// Bytes of the transfer.
        bytes: u64,
    },
    /// An access to memory failed.
    #[error(
        "{name}: an access to memory failed after {moved} of {bytes} bytes; is all of it mapped?"
    )]
    AccessFailed {
        /// The port.
        name: PortName,
        /// Bytes moved.
        moved: u64,
        /// Bytes of the transfer.
        bytes: u64,
    },
    /// No network interface for the port.
    #[error(
        "{name}: the card has {interfaces} network interfaces, and none is free in this direction; a shell has as many \
         as its `network_pairs` says, on a simulated card"
    )]
    NoInterface {
        /// The port.
        name: PortName,
        /// Interfaces that there are.
        interfaces: u8,
    },
    /// A transfer with a peer on a port that has none, or one with memory on a port that has.
    #[error("{name}: {}", match .plugged {
        true => "it is plugged into a network interface: its transfers are with the peer's memory",
        false => "it is not plugged into a network interface: plug a peer in first",
    })]
    NoPeer {
        /// The port.
        name: PortName,
        /// It is plugged into a network interface.
        plugged: bool,
    },
    /// The switch waits for the end of a packet.
    #[error("{name}: a packet is not over, so the switch waits; let it end, or stop the slot")]
    BetweenPackets {
        /// The port.
        name: PortName,
    },
    /// The network interface, or the peer, failed.
    #[error(
        "{name}: the network failed after {moved} of {bytes} bytes: {why}. Plug the peer in again, and begin anew"
    )]
    Network {
        /// The port.
        name: PortName,
        /// Bytes that have crossed, and are acknowledged if they went to the peer.
        moved: u64,
        /// Bytes of the transfer.
        bytes: u64,
        /// The peer, and what happened.
        why: String,
    },
    /// The kernel broke the rule about TKEEP.
    #[error(
        "{name}: the kernel sent a beat whose TKEEP has a hole, after {moved} bytes; the kept bytes of a \
         beat must be the first ones"
    )]
    MalformedBeat {
        /// The port.
        name: PortName,
        /// Bytes moved before.
        moved: u64,
    },
}
