//! A machine as a list of named transitions, from which all outputs are made.

use crate::generate::Protocol;
use crate::machine::Cell;

/// Agent of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Home agent: the directory.
    Home,
    /// The remote cache.
    Cache,
}

/// All transitions of one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// States in order.
    pub states: Vec<String>,
    /// Events in order.
    pub events: Vec<String>,
    /// Transitions, ordered by state and event.
    pub rows: Vec<Row>,
}

/// One transition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// State before.
    pub state: String,
    /// Name of the event.
    pub event: String,
    /// Outcome of the event.
    pub outcome: Outcome,
}

/// Outcome of an event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The event stalls.
    Stall,
    /// The event causes a transition.
    Go {
        /// State after.
        next: String,
        /// Messages sent; with several caches `Message>cache`.
        sends: Vec<String>,
        /// Memory access started, `None` without one; always `None` for a cache.
        memory: String,
        /// Home: an operation is acknowledged. Cache: a store is performed.
        flag: bool,
    },
}

impl Listing {
    /// The transitions of one machine of a protocol.
    #[must_use]
    pub fn of(protocol: &Protocol, agent: Agent) -> Self {
        match agent {
            Agent::Home => Self::home(protocol),
            Agent::Cache => Self::cache(protocol),
        }
    }

    fn home(protocol: &Protocol) -> Self {
        let (spec, home) = (&protocol.spec, &protocol.directory);
        let states: Vec<String> = home.states.iter().map(|s| s.name.clone()).collect();
        let events: Vec<String> = home
            .events
            .iter()
            .map(|e| e.name(spec, home.caches))
            .collect();
        let mut rows = Vec::new();
        for (s, state) in states.iter().enumerate() {
            for (e, event) in events.iter().enumerate() {
                let outcome = match home.cell(s, e) {
                    Cell::Unexpected => continue,
                    Cell::Stall => Outcome::Stall,
                    Cell::Go { next, actions } => Outcome::Go {
                        next: states[*next as usize].clone(),
                        sends: actions
                            .sends
                            .iter()
                            .map(|send| {
                                let name = &spec.message(send.message).name;
                                if home.caches == 1 {
                                    name.clone()
                                } else {
                                    format!("{name}>{}", send.cache)
                                }
                            })
                            .collect(),
                        memory: actions.memory.name().to_owned(),
                        flag: actions.done,
                    },
                };
                rows.push(Row {
                    state: state.clone(),
                    event: event.clone(),
                    outcome,
                });
            }
        }
        Self {
            states,
            events,
            rows,
        }
    }

    fn cache(protocol: &Protocol) -> Self {
        let (spec, cache) = (&protocol.spec, &protocol.cache);
        let states: Vec<String> = cache.states.iter().map(|s| s.name.clone()).collect();
        let events: Vec<String> = cache.events.iter().map(|e| e.name(spec)).collect();
        let mut rows = Vec::new();
        for (s, state) in states.iter().enumerate() {
            for (e, event) in events.iter().enumerate() {
                let Some(step) = cache.step(s, e) else {
                    continue;
                };
                let outcome = Outcome::Go {
                    next: states[step.next].clone(),
                    sends: step
                        .send
                        .iter()
                        .map(|&m| spec.message(m).name.clone())
                        .collect(),
                    memory: "None".to_owned(),
                    flag: step.store,
                };
                rows.push(Row {
                    state: state.clone(),
                    event: event.clone(),
                    outcome,
                });
            }
        }
        Self {
            states,
            events,
            rows,
        }
    }
}
