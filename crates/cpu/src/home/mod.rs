//! The CPU as home: its directory runs the generated table ([`protocol::tables::mesi`]) over its memory; its own cache
//! agent uses the lines too.
//!
//! To the directory the card is the only remote cache. The agent's accesses are the protocol's local operations. A load
//! is a coherent read and may leave a shared copy, which is dropped when the card gets the line exclusively. A store is
//! a coherent write or a lock. Under the lock the agent holds the line exclusively until the card requests it or the
//! agent no longer needs it; then it writes the line back and unlocks.

mod agent;
mod names;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};

use protocol::spec::{MsgId, Spec};
use protocol::tables::mesi::{
    home_step, HomeEvent, HomeOutcome, HomeState, Memory, Message as Name,
};

use agent::{perform, Copy};
use names::{event_of, NAMES};

pub use agent::{HomeAccess, HomeDone};

use crate::message::Message;
use crate::random::Random;
use units::line::{merge_parts, Data, FoldedLine, PlainLine, WORDS};

/// An event that the protocol does not define.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HomeError {
    /// An event that is not defined in its state.
    #[error("the home met {event:?} in state {state:?} (line {line:#x})")]
    Unexpected {
        /// State of the line.
        state: HomeState,
        /// Event without a defined step.
        event: HomeEvent,
        /// Folded number of the line.
        line: u64,
    },
    /// A message that a home never receives.
    #[error("the home received {0:?}")]
    Foreign(Name),
    /// A message with data arrived without, or the reverse.
    #[error("the home received {0:?} with the wrong payload")]
    Payload(Name),
}

/// Work that waits for the line: a message of the card or an access of the agent.
#[derive(Debug)]
enum Work {
    Request(Message),
    Operation(HomeEvent, u64, HomeAccess),
}

#[derive(Debug)]
struct LineState {
    state: HomeState,
    /// Number of the request being served.
    request: u8,
    /// Data to write when the memory access under way completes.
    payload: Option<(u8, Box<Data>)>,
    /// The operation under way.
    operation: Option<(u64, HomeAccess)>,
    waiting: VecDeque<Work>,
    copy: Option<Copy>,
    /// Whether an unlock is under way.
    unlocking: bool,
}

/// Timing of the CPU.
#[derive(Clone, Copy, Debug)]
pub struct HomeFigures {
    /// Minimum latency of a memory access, in picoseconds.
    pub memory_ps: u64,
    /// Maximum random addition to it, in picoseconds.
    pub jitter_ps: u64,
}

/// The CPU as home agent.
#[derive(Debug)]
pub struct Home {
    figures: HomeFigures,
    random: Random,
    lines: HashMap<u64, LineState>,
    memory: HashMap<u64, Box<Data>>,
    /// Memory accesses under way: end, tie breaker, line, read.
    accesses: BinaryHeap<Reverse<(u64, u64, u64, bool)>>,
    ties: u64,
    spec: Spec,
    slices: usize,
    /// Messages to the card: one queue per class and slice, like the link's lanes.
    pub out: Vec<VecDeque<Message>>,
    /// Lines that the agent holds exclusively although the card requested them.
    wanted: BTreeSet<u64>,
    /// Number of requests and accesses that wait for a line.
    waiting: usize,
    now: u64,
    /// Completed accesses.
    pub done: Vec<HomeDone>,
    /// First event that the protocol does not define.
    error: Option<HomeError>,
}

impl Home {
    /// A CPU with zeroed memory, connected to a card with `slices` slices.
    #[must_use]
    pub fn new(spec: &Spec, figures: HomeFigures, slices: usize, seed: u64) -> Self {
        let lanes = slices * spec.classes.len();
        Self {
            figures,
            random: Random::new(seed),
            lines: HashMap::new(),
            memory: HashMap::new(),
            accesses: BinaryHeap::new(),
            ties: 0,
            spec: spec.clone(),
            slices,
            out: (0..lanes).map(|_| VecDeque::new()).collect(),
            wanted: BTreeSet::new(),
            waiting: 0,
            now: 0,
            done: Vec::new(),
            error: None,
        }
    }

    /// Content of memory.
    #[must_use]
    pub fn memory(&self, line: PlainLine) -> Data {
        let data = self.memory.get(&line.fold().0);
        data.map_or([0; WORDS], |data| **data)
    }

    fn line(&mut self, line: u64) -> &mut LineState {
        self.lines.entry(line).or_insert_with(|| LineState {
            state: HomeState::I,
            request: 0,
            payload: None,
            operation: None,
            waiting: VecDeque::new(),
            copy: None,
            unlocking: false,
        })
    }

    /// Retries the work that waits for a line, in order, until a round changes nothing.
    fn work(&mut self, line: u64) {
        if self.line(line).unlocking {
            return self.unlock(line);
        }
        loop {
            let mut waiting = std::mem::take(&mut self.line(line).waiting);
            let mut progress = false;
            for _ in 0..waiting.len() {
                let Some(work) = waiting.pop_front() else {
                    break;
                };
                match self.attempt(line, work) {
                    None => {
                        self.waiting -= 1;
                        progress = true;
                    }
                    Some(work) => waiting.push_back(work),
                }
            }
            // Work queued by an attempt arrived later.
            waiting.append(&mut self.line(line).waiting);
            self.line(line).waiting = waiting;
            if !progress {
                return;
            }
        }
    }

    /// Tries to perform the work; returns it if it has to wait.
    fn attempt(&mut self, line: u64, work: Work) -> Option<Work> {
        let (event, operation) = match &work {
            Work::Request(message) => (event_of(NAMES[message.id.index()])?, None),
            Work::Operation(event, token, access) => (*event, Some((*token, *access))),
        };
        let entry = self.line(line);
        let held = entry.copy.as_ref().is_some_and(|copy| copy.exclusive);
        if held || entry.unlocking {
            // The agent holds the line exclusively. It uses it, or gives it up some time later.
            if let (Some((token, access)), Some(copy)) = (operation, &mut entry.copy) {
                let data = perform(&mut copy.data, access);
                self.done.push(HomeDone { token, data });
                return None;
            }
            if held {
                self.wanted.insert(line);
            }
            return Some(work);
        }
        let HomeOutcome::Go(_) = self.outcome(line, event)? else {
            return Some(work);
        };
        match work {
            Work::Request(message) => {
                self.line(line).request = message.request;
                self.step(line, event, None);
            }
            Work::Operation(_, token, access) => {
                let entry = self.line(line);
                entry.operation = Some((token, access));
                if matches!(access, HomeAccess::Write { .. }) {
                    // Its own copy is old from now on.
                    entry.copy = None;
                }
                self.step(line, event, None);
            }
        }
        None
    }

    /// The table's outcome; `None` (and the error is recorded) if it has none.
    fn outcome(&mut self, line: u64, event: HomeEvent) -> Option<HomeOutcome> {
        let state = self.line(line).state;
        let outcome = home_step(state, event);
        if outcome == HomeOutcome::Unexpected {
            self.error
                .get_or_insert(HomeError::Unexpected { state, event, line });
            return None;
        }
        Some(outcome)
    }

    /// Takes a step of the table.
    fn step(&mut self, line: u64, event: HomeEvent, payload: Option<(u8, Box<Data>)>) {
        let Some(HomeOutcome::Go(step)) = self.outcome(line, event) else {
            return;
        };
        let now = self.now;
        let figures = self.figures;
        let entry = self.line(line);
        entry.state = step.next;
        match (step.memory, entry.operation) {
            (Memory::WritePayload, _) => entry.payload = payload,
            (Memory::WriteOperation, Some((_, HomeAccess::Write { parts, data }))) => {
                entry.payload = Some((parts, Box::new(data)));
            }
            _ => {}
        }
        if step.memory != Memory::None {
            let end = now + figures.memory_ps + self.random.below(figures.jitter_ps + 1);
            self.ties += 1;
            let read = step.memory == Memory::Read;
            self.accesses.push(Reverse((end, self.ties, line, read)));
        }
        if let Some(name) = step.send {
            let exclusive = matches!(name, Name::DataExclusive | Name::GrantExclusive);
            let memory = self.memory.get(&line).cloned();
            let entry = self.line(line);
            if exclusive {
                entry.copy = None;
            }
            let data = name
                .has_data()
                .then(|| memory.unwrap_or_else(|| Box::new([0; WORDS])));
            let id = NAMES.iter().position(|n| *n == name).unwrap_or(0);
            let message = Message {
                id: MsgId(id as u8),
                request: entry.request,
                parts: if data.is_some() { 0xf } else { 0 },
                line: FoldedLine(line),
                poisoned: false,
                data,
            };
            let lane = message.lane(&self.spec, self.slices);
            self.out[lane].push_back(message);
        }
        if step.done {
            self.operation_done(line);
        }
    }

    /// Receives a message of the card.
    pub fn receive(&mut self, message: Message) {
        let name = NAMES[message.id.index()];
        let line = message.line.0;
        let Some(event) = event_of(name) else {
            self.error.get_or_insert(HomeError::Foreign(name));
            return;
        };
        if name.has_data() != message.data.is_some() {
            self.error.get_or_insert(HomeError::Payload(name));
            return;
        }
        let request = matches!(name, Name::ReadShared | Name::ReadExclusive | Name::Upgrade);
        if request {
            self.waiting += 1;
            self.line(line).waiting.push_back(Work::Request(message));
        } else {
            let payload = message.data.map(|data| (message.parts, data));
            self.step(line, event, payload);
        }
        self.work(line);
    }

    /// The card and its link have been reset: it has no copies any more. Memory keeps the data written back; the
    /// agent's own copies are written back to it. Returns the failed accesses: those under way.
    pub fn forget_card(&mut self) -> Vec<u64> {
        let mut failed = Vec::new();
        for (number, line) in std::mem::take(&mut self.lines) {
            let memory = &mut self.memory;
            if let Some((parts, data)) = line.payload {
                let empty = || Box::new([0; WORDS]);
                merge_parts(memory.entry(number).or_insert_with(empty), parts, &data);
            }
            if let Some(copy) = line.copy.filter(|copy| copy.exclusive) {
                memory.insert(number, copy.data);
            }
            failed.extend(line.operation.map(|(token, _)| token));
            failed.extend(line.waiting.into_iter().filter_map(|work| match work {
                Work::Request(_) => None,
                Work::Operation(_, token, _) => Some(token),
            }));
        }
        failed.sort_unstable();
        self.accesses.clear();
        self.out.iter_mut().for_each(VecDeque::clear);
        self.wanted.clear();
        self.waiting = 0;
        failed
    }

    /// Sets the time at which new work begins.
    pub fn set_time(&mut self, now: u64) {
        self.now = now;
    }

    /// Completes the memory accesses that end by now.
    ///
    /// # Errors
    /// An event that the protocol does not define, in this call or in [`receive`](Self::receive).
    pub fn advance(&mut self) -> Result<(), HomeError> {
        let now = self.now;
        while let Some(&Reverse((end, _, line, read))) = self.accesses.peek() {
            if end > now {
                break;
            }
            self.accesses.pop();
            if read {
                self.step(line, HomeEvent::ReadDone, None);
            } else {
                if let Some((parts, data)) = self.line(line).payload.take() {
                    let empty = || Box::new([0; WORDS]);
                    merge_parts(self.memory.entry(line).or_insert_with(empty), parts, &data);
                }
                self.step(line, HomeEvent::WriteDone, None);
            }
            self.work(line);
        }
        self.error.clone().map_or(Ok(()), Err)
    }

    /// Whether nothing is under way.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.is_idle() && self.waiting == 0
    }

    /// Whether the CPU is idle until the card sends a message.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.accesses.is_empty()
            && self.wanted.is_empty()
            && self.out.iter().all(VecDeque::is_empty)
    }

    /// Whether the agent has a copy of the line.
    #[must_use]
    pub fn has_copy(&self, line: PlainLine) -> bool {
        self.lines
            .get(&line.fold().0)
            .is_some_and(|entry| entry.copy.is_some())
    }
}
