//! Encoding of a slot's schedule in the shell's registers.
//!
//! The settings of a slot apply to its reads and to its writes, at every memory channel, from the
//! cycle in which they reach the card.

use crate::registers as reg;
use crate::{CardError, SlotId};
use units::Picoseconds;
pub use units::{Priority, SlotSchedule};

/// Validity check and encoding of a schedule.
pub trait CheckedSchedule {
    /// Checks that a card supports the schedule.
    ///
    /// # Errors
    /// [`CardError::Schedule`]: a parameter is out of range.
    fn check(&self, slot: SlotId) -> Result<(), CardError>;

    /// The registers of a slot and their values, for this clock period.
    fn registers(&self, slot: SlotId, period: Picoseconds) -> [(u32, u32); 2];
}

impl CheckedSchedule for SlotSchedule {
    fn check(&self, slot: SlotId) -> Result<(), CardError> {
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

    fn registers(&self, slot: SlotId, period: Picoseconds) -> [(u32, u32); 2] {
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

/// Minimum value of FLOOR.
const LEAST_FLOOR: u32 = 1;

/// Converts bytes per second to rows per 65,536 cycles; at least one.
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
        // 64 bytes per cycle at 250 MHz.
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
