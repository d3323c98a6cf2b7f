//! Kernels with registers of their own (`user_managed`): the owner serves their faults while a program waits
//! for a register, or for their interrupt.

use super::owner_ref::OwnerRef;
use super::Owner;
use crate::error::Error;
use crate::link::ClientId;
use crate::message::{LoadId, Reply, Signal};
use card::kernel::ControlProtocol;
use card::SlotId;
use units::Picoseconds;

/// Virtual time between two looks at a register.
const PAUSE: Picoseconds = Picoseconds::from_micros(1);

/// What a look at a slot shows.
enum Look {
    Failed(Error),
    Seen(u32),
    /// Not yet: look again at this moment, or the slice is over.
    Nothing(Option<Picoseconds>),
}

impl OwnerRef {
    /// Lets virtual time pass, and serves faults, until a signal is there, at most for `slice`.
    pub(super) async fn await_signal(
        &self,
        client: ClientId,
        load: LoadId,
        signal: Signal,
        slice: Picoseconds,
    ) -> Result<Reply, Error> {
        let until = self.with(|owner| owner.card.now() + slice);
        loop {
            // It may have been closed meanwhile.
            let slot = self.with(|owner| owner.slot_of(client, load))?;
            match self.with(|owner| owner.look_for(slot, signal, until))? {
                Look::Failed(error) => {
                    self.stop(slot, load).await?;
                    return Err(error);
                }
                Look::Seen(value) => return Ok(Reply::Register(value)),
                Look::Nothing(None) => {
                    return Ok(Reply::Running(self.with(|owner| owner.progress())));
                }
                Look::Nothing(Some(next)) => {
                    let _alarm = self.alarm(next);
                    let turns = self.with(|owner| owner.turns);
                    self.card(|owner| Ok((owner.turns != turns).then_some(())))
                        .await?;
                }
            }
        }
    }
}

impl Owner {
    /// The kernel's registers belong to its program alone.
    pub(super) fn is_user_managed(&self, slot: SlotId) -> bool {
        self.manifest(slot)
            .is_some_and(|manifest| manifest.control == ControlProtocol::UserManaged)
    }

    fn look_for(
        &mut self,
        slot: SlotId,
        signal: Signal,
        until: Picoseconds,
    ) -> Result<Look, Error> {
        if let Some(error) = self.take_failure(slot)? {
            return Ok(Look::Failed(error));
        }
        if let Some(value) = self.seen(slot, signal)? {
            return Ok(Look::Seen(value));
        }
        let now = self.card.now();
        let next = until.min(now + PAUSE);
        Ok(Look::Nothing((now < until).then_some(next)))
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
