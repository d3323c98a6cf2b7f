//! Stream ports of slots, and transfers between them and memory.
//!
//! A slot has *stream pairs*, each with one stream into the kernel, one out of it, and a mover for each. The host
//! starts every transfer; the card reports its end ([`Event::TransferDone`]).
//!
//! [`Event::TransferDone`]: crate::event::Event::TransferDone

use crate::registers as reg;
use crate::{CardDescription, CardError, SlotId};
use units::VirtAddr;
pub use units::{StreamDirection, StreamId, StreamWaiting};

/// A transfer between virtual memory of the slot's space and a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// First byte, of any alignment.
    pub address: VirtAddr,
    /// Size in bytes: exact for a stream into the kernel, a maximum for one out of it.
    pub bytes: u64,
    /// Into the kernel: the last beat carries TLAST.
    pub last: bool,
}

/// How a transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferStatus {
    /// Completed without an error.
    Ok,
    /// An access to memory failed: nothing is mapped there, or not with this right.
    AccessFailed,
    /// The kernel sent a beat whose kept bytes are not contiguous from the first.
    MalformedBeat,
    /// Only for a network interface: the peer does not answer, or refuses;
    /// [`network_failure`](crate::Network::network_failure) gives the reason. Acknowledged bytes are counted.
    NetworkFailed,
}

/// The result of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferEnd {
    /// Bytes that crossed the stream, and are in memory if they came out of the kernel.
    pub bytes: u64,
    /// The last of them ended a packet (TLAST).
    pub last: bool,
    /// Status of the transfer.
    pub status: TransferStatus,
}

/// The current state of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamState {
    /// A transfer is under way.
    pub busy: bool,
    /// A beat is offered (TVALID). Out of a kernel: one waits in the shell, whether or not a transfer accepts it.
    pub valid: bool,
    /// A beat would be accepted (TREADY).
    pub ready: bool,
    /// Bytes of the transfer that have crossed.
    pub moved: u64,
}

impl StreamState {
    /// Reads the registers of a mover.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read(
        mover: u8,
        mut read: impl FnMut(u32) -> Result<u32, CardError>,
    ) -> Result<Self, CardError> {
        let base = reg::MOVER.at(mover.into());
        let status = read(base + reg::mover::STATUS)?;
        let low = u64::from(read(base + reg::mover::MOVED_LO)?);
        let high = u64::from(read(base + reg::mover::MOVED_HI)?);
        Ok(Self {
            busy: reg::mover::status::BUSY.get(status) == 1,
            valid: reg::mover::status::VALID.get(status) == 1,
            ready: reg::mover::status::READY.get(status) == 1,
            moved: high << 32 | low,
        })
    }

    /// The side that stalls the stream, as a part of a sentence; none while a beat crosses.
    pub fn waits(&self, direction: StreamDirection) -> Option<&'static str> {
        match (direction, self.valid, self.ready) {
            (_, true, true) => None,
            (StreamDirection::In, true, false) => Some("the kernel does not take the next beat"),
            (StreamDirection::In, false, _) => Some("the next bytes are not there yet"),
            (StreamDirection::Out, false, _) => Some("the kernel sends nothing"),
            (StreamDirection::Out, true, false) => Some("a beat of the kernel waits for memory"),
        }
    }
}

/// Source of the beats of a kernel's incoming port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamSource {
    /// Its own mover.
    #[default]
    Mover,
    /// The outgoing port of a stream pair.
    Port {
        /// Slot of the port, or [`CardDescription::network_slot`].
        slot: SlotId,
        /// Number of the pair in the slot.
        pair: u8,
    },
}

impl StreamSource {
    /// Encodes the register of the switch, for a card with `pairs` pairs per slot.
    pub fn register(self, pairs: u8) -> u32 {
        match self {
            Self::Mover => 0,
            Self::Port { slot, pair } => {
                reg::switch::source::FROM_PORT.put(1)
                    | reg::switch::source::PAIR.put((slot.0 * pairs + pair).into())
            }
        }
    }
}

/// State of the switch at a kernel's incoming port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchState {
    /// The source of its beats; the mover while nothing is connected.
    pub source: StreamSource,
    /// Another source was requested, and waits until both sides are between packets.
    pub pending: bool,
    /// Since the host last selected a source, the reset of a slot has truncated a packet between two ports.
    pub broken: bool,
    /// A beat is offered to the kernel (TVALID).
    pub valid: bool,
    /// The kernel would accept a beat (TREADY).
    pub ready: bool,
}

impl SwitchState {
    /// Decodes the register.
    pub fn from_register(value: u32, card: &CardDescription) -> Self {
        use reg::switch::state;
        let source = match state::FROM_PORT.get(value) {
            0 => StreamSource::Mover,
            _ => {
                let (slot, pair) = card.place_of_pair(state::PAIR.get(value) as u8);
                StreamSource::Port { slot, pair }
            }
        };
        Self {
            source,
            pending: state::PENDING.get(value) == 1,
            broken: state::BROKEN.get(value) == 1,
            valid: state::VALID.get(value) == 1,
            ready: state::READY.get(value) == 1,
        }
    }
}

/// Offsets and values of the register writes that begin a transfer on a mover, in order.
pub fn start_registers(mover: u8, transfer: &Transfer) -> [(u32, u32); 5] {
    let base = reg::MOVER.at(mover.into());
    let (address, bytes) = (transfer.address.get(), transfer.bytes);
    let control =
        reg::mover::control::START.put(1) | reg::mover::control::LAST.put(u32::from(transfer.last));
    [
        (base + reg::mover::ADDRESS_LO, address as u32),
        (base + reg::mover::ADDRESS_HI, (address >> 32) as u32),
        (base + reg::mover::BYTES_LO, bytes as u32),
        (base + reg::mover::BYTES_HI, (bytes >> 32) as u32),
        (base + reg::mover::CONTROL, control),
    ]
}

/// The register write that stops the transfer of a mover out of a kernel.
pub fn stop_register(mover: u8) -> (u32, u32) {
    let control = reg::MOVER.at(mover.into()) + reg::mover::CONTROL;
    (control, reg::mover::control::STOP.put(1))
}
