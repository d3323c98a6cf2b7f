//! Merging of bisimilar states by partition refinement.

use std::collections::HashMap;
use std::hash::Hash;

use crate::machine::{permutations, CacheMachine, Cell, DirState, Directory};

/// A machine as the refinement sees it: per state and event an output and an optional next state.
struct TransitionTable<'a> {
    states: usize,
    events: usize,
    /// By state and event: number of the output, and the next state.
    cell: &'a dyn Fn(usize, usize) -> (u32, Option<usize>),
}

/// The coarsest stable partition that is finer than `start`; by state the class's number, with classes in order of
/// their first state.
fn refine<K: Eq + Hash>(moves: &TransitionTable<'_>, start: impl Fn(usize) -> K) -> Vec<usize> {
    let mut classes = number((0..moves.states).map(start));
    loop {
        let signature = |state: usize| {
            let mut words = Vec::with_capacity(2 * moves.events + 1);
            words.push(classes[state] as u32);
            for event in 0..moves.events {
                let (output, next) = (moves.cell)(state, event);
                words.push(output);
                words.push(next.map_or(u32::MAX, |next| classes[next] as u32));
            }
            words
        };
        let finer = number((0..moves.states).map(signature));
        if finer == classes {
            return classes;
        }
        classes = finer;
    }
}

/// Numbers keys in order of first appearance.
fn number<K: Eq + Hash>(keys: impl Iterator<Item = K>) -> Vec<usize> {
    let mut numbers = HashMap::new();
    keys.map(|key| {
        let fresh = numbers.len();
        *numbers.entry(key).or_insert(fresh)
    })
    .collect()
}

/// First state of each class.
fn representatives(classes: &[usize]) -> Vec<usize> {
    let mut first = Vec::new();
    for (state, &class) in classes.iter().enumerate() {
        if class == first.len() {
            first.push(state);
        }
    }
    first
}

/// Merges bisimilar states of a cache.
#[must_use]
pub fn merge_bisimilar(machine: &CacheMachine) -> CacheMachine {
    let cell = |state: usize, event: usize| match machine.step(state, event) {
        None => (u32::MAX, None),
        Some(step) => {
            let send = step.send.map_or(0, |message| u32::from(message.0) + 1);
            (send * 2 + u32::from(step.store), Some(step.next))
        }
    };
    let moves = TransitionTable {
        states: machine.states.len(),
        events: machine.events.len(),
        cell: &cell,
    };
    let classes = refine(&moves, |state| {
        let s = &machine.states[state];
        (s.copy, s.keeps_data, s.stable, s.waits_for, s.aim, s.pass)
    });
    let first = representatives(&classes);
    let states = first
        .iter()
        .map(|&state| machine.states[state].clone())
        .collect();
    let events = machine.events.clone();
    let steps = first
        .iter()
        .flat_map(|&state| (0..events.len()).map(move |event| machine.step(state, event)))
        .map(|step| {
            step.map(|s| crate::machine::CacheStep {
                next: classes[s.next],
                ..s
            })
        })
        .collect();
    CacheMachine {
        states,
        events,
        steps,
    }
}

/// By state: the number of its class of bisimilar states.
#[must_use]
pub fn directory_classes(machine: &Directory) -> Vec<usize> {
    let mut outputs = HashMap::new();
    let flat: Vec<(u32, Option<usize>)> = machine
        .cells
        .iter()
        .map(|cell| match cell {
            Cell::Unexpected => (0, None),
            Cell::Stall => (1, None),
            Cell::Go { next, actions } => {
                let fresh = outputs.len() as u32 + 2;
                (
                    *outputs.entry(actions).or_insert(fresh),
                    Some(*next as usize),
                )
            }
        })
        .collect();
    let events = machine.events.len();
    let cell = |state: usize, event: usize| flat[state * events + event];
    let moves = TransitionTable {
        states: machine.states.len(),
        events,
        cell: &cell,
    };
    refine(&moves, |state| {
        (machine.states[state].stable, machine.states[state].locked)
    })
}

/// Merges bisimilar states of a directory. Permuting caches maps classes to classes, so the
/// images stay well defined.
pub(super) fn merge_directory(machine: &Directory) -> Directory {
    let classes = directory_classes(machine);
    let first = representatives(&classes);
    let orders = permutations(machine.caches).len();
    let mut roles: Vec<Vec<u32>> = first
        .iter()
        .map(|&state| machine.states[state].roles.clone())
        .collect();
    for (state, &class) in classes.iter().enumerate() {
        for (role, other) in roles[class].iter_mut().zip(&machine.states[state].roles) {
            *role = (*role).min(*other);
        }
    }
    let states = first
        .iter()
        .zip(roles)
        .map(|(&state, roles)| DirState {
            roles,
            ..machine.states[state].clone()
        })
        .collect();
    let cells = first
        .iter()
        .flat_map(|&state| (0..machine.events.len()).map(move |event| machine.cell(state, event)))
        .map(|cell| match cell {
            Cell::Go { next, actions } => Cell::Go {
                next: classes[*next as usize] as u32,
                actions: actions.clone(),
            },
            other => other.clone(),
        })
        .collect();
    let images = first
        .iter()
        .flat_map(|&state| &machine.images[state * orders..(state + 1) * orders])
        .map(|&image| classes[image as usize] as u32)
        .collect();
    let events = machine.events.clone();
    Directory {
        caches: machine.caches,
        states,
        events,
        cells,
        images,
    }
}
