//! How many packets of a kernel a connection takes.

use std::num::NonZeroU64;
use std::str::FromStr;

/// How many packets of a port out of a kernel are wanted. What the kernel sends beyond [`One`](Packets::One) or
/// [`All`](Packets::All) is an error, as it would be lost; of what nobody wants the others say so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packets {
    /// The first, whole: there are no others.
    #[default]
    One,
    /// So many, one behind the other, whole. What comes behind them is not wanted.
    Count(NonZeroU64),
    /// Every one, one behind the other, until all inputs have ended and nothing moves on the card any more.
    All,
    /// The first, or as much of it as there is room for. The rest is not wanted.
    Any,
}

impl Packets {
    /// Whether the stream has ended when so many packets have.
    pub(crate) fn are(self, packets: u64) -> bool {
        match self {
            Self::One | Self::Any => packets > 0,
            Self::Count(count) => packets >= count.get(),
            Self::All => false,
        }
    }

    /// What is left behind is lost, and nobody has said that it may be.
    pub(crate) fn is_strict(self) -> bool {
        matches!(self, Self::One | Self::All)
    }
}

/// A word that is no number of packets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no number of packets; write a number from 1 on, all or any")]
pub struct UnknownPackets {
    /// What was given.
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
