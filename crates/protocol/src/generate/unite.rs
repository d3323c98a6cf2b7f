//! Uniting of compatible beliefs of the home.
//!
//! Two tracks are *compatible* if the home concludes the same from both, and if every message that both can send or
//! receive leads to compatible tracks again. A message that only one of them can receive does not separate them: in the
//! other it is impossible. Compatible tracks are united greedily, the earlier discovered first; uniting two unites
//! their successors too, or fails as a whole. The home then believes the union, which is still a superset of the truth.
//!
//! Before that, settled beliefs of the same level (nothing is outstanding) are united more aggressively: the knowledge
//! that a cache will pass a grant on does not separate them. A line at rest thus has one state per level, and a line
//! without copies is in the initial state: a directory with fewer entries than memory has lines can forget it.

use super::track::Conclusion;

/// The properties of a track that uniting uses.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub conclusion: Conclusion,
    /// By message: the track after it, where it was met.
    pub steps: Vec<Option<u16>>,
}

/// By track the number of the first track of its group.
pub(super) fn unite(nodes: &[Node]) -> Vec<usize> {
    let mut groups = Groups {
        group: (0..nodes.len()).collect(),
        steps: nodes.iter().map(|node| node.steps.clone()).collect(),
    };
    let settled: Vec<usize> = (0..nodes.len())
        .filter(|&t| nodes[t].conclusion.is_settled())
        .collect();
    for (place, &later) in settled.iter().enumerate() {
        for &earlier in &settled[..place] {
            let united = groups.united(nodes, earlier, later, Conclusion::nearly_equals);
            groups = united.unwrap_or(groups);
        }
    }
    for later in 1..nodes.len() {
        if groups.group[later] != later {
            continue;
        }
        let heads = (0..later).filter(|&t| groups.group[t] == t);
        let candidates: Vec<usize> = heads
            .filter(|&t| nodes[t].conclusion == nodes[later].conclusion)
            .collect();
        for earlier in candidates {
            if let Some(united) = groups.united(nodes, earlier, later, Conclusion::eq) {
                groups = united;
                break;
            }
        }
    }
    groups.group
}

#[derive(Clone)]
struct Groups {
    /// By track: first track of its group.
    group: Vec<usize>,
    /// By first track of a group: the group's steps.
    steps: Vec<Vec<Option<u16>>>,
}

impl Groups {
    fn united(
        &self,
        nodes: &[Node],
        a: usize,
        b: usize,
        alike: fn(&Conclusion, &Conclusion) -> bool,
    ) -> Option<Self> {
        let mut next = self.clone();
        let mut todo = vec![(a, b)];
        while let Some((a, b)) = todo.pop() {
            let (a, b) = (next.group[a], next.group[b]);
            if a == b {
                continue;
            }
            let (first, other) = (a.min(b), a.max(b));
            if !alike(&nodes[first].conclusion, &nodes[other].conclusion) {
                return None;
            }
            for group in &mut next.group {
                if *group == other {
                    *group = first;
                }
            }
            let steps = std::mem::take(&mut next.steps[other]);
            for (mine, theirs) in next.steps[first].iter_mut().zip(steps) {
                match (*mine, theirs) {
                    (Some(x), Some(y)) => todo.push((usize::from(x), usize::from(y))),
                    (None, theirs) => *mine = theirs,
                    (Some(_), None) => {}
                }
            }
        }
        Some(next)
    }
}
