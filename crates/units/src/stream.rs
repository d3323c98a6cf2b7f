//! Stream ports of slots.

use crate::{CardDescription, SlotId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Direction of a stream's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamDirection {
    /// Into the kernel.
    In,
    /// Out of the kernel.
    Out,
}

impl StreamDirection {
    /// Phrase for messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::In => "into the kernel",
            Self::Out => "out of the kernel",
        }
    }
}

/// A stream port of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamId {
    /// Number of the pair in the slot.
    pub pair: u8,
    /// Direction within the pair.
    pub direction: StreamDirection,
}

impl StreamId {
    /// Number of its data mover, on a card with `pairs` stream pairs per slot.
    pub fn mover(self, slot: SlotId, pairs: u8) -> u8 {
        let out = u8::from(self.direction == StreamDirection::Out);
        2 * (slot.0 * pairs + self.pair) + out
    }

    /// Slot and stream of a mover, or of a network interface.
    pub fn of_mover(mover: u8, card: &CardDescription) -> (SlotId, Self) {
        let direction = match mover % 2 {
            0 => StreamDirection::In,
            _ => StreamDirection::Out,
        };
        let (slot, pair) = card.place_of_pair(mover / 2);
        (slot, Self { pair, direction })
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {} {}", self.pair, self.direction.as_str())
    }
}

/// Data that a kernel has sent out of a port and that was not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamWaiting {
    /// Whether a beat waits in the shell.
    pub beat: bool,
    /// Bytes in the slot that are not a beat of the shell yet: the row is not full, and no TLAST was sent.
    pub held: u64,
    /// The port has no TLAST: all its data is one packet without end.
    pub endless: bool,
}

impl StreamWaiting {
    /// Whether a byte, or the end of a packet, waits.
    pub fn is_any(self) -> bool {
        self.beat || self.held > 0
    }
}
