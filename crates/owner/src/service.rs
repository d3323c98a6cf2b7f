//! Which events the host's service thread looks at next.
//!
//! One batch at a time: everything that cannot pile up (completions are bounded by the commands that
//! were sent, interrupts and closed slots by the slots), and of each address space at most so many
//! faults. So a kernel that faults without end makes the faults of other spaces wait for one bounded
//! batch, and no longer.

use super::faults::Faults;
use card::event::Event;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;
use units::{Asid, CommandId, Fault, FaultToken, Picoseconds};

/// Faults of one space in a batch: all that the requesters of a port report at once, and more.
const FAULTS_OF_A_SPACE: usize = 24;

/// Who looks at the events of address spaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceThreads {
    /// One thread at those of all.
    #[default]
    One,
    /// Each space has a thread of its own, as in FSRF (§5.1); what belongs to none has one more.
    EachSpace,
    /// The same, and a thread sees a fault through to its answer before it looks at the next one, as FSRF's
    /// does: its MMU yields to the thread with one fault (§5.2).
    OneFault,
}

impl ServiceThreads {
    /// Whether spaces have threads of their own.
    pub(super) fn are_of_spaces(self) -> bool {
        self != Self::One
    }
}

/// A service thread: the common one, or a space's.
pub(super) type Thread = Option<Asid>;

/// Work of a service thread.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// Whose.
    pub(super) thread: Thread,
    /// What it looks at.
    pub(super) events: Vec<Event>,
    /// It has just looked, and takes these along.
    pub(super) along: bool,
}

/// The service threads: which of them are busy, and the events that wait for them.
#[derive(Debug, Default)]
pub(super) struct Service {
    queue: ServiceQueue,
    busy: BTreeSet<Thread>,
    /// When each of them was last done with a batch.
    served: BTreeMap<Thread, Picoseconds>,
    /// Commands under way, of which space they are; only if spaces have threads of their own.
    spaces: BTreeMap<CommandId, Asid>,
    /// What the card has told and nobody has looked at yet.
    told: VecDeque<Event>,
    faults: Faults,
}

impl Service {
    pub(super) fn new(threads: ServiceThreads) -> Self {
        Self {
            queue: ServiceQueue::new(threads),
            ..Self::default()
        }
    }

    /// The completion of this command is for the thread of its space.
    pub(super) fn remember(&mut self, command: CommandId, space: Option<Asid>) {
        if self.queue.threads.are_of_spaces() {
            self.spaces.extend(space.map(|space| (command, space)));
        }
    }

    /// An event for whoever looks at it.
    pub(super) fn push(&mut self, event: Event) {
        let space = match &event {
            Event::Completed { id, .. } => self.spaces.remove(id),
            _ => None,
        };
        self.queue.push(event, space);
    }

    /// The card has told this.
    pub(super) fn tell(&mut self, events: impl IntoIterator<Item = Event>) {
        self.told.extend(events);
    }

    /// Whether nobody has looked yet at something that the card has told.
    pub(super) fn is_told(&self) -> bool {
        !self.told.is_empty()
    }

    /// The next thing that the card has told.
    pub(super) fn next_told(&mut self) -> Option<Event> {
        self.told.pop_front()
    }

    /// It cannot be looked at yet.
    pub(super) fn put_back(&mut self, event: Event) {
        self.told.push_front(event);
    }

    /// A fault waits for its answer from now on.
    pub(super) fn fault_arrived(&mut self, token: FaultToken, now: Picoseconds) {
        self.faults.arrived(token, now);
    }

    /// These faults have their answer.
    pub(super) fn answered(&mut self, answered: impl Fn(FaultToken) -> bool, now: Picoseconds) {
        self.queue.answered(&answered);
        self.faults.answered(answered, now);
    }

    /// Faults that have none.
    pub(super) fn faults_waiting(&self) -> impl Iterator<Item = &FaultToken> {
        self.faults.waiting()
    }

    /// Virtual time with a fault waiting.
    pub(super) fn fault_time(&self) -> Picoseconds {
        self.faults.time()
    }

    /// Drops the faults of requesters whose slot is in reset.
    pub(super) fn forget(&mut self, requesters: &RangeInclusive<u8>) {
        self.queue.forget(requesters);
    }

    /// The next batch of each thread that is free; these threads are busy then.
    pub(super) fn begin(&mut self, now: Picoseconds) -> Vec<Batch> {
        let mut batches = Vec::new();
        for thread in self.queue.waiting() {
            if !self.busy.insert(thread) {
                continue;
            }
            // A thread that is still at it takes ends of transfers along.
            let ends = match self.served.get(&thread) == Some(&now) {
                true => self.queue.ends(thread),
                false => Vec::new(),
            };
            let along = !ends.is_empty();
            let events = if along {
                ends
            } else {
                self.queue.batch(thread)
            };
            batches.push(Batch {
                thread,
                events,
                along,
            });
        }
        batches
    }

    /// A thread has looked at its batch, and is free.
    pub(super) fn looked(&mut self, thread: Thread) {
        self.busy.remove(&thread);
    }

    /// It is done with everything that came of it.
    pub(super) fn served(&mut self, thread: Thread, now: Picoseconds) {
        self.served.insert(thread, now);
    }
}

/// Events that wait for the service threads.
#[derive(Debug, Default)]
struct ServiceQueue {
    threads: ServiceThreads,
    others: BTreeMap<Thread, Vec<Event>>,
    faults: BTreeMap<Asid, VecDeque<Fault>>,
    /// With one fault at a time: those that have no answer yet.
    open: BTreeMap<Asid, FaultToken>,
}

impl ServiceQueue {
    fn new(threads: ServiceThreads) -> Self {
        Self {
            threads,
            ..Self::default()
        }
    }

    /// The thread of a space.
    fn thread_of(&self, space: Option<Asid>) -> Thread {
        space.filter(|_| self.threads.are_of_spaces())
    }

    /// An event, of a space if it is known.
    fn push(&mut self, event: Event, space: Option<Asid>) {
        match event {
            Event::Fault(fault) => self.faults.entry(fault.asid).or_default().push_back(fault),
            other => {
                let thread = self.thread_of(space);
                self.others.entry(thread).or_default().push(other);
            }
        }
    }

    /// Threads for which something waits.
    fn waiting(&self) -> Vec<Thread> {
        let others = self.others.keys().copied();
        let may_go = self
            .faults
            .iter()
            .filter(|(asid, faults)| self.room(**asid, faults) > 0);
        let faults = may_go.map(|(&asid, _)| self.thread_of(Some(asid)));
        let threads: BTreeSet<Thread> = others.chain(faults).collect();
        threads.into_iter().collect()
    }

    /// How many of a space's faults its thread may look at now.
    fn room(&self, asid: Asid, faults: &VecDeque<Fault>) -> usize {
        match (self.threads, self.open.get(&asid)) {
            (ServiceThreads::One | ServiceThreads::EachSpace, _) => FAULTS_OF_A_SPACE,
            (ServiceThreads::OneFault, None) => 1,
            // One that was put off comes again.
            (ServiceThreads::OneFault, Some(open)) => {
                usize::from(faults.front().is_some_and(|fault| fault.token == *open))
            }
        }
    }

    /// These faults have their answer.
    fn answered(&mut self, answered: impl Fn(FaultToken) -> bool) {
        self.open.retain(|_, token| !answered(*token));
    }

    /// The next batch of a thread; empty if nothing waits.
    fn batch(&mut self, thread: Thread) -> Vec<Event> {
        let mut batch = self.others.remove(&thread).unwrap_or_default();
        let each = self.threads.are_of_spaces();
        let served = |asid: &Asid| !each || thread == Some(*asid);
        let mut faults = std::mem::take(&mut self.faults);
        for (&asid, faults) in faults.iter_mut().filter(|(asid, _)| served(asid)) {
            let count = faults.len().min(self.room(asid, faults));
            if let (ServiceThreads::OneFault, Some(fault)) = (self.threads, faults.front()) {
                self.open.entry(asid).or_insert(fault.token);
            }
            batch.extend(faults.drain(..count).map(Event::Fault));
        }
        faults.retain(|_, faults| !faults.is_empty());
        self.faults = faults;
        batch
    }

    /// Ends of transfers that are next for a thread, before anything that somebody must decide about. Their records say
    /// all that there is to know, and the order of events stays as it is.
    fn ends(&mut self, thread: Thread) -> Vec<Event> {
        let Some(others) = self.others.get_mut(&thread) else {
            return Vec::new();
        };
        let is_end = |event: &Event| matches!(event, Event::TransferDone { .. });
        let count = others.iter().take_while(|event| is_end(event)).count();
        let ends = others.drain(..count).collect();
        self.others.retain(|_, events| !events.is_empty());
        ends
    }

    /// Drops the faults of requesters whose slot is in reset.
    fn forget(&mut self, requesters: &RangeInclusive<u8>) {
        for faults in self.faults.values_mut() {
            faults.retain(|fault| !requesters.contains(&fault.token.requester));
        }
        self.faults.retain(|_, faults| !faults.is_empty());
        self.answered(|token| requesters.contains(&token.requester));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use card::stream::{TransferEnd, TransferStatus};
    use units::SlotId;
    use units::{FaultCause, VirtAddr};

    fn fault(asid: u8, requester: u8) -> Event {
        Event::Fault(Fault {
            token: FaultToken {
                index: 0,
                requester,
            },
            asid: Asid::new(asid).unwrap(),
            address: VirtAddr::new(0).unwrap(),
            write: false,
            ahead: false,
            cause: FaultCause::Absent,
        })
    }

    #[test]
    fn a_storm_of_faults_delays_others_by_one_batch() {
        let mut queue = ServiceQueue::default();
        for _ in 0..1000 {
            queue.push(fault(1, 0), None);
        }
        queue.push(fault(2, 4), None);
        queue.push(Event::Interrupt(SlotId(3)), None);
        let batch = queue.batch(None);
        assert_eq!(batch.len(), FAULTS_OF_A_SPACE + 2);
        assert!(batch.contains(&fault(2, 4)));
        assert_eq!(queue.batch(None).len(), FAULTS_OF_A_SPACE);
        queue.push(fault(1, 9), None);
        queue.forget(&(0..=3));
        assert_eq!(queue.batch(None), [fault(1, 9)]);
        assert!(queue.batch(None).is_empty());
    }

    #[test]
    fn ends_of_transfers_are_taken_along_up_to_what_is_to_be_decided() {
        let end = |mover| Event::TransferDone {
            mover,
            end: TransferEnd {
                bytes: 64,
                last: true,
                status: TransferStatus::Ok,
            },
        };
        let mut queue = ServiceQueue::default();
        assert!(queue.ends(None).is_empty());
        queue.push(fault(1, 0), None);
        for event in [end(0), end(1), Event::SlotClosed(SlotId(2)), end(2)] {
            queue.push(event, None);
        }
        assert_eq!(queue.ends(None), [end(0), end(1)]);
        assert!(queue.ends(None).is_empty());
        let rest = [Event::SlotClosed(SlotId(2)), end(2), fault(1, 0)];
        assert_eq!(queue.batch(None), rest);
        queue.push(end(3), None);
        assert_eq!(queue.ends(None), [end(3)]);
        assert!(queue.waiting().is_empty());
    }

    #[test]
    fn a_thread_sees_a_fault_through() {
        let mut queue = ServiceQueue::new(ServiceThreads::OneFault);
        let space = |number| Asid::new(number);
        let token = |requester| FaultToken {
            index: 0,
            requester,
        };
        for requester in 0..3 {
            queue.push(fault(1, requester), None);
        }
        queue.push(fault(2, 4), None);
        assert_eq!(queue.batch(space(1)), [fault(1, 0)]);
        // Until that has its answer, only the other space has something to do.
        assert_eq!(queue.waiting(), [space(2)]);
        assert!(queue.batch(space(1)).is_empty());
        queue.answered(|answered| answered == token(4));
        assert!(queue.batch(space(1)).is_empty());
        queue.answered(|answered| answered == token(0));
        assert_eq!(queue.batch(space(1)), [fault(1, 1)]);
        // Its slot is reset: nobody answers.
        queue.forget(&(1..=1));
        assert_eq!(queue.batch(space(1)), [fault(1, 2)]);
    }

    #[test]
    fn each_space_has_a_thread_of_its_own() {
        let mut queue = ServiceQueue::new(ServiceThreads::EachSpace);
        let space = |number| Asid::new(number);
        queue.push(fault(1, 0), None);
        queue.push(Event::SlotClosed(SlotId(1)), space(2));
        queue.push(Event::Interrupt(SlotId(3)), None);
        assert_eq!(queue.waiting(), [None, space(1), space(2)]);
        assert_eq!(queue.batch(space(1)), [fault(1, 0)]);
        assert_eq!(queue.batch(None), [Event::Interrupt(SlotId(3))]);
        assert_eq!(queue.batch(space(2)), [Event::SlotClosed(SlotId(1))]);
        assert!(queue.waiting().is_empty());
    }
}
