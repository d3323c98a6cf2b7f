//! How a slot is scheduled: what it gets of card memory while other slots want it too.
//!
//! The settings of a slot count for its reads and for its writes, at every memory channel, from the
//! cycle in which the card has them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Who goes first. Slots of the same priority share by their weights.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// After all others.
    Low,
    /// What every slot has at first.
    #[default]
    Normal,
    /// Before normal ones.
    High,
    /// Before all others.
    Urgent,
}

impl Priority {
    /// All of them, the lowest first.
    pub const ALL: [Self; 4] = [Self::Low, Self::Normal, Self::High, Self::Urgent];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Urgent => "urgent",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|found| found.as_str() == name)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a slot gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlotSchedule {
    /// Who goes first.
    pub priority: Priority,
    /// Share among slots of the same priority, 1 to 15.
    pub weight: u8,
    /// Of what all slots get, so many per cent at least while the slot wants them, whatever the
    /// priorities; 0 to 90. Every slot gets 0.4 per cent: none starves.
    pub floor: u8,
    /// Bytes a second that the slot may read, and that it may write; `None`: as many as it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

impl Default for SlotSchedule {
    fn default() -> Self {
        Self {
            priority: Priority::Normal,
            weight: 1,
            floor: 0,
            limit: None,
        }
    }
}

impl fmt::Display for SlotSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.priority)?;
        if self.weight != 1 {
            write!(f, ", weight {}", self.weight)?;
        }
        if self.floor != 0 {
            write!(f, ", floor {} %", self.floor)?;
        }
        if let Some(limit) = self.limit {
            write!(f, ", limit {} MB/s", limit / 1_000_000)?;
        }
        Ok(())
    }
}

impl From<Priority> for SlotSchedule {
    fn from(priority: Priority) -> Self {
        Self {
            priority,
            ..Self::default()
        }
    }
}

impl SlotSchedule {
    /// The greatest weight.
    pub const MOST_WEIGHT: u8 = 15;
    /// The greatest floor, in per cent.
    pub const MOST_FLOOR: u8 = 90;
    /// The lowest limit, in bytes a second.
    pub const LEAST_LIMIT: u64 = 1_000_000;
    /// The highest limit.
    pub const MOST_LIMIT: u64 = 1_000_000_000_000;
}
