//! Done means complete: accesses that a kernel's ports had taken when it reported done are answered before done
//! is reported to the program.
//!
//! The answer to a read of a kernel's register states whether its ports are at rest
//! ([`card::guard::SlotNotes`]), so a kernel that waits for its responses costs nothing more. Otherwise the
//! shell is polled until they are, and the kernel's faults are served meanwhile.

use super::SlotControl;
use crate::message::Signal;
use card::guard::SlotNotes;
use error::Error;
use units::{Asid, Picoseconds, SlotId};

/// Interval between two polls of ports that are not at rest, in virtual time.
const PAUSE: Picoseconds = Picoseconds::from_micros(1);

/// A kernel that has reported done while its ports are not at rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    /// Time of the next poll.
    pub(super) next: Picoseconds,
    /// The signal that the program waited for, and the register value to return; `None`: the end of a run.
    pub(super) signal: Option<(Signal, u32)>,
}

impl SlotControl {
    /// Handles a kernel that has reported done; returns whether its ports are at rest. If not, they are polled
    /// from now on.
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

    /// Polls the ports of a slot that has reported done.
    pub(super) fn settle(&mut self, slot: SlotId) -> Result<bool, Error> {
        let notes = SlotNotes::read(self.card.as_mut(), slot)?;
        let next = self.card.now() + PAUSE;
        let state = self.slot(slot)?;
        match &mut state.ending {
            // A closed slot has failed, which is reported to its client.
            Some(ending) if !notes.is_settled() => ending.next = next,
            ending => *ending = None,
        }
        Ok(notes.is_settled())
    }

    /// Records the slot's state that came with a register read of the program's own.
    pub(super) fn seen_at_work(&mut self, slot: SlotId, notes: SlotNotes) -> Result<(), Error> {
        self.slot(slot)?.at_work |= notes.reads_owed || notes.writes_owed;
        Ok(())
    }

    /// A slot of a space with ports that have not come to rest since its program has read registers while
    /// accesses were under way.
    pub(crate) fn unsettled_in(&mut self, asid: Asid) -> Result<Option<SlotId>, Error> {
        for slot in self.table.ids() {
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
