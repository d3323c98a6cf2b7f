//! Steps of a cache.

use super::facts::{Facts, NO_PASS};
use super::{Sink, State, Step};
use crate::check::layout::{
    cache_state, message_field, CACHE_STATE_MASK, CACHE_STATE_SHIFT, COPY_OLD,
};
use crate::check::Violation;
use crate::generate::Protocol;
use crate::machine::CacheEvent;
use crate::spec::{MsgId, Spec};

/// A cache's view of a line.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) line: usize,
    pub(super) cache: usize,
}

/// Cause of a step of a cache.
#[derive(Clone, Copy)]
pub(super) enum CacheCause {
    /// The cache starts it: column of the event in the cache's table.
    Own(u8),
    Message(MsgId),
}

impl CacheCause {
    fn step(self, at: At) -> Step {
        let (line, cache) = (at.line as u8, at.cache as u8);
        match self {
            Self::Own(event) => Step::CacheStarts { line, cache, event },
            Self::Message(message) => Step::CacheReceives {
                line,
                cache,
                message,
            },
        }
    }
}

/// A step of the cache's table.
#[derive(Clone, Copy)]
struct CacheCell {
    defined: bool,
    next: u8,
    send: Option<MsgId>,
    store: bool,
}

/// Rights that a forward takes: from a level, down to a state, which for a dirty copy may be another.
#[derive(Clone, Copy)]
struct ForwardFacts {
    from: u8,
    to: u8,
    dirty_to: u8,
}

impl ForwardFacts {
    fn leaves(self, dirty: bool) -> u8 {
        if dirty {
            self.dirty_to
        } else {
            self.to
        }
    }
}

/// The cache's table, and the rules that its steps must keep.
pub(super) struct CacheTable {
    events: usize,
    cells: Vec<CacheCell>,
    /// By state: the events that the cache starts.
    starts: Vec<Vec<u8>>,
    /// By event: the requested state.
    asks_for: Vec<Option<u8>>,
    /// By message: the rights that a forward takes.
    forwards: Vec<Option<ForwardFacts>>,
    /// By state of the specification: its level.
    levels: Vec<u8>,
}

impl CacheTable {
    pub(super) fn new(protocol: &Protocol) -> Self {
        let (spec, cache) = (&protocol.spec, &protocol.cache);
        let cells = cache
            .steps
            .iter()
            .map(|step| match step {
                None => CacheCell {
                    defined: false,
                    next: 0,
                    send: None,
                    store: false,
                },
                Some(s) => CacheCell {
                    defined: true,
                    next: s.next as u8,
                    send: s.send,
                    store: s.store,
                },
            })
            .collect();
        let starts = (0..cache.states.len())
            .map(|state| {
                let own = |&e: &usize| !matches!(cache.events[e], CacheEvent::Receive(_));
                let events = (0..cache.events.len()).filter(own);
                events
                    .filter(|&e| cache.step(state, e).is_some())
                    .map(|e| e as u8)
                    .collect()
            })
            .collect();
        Self {
            events: cache.events.len(),
            cells,
            starts,
            asks_for: cache
                .events
                .iter()
                .map(|event| match event {
                    CacheEvent::Upgrade(rule) => Some(spec.upgrades[usize::from(*rule)].to.0),
                    CacheEvent::Access(_) => Some(Spec::NO_COPY.0),
                    _ => None,
                })
                .collect(),
            forwards: spec
                .message_ids()
                .map(|m| {
                    let forward = spec.forwards.iter().find(|f| f.message == m)?;
                    Some(ForwardFacts {
                        from: forward.from.0,
                        to: forward.to.0,
                        dirty_to: forward.dirty_to.0,
                    })
                })
                .collect(),
            levels: spec.states.iter().map(|state| state.level.0).collect(),
        }
    }

    /// Number of cells.
    pub(super) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Columns of the events that a cache may start in a state.
    pub(super) fn starts(&self, state: usize) -> &[u8] {
        &self.starts[state]
    }

    /// Takes a step of a cache on a line.
    pub(super) fn take<const W: usize>(
        &self,
        facts: &Facts,
        s: &State<W>,
        at: At,
        cause: CacheCause,
        sink: &mut impl Sink<W>,
    ) {
        let At { line, cache } = at;
        let (line8, cache8) = (line as u8, cache as u8);
        let step = cause.step(at);
        let place = facts.layout.word(line, cache);
        let mut next = *s;
        let mut word = s[place];
        let event = match cause {
            CacheCause::Own(event) => event,
            CacheCause::Message(message) => facts.message(message).cache_event,
        };
        let cell_number = cache_state(word) * self.events + usize::from(event);
        let cell = self.cells[cell_number];
        if !cell.defined {
            if let CacheCause::Message(message) = cause {
                let violation = Violation::CacheSurprised {
                    line: line8,
                    cache: cache8,
                    message,
                };
                sink.broken(step, violation);
            }
            return;
        }
        if !self.conforms(facts, cache_state(word), usize::from(cell.next), cause) {
            let (line, cache) = (line8, cache8);
            sink.broken(step, Violation::RuleBroken { line, cache });
            return;
        }
        if let CacheCause::Message(message) = cause {
            let field = message_field(word, message.0);
            word &= !(3 << (2 * message.0));
            if facts.message(message).data {
                word = if field == 2 {
                    word | COPY_OLD
                } else {
                    word & !COPY_OLD
                };
            }
        }
        next[place] = word;
        if cell.store {
            facts.make_old(&mut next, line);
            word = next[place] & !COPY_OLD;
        }
        let state = u64::from(cell.next);
        word = word & !(CACHE_STATE_MASK << CACHE_STATE_SHIFT) | state << CACHE_STATE_SHIFT;
        if let Some(message) = cell.send {
            next[place] = word;
            if !facts.room(&next, cache, message) {
                return;
            }
            if message_field(word, message.0) != 0 {
                let line = line8;
                sink.broken(step, Violation::TwiceInFlight { line, message });
                return;
            }
            let sent = facts.message(message);
            let old = sent.data && !sent.request && word & COPY_OLD != 0;
            word |= (1 + u64::from(old)) << (2 * message.0);
        }
        if !facts.cache(usize::from(cell.next)).keeps_data {
            word &= !COPY_OLD;
        }
        next[place] = word;
        sink.cache_cell(cell_number);
        sink.step(step, next, matches!(cause, CacheCause::Message(_)));
    }

    /// Whether the step keeps the rights that the rules leave to the cache: a request takes nothing away, a forward
    /// takes no more than it asks for, and an answer grants the requested state; a grant is passed on only if a forward
    /// may have overtaken it.
    fn conforms(&self, facts: &Facts, from: usize, to: usize, cause: CacheCause) -> bool {
        let (before, after) = (facts.cache(from), facts.cache(to));
        match cause {
            CacheCause::Own(event) => match self.asks_for[usize::from(event)] {
                Some(aim) => after.copy == before.copy && after.aim == aim && after.pass == NO_PASS,
                None => true,
            },
            CacheCause::Message(message) => match self.forwards[message.index()] {
                Some(forward) if before.stable => {
                    after.copy == before.copy.min(forward.leaves(before.dirty))
                }
                Some(forward) => {
                    let overtook = self.levels[usize::from(before.aim)] == forward.from
                        && before.level < forward.from;
                    let limit = if overtook { forward.to } else { NO_PASS };
                    after.copy == before.copy.min(forward.leaves(before.dirty))
                        && after.aim == before.aim
                        && after.pass == before.pass.min(limit)
                }
                None if before.pass == NO_PASS => after.copy == before.aim,
                None => after.copy <= before.pass || after.copy == before.aim,
            },
        }
    }
}
