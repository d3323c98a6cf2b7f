//! Conditions on which tasks wait, and whether polling the tasks is worthwhile.

use card::CardError;
use error::Error;
use std::collections::{BTreeMap, BTreeSet};
use units::{Picoseconds, SlotId};

/// The owner's state of tasks.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// Number of tasks that wait for the card.
    need_card: u32,
    /// Times at which tasks poll again.
    alarms: BTreeMap<u64, Picoseconds>,
    next_alarm: u64,
    /// Slots whose state a task is changing.
    claimed: BTreeSet<SlotId>,
    /// Pending work on other threads, with its result once it is complete.
    asides: BTreeMap<u64, Option<Result<(), Error>>>,
    next_aside: u64,
    /// Number of times that the card was waited for.
    turns: u64,
    /// An event may have ended the wait of a task.
    woken: bool,
    /// The present failure of the card, for all tasks that wait for it.
    trouble: Option<Error>,
    /// The card has reported that it is broken.
    broken: bool,
}

impl Tasks {
    /// Adds a task that waits for the card, until [`leave_card`](Self::leave_card).
    pub(super) fn need_card(&mut self) {
        self.need_card += 1;
    }

    pub(super) fn leave_card(&mut self) {
        self.need_card -= 1;
    }

    /// Whether a task waits for the card.
    pub(super) fn any_needs_card(&self) -> bool {
        self.need_card > 0
    }

    /// Stops virtual time at this moment, until [`forget_alarm`](Self::forget_alarm).
    pub(super) fn set_alarm(&mut self, at: Picoseconds) -> u64 {
        self.next_alarm += 1;
        self.alarms.insert(self.next_alarm, at);
        self.next_alarm
    }

    pub(super) fn forget_alarm(&mut self, alarm: u64) {
        self.alarms.remove(&alarm);
    }

    /// The time of the earliest alarm.
    pub(super) fn next_alarm(&self) -> Option<Picoseconds> {
        self.alarms.values().min().copied()
    }

    /// Claims the state of the slot exclusively, until [`release`](Self::release); false if it is claimed
    /// already.
    pub(super) fn claim(&mut self, slot: SlotId) -> bool {
        self.claimed.insert(slot)
    }

    /// Whether a task is changing the state of the slot.
    pub(super) fn is_claimed(&self, slot: SlotId) -> bool {
        self.claimed.contains(&slot)
    }

    pub(super) fn release(&mut self, slot: SlotId) {
        self.claimed.remove(&slot);
        self.woken = true;
    }

    /// An identifier for new work on another thread.
    pub(super) fn open_aside(&mut self) -> u64 {
        self.next_aside += 1;
        self.asides.insert(self.next_aside, None);
        self.next_aside
    }

    /// Stores the result of work on another thread, if it is still awaited.
    pub(super) fn aside_over(&mut self, id: u64, result: Result<(), Error>) {
        if let Some(place) = self.asides.get_mut(&id) {
            *place = Some(result);
        }
    }

    /// Takes the result of work on another thread, if it is complete.
    pub(super) fn take_aside(&mut self, id: u64) -> Option<Result<(), Error>> {
        match self.asides.get_mut(&id) {
            Some(place) => place.take(),
            None => Some(Err(Error::Internal(
                "work on another thread was forgotten".into(),
            ))),
        }
    }

    pub(super) fn forget_aside(&mut self, id: u64) {
        self.asides.remove(&id);
    }

    /// Number of unfinished work items on other threads.
    pub(super) fn open_asides(&self) -> usize {
        let asides = self.asides.values();
        asides.filter(|result| result.is_none()).count()
    }

    /// Counts a wait for the card.
    pub(super) fn turn(&mut self) {
        self.turns += 1;
    }

    pub(super) fn turns(&self) -> u64 {
        self.turns
    }

    /// Records that an event has occurred.
    pub(super) fn wake(&mut self) {
        self.woken = true;
    }

    /// Whether an event has occurred since the last call.
    pub(super) fn take_woken(&mut self) -> bool {
        std::mem::take(&mut self.woken)
    }

    /// Records a failure of the card for all tasks that wait for it, until
    /// [`forget_trouble`](Self::forget_trouble).
    pub(super) fn fail(&mut self, error: Error) {
        self.broken |= matches!(error, Error::Card(CardError::Broken(_)));
        self.woken = true;
        self.trouble = Some(error);
    }

    pub(super) fn forget_trouble(&mut self) {
        self.trouble = None;
    }

    /// The present failure of the card, for one of the waiting tasks.
    pub(super) fn trouble(&self) -> Option<Error> {
        self.trouble.as_ref().map(copy_of)
    }

    /// Whether the card is broken.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }
}

/// A copy of the card's error, for each task that waits for it.
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
