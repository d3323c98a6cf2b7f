//! The model: one home, some caches, one or two lines, and an unordered network.
//!
//! The tables are compiled into flat arrays of words first ([`facts`]), so that taking a step
//! ([`cache_steps`], [`home_steps`]) is a few loads and masks.

mod cache_steps;
mod facts;
mod home_steps;
mod properties;
mod setting;
mod symmetry;

use super::layout::{access, cache_state, home, in_flight, operation, Layout, HOME_STATE_BITS};
use super::Violation;
use crate::machine::{Actions, MemoryAccess};
use crate::spec::{Effect, MsgId, OpId};
use cache_steps::At;
use facts::{CacheCell, CacheFacts, ForwardFacts, HomeCell, MessageFacts, OperationFacts};

pub use setting::Setting;

/// One step of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A cache starts a transaction.
    CacheStarts {
        /// Index of the line.
        line: u8,
        /// Index of the cache.
        cache: u8,
        /// Column of the event in the cache's table.
        event: u8,
    },
    /// A message arrives at a cache.
    CacheReceives {
        /// Index of the line.
        line: u8,
        /// Index of the cache.
        cache: u8,
        /// Identifier of the message.
        message: MsgId,
    },
    /// A message arrives at the home.
    HomeReceives {
        /// Index of the line.
        line: u8,
        /// Index of the cache.
        cache: u8,
        /// Identifier of the message.
        message: MsgId,
    },
    /// An operation starts.
    Operation {
        /// Index of the line.
        line: u8,
        /// Identifier of the operation.
        operation: OpId,
    },
    /// Memory completes the access under way.
    MemoryDone {
        /// Index of the line.
        line: u8,
    },
}

/// A state of the model.
pub(super) type State<const W: usize> = [u64; W];

/// Receives the results of a state's steps.
pub(super) trait Sink<const W: usize> {
    /// A step leads to `next`; `drain` if it delivers a message rather than starting something.
    fn step(&mut self, step: Step, next: State<W>, drain: bool);
    /// A step breaks a property.
    fn broken(&mut self, step: Step, violation: Violation);
    /// A cell of a table was used.
    fn home_cell(&mut self, cell: usize);
    /// A step of the cache's table was used.
    fn cache_cell(&mut self, cell: usize);
}

pub(super) struct Model<const W: usize> {
    pub layout: Layout,
    ways: usize,
    capacity: u32,
    symmetry: bool,
    application_waits: bool,
    home_events: usize,
    home_cells: Vec<HomeCell>,
    home_stable: Vec<bool>,
    home_locked: Vec<bool>,
    home_refuses: Vec<bool>,
    actions: Vec<Actions>,
    /// By cache and message: column of its arrival.
    arrivals: Vec<usize>,
    first_operation: usize,
    read_done: usize,
    write_done: usize,
    cache_events: usize,
    cache_cells: Vec<CacheCell>,
    /// By cache state: the events that the cache starts.
    starts: Vec<Vec<u8>>,
    cache_facts: Vec<CacheFacts>,
    messages: Vec<MessageFacts>,
    /// Low bits of messages whose data becomes old on a store.
    carries_copy: u64,
    /// Low bits of requests.
    requests: u64,
    /// Low bits of messages whose sender keeps the data that they carry.
    copies: u64,
    operations: Vec<OperationFacts>,
    /// By event of the cache: the requested state.
    asks_for: Vec<Option<u8>>,
    /// By message: the rights that a forward takes.
    forwards: Vec<Option<ForwardFacts>>,
    /// By state of the specification: its level.
    levels: Vec<u8>,
    orders: Vec<Vec<usize>>,
    images: Vec<u32>,
    roles: Vec<u32>,
}

impl<const W: usize> Model<W> {
    /// The initial state: no cache has a copy, memory has the latest value.
    pub fn start(&self) -> State<W> {
        [0; W]
    }

    /// Sizes of the coverage maps: home cells and cache cells.
    pub fn cells(&self) -> (usize, usize) {
        (self.home_cells.len(), self.cache_cells.len())
    }

    /// Takes every step of a state.
    pub fn expand(&self, state: &State<W>, sink: &mut impl Sink<W>) {
        for line in 0..self.layout.lines {
            for cache in 0..self.layout.caches {
                self.expand_cache(state, line, cache, sink);
            }
            self.expand_home(state, line, sink);
        }
    }

    fn expand_cache(&self, s: &State<W>, line: usize, cache: usize, sink: &mut impl Sink<W>) {
        let word = s[self.layout.word(line, cache)];
        let (line8, cache8) = (line as u8, cache as u8);
        for &event in &self.starts[cache_state(word)] {
            let step = Step::CacheStarts {
                line: line8,
                cache: cache8,
                event,
            };
            let cell = cache_state(word) * self.cache_events + usize::from(event);
            self.cache_step(s, At { line, cache }, cell, None, step, sink);
        }
        let mut bits = in_flight(word);
        while bits != 0 {
            let number = (bits.trailing_zeros() / 2) as u8;
            bits &= bits - 1;
            let message = MsgId(number);
            let facts = &self.messages[usize::from(number)];
            if facts.to_home {
                let step = Step::HomeReceives {
                    line: line8,
                    cache: cache8,
                    message,
                };
                let event = self.arrivals[cache * self.messages.len() + usize::from(number)];
                self.home_step(s, line, event, Cause::Message(cache, message), step, sink);
            } else {
                let step = Step::CacheReceives {
                    line: line8,
                    cache: cache8,
                    message,
                };
                let cell = cache_state(word) * self.cache_events + usize::from(facts.cache_event);
                self.cache_step(s, At { line, cache }, cell, Some(message), step, sink);
            }
        }
    }

    fn expand_home(&self, s: &State<W>, line: usize, sink: &mut impl Sink<W>) {
        let half = home(s[0], line);
        let line8 = line as u8;
        let under_way = access(half);
        if under_way != AccessCode::NONE && !self.application_withholds(s, line) {
            let event = if under_way == AccessCode::READ {
                self.read_done
            } else {
                self.write_done
            };
            self.home_step(
                s,
                line,
                event,
                Cause::Memory,
                Step::MemoryDone { line: line8 },
                sink,
            );
        }
        if operation(half) == 0 {
            for number in 0..self.operations.len() {
                let operation = OpId(number as u8);
                let step = Step::Operation {
                    line: line8,
                    operation,
                };
                let event = self.first_operation + number;
                self.home_step(s, line, event, Cause::Operation(operation), step, sink);
            }
        }
    }

    /// The application holds back this line's memory access until its own clean of the other
    /// line is acknowledged.
    fn application_withholds(&self, s: &State<W>, line: usize) -> bool {
        let under_way = |line| operation(home(s[0], line));
        self.application_waits
            && under_way(line) == 0
            && (0..self.layout.lines).any(|other| {
                let number = under_way(other) as usize;
                other != line
                    && number > 0
                    && self.operations[number - 1].effect == Effect::Nothing
                    && !self.operations[number - 1].internal
            })
    }

    fn room(&self, s: &State<W>, cache: usize, message: MsgId) -> bool {
        let buffer = self.messages[message.index()].buffer;
        let used: u32 = (0..self.layout.lines)
            .map(|line| (in_flight(s[self.layout.word(line, cache)]) & buffer).count_ones())
            .sum();
        used < self.capacity
    }
}

/// Cause of a step of the home.
#[derive(Clone, Copy)]
enum Cause {
    Message(usize, MsgId),
    Operation(OpId),
    Memory,
}

const HOME_STATE: u32 = (1 << HOME_STATE_BITS) - 1;

fn home_state(half: u32) -> usize {
    (half & HOME_STATE) as usize
}

/// Codes of the memory access under way.
struct AccessCode;

impl AccessCode {
    const NONE: u32 = 0;
    const READ: u32 = 1;
    const PAYLOAD: u32 = 2;
    const HELD: u32 = 3;
    const OPERATION: u32 = 4;

    fn of(memory: MemoryAccess) -> u32 {
        match memory {
            MemoryAccess::None => Self::NONE,
            MemoryAccess::Read => Self::READ,
            MemoryAccess::WritePayload => Self::PAYLOAD,
            MemoryAccess::WriteHeld => Self::HELD,
            MemoryAccess::WriteOperation => Self::OPERATION,
        }
    }
}
