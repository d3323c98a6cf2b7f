//! The model's view of the generated tables and the rules, in flat arrays.

use super::{Model, Setting};
use crate::check::layout::Layout;
use crate::generate::Protocol;
use crate::machine::{permutations, Actions, CacheEvent, Cell, DirEvent};
use crate::spec::{AccessKind, Effect, MsgId, OpId, Spec};

pub(super) const UNEXPECTED: u32 = u32::MAX;
pub(super) const STALL: u32 = u32::MAX - 1;

/// A cell of the directory's table.
#[derive(Clone, Copy)]
pub(super) struct HomeCell {
    /// Next state, or [`UNEXPECTED`], or [`STALL`].
    pub(super) next: u32,
    pub(super) actions: u32,
}

/// A step of the cache's table.
#[derive(Clone, Copy)]
pub(super) struct CacheCell {
    pub(super) defined: bool,
    pub(super) next: u8,
    pub(super) send: Option<MsgId>,
    pub(super) store: bool,
}

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
    pub(super) refuses: bool,
    /// Low bit of the request to write that this state waits for.
    pub(super) waits_to_write: u64,
}

/// The cache keeps the granted copy.
pub(super) const NO_PASS: u8 = u8::MAX;

/// Rights that a forward takes: from a level, down to a state, which for a dirty copy may be another.
#[derive(Clone, Copy)]
pub(super) struct ForwardFacts {
    pub(super) from: u8,
    pub(super) to: u8,
    pub(super) dirty_to: u8,
}

impl ForwardFacts {
    pub(super) fn leaves(self, dirty: bool) -> u8 {
        if dirty {
            self.dirty_to
        } else {
            self.to
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct OperationFacts {
    pub(super) at_most: Option<u8>,
    pub(super) effect: Effect,
    pub(super) internal: bool,
}

impl<const W: usize> Model<W> {
    pub fn new(protocol: &Protocol, setting: &Setting, layout: Layout) -> Self {
        let (spec, cache, directory) = (&protocol.spec, &protocol.cache, &protocol.directory);
        let mut actions: Vec<Actions> = Vec::new();
        let mut action_numbers = std::collections::HashMap::new();
        let home_cells = directory
            .cells
            .iter()
            .map(|cell| match cell {
                Cell::Unexpected => HomeCell {
                    next: UNEXPECTED,
                    actions: 0,
                },
                Cell::Stall => HomeCell {
                    next: STALL,
                    actions: 0,
                },
                Cell::Go {
                    next,
                    actions: list,
                } => {
                    let number = *action_numbers.entry(list.clone()).or_insert_with(|| {
                        actions.push(list.clone());
                        actions.len() as u32 - 1
                    });
                    HomeCell {
                        next: *next,
                        actions: number,
                    }
                }
            })
            .collect();
        let cache_cells = cache
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
        let column = |event| directory.column(event).unwrap_or(0);
        let arrivals = (0..layout.caches as u8)
            .flat_map(|cache| {
                let arrival = move |message| DirEvent::Receive { cache, message };
                spec.message_ids().map(move |m| column(arrival(m)))
            })
            .collect();
        Self {
            layout,
            ways: setting.ways,
            capacity: setting.capacity,
            symmetry: setting.symmetry && (layout.caches > 1 || layout.lines > 1),
            application_waits: setting.application_waits,
            home_events: directory.events.len(),
            home_cells,
            home_stable: directory.states.iter().map(|s| s.stable).collect(),
            home_locked: directory.states.iter().map(|s| s.locked).collect(),
            home_refuses: refusing_home_states(protocol),
            actions,
            arrivals,
            first_operation: column(DirEvent::Operation(OpId(0))),
            read_done: column(DirEvent::ReadDone),
            write_done: column(DirEvent::WriteDone),
            cache_events: cache.events.len(),
            cache_cells,
            starts,
            cache_facts: cache_facts(protocol),
            messages: message_facts(protocol),
            carries_copy: low_bits(spec, |m| spec.message(m).data && !spec.is_request(m)),
            requests: low_bits(spec, |m| spec.is_request(m)),
            copies: low_bits(spec, |m| spec.is_copy(m)),
            operations: spec
                .operations
                .iter()
                .map(|op| OperationFacts {
                    at_most: op.at_most.map(|s| spec.state(s).level.0),
                    effect: op.effect,
                    internal: op.internal,
                })
                .collect(),
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
            orders: permutations(layout.caches),
            images: directory.images.clone(),
            roles: directory
                .states
                .iter()
                .flat_map(|s| s.roles.iter().copied())
                .collect(),
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
    let facts = |(number, state): (usize, &crate::machine::CacheState)| {
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
fn rules_of(spec: &Spec, state: crate::spec::StateId) -> Vec<CacheEvent> {
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

/// Stable directory states that make an operation wait; the directory's own may wait for a lock.
fn refusing_home_states(protocol: &Protocol) -> Vec<bool> {
    let (spec, directory) = (&protocol.spec, &protocol.directory);
    let refuses = |number: usize| {
        let state = &directory.states[number];
        state.stable
            && spec.operation_ids().any(|op| {
                let waits_for_lock = state.locked && spec.operations[op.index()].internal;
                let column = directory.column(DirEvent::Operation(op));
                let stalls = column.is_some_and(|c| *directory.cell(number, c) == Cell::Stall);
                stalls && !waits_for_lock
            })
    };
    (0..directory.states.len()).map(refuses).collect()
}
