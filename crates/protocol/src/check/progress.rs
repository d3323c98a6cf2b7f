//! Progress: from every state, deliveries alone lead to rest.
//!
//! One delivery per state is enough for nearly all: the chain of first deliveries ends at rest. All deliveries are
//! examined only for states whose chain does not.

use std::collections::HashMap;

use super::explore::{Search, StateId};
use super::model::{Sink, State, Step};
use super::Violation;

/// No first delivery.
const NONE: StateId = StateId::MAX;

/// A state from which deliveries never lead to rest, the nearest to the start.
pub(super) fn stuck_state<const W: usize>(search: &Search<'_, W>) -> Option<(StateId, Violation)> {
    let mut calm = vec![false; search.end_of_ids()];
    for id in search.ids() {
        calm[id as usize] = search.model.at_rest(search.state(id));
    }
    let open = follow_chains(search, &mut calm);

    follow_all_deliveries(search, &open, &mut calm);
    let stuck = open.into_iter().filter(|&id| !calm[id as usize]);
    stuck
        .min_by_key(|&id| (depth(search, id), id))
        .map(|id| (id, Violation::Stuck))
}

/// Marks the states whose chain of first deliveries ends at rest; returns the others.
fn follow_chains<const W: usize>(search: &Search<'_, W>, calm: &mut [bool]) -> Vec<StateId> {
    let mut next = vec![NONE; calm.len()];
    for (from, to) in search.first_deliveries() {
        next[from as usize] = to;
    }
    let mut chain = Vec::new();
    for id in search.ids() {
        let mut last = id;
        while !calm[last as usize] && next[last as usize] != NONE {
            chain.push(last);
            // This walk is not repeated, so a cycle ends too.
            last = std::mem::replace(&mut next[last as usize], NONE);
        }
        let ends_calm = calm[last as usize];
        for id in chain.drain(..) {
            calm[id as usize] = ends_calm;
        }
    }
    search.ids().filter(|&id| !calm[id as usize]).collect()
}

/// Marks those of the open states from which some sequence of deliveries leads to a calm one.
fn follow_all_deliveries<const W: usize>(
    search: &Search<'_, W>,
    open: &[StateId],
    calm: &mut [bool],
) {
    let mut sources: HashMap<StateId, Vec<StateId>> = HashMap::new();
    let mut todo: Vec<StateId> = Vec::new();
    for &from in open {
        let mut found = Deliveries {
            search,
            to: Vec::new(),
        };
        search.model.expand(search.state(from), &mut found);
        for to in found.to {
            if calm[to as usize] {
                todo.push(from);
            } else {
                sources.entry(to).or_default().push(from);
            }
        }
    }
    while let Some(id) = todo.pop() {
        if !std::mem::replace(&mut calm[id as usize], true) {
            todo.extend(sources.remove(&id).unwrap_or_default());
        }
    }
}

/// The states that a state's deliveries lead to.
struct Deliveries<'a, 'm, const W: usize> {
    search: &'a Search<'m, W>,
    to: Vec<StateId>,
}

impl<const W: usize> Sink<W> for Deliveries<'_, '_, W> {
    fn step(&mut self, _: Step, next: State<W>, delivery: bool) {
        if delivery {
            // The exploration is complete, so every successor is known.
            let next = self.search.model.canonical(&next);
            self.to.extend(self.search.find(&next));
        }
    }

    fn broken(&mut self, _: Step, _: Violation) {}

    fn home_cell(&mut self, _: usize) {}

    fn cache_cell(&mut self, _: usize) {}
}

fn depth<const W: usize>(search: &Search<'_, W>, mut id: StateId) -> usize {
    let mut depth = 0;
    while search.parent(id) != id {
        id = search.parent(id);
        depth += 1;
    }
    depth
}
