//! Kernels with registers of their own (`user_managed`): the owner serves their faults while a program waits for a
//! register or an interrupt, or polls registers.

use super::{unless_hung, SlotControl};
use crate::message::Signal;
use card::kernel::ControlProtocol;
use error::Error;
use units::{Picoseconds, SlotId};

/// Interval between two polls of a register, in virtual time.
const PAUSE: Picoseconds = Picoseconds::from_micros(1);

/// State of an awaited signal.
pub(crate) enum SignalLook {
    Failed(Error),
    Seen(u32),
    /// Not seen so far: poll again at this moment, or the slice is over.
    Nothing(Option<Picoseconds>),
}

impl SlotControl {
    /// Step of the clock, for a card without time: its work advances in steps, and a register read is none.
    pub(crate) fn step(&self) -> Picoseconds {
        match self.card.description().clock_period {
            Picoseconds::ZERO => PAUSE,
            _ => Picoseconds::ZERO,
        }
    }

    /// The failure since the program's last poll. A kernel that can be waited for reports it there, too.
    pub(crate) fn failure_of_polled(&mut self, slot: SlotId) -> Result<Option<Error>, Error> {
        if self.is_user_managed(slot) {
            return self.take_failure(slot);
        }
        let rule = "has failed; wait for its kernel to learn why";
        let failed = self.has_failed(slot)?;
        match failed {
            true => Err(Error::SlotState {
                slot,
                rule: rule.into(),
            }),
            false => Ok(None),
        }
    }

    /// Whether the kernel's registers belong to its program alone.
    pub(crate) fn is_user_managed(&self, slot: SlotId) -> bool {
        self.manifest(slot)
            .is_some_and(|manifest| manifest.control == ControlProtocol::UserManaged)
    }

    pub(crate) fn look_for(
        &mut self,
        slot: SlotId,
        signal: Signal,
        until: Picoseconds,
    ) -> Result<SignalLook, Error> {
        if let Some(error) = self.take_failure(slot)? {
            return Ok(SignalLook::Failed(error));
        }
        if let Some(value) = self.seen(slot, signal)? {
            return Ok(SignalLook::Seen(value));
        }
        let now = self.card.now();
        let next = until.min(now + PAUSE);
        Ok(SignalLook::Nothing((now < until).then_some(next)))
    }

    /// The awaited register, or the number of interrupts; `None` while the signal has not come.
    fn seen(&mut self, slot: SlotId, signal: Signal) -> Result<Option<u32>, Error> {
        match signal {
            Signal::Interrupt => {
                let interrupts = self.take_interrupts(slot)?;
                Ok((interrupts > 0).then_some(interrupts))
            }
            Signal::Register {
                offset,
                mask,
                value,
            } => {
                let ending = self.slot(slot)?.ending.and_then(|ending| ending.signal);
                if let Some((_, word)) = ending.filter(|(awaited, _)| *awaited == signal) {
                    return Ok(self.settle(slot)?.then_some(word));
                }
                let word = self.read_kernel(slot, offset);
                let word = unless_hung(word)?;
                let word = word.filter(|word| word.value & mask == value & mask);
                let Some(word) = word else {
                    return Ok(None);
                };
                // The accesses it announces are completed first, and the guard has found no violation.
                let settled = self.ends(slot, word.notes, Some((signal, word.value)))?;
                Ok(settled.then_some(word.value))
            }
        }
    }
}
