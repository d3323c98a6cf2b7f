//! What tasks wait for, and whether it is worth their while to look.

use card::CardError;
use error::Error;
use std::collections::{BTreeMap, BTreeSet};
use units::{Picoseconds, SlotId};

/// Tasks' side of the owner.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// Those that wait for the card.
    need_card: u32,
    /// Moments at which tasks look again.
    alarms: BTreeMap<u64, Picoseconds>,
    next_alarm: u64,
    /// Slots whose state a task is changing.
    claimed: BTreeSet<SlotId>,
    /// Work beside the owner's thread, and its result.
    asides: BTreeMap<u64, Option<Result<(), Error>>>,
    next_aside: u64,
    /// How often the card has been waited for.
    turns: u64,
    /// Tasks may find something new.
    stirred: bool,
    /// What went wrong with the card just now, for all who wait for it.
    trouble: Option<Error>,
    /// The card said that it is broken.
    broken: bool,
}

impl Tasks {
    /// One more waits for the card, until [`leave_card`](Self::leave_card).
    pub(super) fn need_card(&mut self) {
        self.need_card += 1;
    }

    pub(super) fn leave_card(&mut self) {
        self.need_card -= 1;
    }

    /// Whether any waits for the card.
    pub(super) fn any_needs_card(&self) -> bool {
        self.need_card > 0
    }

    /// Time stops at this moment, until [`forget_alarm`](Self::forget_alarm).
    pub(super) fn set_alarm(&mut self, at: Picoseconds) -> u64 {
        self.next_alarm += 1;
        self.alarms.insert(self.next_alarm, at);
        self.next_alarm
    }

    pub(super) fn forget_alarm(&mut self, alarm: u64) {
        self.alarms.remove(&alarm);
    }

    /// The first moment at which one looks again.
    pub(super) fn next_alarm(&self) -> Option<Picoseconds> {
        self.alarms.values().min().copied()
    }

    /// Nobody else changes the state of the slot, until [`release`](Self::release); false if somebody does now.
    pub(super) fn claim(&mut self, slot: SlotId) -> bool {
        self.claimed.insert(slot)
    }

    /// Whether a task is changing the state of the slot.
    pub(super) fn is_claimed(&self, slot: SlotId) -> bool {
        self.claimed.contains(&slot)
    }

    pub(super) fn release(&mut self, slot: SlotId) {
        self.claimed.remove(&slot);
        self.stirred = true;
    }

    /// A name for work beside the owner's thread.
    pub(super) fn open_aside(&mut self) -> u64 {
        self.next_aside += 1;
        self.asides.insert(self.next_aside, None);
        self.next_aside
    }

    /// Keeps a result for who waits for it, if somebody does.
    pub(super) fn aside_over(&mut self, id: u64, result: Result<(), Error>) {
        if let Some(place) = self.asides.get_mut(&id) {
            *place = Some(result);
        }
    }

    /// The result of work beside this thread, if it is over.
    pub(super) fn take_aside(&mut self, id: u64) -> Option<Result<(), Error>> {
        match self.asides.get_mut(&id) {
            Some(place) => place.take(),
            None => Some(Err(Error::Internal("work beside was forgotten".into()))),
        }
    }

    pub(super) fn forget_aside(&mut self, id: u64) {
        self.asides.remove(&id);
    }

    /// How much is done beside the owner's thread and is not over.
    pub(super) fn open_asides(&self) -> usize {
        let asides = self.asides.values();
        asides.filter(|result| result.is_none()).count()
    }

    /// The card is waited for once more.
    pub(super) fn turn(&mut self) {
        self.turns += 1;
    }

    pub(super) fn turns(&self) -> u64 {
        self.turns
    }

    /// Something has happened.
    pub(super) fn stir(&mut self) {
        self.stirred = true;
    }

    /// Whether something has happened since the last call.
    pub(super) fn take_stirred(&mut self) -> bool {
        std::mem::take(&mut self.stirred)
    }

    /// The card failed: all who wait for it are told, until [`forget_trouble`](Self::forget_trouble).
    pub(super) fn fail(&mut self, error: Error) {
        self.broken |= matches!(error, Error::Card(CardError::Broken(_)));
        self.stirred = true;
        self.trouble = Some(error);
    }

    pub(super) fn forget_trouble(&mut self) {
        self.trouble = None;
    }

    /// What went wrong, for one of those who wait.
    pub(super) fn trouble(&self) -> Option<Error> {
        self.trouble.as_ref().map(copy_of)
    }

    /// The card is broken.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }
}

/// What went wrong with the card, for each of those who wait for it.
fn copy_of(error: &Error) -> Error {
    match error {
        Error::Card(CardError::NothingToWaitFor) => CardError::NothingToWaitFor.into(),
        Error::Card(CardError::Broken(what)) => CardError::Broken(what.clone()).into(),
        Error::Card(CardError::Bus { address, what }) => CardError::Bus {
            address: *address,
            what,
        }
        .into(),
        Error::Card(other) => CardError::Broken(other.to_string()).into(),
        Error::Internal(what) => Error::Internal(what.clone()),
        other => Error::Internal(other.to_string()),
    }
}
