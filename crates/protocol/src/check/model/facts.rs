//! Properties of messages, states and operations, in flat arrays.

use super::AccessCode;
use super::{Setting, State};
use crate::check::layout::{
    access, cache_state, home, in_flight, with_home, Layout, BUFFER_OLD, COPY_OLD, MEMORY_OLD,
};
use crate::generate::Protocol;
use crate::machine::{CacheEvent, CacheState, Cell, DirEvent, DirState};
use crate::spec::{AccessKind, Effect, MsgId, OpId, Spec, StateId};

/// Properties of a message.
#[derive(Clone, Copy, Default)]
pub(super) struct MessageFacts {
    pub(super) to_home: bool,
    pub(super) data: bool,
    pub(super) request: bool,
    /// Low bits of all messages that share its buffer; zero if the buffer is never full.
    pub(super) buffer: u64,
    /// Column in the cache's table, or 0xff.
    pub(super) cache_event: u8,
}

/// Properties of a cache's state.
#[derive(Clone, Copy, Default)]
pub(super) struct CacheFacts {
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) dirty: bool,
    pub(super) keeps_data: bool,
    pub(super) stable: bool,
    pub(super) level: u8,
    pub(super) copy: u8,
    pub(super) aim: u8,
    /// [`NO_PASS`], or the state to which a granted copy is downgraded.
    pub(super) pass: u8,
    /// Stable, without a rule that the specification has.
    pub(super) refuses: bool,
    /// Low bit of the request to write that this state waits for.
    pub(super) waits_to_write: u64,
}

/// The cache keeps the granted copy.
pub(super) const NO_PASS: u8 = u8::MAX;

/// Properties of a directory's state.
#[derive(Clone, Copy)]
pub(super) struct HomeFacts {
    pub(super) stable: bool,
    pub(super) locked: bool,
    /// Stable, and makes an operation wait.
    pub(super) refuses: bool,
}

/// Properties of an operation.
#[derive(Clone, Copy)]
pub(super) struct OperationFacts {
    pub(super) at_most: Option<u8>,
    pub(super) effect: Effect,
    pub(super) internal: bool,
}

/// The layout of a state, and the properties of all that is in it.
pub(super) struct Facts {
    pub(super) layout: Layout,
    /// Messages of a class in flight between the home and one cache.
    capacity: u32,
    messages: Vec<MessageFacts>,
    /// Low bits of messages whose data becomes old on a store.
    carries_copy: u64,
    /// Low bits of requests.
    requests: u64,
    /// Low bits of messages whose sender keeps the data that they carry.
    copies: u64,
    /// By state of a cache.
    caches: Vec<CacheFacts>,
    /// By state of the directory.
    homes: Vec<HomeFacts>,
    operations: Vec<OperationFacts>,
}

impl Facts {
    pub(super) fn new(protocol: &Protocol, setting: &Setting, layout: Layout) -> Self {
        let spec = &protocol.spec;
        Self {
            layout,
            capacity: setting.capacity,
            messages: message_facts(protocol),
            carries_copy: low_bits(spec, |m| spec.message(m).data && !spec.is_request(m)),
            requests: low_bits(spec, |m| spec.is_request(m)),
            copies: low_bits(spec, |m| spec.is_copy(m)),
            caches: cache_facts(protocol),
            homes: home_facts(protocol),
            operations: spec
                .operations
                .iter()
                .map(|op| OperationFacts {
                    at_most: op.at_most.map(|s| spec.state(s).level.0),
                    effect: op.effect,
                    internal: op.internal,
                })
                .collect(),
        }
    }

    #[inline]
    pub(super) fn message(&self, message: MsgId) -> &MessageFacts {
        &self.messages[message.index()]
    }

    /// Facts about a cache state.
    #[inline]
    pub(super) fn cache(&self, state: usize) -> &CacheFacts {
        &self.caches[state]
    }

    /// Facts about a directory state.
    #[inline]
    pub(super) fn home(&self, state: usize) -> &HomeFacts {
        &self.homes[state]
    }

    #[inline]
    pub(super) fn operations(&self) -> &[OperationFacts] {
        &self.operations
    }

    /// Whether the data of a message becomes old on a store.
    #[inline]
    pub(super) fn carries_copy(&self, message: MsgId) -> bool {
        self.carries_copy & 1 << (2 * message.0) != 0
    }

    /// Whether the sender of a message keeps the data that it carries.
    #[inline]
    pub(super) fn is_copy(&self, message: MsgId) -> bool {
        self.copies & 1 << (2 * message.0) != 0
    }

    /// Whether a request is among messages, given by their low bits.
    #[inline]
    pub(super) fn has_request(&self, messages: u64) -> bool {
        messages & self.requests != 0
    }

    /// Whether the buffer of a message between the home and a cache has room for it.
    #[inline]
    pub(super) fn room<const W: usize>(&self, s: &State<W>, cache: usize, message: MsgId) -> bool {
        let buffer = self.message(message).buffer;
        let used: u32 = (0..self.layout.lines)
            .map(|line| (in_flight(s[self.layout.word(line, cache)]) & buffer).count_ones())
            .sum();
        used < self.capacity
    }

    /// A newer value of the line exists: marks all other copies as old.
    pub(super) fn make_old<const W: usize>(&self, s: &mut State<W>, line: usize) {
        let mut half = home(s[0], line) | MEMORY_OLD;
        if access(half) == AccessCode::PAYLOAD {
            half |= BUFFER_OLD;
        }
        s[0] = with_home(s[0], line, half);
        for cache in 0..self.layout.caches {
            let word = &mut s[self.layout.word(line, cache)];
            let young = *word & self.carries_copy;
            *word = *word & !young | young << 1;
            if self.cache(cache_state(*word)).keeps_data {
                *word |= COPY_OLD;
            }
        }
    }
}

fn low_bits(spec: &Spec, pick: impl Fn(MsgId) -> bool) -> u64 {
    spec.message_ids()
        .filter(|&m| pick(m))
        .fold(0, |bits, m| bits | 1 << (2 * m.0))
}

fn message_facts(protocol: &Protocol) -> Vec<MessageFacts> {
    let spec = &protocol.spec;
    let facts = |id: MsgId| {
        let message = spec.message(id);
        let same = |other: MsgId| {
            let other = spec.message(other);
            other.class == message.class && other.to_home == message.to_home
        };
        let column = protocol.cache.column(CacheEvent::Receive(id));
        MessageFacts {
            to_home: message.to_home,
            data: message.data,
            request: spec.is_request(id),
            buffer: match spec.class_of(id).never_full {
                true => 0,
                false => low_bits(spec, same),
            },
            cache_event: column.map_or(0xff, |c| c as u8),
        }
    };
    spec.message_ids().map(facts).collect()
}

fn cache_facts(protocol: &Protocol) -> Vec<CacheFacts> {
    let (spec, cache) = (&protocol.spec, &protocol.cache);
    let facts = |(number, state): (usize, &CacheState)| {
        let rights = spec.state(state.copy);
        let offers = |event: CacheEvent| {
            cache
                .column(event)
                .is_some_and(|column| cache.step(number, column).is_some())
        };
        let writes = spec.accesses.iter().filter(|a| a.kind == AccessKind::Write);
        let awaited = writes
            .map(|a| a.request)
            .find(|&r| Some(r) == state.waits_for);
        let refuses = state.stable && !rules_of(spec, state.copy).into_iter().all(offers);
        CacheFacts {
            reads: rights.read,
            writes: state.stable && rights.write,
            dirty: rights.dirty,
            keeps_data: state.keeps_data,
            stable: state.stable,
            level: rights.level.0,
            copy: state.copy.0,
            aim: state.aim.0,
            pass: state.pass.map_or(NO_PASS, |pass| pass.0),
            refuses,
            waits_to_write: awaited.map_or(0, |r| 1 << (2 * r.0)),
        }
    };
    cache.states.iter().enumerate().map(facts).collect()
}

/// Events that the specification lets a cache start in a stable state.
fn rules_of(spec: &Spec, state: StateId) -> Vec<CacheEvent> {
    let mut rules = Vec::new();
    let upgrades = spec
        .upgrades
        .iter()
        .enumerate()
        .filter(|(_, u)| u.from == state);
    rules.extend(upgrades.map(|(i, _)| CacheEvent::Upgrade(i as u8)));
    let downgrades = spec
        .downgrades
        .iter()
        .enumerate()
        .filter(|(_, d)| d.from == state);
    rules.extend(downgrades.map(|(i, _)| CacheEvent::Downgrade(i as u8)));
    if state == Spec::NO_COPY {
        rules.extend((0..spec.accesses.len() as u8).map(CacheEvent::Access));
    }
    if spec.state(state).store_to.is_some() {
        rules.push(CacheEvent::Store);
    }
    rules
}

fn home_facts(protocol: &Protocol) -> Vec<HomeFacts> {
    let (spec, directory) = (&protocol.spec, &protocol.directory);
    let facts = |(number, state): (usize, &DirState)| {
        // The directory's own operations may wait for a lock.
        let stalls = |op: OpId| {
            let column = directory.column(DirEvent::Operation(op));
            let stalls = column.is_some_and(|c| *directory.cell(number, c) == Cell::Stall);
            stalls && !(state.locked && spec.operations[op.index()].internal)
        };
        HomeFacts {
            stable: state.stable,
            locked: state.locked,
            refuses: state.stable && spec.operation_ids().any(stalls),
        }
    };
    directory.states.iter().enumerate().map(facts).collect()
}
