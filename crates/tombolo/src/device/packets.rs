//! Number of packets that a connection takes from a kernel.

use std::num::NonZeroU64;
use std::str::FromStr;

/// Number of packets wanted from a kernel's port. Bytes beyond [`One`](Packets::One) or [`All`](Packets::All) are an
/// error, since they would be lost; the other values allow bytes to be discarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packets {
    /// The first packet, whole; a second one is an error.
    #[default]
    One,
    /// This many packets, whole, stored contiguously. Packets behind them are discarded.
    Count(NonZeroU64),
    /// All packets, stored contiguously, until all inputs have ended and the card is idle.
    All,
    /// The first packet, or as much of it as fits. The rest is discarded.
    Any,
}

impl Packets {
    /// Whether the stream has ended after this many packets.
    pub(crate) fn are(self, packets: u64) -> bool {
        match self {
            Self::One | Self::Any => packets > 0,
            Self::Count(count) => packets >= count.get(),
            Self::All => false,
        }
    }

    /// Whether excess bytes are an error, since the name does not allow losing them.
    pub(crate) fn is_strict(self) -> bool {
        matches!(self, Self::One | Self::All)
    }
}

/// The error for a word that is not a packet count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no number of packets; write a number from 1 on, all or any")]
pub struct UnknownPackets {
    /// The given text.
    pub text: String,
}

impl FromStr for Packets {
    type Err = UnknownPackets;

    fn from_str(text: &str) -> Result<Self, UnknownPackets> {
        match text {
            "all" => Ok(Self::All),
            "any" => Ok(Self::Any),
            _ => text
                .parse()
                .map(Self::Count)
                .map_err(|_| UnknownPackets { text: text.into() }),
        }
    }
}
