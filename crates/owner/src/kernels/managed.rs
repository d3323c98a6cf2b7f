//! Kernels with registers of their own (`user_managed`): the owner serves their faults while a program waits
//! for a register, or for their interrupt, or reads registers until it finds what it looks for.

use super::Kernels;
use crate::message::ClientId;
use crate::message::{Await, ReadRegister, Signal, SignalState};
use crate::owner_ref::OwnerRef;
use card::kernel::ControlProtocol;
use error::Error;
use units::{Picoseconds, SlotId};

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
    pub(crate) async fn await_signal(
        &self,
        client: ClientId,
        request: Await,
    ) -> Result<SignalState, Error> {
        let Await {
            load,
            signal,
            slice,
        } = request;
        let until = self.handles(|handles| {
            self.kernels(|kernels| {
                let slot = handles.slot(client, load)?;
                kernels.waits_otherwise(slot);
                Ok::<_, Error>(kernels.now() + slice)
            })
        })?;
        loop {
            // It may have been closed meanwhile.
            let slot = self.slot_of(client, load)?;
            match self.kernels(|kernels| kernels.look_for(slot, signal, until))? {
                Look::Failed(error) => {
                    self.stop(slot, load).await?;
                    return Err(error);
                }
                Look::Seen(value) => return Ok(SignalState::Come(value)),
                Look::Nothing(None) => {
                    return Ok(SignalState::Awaited(self.progress()));
                }
                Look::Nothing(Some(next)) => {
                    self.pause(next).await?;
                }
            }
        }
    }

    /// Reads a register for a program. A loop that reads one until the kernel has done something must come to an end, so
    /// what has happened by then is served before: faults, and what answers them. That takes no virtual time; the reads
    /// do, as ever. The first read since a wait or a start is only a read.
    pub(crate) async fn read_for_program(
        &self,
        client: ClientId,
        request: ReadRegister,
    ) -> Result<u32, Error> {
        let ReadRegister { load, offset } = request;
        let slot = self.slot_of(client, load)?;
        if self.kernels(|kernels| kernels.polls(slot))? {
            let until = self.kernels(|kernels| kernels.now() + kernels.step());
            self.pause(until).await?;
            // It may have been closed meanwhile.
            self.slot_of(client, load)?;
            if let Some(error) = self.kernels(|kernels| kernels.failure_of_polled(slot))? {
                self.stop(slot, load).await?;
                return Err(error);
            }
        }
        self.kernels(|kernels| kernels.read_raw_register(slot, offset))
    }
}

impl Kernels {
    /// On a card without time something happens in steps, which reading a register is not.
    fn step(&self) -> Picoseconds {
        match self.card.description().clock_period {
            Picoseconds::ZERO => PAUSE,
            _ => Picoseconds::ZERO,
        }
    }

    /// What went wrong since a program that polls has looked. A kernel that can be waited for tells that there, too.
    fn failure_of_polled(&mut self, slot: SlotId) -> Result<Option<Error>, Error> {
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
                let ending = self.slot(slot)?.ending.and_then(|ending| ending.signal);
                if let Some((_, word)) = ending.filter(|(awaited, _)| *awaited == signal) {
                    return Ok(self.settle(slot)?.then_some(word));
                }
                let word = self.read_kernel(slot, offset);
                let word = Self::unless_hung(word)?;
                let word = word.filter(|word| word.value & mask == value & mask);
                let Some(word) = word else {
                    return Ok(None);
                };
                // What it announces is finished first, and the guard has found nothing wrong with it.
                let settled = self.ends(slot, word.notes, Some((signal, word.value)))?;
                Ok(settled.then_some(word.value))
            }
        }
    }
}
