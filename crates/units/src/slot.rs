//! Slots of a card.

use serde::{Deserialize, Serialize};

/// A region of the card that holds one kernel.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct SlotId(pub u8);
