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

use super::layout::{cache_state, in_flight, Layout, HOME_STATE_BITS};
use super::Violation;
use crate::generate::Protocol;
use crate::machine::MemoryAccess;
use crate::spec::{MsgId, OpId};
use cache_steps::{At, CacheCause, CacheTable};
use facts::Facts;
use home_steps::{Cause, Home};
use symmetry::Symmetry;

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

/// A protocol in a setting: the steps of every state, and the properties of each.
pub(super) struct Model<const W: usize> {
    facts: Facts,
    caches: CacheTable,
    home: Home,
    /// `None`: every state counts.
    symmetry: Option<Symmetry>,
}

impl<const W: usize> Model<W> {
    pub fn new(protocol: &Protocol, setting: &Setting, layout: Layout) -> Self {
        let symmetric = setting.symmetry && (layout.caches > 1 || layout.lines > 1);
        Self {
            facts: Facts::new(protocol, setting, layout),
            caches: CacheTable::new(protocol),
            home: Home::new(protocol, setting, layout),
            symmetry: symmetric.then(|| Symmetry::new(&protocol.directory, layout)),
        }
    }

    pub fn layout(&self) -> Layout {
        self.facts.layout
    }

    /// The initial state: no cache has a copy, memory has the latest value.
    pub fn start(&self) -> State<W> {
        [0; W]
    }

    /// Sizes of the coverage maps: home cells and cache cells.
    pub fn cells(&self) -> (usize, usize) {
        (self.home.cells(), self.caches.cells())
    }

    /// The representative of a state among those that count as one.
    pub fn canonical(&self, state: &State<W>) -> State<W> {
        let symmetry = self.symmetry.as_ref();
        symmetry.map_or(*state, |symmetry| symmetry.canonical(state))
    }

    /// The properties of a single state.
    pub fn inspect(&self, state: &State<W>) -> Option<Violation> {
        self.facts.inspect(state)
    }

    /// Whether nothing is outstanding anywhere.
    pub fn at_rest(&self, state: &State<W>) -> bool {
        self.facts.at_rest(state)
    }

    /// Takes every step of a state.
    pub fn expand(&self, state: &State<W>, sink: &mut impl Sink<W>) {
        let layout = self.layout();
        for line in 0..layout.lines {
            for cache in 0..layout.caches {
                self.expand_cache(state, At { line, cache }, sink);
            }
            self.home.expand(&self.facts, state, line, sink);
        }
    }

    /// Takes the steps that a cache starts, and those of messages between it and the home.
    fn expand_cache(&self, s: &State<W>, at: At, sink: &mut impl Sink<W>) {
        let At { line, cache } = at;
        let word = s[self.layout().word(line, cache)];
        for &event in self.caches.starts(cache_state(word)) {
            self.caches
                .take(&self.facts, s, at, CacheCause::Own(event), sink);
        }
        let mut bits = in_flight(word);
        while bits != 0 {
            let message = MsgId((bits.trailing_zeros() / 2) as u8);
            bits &= bits - 1;
            if self.facts.message(message).to_home {
                let cause = Cause::Message(cache, message);
                self.home.take(&self.facts, s, line, cause, sink);
            } else {
                let cause = CacheCause::Message(message);
                self.caches.take(&self.facts, s, at, cause, sink);
            }
        }
    }
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
