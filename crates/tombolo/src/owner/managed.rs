//! Kernels with registers of their own (`user_managed`): the owner serves their faults while a program waits
//! for a register, or for their interrupt.

use super::Owner;
use crate::error::Error;
use crate::message::{Reply, Signal};
use card::kernel::ControlProtocol;
use card::SlotId;
use units::Picoseconds;

/// Virtual time between two looks at a register.
const PAUSE: Picoseconds = Picoseconds::from_micros(1);

impl Owner {
    /// The kernel's registers belong to its program alone.
    pub(super) fn is_user_managed(&self, slot: SlotId) -> bool {
        self.manifest(slot)
            .is_some_and(|manifest| manifest.control == ControlProtocol::UserManaged)
    }

    /// Lets virtual time pass, and serves faults, until a signal is there, at most for `slice`.
    pub(super) fn await_signal(
        &mut self,
        slot: SlotId,
        signal: Signal,
        slice: Picoseconds,
    ) -> Result<Reply, Error> {
        let until = self.card.now() + slice;
        loop {
            if let Some(error) = self.take_failure(slot)? {
                self.stop(slot)?;
                return Err(error);
            }
            if let Some(value) = self.seen(slot, signal)? {
                return Ok(Reply::Register(value));
            }
            let now = self.card.now();
            if now >= until {
                return Ok(Reply::Running(self.progress()));
            }
            self.pump(Some(until.min(now + PAUSE)))?;
        }
    }

    /// The register that was waited for, or the number of interrupts; `None` while it is not there.
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
                let word = self.read_register(slot, offset);
                let word = Self::unless_hung(word)?;
                Ok(word.filter(|word| word & mask == value & mask))
            }
        }
    }
}
