//! Scheduling of slots: their shares of card memory under contention.
//!
//! The settings of a slot apply to its reads and to its writes, at every memory channel, from the cycle in which the
//! card receives them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Priority class. Slots of the same priority share by their weights.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Served after all others.
    Low,
    /// Default of every slot.
    #[default]
    Normal,
    /// Served before normal ones.
    High,
    /// Served before all others.
    Urgent,
}

impl Priority {
    /// All priorities, lowest first.
    pub const ALL: [Self; 4] = [Self::Low, Self::Normal, Self::High, Self::Urgent];

    /// Name of the priority in options and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Urgent => "urgent",
        }
    }

    /// The priority with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|found| found.as_str() == name)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Scheduling parameters of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlotSchedule {
    /// Priority class.
    pub priority: Priority,
    /// Share among slots of the same priority, 1 to 15.
    pub weight: u8,
    /// Minimum share of the bandwidth given to all slots, in per cent, while the slot has requests, whatever the
    /// priorities; 0 to 90. Every slot gets at least 0.4 per cent, so that none starves.
    pub floor: u8,
    /// Limit in bytes per second, for reads and for writes separately; `None`: unlimited.
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
    /// Maximum weight.
    pub const MOST_WEIGHT: u8 = 15;
    /// Maximum floor, in per cent.
    pub const MOST_FLOOR: u8 = 90;
    /// Minimum limit, in bytes per second.
    pub const LEAST_LIMIT: u64 = 1_000_000;
    /// Maximum limit, in bytes per second.
    pub const MOST_LIMIT: u64 = 1_000_000_000_000;
}
