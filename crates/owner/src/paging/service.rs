//! Scheduling of events for the host's service threads.
//!
//! A thread processes one batch at a time: all events of bounded number (completions are bounded by the commands sent,
//! interrupts and closed slots by the slots), and a limited number of faults per address space. So a kernel that faults
//! without end delays the faults of other spaces by one bounded batch at most.
//!
//! With spaces of several shares ([`Shares`]), completions and faults of the shares take turns, and the whole batch is
//! bounded: a share with a thousand pages under way delays the others only by its turn in each batch.
//!
//! Within one share, the priorities of slots hold for the thread as well: while events of a space with a kernel of higher
//! priority are pending, others wait, at most for [`PASSES`] batches; and they are served a few events at a time, since a
//! batch is not interrupted.

use super::clients::PagingByClient;
use super::faults::Faults;
use super::pressure::{Flush, Pressure, StreamPlace};
use super::shares::{ServiceShare, Shares};
use card::event::Event;
use card::HostWork;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;
use units::{Asid, CommandId, Fault, FaultToken, Picoseconds, Priority, ServiceEvents};

/// Maximum number of faults of one space in a batch: more than all requesters of a port report at once.
const FAULTS_OF_A_SPACE: usize = 24;
/// Number of events of one share in its turn.
const TURN: usize = 2;
/// Maximum number of events in a batch, over all shares.
const BATCH: usize = 16;
/// Batches in a row without the events of lower priorities; the next one takes them, so that no space starves.
const PASSES: u32 = 8;

/// Highest priority of the kernels of each space. Empty without any priority; a space that is absent has the default.
pub(crate) type SpacePriorities = BTreeMap<Asid, Priority>;

/// Assignment of address spaces to service threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceThreads {
    /// One thread for all spaces.
    #[default]
    One,
    /// A thread for each space, as in FSRF (§5.1), and one more for events that belong to no space.
    EachSpace,
    /// A thread for each space that completes each fault, up to its answer, before the next one, as in FSRF, whose MMU
    /// yields to the thread with one fault (§5.2).
    OneFault,
}

impl ServiceThreads {
    /// Whether each space has its own thread.
    pub(super) fn are_of_spaces(self) -> bool {
        self != Self::One
    }
}

/// A service thread: the common one, or a space's.
pub(super) type Thread = Option<Asid>;

/// A batch for a service thread.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// Service thread of the batch.
    pub(super) thread: Thread,
    /// Events to process, in order.
    pub(super) events: Vec<Event>,
}

impl Batch {
    /// The work of the thread that handles it.
    pub(super) fn work(&self) -> HostWork {
        let is_fault = |event: &&Event| matches!(event, Event::Fault(_));
        let faults = self.events.iter().filter(is_fault).count();
        let events = ServiceEvents {
            faults: faults as u32,
            others: (self.events.len() - faults) as u32,
        };
        match self.thread {
            None => HostWork::ServeEvents(events),
            Some(space) => HostWork::ServeEventsOf {
                thread: 1 + space.get(),
                events,
            },
        }
    }
}

/// The service threads: which of them are busy, and their pending events.
#[derive(Debug, Default)]
pub(crate) struct Service {
    queue: ServiceQueue,
    busy: BTreeSet<Thread>,
    /// The shares that take turns.
    pub(super) shares: Shares,
    /// Paging of each client.
    pub(super) clients: PagingByClient,
    /// Spaces of the commands under way; only if spaces have their own threads, or there are several shares or
    /// priorities.
    spaces: BTreeMap<CommandId, Asid>,
    /// Events that the card has reported and that are not queued for a thread yet.
    reported: VecDeque<Event>,
    faults: Faults,
    /// Writes to streams that wait for their devices.
    pub(super) pressure: Pressure,
}

impl Service {
    pub(super) fn new(threads: ServiceThreads) -> Self {
        Self {
            queue: ServiceQueue::new(threads),
            ..Self::default()
        }
    }

    /// Sets the priorities of spaces.
    pub(super) fn prioritize(&mut self, priorities: SpacePriorities) {
        self.queue.priorities = priorities;
    }

    /// Records the space of a command: its completion goes to the thread of the space, or counts in the turn of its
    /// share, or has the priority of the space.
    pub(super) fn remember(&mut self, command: CommandId, space: Option<Asid>) {
        let counts = self.queue.threads.are_of_spaces()
            || self.shares.are_several()
            || !self.queue.priorities.is_empty();
        if counts {
            self.spaces.extend(space.map(|space| (command, space)));
        }
    }

    /// Queues an event for its thread.
    pub(super) fn push(&mut self, event: Event) {
        let space = match &event {
            Event::Completed { id, .. } => self.spaces.remove(id),
            _ => None,
        };
        let share = match self.shares.are_several() {
            true => self.shares.of(space),
            false => None,
        };
        self.queue.push(event, space, share);
    }

    /// Appends events that the card has reported.
    pub(super) fn report(&mut self, events: impl IntoIterator<Item = Event>) {
        self.reported.extend(events);
    }

    /// Whether reported events are pending.
    pub(crate) fn has_reported(&self) -> bool {
        !self.reported.is_empty()
    }

    /// Takes the next reported event.
    pub(super) fn next_reported(&mut self) -> Option<Event> {
        self.reported.pop_front()
    }

    /// Puts back an event that cannot be processed yet.
    pub(super) fn put_back(&mut self, event: Event) {
        self.reported.push_front(event);
    }

    /// Records the arrival of a fault that awaits its answer.
    pub(super) fn fault_arrived(&mut self, token: FaultToken, now: Picoseconds) {
        self.faults.arrived(token, now);
    }

    /// Records that these faults are answered.
    pub(super) fn answered(&mut self, answered: impl Fn(FaultToken) -> bool, now: Picoseconds) {
        self.queue.answered(&answered);
        self.faults.answered(answered, now);
    }

    /// Faults without an answer.
    pub(crate) fn faults_waiting(&self) -> Vec<FaultToken> {
        self.faults.waiting().copied().collect()
    }

    /// Virtual time with at least one fault waiting.
    pub(crate) fn fault_time(&self) -> Picoseconds {
        self.faults.time()
    }

    /// Drops the faults of requesters whose slot is in reset.
    pub(super) fn forget(&mut self, requesters: &RangeInclusive<u8>) {
        self.queue.forget(requesters);
    }

    /// Queues the faults held back for mappings that have ended.
    pub(super) fn end_pressure(&mut self, space: Asid, range: Option<(u64, u64)>) {
        let faults = self.pressure.end_in(space, range);
        self.report(faults.into_iter().map(Event::Fault));
    }

    /// Queues the faults held back for a stream that has accepted its data, or has failed.
    pub(crate) fn flushed(&mut self, stream: StreamPlace) {
        let faults = self.pressure.flushed(stream);
        self.report(faults.into_iter().map(Event::Fault));
    }

    /// Parts of streams to send, since the last call.
    pub(crate) fn take_flushes(&mut self) -> Vec<Flush> {
        self.pressure.take_begun()
    }

    /// The next batch of each idle thread; these threads become busy.
    pub(super) fn begin(&mut self) -> Vec<Batch> {
        let mut batches = Vec::new();
        for thread in self.queue.waiting() {
            if !self.busy.insert(thread) {
                continue;
            }
            let events = self.queue.batch(thread, &self.shares);
            batches.push(Batch { thread, events });
        }
        batches
    }

    /// A thread has processed its batch, and is idle.
    pub(super) fn looked(&mut self, thread: Thread) {
        self.busy.remove(&thread);
    }
}

/// Pending events of the service threads.
#[derive(Debug, Default)]
struct ServiceQueue {
    threads: ServiceThreads,
    others: BTreeMap<Thread, Vec<Event>>,
    /// Completions by share, if there are several shares and one thread for all.
    turns: BTreeMap<ServiceShare, VecDeque<Event>>,
    /// The share that had the last turn.
    last: Option<ServiceShare>,
    priorities: SpacePriorities,
    /// Completions by space, if there are priorities and one thread and one share for all.
    of_spaces: BTreeMap<Asid, Vec<Event>>,
    /// Batches since events of lower priority were taken, or there were none.
    passes: u32,
    /// The last space with events in a batch by priority.
    last_space: Option<Asid>,
    faults: BTreeMap<Asid, VecDeque<Fault>>,
    /// With one fault at a time: the unanswered fault of each space.
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

    /// Queues an event, by its space and its share if they are known.
    fn push(&mut self, event: Event, space: Option<Asid>, share: Option<ServiceShare>) {
        match (event, share) {
            (Event::Fault(fault), _) => {
                self.faults.entry(fault.asid).or_default().push_back(fault);
            }
            (event, Some(share)) if self.threads == ServiceThreads::One => {
                self.turns.entry(share).or_default().push_back(event);
            }
            (event, None) if self.has_levels() && space.is_some() => {
                let of_space = space.map(|space| self.of_spaces.entry(space).or_default());
                of_space
                    .into_iter()
                    .for_each(|events| events.push(event.clone()));
            }
            (other, _) => {
                let thread = self.thread_of(space);
                self.others.entry(thread).or_default().push(other);
            }
        }
    }

    /// Whether the common thread serves spaces by their priorities.
    fn has_levels(&self) -> bool {
        self.threads == ServiceThreads::One && !self.priorities.is_empty()
    }

    /// Threads with pending events.
    fn waiting(&self) -> Vec<Thread> {
        let others = self.others.keys().copied();
        let may_go = self
            .faults
            .iter()
            .filter(|(asid, faults)| self.room(**asid, faults) > 0);
        let faults = may_go.map(|(&asid, _)| self.thread_of(Some(asid)));
        let turns = self.turns.keys().map(|_| None);
        let of_spaces = self.of_spaces.keys().map(|_| None);
        let common = turns.chain(of_spaces);
        let threads: BTreeSet<Thread> = others.chain(faults).chain(common).collect();
        threads.into_iter().collect()
    }

    /// How many of a space's faults its thread may process now.
    fn room(&self, asid: Asid, faults: &VecDeque<Fault>) -> usize {
        match (self.threads, self.open.get(&asid)) {
            (ServiceThreads::One | ServiceThreads::EachSpace, _) => FAULTS_OF_A_SPACE,
            (ServiceThreads::OneFault, None) => 1,
            // A fault that was deferred comes again.
            (ServiceThreads::OneFault, Some(open)) => {
                usize::from(faults.front().is_some_and(|fault| fault.token == *open))
            }
        }
    }

    /// Records that these faults are answered.
    fn answered(&mut self, answered: impl Fn(FaultToken) -> bool) {
        self.open.retain(|_, token| !answered(*token));
    }

    /// The next batch of a thread; empty if no event is pending.
    fn batch(&mut self, thread: Thread, shares: &Shares) -> Vec<Event> {
        let by_turns = shares.are_several() && self.threads == ServiceThreads::One;
        if by_turns || !self.turns.is_empty() {
            return self.batch_by_turns(shares);
        }
        if self.has_levels() {
            return self.batch_by_levels();
        }
        let mut batch = self.others.remove(&thread).unwrap_or_default();
        let of_spaces = std::mem::take(&mut self.of_spaces);
        batch.extend(of_spaces.into_values().flatten());
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

    /// A batch of the spaces with the highest priority that have events; with the next ones behind, if these have waited
    /// for [`PASSES`] batches. Events below the highest priority on the card are limited to a turn, so a space that has
    /// it waits for no more than that. Events without a space come first: their number is bounded.
    fn batch_by_levels(&mut self) -> Vec<Event> {
        let mut batch = self.others.remove(&None).unwrap_or_default();
        let priorities = std::mem::take(&mut self.priorities);
        let level = |asid: &Asid| priorities.get(asid).copied().unwrap_or_default();
        let pending = self.of_spaces.keys().chain(self.faults.keys()).map(level);
        let levels: BTreeSet<Priority> = pending.collect();
        let highest = priorities.values().max().copied().unwrap_or_default();
        let takes_next = self.passes >= PASSES;
        self.passes = match levels.len() > 1 && !takes_next {
            true => self.passes + 1,
            false => 0,
        };
        for taken in levels.into_iter().rev().take(1 + usize::from(takes_next)) {
            let mut room = match taken < highest {
                true => TURN,
                false => usize::MAX,
            };
            let spaces = self.of_spaces.keys().chain(self.faults.keys()).copied();
            let mut spaces: Vec<Asid> = spaces.filter(|asid| level(asid) == taken).collect();
            // Round robin, from the space after the last one.
            spaces.sort_by_key(|asid| (Some(*asid) <= self.last_space, *asid));
            spaces.dedup();
            for asid in spaces {
                let before = batch.len();
                if let Some(events) = self.of_spaces.get_mut(&asid) {
                    let count = room.min(events.len());
                    batch.extend(events.drain(..count));
                    room -= count;
                }
                if let Some(faults) = self.faults.get_mut(&asid) {
                    let count = room.min(FAULTS_OF_A_SPACE).min(faults.len());
                    batch.extend(faults.drain(..count).map(Event::Fault));
                    room -= count;
                }
                if batch.len() > before {
                    self.last_space = Some(asid);
                }
            }
        }
        self.of_spaces.retain(|_, events| !events.is_empty());
        self.faults.retain(|_, faults| !faults.is_empty());
        self.priorities = priorities;
        batch
    }

    /// A batch in which shares take turns. Events without a share come first: their number is bounded.
    fn batch_by_turns(&mut self, shares: &Shares) -> Vec<Event> {
        let mut batch = self.others.remove(&None).unwrap_or_default();
        let of_spaces = std::mem::take(&mut self.of_spaces);
        batch.extend(of_spaces.into_values().flatten());
        let mut left: BTreeMap<Asid, usize> = BTreeMap::new();
        let mut room = BATCH;
        while room > 0 {
            let of_faults = self.faults.iter().filter(|(asid, _)| {
                let taken = left.get(asid);
                taken.is_none_or(|left| *left > 0)
            });
            let of_faults = of_faults.map(|(&asid, _)| shares.of(Some(asid)));
            let all = self.turns.keys().cloned().map(Some).chain(of_faults);
            // Round robin, from the share after the last one.
            let Some(share) = all.min_by_key(|share| (*share <= self.last, share.clone())) else {
                break;
            };
            let mut turn = TURN.min(room);
            room -= turn;
            if let Some(own) = share.as_ref().and_then(|share| self.turns.get_mut(share)) {
                let count = turn.min(own.len());
                batch.extend(own.drain(..count));
                turn -= count;
            }
            for (&asid, faults) in &mut self.faults {
                if shares.of(Some(asid)) != share {
                    continue;
                }
                let left = left.entry(asid).or_insert(FAULTS_OF_A_SPACE);
                let count = turn.min(*left).min(faults.len());
                batch.extend(faults.drain(..count).map(Event::Fault));
                *left -= count;
                turn -= count;
            }
            room += turn;
            self.turns.retain(|_, events| !events.is_empty());
            self.faults.retain(|_, faults| !faults.is_empty());
            self.last = share;
        }
        batch
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
    use crate::message::ClientId;
    use units::SlotId;
    use units::{CommandStatus, FaultCause, VirtAddr};

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
        let alone = Shares::default();
        let mut queue = ServiceQueue::default();
        for _ in 0..1000 {
            queue.push(fault(1, 0), None, None);
        }
        queue.push(fault(2, 4), None, None);
        queue.push(Event::Interrupt(SlotId(3)), None, None);
        let batch = queue.batch(None, &alone);
        assert_eq!(batch.len(), FAULTS_OF_A_SPACE + 2);
        assert!(batch.contains(&fault(2, 4)));
        assert_eq!(queue.batch(None, &alone).len(), FAULTS_OF_A_SPACE);
        queue.push(fault(1, 9), None, None);
        queue.forget(&(0..=3));
        assert_eq!(queue.batch(None, &alone), [fault(1, 9)]);
        assert!(queue.batch(None, &alone).is_empty());
    }

    fn done(command: u32) -> Event {
        Event::Completed {
            id: CommandId(command),
            status: CommandStatus::Ok,
            accessed: false,
            dirty: false,
        }
    }

    /// Events of the space with the prioritised kernel first, for eight batches at most; then all.
    #[test]
    fn a_priority_holds_for_the_thread_and_starves_nobody() {
        let alone = Shares::default();
        let mut queue = ServiceQueue::default();
        let space = |number| Asid::new(number).unwrap();
        queue.priorities = SpacePriorities::from([(space(2), Priority::High)]);
        queue.push(fault(1, 0), None, None);
        queue.push(done(1), Some(space(1)), None);
        for round in 0..PASSES {
            queue.push(fault(2, 4), None, None);
            queue.push(done(2), Some(space(2)), None);
            let batch = queue.batch(None, &alone);
            assert_eq!(batch, [done(2), fault(2, 4)], "round {round}");
        }
        queue.push(fault(2, 4), None, None);
        let batch = queue.batch(None, &alone);
        assert_eq!(batch, [fault(2, 4), done(1), fault(1, 0)]);
        assert!(queue.waiting().is_empty());
        // An event without a space waits for no priority.
        queue.push(fault(1, 0), None, None);
        queue.push(Event::Interrupt(SlotId(3)), None, None);
        queue.push(fault(2, 4), None, None);
        let batch = queue.batch(None, &alone);
        assert_eq!(batch, [Event::Interrupt(SlotId(3)), fault(2, 4)]);
        // Below the default there is a level too.
        queue.priorities =
            SpacePriorities::from([(space(1), Priority::Normal), (space(2), Priority::Low)]);
        queue.push(fault(2, 4), None, None);
        assert_eq!(queue.batch(None, &alone), [fault(1, 0)]);
        // Without priorities, what was queued by space is served.
        queue.push(done(1), Some(space(1)), None);
        queue.priorities.clear();
        assert_eq!(queue.batch(None, &alone), [done(1), fault(2, 4)]);
    }

    /// Spaces of one priority take turns of two events while another has a higher one: none of them comes first always,
    /// and the higher one waits for no more than a turn.
    #[test]
    fn spaces_below_the_highest_priority_take_turns() {
        let alone = Shares::default();
        let mut queue = ServiceQueue::default();
        let space = |number| Asid::new(number).unwrap();
        queue.priorities = SpacePriorities::from([(space(3), Priority::High)]);
        for _ in 0..4 {
            queue.push(fault(1, 0), None, None);
            queue.push(fault(2, 4), None, None);
        }
        let turns: Vec<_> = (0..4).map(|_| queue.batch(None, &alone)).collect();
        let of = |asid, requester| vec![fault(asid, requester); TURN];
        assert_eq!(turns, [of(1, 0), of(2, 4), of(1, 0), of(2, 4)]);
    }

    #[test]
    fn a_thread_sees_a_fault_through() {
        let alone = Shares::default();
        let mut queue = ServiceQueue::new(ServiceThreads::OneFault);
        let space = |number| Asid::new(number);
        let token = |requester| FaultToken {
            index: 0,
            requester,
        };
        for requester in 0..3 {
            queue.push(fault(1, requester), None, None);
        }
        queue.push(fault(2, 4), None, None);
        assert_eq!(queue.batch(space(1), &alone), [fault(1, 0)]);
        // Until it is answered, only the other space has work.
        assert_eq!(queue.waiting(), [space(2)]);
        assert!(queue.batch(space(1), &alone).is_empty());
        queue.answered(|answered| answered == token(4));
        assert!(queue.batch(space(1), &alone).is_empty());
        queue.answered(|answered| answered == token(0));
        assert_eq!(queue.batch(space(1), &alone), [fault(1, 1)]);
        // Its slot is reset: no answer will come.
        queue.forget(&(1..=1));
        assert_eq!(queue.batch(space(1), &alone), [fault(1, 2)]);
    }

    #[test]
    fn each_space_has_a_thread_of_its_own() {
        let alone = Shares::default();
        let mut queue = ServiceQueue::new(ServiceThreads::EachSpace);
        let space = |number| Asid::new(number);
        queue.push(fault(1, 0), None, None);
        queue.push(Event::SlotClosed(SlotId(1)), space(2), None);
        queue.push(Event::Interrupt(SlotId(3)), None, None);
        assert_eq!(queue.waiting(), [None, space(1), space(2)]);
        assert_eq!(queue.batch(space(1), &alone), [fault(1, 0)]);
        assert_eq!(queue.batch(None, &alone), [Event::Interrupt(SlotId(3))]);
        assert_eq!(
            queue.batch(space(2), &alone),
            [Event::SlotClosed(SlotId(1))]
        );
        assert!(queue.waiting().is_empty());
    }

    /// Spaces 1 to 3 of separate clients, the last two of one tenant.
    fn three_shares() -> Shares {
        let mut shares = Shares::default();
        let space = |number| Asid::new(number).unwrap();
        shares.add(space(1), ServiceShare::Client(ClientId(1)));
        shares.add(space(2), ServiceShare::Client(ClientId(2)));
        shares.add(space(3), ServiceShare::Tenant("lab".into()));
        shares.add(space(4), ServiceShare::Tenant("lab".into()));
        shares
    }

    fn completion(id: u32) -> Event {
        Event::Completed {
            id: CommandId(id),
            status: CommandStatus::Ok,
            accessed: false,
            dirty: false,
        }
    }

    fn pushed(queue: &mut ServiceQueue, shares: &Shares, asid: u8, events: usize) {
        let space = Asid::new(asid);
        for _ in 0..events {
            queue.push(completion(asid.into()), space, shares.of(space));
        }
    }

    /// Number of events of a space in a batch.
    fn count(batch: &[Event], asid: u8) -> usize {
        let of = |event: &&Event| match event {
            Event::Completed { id, .. } => id.0 == u32::from(asid),
            Event::Fault(fault) => fault.asid.get() == asid,
            _ => false,
        };
        batch.iter().filter(of).count()
    }

    #[test]
    fn completions_of_one_share_delay_others_by_its_turn() {
        let shares = three_shares();
        let mut queue = ServiceQueue::default();
        pushed(&mut queue, &shares, 1, 1000);
        assert_eq!(
            queue.batch(None, &shares).len(),
            BATCH,
            "alone, but bounded"
        );
        pushed(&mut queue, &shares, 2, 5);
        queue.push(fault(2, 8), None, None);
        queue.push(fault(4, 16), None, None);
        queue.push(Event::Interrupt(SlotId(3)), None, None);
        let batch = queue.batch(None, &shares);
        assert_eq!(batch.len(), 1 + BATCH);
        assert_eq!(batch[0], Event::Interrupt(SlotId(3)));
        assert_eq!((count(&batch, 2), count(&batch, 4)), (6, 1));
        // The first events of all waiting shares are within a turn of each other.
        let first = batch
            .iter()
            .position(|event| count(std::slice::from_ref(event), 4) == 1);
        assert!(first.unwrap() <= 1 + 2 * TURN);
        // Remaining events are processed after the other shares have gone, too.
        let alone = Shares::default();
        let mut left = 0;
        while !queue.waiting().is_empty() {
            left += queue.batch(None, &alone).len();
        }
        assert_eq!(left + 2 * BATCH - 7, 1000);
    }

    #[test]
    fn shares_with_work_get_equal_parts_of_the_thread() {
        let shares = three_shares();
        let mut queue = ServiceQueue::default();
        let mut served = [0; 5];
        for round in 0..300 {
            // A greedy share, one that is barely busy, and a tenant whose spaces divide its share.
            pushed(&mut queue, &shares, 1, 100);
            for (asid, events) in [(2, 30), (3, 15), (4, 15)] {
                pushed(&mut queue, &shares, asid, events);
            }
            let batch = queue.batch(None, &shares);
            assert_eq!(batch.len(), BATCH, "{round}");
            for asid in 1..5 {
                served[usize::from(asid)] += count(&batch, asid);
            }
        }
        let parts = [served[1], served[2], served[3] + served[4]];
        assert!(
            parts.iter().all(|part| part.abs_diff(parts[0]) <= TURN),
            "{parts:?}"
        );
    }
}
