//! Which events the host's service thread looks at next.
//!
//! One batch at a time: everything that cannot pile up (completions are bounded by the commands that
//! were sent, interrupts and closed slots by the slots), and of each address space at most so many
//! faults. So a kernel that faults without end makes the faults of other spaces wait for one bounded
//! batch, and no longer.

use card::event::{Event, Fault};
use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use units::Asid;

/// Faults of one space in a batch: all that the requesters of a port report at once, and more.
const FAULTS_OF_A_SPACE: usize = 24;

/// Events that wait for the service thread.
#[derive(Debug, Default)]
pub(super) struct ServiceQueue {
    others: Vec<Event>,
    faults: BTreeMap<Asid, VecDeque<Fault>>,
}

impl ServiceQueue {
    pub(super) fn push(&mut self, event: Event) {
        match event {
            Event::Fault(fault) => self.faults.entry(fault.asid).or_default().push_back(fault),
            other => self.others.push(other),
        }
    }

    /// The next batch; empty if nothing waits.
    pub(super) fn batch(&mut self) -> Vec<Event> {
        let mut batch = std::mem::take(&mut self.others);
        for faults in self.faults.values_mut() {
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
            queue.push(fault(1, 0));
        }
        queue.push(fault(2, 4));
        queue.push(Event::Interrupt(SlotId(3)));
        let batch = queue.batch();
        assert_eq!(batch.len(), FAULTS_OF_A_SPACE + 2);
        assert!(batch.contains(&fault(2, 4)));
        assert_eq!(queue.batch().len(), FAULTS_OF_A_SPACE);
        queue.push(fault(1, 9));
        queue.forget(&(0..=3));
        assert_eq!(queue.batch(), [fault(1, 9)]);
        assert!(queue.batch().is_empty());
    }
}
