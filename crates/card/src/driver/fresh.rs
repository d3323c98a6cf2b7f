//! Reset of a card that another program has driven before, and may have left in the middle of its work: it is reset
//! through its own register before it gets rings.

use super::transport::{read, Transport};
use crate::registers as reg;
use crate::CardError;

/// The first minor version of the register map with a reset.
pub(super) const SINCE: u32 = 7;
/// Maximum number of polls of the register, with a pause after each, before the card counts as stuck.
const LOOKS: u32 = 2000;
/// Names of the bits of `RESET.WAITS_FOR`, from bit 0.
const WAITS_FOR: [&str; 5] = [
    "reads of host memory",
    "writes of host memory",
    "reads of card memory",
    "writes of card memory",
    "packets of network interfaces",
];

/// Resets the card if it has been used; returns whether it was.
///
/// # Errors
/// [`CardError::Reset`]: it does not come to rest; [`CardError::Broken`]: it cannot be read.
pub(super) fn reset_if_used<T: Transport>(
    transport: &mut T,
    card: &str,
) -> Result<bool, CardError> {
    let version = read(transport, reg::VERSION)?;
    // A shell with another register map, or none, is reported by the driver.
    let known = read(transport, reg::ID)? == reg::ID_MAGIC
        && reg::version::MAJOR.get(version) == reg::VERSION_MAJOR;
    if !known || reg::version::MINOR.get(version) < SINCE {
        return Ok(false);
    }
    let found = read(transport, reg::RESET)?;
    if reg::reset::USED.get(found) == 0 && reg::reset::BUSY.get(found) == 0 {
        return Ok(false);
    }
    transport.write(reg::RESET, reg::reset::START.put(1))?;
    comes_to_rest(card, || {
        let value = read(transport, reg::RESET)?;
        if !is_at_rest(value) {
            transport.pause();
        }
        Ok(value)
    })?;
    Ok(true)
}

/// Whether the register shows that the reset has completed.
fn is_at_rest(value: u32) -> bool {
    reg::reset::DONE.get(value) == 1 && reg::reset::BUSY.get(value) == 0
}

/// Polls the register until the reset has completed.
///
/// # Errors
/// [`CardError::Reset`]: it does not complete; and the errors of `look`.
pub(super) fn comes_to_rest(
    card: &str,
    mut look: impl FnMut() -> Result<u32, CardError>,
) -> Result<(), CardError> {
    let mut last = 0;
    for _ in 0..LOOKS {
        last = look()?;
        if is_at_rest(last) {
            return Ok(());
        }
    }
    let waits = reg::reset::WAITS_FOR.get(last);
    let names = WAITS_FOR.iter().enumerate();
    let named: Vec<_> = names
        .filter_map(|(bit, name)| (waits >> bit & 1 == 1).then_some(*name))
        .collect();
    Err(CardError::Reset {
        card: card.to_owned(),
        value: last,
        waits_for: match named.is_empty() {
            true => "nothing that it names".to_owned(),
            false => named.join(", "),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Answer, Until, Woken};
    use crate::event::Event;
    use crate::memory::HostMemory;
    use std::sync::Arc;
    use std::task::Poll;
    use units::HostAddr;

    /// A model of a shell with only the relevant registers, which drains for a number of reads; `None`: for ever.
    struct Registers {
        minor: u32,
        reset: u32,
        drains: Option<u32>,
        begun: u32,
        pauses: u32,
    }

    impl Registers {
        fn used(drains: Option<u32>) -> Self {
            Self {
                minor: SINCE,
                reset: reg::reset::USED.put(1),
                drains,
                begun: 0,
                pauses: 0,
            }
        }
    }

    impl Transport for Registers {
        fn read(&mut self, address: u32) -> Result<Poll<Answer>, CardError> {
            let value = match address {
                reg::ID => reg::ID_MAGIC,
                reg::VERSION => reg::version::MAJOR.put(reg::VERSION_MAJOR) | self.minor,
                reg::RESET => {
                    match (self.begun, &mut self.drains) {
                        (0, _) | (_, None) => {}
                        (_, Some(0)) => self.reset = reg::reset::DONE.put(1),
                        (_, Some(left)) => *left -= 1,
                    }
                    self.reset
                }
                other => panic!("register 0x{other:x}"),
            };
            Ok(Poll::Ready(Answer {
                value,
                error: false,
                notes: None,
            }))
        }

        fn write(&mut self, address: u32, value: u32) -> Result<(), CardError> {
            assert_eq!((address, value), (reg::RESET, 1));
            self.begun += 1;
            self.reset |= reg::reset::BUSY.put(1) | reg::reset::WAITS_FOR.put(0b1010);
            Ok(())
        }

        fn map(&mut self, _: Arc<HostMemory>) -> Result<HostAddr, CardError> {
            unreachable!("nothing is mapped before the reset")
        }

        fn unmap(&mut self, _: HostAddr) -> Result<(), CardError> {
            unreachable!()
        }

        fn wait(&mut self, _: Until, _: &mut Vec<Event>) -> Result<Woken, CardError> {
            unreachable!()
        }

        fn pause(&mut self) {
            self.pauses += 1;
        }
    }

    #[test]
    fn a_card_that_was_used_is_reset_and_waited_for() {
        let mut card = Registers::used(Some(5));
        assert!(reset_if_used(&mut card, "card").unwrap());
        assert_eq!((card.begun, card.pauses), (1, 5));
    }

    #[test]
    fn a_fresh_card_and_one_without_the_register_are_left_alone() {
        let mut fresh = Registers::used(None);
        fresh.reset = reg::reset::DONE.put(1);
        assert!(!reset_if_used(&mut fresh, "card").unwrap());
        let mut old = Registers::used(None);
        old.minor = SINCE - 1;
        assert!(!reset_if_used(&mut old, "card").unwrap());
        assert_eq!((fresh.begun, old.begun), (0, 0));
    }

    #[test]
    fn one_that_does_not_come_to_rest_is_named_with_what_it_waits_for() {
        let mut stuck = Registers::used(None);
        let error = reset_if_used(&mut stuck, "vfio:card").unwrap_err();
        let said = error.to_string();
        for part in [
            "vfio:card",
            "RESET",
            "0x00000a0a",
            "writes of host memory, writes of card memory",
            "power",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(stuck.pauses, LOOKS);
    }
}
