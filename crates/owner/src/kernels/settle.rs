//! Done means finished: what a kernel's ports had taken when it said that it was done is answered before
//! anybody is told.
//!
//! The answer to a read of a kernel's register says whether its ports are at rest
//! ([`card::guard::SlotNotes`]), so a kernel that waits for its responses costs nothing more. For any other the
//! shell is asked again until they are, and its faults are served meanwhile.

use super::Kernels;
use crate::message::Signal;
use card::guard::SlotNotes;
use error::Error;
use units::{Asid, Picoseconds, SlotId};

/// Virtual time between two looks at ports that are not at rest.
const PAUSE: Picoseconds = Picoseconds::from_micros(1);

/// A kernel has said that it is done, and its ports are not at rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    /// When to look at them again.
    pub(super) next: Picoseconds,
    /// What a program waited for, and the register that it is to be given; `None`: the end of a run.
    pub(super) signal: Option<(Signal, u32)>,
}

impl Kernels {
    /// A kernel has said that it is done; whether its ports are, too. If not, they are looked at from now on.
    pub(super) fn ends(
        &mut self,
        slot: SlotId,
        notes: SlotNotes,
        signal: Option<(Signal, u32)>,
    ) -> Result<bool, Error> {
        let next = self.card.now();
        let state = self.slot(slot)?;
        state.ending = (!notes.is_settled()).then_some(Ending { next, signal });
        Ok(notes.is_settled())
    }

    /// Looks at the ports of a slot that has said that it is done.
    pub(super) fn settle(&mut self, slot: SlotId) -> Result<bool, Error> {
        let notes = SlotNotes::read(self.card.as_mut(), slot)?;
        let next = self.card.now() + PAUSE;
        let state = self.slot(slot)?;
        match &mut state.ending {
            // A slot that is closed has failed, and its owner will be told of that.
            Some(ending) if !notes.is_settled() => ending.next = next,
            ending => *ending = None,
        }
        Ok(notes.is_settled())
    }

    /// A program has read a register of its kernel by itself, and the shell said this of the slot.
    pub(super) fn seen_at_work(&mut self, slot: SlotId, notes: SlotNotes) -> Result<(), Error> {
        self.slot(slot)?.at_work |= notes.reads_owed || notes.writes_owed;
        Ok(())
    }

    /// A slot of a space whose program has seen it at work, and whose ports have not come to rest since.
    pub(crate) fn unsettled_in(&mut self, asid: Asid) -> Result<Option<SlotId>, Error> {
        for slot in self.slots.ids() {
            let state = self.slot(slot)?;
            if !state.at_work || !state.loaded_in(asid) {
                continue;
            }
            let notes = SlotNotes::read(self.card.as_mut(), slot)?;
            if notes.reads_owed || notes.writes_owed {
                return Ok(Some(slot));
            }
            self.slot(slot)?.at_work = false;
        }
        Ok(None)
    }
}
