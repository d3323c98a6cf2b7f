//! How a slot is scheduled: what it gets of card memory while other slots want it too.
//!
//! The settings of a slot count for its reads and for its writes, at every memory channel, from the
//! cycle in which the card has them.

use crate::registers as reg;
use crate::{CardError, SlotId};
use serde::{Deserialize, Serialize};
use std::fmt;
use units::Picoseconds;

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

    /// Whether a card can do it.
    ///
    /// # Errors
    /// [`CardError::Schedule`]: a number out of range.
    pub fn check(&self, slot: SlotId) -> Result<(), CardError> {
        let limit = self.limit.unwrap_or(Self::LEAST_LIMIT);
        let numbers = [
            ("weight", self.weight.into(), 1, Self::MOST_WEIGHT.into()),
            ("floor", self.floor.into(), 0, Self::MOST_FLOOR.into()),
            ("limit", limit, Self::LEAST_LIMIT, Self::MOST_LIMIT),
        ];
        for (what, value, least, most) in numbers {
            if value < least || value > most {
                return Err(CardError::Schedule {
                    slot,
                    what,
                    value,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }

    /// The registers of a slot and their values, for a clock of that period.
    pub fn registers(&self, slot: SlotId, period: Picoseconds) -> [(u32, u32); 2] {
        let base = reg::SCHEDULE.at(slot.0.into());
        let floor = (u32::from(self.floor) * 256).div_ceil(100).max(LEAST_FLOOR);
        let policy = reg::schedule::policy::LEVEL.put(self.priority as u32)
            | reg::schedule::policy::WEIGHT.put(self.weight.into())
            | reg::schedule::policy::FLOOR.put(floor);
        let limit = self.limit.map_or(0, |limit| limit_rows(limit, period));
        [
            (base + reg::schedule::POLICY, policy),
            (base + reg::schedule::LIMIT, limit),
        ]
    }
}

/// What FLOOR is at least.
const LEAST_FLOOR: u32 = 1;

/// Bytes a second as rows in 65,536 cycles; at least one.
fn limit_rows(limit: u64, period: Picoseconds) -> u32 {
    const PICOSECONDS: u128 = 1_000_000_000_000;
    const ROW: u128 = 64;
    let cycles = u128::from(period.get()) << 16;
    let rows = (u128::from(limit) * cycles + ROW * PICOSECONDS / 2) / (ROW * PICOSECONDS);
    let most = u128::from(reg::schedule::limit::ROWS.put(u32::MAX));
    rows.clamp(1, most) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slot_starts_with_is_what_the_registers_hold_after_reset() {
        let [(_, policy), (_, limit)] =
            SlotSchedule::default().registers(SlotId(3), Picoseconds::new(4000));
        assert_eq!(policy, 1 | 1 << 8 | 1 << 16);
        assert_eq!(limit, 0);
    }

    #[test]
    fn limits_are_rows_in_65536_cycles() {
        let schedule = SlotSchedule {
            limit: Some(16_000_000_000),
            floor: 25,
            ..Priority::Urgent.into()
        };
        // 64 bytes a cycle at 250 MHz.
        let [(policy_at, policy), (limit_at, limit)] =
            schedule.registers(SlotId(1), Picoseconds::new(4000));
        assert_eq!((policy_at, limit_at), (0x7a08, 0x7a0c));
        assert_eq!(policy, 3 | 1 << 8 | 64 << 16);
        assert_eq!(limit, 1 << 16);
        assert_eq!(limit_rows(1, Picoseconds::new(4000)), 1);
        assert_eq!(limit_rows(u64::MAX, Picoseconds::new(4000)), (1 << 24) - 1);
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        let wrong = [
            (
                SlotSchedule {
                    weight: 0,
                    ..SlotSchedule::default()
                },
                "weight 0: 1 to 15",
            ),
            (
                SlotSchedule {
                    weight: 16,
                    ..SlotSchedule::default()
                },
                "weight 16: 1 to 15",
            ),
            (
                SlotSchedule {
                    floor: 91,
                    ..SlotSchedule::default()
                },
                "floor 91: 0 to 90",
            ),
            (
                SlotSchedule {
                    limit: Some(0),
                    ..SlotSchedule::default()
                },
                "limit 0: 1000000 to",
            ),
        ];
        for (schedule, says) in wrong {
            let error = schedule.check(SlotId(2)).unwrap_err().to_string();
            assert!(
                error.starts_with("slot 2") && error.contains(says),
                "{error}"
            );
        }
        for priority in Priority::ALL {
            assert_eq!(Priority::named(priority.as_str()), Some(priority));
            SlotSchedule::from(priority).check(SlotId(0)).unwrap();
        }
        assert_eq!(Priority::named("highest"), None);
    }
}
