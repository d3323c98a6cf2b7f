//! The product of two machines, with a step only where they agree.

use std::collections::HashMap;

use crate::machine::{permutations, CacheMachine, CacheStep, Cell, DirState, Directory};

/// Pairs in order of discovery, and their numbers.
struct Pairs {
    list: Vec<(usize, usize)>,
    numbers: HashMap<(usize, usize), usize>,
}

impl Pairs {
    fn new() -> Self {
        Self {
            list: vec![(0, 0)],
            numbers: HashMap::from([((0, 0), 0)]),
        }
    }

    fn number(&mut self, first: usize, second: usize) -> usize {
        let (pair, fresh) = ((first, second), self.list.len());
        *self.numbers.entry(pair).or_insert_with(|| {
            self.list.push(pair);
            fresh
        })
    }
}

/// Two caches; a pair has the rights of the first.
pub(super) fn of_caches(a: &CacheMachine, b: &CacheMachine) -> CacheMachine {
    let mut pairs = Pairs::new();
    let mut steps = Vec::new();
    let mut done = 0;
    while let Some(&(x, y)) = pairs.list.get(done) {
        for event in 0..a.events.len() {
            let agreed = match (a.step(x, event), b.step(y, event)) {
                (Some(s), Some(t)) if (s.send, s.store) == (t.send, t.store) => Some(CacheStep {
                    next: pairs.number(s.next, t.next),
                    ..s
                }),
                _ => None,
            };
            steps.push(agreed);
        }
        done += 1;
    }
    let states = pairs
        .list
        .iter()
        .map(|&(x, _)| a.states[x].clone())
        .collect();
    CacheMachine {
        states,
        events: a.events.clone(),
        steps,
    }
}

/// Two directories; a pair has the attributes of the first.
pub(super) fn of_directories(a: &Directory, b: &Directory) -> Directory {
    let mut pairs = Pairs::new();
    let mut cells = Vec::new();
    let mut done = 0;
    while let Some(&(x, y)) = pairs.list.get(done) {
        for event in 0..a.events.len() {
            cells.push(match (a.cell(x, event), b.cell(y, event)) {
                (Cell::Stall, Cell::Stall) => Cell::Stall,
                (
                    Cell::Go { next: m, actions },
                    Cell::Go {
                        next: n,
                        actions: other,
                    },
                ) if actions == other => {
                    let next = pairs.number(*m as usize, *n as usize) as u32;
                    Cell::Go {
                        next,
                        actions: actions.clone(),
                    }
                }
                _ => Cell::Unexpected,
            });
        }
        done += 1;
    }
    let state = |&(x, _): &(usize, usize)| -> DirState { a.states[x].clone() };
    let states: Vec<DirState> = pairs.list.iter().map(state).collect();
    // A product is only explored without symmetry: images are the states themselves.
    let orders = permutations(a.caches).len();
    let images = (0..states.len() as u32)
        .flat_map(|s| vec![s; orders])
        .collect();
    Directory {
        caches: a.caches,
        states,
        events: a.events.clone(),
        cells,
        images,
    }
}
