//! Placement of a space's frames.

use crate::Stripe;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Placement of a space's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpacePlacement {
    /// Anywhere: striped over all channels if the owner enables it (`OwnerOptions::striped`), otherwise on the channel
    /// that the pager's policy chooses.
    #[default]
    Anywhere,
    /// On this channel only.
    Channel(usize),
    /// Striped over a group of channels.
    Interleaved {
        /// First channel of the group: a multiple of the stripe's channels.
        first: usize,
        /// Number of channels, and granule.
        stripe: Stripe,
    },
    /// Isolated from other isolated spaces (FSRF §4.7). The channels are divided among them as they come and go: all
    /// for one, half of them each for two, and so on down to a channel each; further spaces share channels.
    Isolated,
}

impl SpacePlacement {
    /// Striping of the space's card addresses.
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
