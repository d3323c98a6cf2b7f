//! Which events the host's service thread looks at next.
//!
//! One batch at a time: everything that cannot pile up (completions are bounded by the commands that
//! were sent, interrupts and closed slots by the slots), and of each address space at most so many
//! faults. So a kernel that faults without end makes the faults of other spaces wait for one bounded
//! batch, and no longer.

use card::event::{Event, Fault};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;
use units::Asid;

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
}

/// A service thread: the common one, or a space's.
pub(super) type Thread = Option<Asid>;

/// Events that wait for the service thread.
#[derive(Debug, Default)]
pub(super) struct ServiceQueue {
    threads: ServiceThreads,
    others: BTreeMap<Thread, Vec<Event>>,
    faults: BTreeMap<Asid, VecDeque<Fault>>,
}

impl ServiceQueue {
    pub(super) fn new(threads: ServiceThreads) -> Self {
        Self {
            threads,
            ..Self::default()
        }
    }

    /// The thread of a space.
    fn thread_of(&self, space: Option<Asid>) -> Thread {
        space.filter(|_| self.threads == ServiceThreads::EachSpace)
    }

    /// An event, of a space if it is known.
    pub(super) fn push(&mut self, event: Event, space: Option<Asid>) {
        match event {
            Event::Fault(fault) => self.faults.entry(fault.asid).or_default().push_back(fault),
            other => {
                let thread = self.thread_of(space);
                self.others.entry(thread).or_default().push(other);
            }
        }
    }

    /// Threads for which something waits.
    pub(super) fn waiting(&self) -> Vec<Thread> {
        let others = self.others.keys().copied();
        let faults = self.faults.keys().map(|&asid| self.thread_of(Some(asid)));
        let threads: BTreeSet<Thread> = others.chain(faults).collect();
        threads.into_iter().collect()
    }

    /// The next batch of a thread; empty if nothing waits.
    pub(super) fn batch(&mut self, thread: Thread) -> Vec<Event> {
        let mut batch = self.others.remove(&thread).unwrap_or_default();
        let each = self.threads == ServiceThreads::EachSpace;
        let served = |asid: &Asid| !each || thread == Some(*asid);
        for (_, faults) in self.faults.iter_mut().filter(|(asid, _)| served(asid)) {
            let count = faults.len().min(FAULTS_OF_A_SPACE);
            batch.extend(faults.drain(..count).map(Event::Fault));
        }
        self.faults.retain(|_, faults| !faults.is_empty());
        batch
    }

    /// Drops the faults of requesters whose slot is in reset.
    pub(super) fn forget(&mut self, requesters: &RangeInclusive<u8>) {
        for faults in self.faults.values_mut() {
            faults.retain(|fault| !requesters.contains(&fault.token.requester));
        }
        self.faults.retain(|_, faults| !faults.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use card::command::FaultToken;
    use card::event::FaultCause;
    use card::SlotId;
    use units::VirtAddr;

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
