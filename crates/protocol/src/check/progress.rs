//! Progress: from every state, deliveries alone lead to rest.

use super::explore::{Search, StateId};
use super::Violation;

/// A state from which deliveries never lead to rest, the nearest to the start.
pub(super) fn stuck_state<const W: usize>(search: &Search<'_, W>) -> Option<(StateId, Violation)> {
    let end = search.end_of_ids();
    let sources = sources_by_target(search, end);
    let mut calm = vec![false; end];
    let mut todo: Vec<StateId> = Vec::new();
    for id in search.ids() {
        if search.model.at_rest(search.state(id)) {
            calm[id as usize] = true;
            todo.push(id);
        }
    }
    while let Some(id) = todo.pop() {
        for &source in sources.of(id) {
            if !std::mem::replace(&mut calm[source as usize], true) {
                todo.push(source);
            }
        }
    }
    // Places within a shard are in order of depth, so is the number up to the shard.
    let stuck = search.ids().filter(|&id| !calm[id as usize]);
    stuck
        .min_by_key(|&id| (depth(search, id), id))
        .map(|id| (id, Violation::Stuck))
}

fn depth<const W: usize>(search: &Search<'_, W>, mut id: StateId) -> usize {
    let mut depth = 0;
    while search.parent(id) != id {
        id = search.parent(id);
        depth += 1;
    }
    depth
}

/// Edges by target, in one array.
struct Sources {
    starts: Vec<u32>,
    list: Vec<StateId>,
}

impl Sources {
    fn of(&self, id: StateId) -> &[StateId] {
        let id = id as usize;
        &self.list[self.starts[id] as usize..self.starts[id + 1] as usize]
    }
}

/// Sorts the deliveries by counting.
fn sources_by_target<const W: usize>(search: &Search<'_, W>, end: usize) -> Sources {
    let mut starts = vec![0u32; end + 2];
    for (_, to) in search.drains() {
        starts[to as usize + 2] += 1;
    }
    for i in 2..starts.len() {
        starts[i] += starts[i - 1];
    }
    let mut list = vec![0; starts.last().map_or(0, |&n| n as usize)];
    for (from, to) in search.drains() {
        let place = &mut starts[to as usize + 1];
        list[*place as usize] = from;
        *place += 1;
    }
    Sources { starts, list }
}
