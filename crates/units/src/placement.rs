//! Where the frames of a space lie.

use crate::Stripe;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where the frames of a space lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpacePlacement {
    /// Wherever there is room: striped over all channels where the owner does so (`OwnerOptions::striped`), else on the channel
    /// that the pager's policy says.
    #[default]
    Anywhere,
    /// Isolated: on this channel and no other.
    Channel(usize),
    /// Striped over a group of channels.
    Interleaved {
        /// First channel of the group: a multiple of the stripe's channels.
        first: usize,
        /// Over how many, and how.
        stripe: Stripe,
    },
    /// Isolated from other such spaces as they come and go (FSRF §4.7): all channels for one, half of them each for two,
    /// and so on down to a channel each; beyond that they share channels.
    Isolated,
}

impl SpacePlacement {
    /// How the space's card addresses are striped.
    pub const fn stripe(self) -> Stripe {
        match self {
            Self::Anywhere | Self::Channel(_) | Self::Isolated => Stripe::NONE,
            Self::Interleaved { stripe, .. } => stripe,
        }
    }
}

impl fmt::Display for SpacePlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anywhere => f.write_str("any channel"),
            Self::Channel(channel) => write!(f, "channel {channel}"),
            Self::Interleaved { first, stripe } => write!(f, "{stripe} from channel {first} on"),
            Self::Isolated => f.write_str("channels of its own"),
        }
    }
}
