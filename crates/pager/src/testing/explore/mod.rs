//! Explores every interleaving of a small model, breadth first: one object of a few pages, a few frames, one kernel per
//! space, and budgets for the actions of kernels and clients and for failures.
//!
//! The card carries out commands in every order that docs/architecture.md allows, each at one moment between its issue
//! and its completion; completions, I/O and accesses under way complete in any order. A page's content is the number of
//! its writes. In every state the pager's own invariants hold, reads return the last write, and from every state a
//! state of rest is reachable. There no request waits, and closing everything leaves every write in storage and every
//! frame free.

mod canonical;
mod coverage;
mod whole;

pub(crate) use coverage::moved;
pub use coverage::Explored;

use crate::config::InstallOrder;
use crate::event::ObjectKind;
use crate::sabotage::Sabotage;
use std::collections::{HashMap, VecDeque};
use whole::{Step, Whole};

/// Configuration of the small model.
#[derive(Clone, Copy, Debug)]
pub struct Small {
    /// Pages of the object, 1 to 4.
    pub pages: u64,
    /// Channels of card memory.
    pub channels: u64,
    /// Frames of each channel.
    pub frames: u64,
    /// DMA buffers.
    pub buffers: u64,
    /// Spaces that map the object, each with one kernel.
    pub spaces: u8,
    /// Whether the object begins as zeroes.
    pub kind: ObjectKind,
    /// Whether its pages stay in host memory.
    pub direct: bool,
    /// When entries are written.
    pub install_order: InstallOrder,
    /// See [`crate::Config::clean_ahead`].
    pub clean_ahead: u64,
    /// See [`crate::Config::overlap`]; a page is zeroed ahead at once.
    pub overlap: bool,
    /// Number of kernel accesses, or [`Small::ANY`].
    pub accesses: u8,
    /// Number of syncs.
    pub syncs: u8,
    /// Number of refreshes: pages leave although they are mapped, after their stores were saved.
    pub refreshes: u8,
    /// Number of unmaps.
    pub unmaps: u8,
    /// Number of closes of the object, discarding its bytes, when it is not mapped any more.
    pub closes: u8,
    /// Number of prefetches.
    pub hints: u8,
    /// Number of resets of a slot that waits.
    pub stops: u8,
    /// Number of failed reads, writes and copies.
    pub failures: u8,
    /// Injected fault.
    pub sabotage: Option<Sabotage>,
}

impl Small {
    /// An unlimited number. The states are finite nevertheless: of a page's writes, only the order of those still
    /// referred to matters.
    pub const ANY: u8 = u8::MAX;

    /// Two pages, two memories with one frame each, two kernels.
    pub const TWO_TWO_TWO: Self = Self {
        pages: 2,
        channels: 2,
        frames: 1,
        buffers: 1,
        spaces: 2,
        kind: ObjectKind::File {
            writable: true,
            fresh: false,
        },
        direct: false,
        install_order: InstallOrder::Fenced,
        clean_ahead: 0,
        overlap: false,
        accesses: 3,
        syncs: 1,
        refreshes: 0,
        unmaps: 0,
        closes: 0,
        hints: 0,
        stops: 0,
        failures: 0,
        sabotage: None,
    };

    /// Two pages that compete for one frame, one kernel.
    pub const ONE_FRAME: Self = Self {
        channels: 1,
        spaces: 1,
        accesses: 3,
        syncs: 0,
        ..Self::TWO_TWO_TWO
    };
}

/// Explores every interleaving of two pages, two memories with a frame each, and two kernels: with an unlimited number
/// of accesses, and with three accesses and a sync. Also explores an unlimited number of accesses with both pages in
/// competition for one frame, so that each evicts the other all the time.
///
/// # Errors
/// The first rule that was broken.
pub fn two_pages(install_order: InstallOrder) -> Result<Explored, String> {
    let synced = Small {
        install_order,
        ..Small::TWO_TWO_TWO
    };
    let endless = Small {
        accesses: Small::ANY,
        syncs: 0,
        ..synced
    };
    let short = Small {
        channels: 1,
        ..endless
    };
    let mut found = explore(synced)?;
    found.add(explore(endless)?);
    found.add(explore(short)?);
    Ok(found)
}

/// Small worlds that together show every event to a page in every state.
///
/// # Errors
/// The first rule that was broken.
pub fn every_pair() -> Result<Explored, String> {
    let one = Small {
        accesses: 2,
        ..Small::ONE_FRAME
    };
    // Two kernels: one meets what the other has begun.
    let pair = Small { spaces: 2, ..one };
    // Two pages, two frames, one buffer: no page waits for a frame.
    let roomy = Small { frames: 2, ..pair };
    // Three pages: one that leaves waits for the buffer that a hint holds.
    let three = Small {
        pages: 3,
        frames: 2,
        hints: 1,
        ..one
    };
    let direct = Small {
        pages: 1,
        direct: true,
        ..pair
    };
    let zeroed = Small {
        kind: ObjectKind::File {
            writable: true,
            fresh: true,
        },
        overlap: true,
        frames: 2,
        hints: 2,
        ..one
    };
    let worlds = [
        Small {
            syncs: 2,
            accesses: 1,
            ..one
        },
        Small {
            syncs: 1,
            unmaps: 1,
            ..one
        },
        Small {
            syncs: 1,
            hints: 1,
            ..one
        },
        Small {
            syncs: 1,
            failures: 1,
            ..one
        },
        Small {
            clean_ahead: 1,
            accesses: Small::ANY,
            ..one
        },
        Small {
            kind: ObjectKind::Anonymous,
            unmaps: 1,
            ..one
        },
        // A page that leaves when its object is discarded: a copy that fails then loses no data.
        Small {
            kind: ObjectKind::Anonymous,
            unmaps: 1,
            closes: 1,
            failures: 1,
            ..one
        },
        Small {
            syncs: 1,
            stops: 1,
            ..pair
        },
        Small {
            accesses: 3,
            ..pair
        },
        Small { unmaps: 1, ..pair },
        Small { syncs: 2, ..roomy },
        Small {
            syncs: 1,
            accesses: 3,
            ..roomy
        },
        Small {
            syncs: 1,
            hints: 1,
            ..roomy
        },
        Small {
            syncs: 1,
            stops: 1,
            ..roomy
        },
        Small {
            syncs: 1,
            unmaps: 1,
            ..roomy
        },
        Small { hints: 2, ..three },
        Small { syncs: 1, ..three },
        Small { unmaps: 1, ..three },
        Small { stops: 1, ..three },
        Small {
            spaces: 2,
            accesses: 3,
            ..three
        },
        // Pages that are zeroed, one ahead at a time.
        Small {
            syncs: 1,
            stops: 1,
            ..zeroed
        },
        Small {
            syncs: 1,
            unmaps: 1,
            ..zeroed
        },
        Small {
            spaces: 2,
            accesses: 2,
            ..zeroed
        },
        // Pages that stay in host memory.
        Small {
            syncs: 2,
            accesses: 3,
            ..direct
        },
        Small {
            syncs: 1,
            failures: 1,
            ..direct
        },
        Small {
            unmaps: 2,
            failures: 1,
            ..direct
        },
        Small {
            syncs: 1,
            unmaps: 2,
            ..direct
        },
        Small {
            refreshes: 1,
            syncs: 1,
            unmaps: 1,
            ..direct
        },
        Small {
            refreshes: 1,
            hints: 1,
            stops: 1,
            ..direct
        },
        Small {
            unmaps: 1,
            hints: 1,
            stops: 1,
            ..direct
        },
        Small {
            syncs: 1,
            hints: 1,
            stops: 1,
            ..direct
        },
    ];
    let mut found = Explored::default();
    for install_order in [InstallOrder::Fenced, InstallOrder::OnCompletion] {
        for world in worlds {
            found.add(explore(Small {
                install_order,
                ..world
            })?);
        }
    }
    Ok(found)
}

/// Visits every state that can be reached.
///
/// # Errors
/// The first rule that was broken, with the steps that lead there.
pub fn explore(small: Small) -> Result<Explored, String> {
    let mut found = Explored::default();
    let first = Whole::new(&small)?;
    let mut known: HashMap<u128, u32> = HashMap::from([(first.fingerprint(), 0)]);
    // Where each state was first reached from, and how.
    let mut origins: Vec<Option<(u32, Step)>> = vec![None];
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut rests: Vec<u32> = Vec::new();
    let mut queue = VecDeque::from([(0u32, first)]);
    let story = |origins: &[Option<(u32, Step)>], mut at: u32| {
        let mut steps = Vec::new();
        while let Some((from, step)) = origins[at as usize] {
            steps.push(format!("{step:?}"));
            at = from;
        }
        steps.reverse();
        steps.join(" ")
    };
    while let Some((number, whole)) = queue.pop_front() {
        let steps = whole.steps(&small);
        if whole.rests() {
            found.rests += 1;
            rests.push(number);
            whole
                .judge_rest()
                .map_err(|rule| format!("{rule}\nafter {}", story(&origins, number)))?;
        } else if whole.forced().is_empty() {
            return Err(format!("stuck after {}", story(&origins, number)));
        }
        for step in steps {
            let mut next = whole.fork();
            found.steps += 1;
            next.take(step, &mut found)
                .map_err(|rule| format!("{rule}\nafter {} {step:?}", story(&origins, number)))?;
            next.normalise();
            let fresh = origins.len() as u32;
            let place = *known.entry(next.fingerprint()).or_insert(fresh);
            edges.push((place, number));
            if place == fresh {
                origins.push(Some((number, step)));
                queue.push_back((fresh, next));
            }
        }
    }
    found.states = origins.len() as u64;
    if let Some(lost) = never_rests(&edges, &rests, origins.len()) {
        return Err(format!(
            "no state of rest can be reached after {}",
            story(&origins, lost)
        ));
    }
    Ok(found)
}

/// A state from which no state of rest can be reached. Edges are (to, from).
fn never_rests(edges: &[(u32, u32)], rests: &[u32], states: usize) -> Option<u32> {
    let mut into: Vec<Vec<u32>> = vec![Vec::new(); states];
    for &(to, from) in edges {
        into[to as usize].push(from);
    }
    let mut reached = vec![false; states];
    let mut open: Vec<u32> = rests.to_vec();
    while let Some(state) = open.pop() {
        if !std::mem::replace(&mut reached[state as usize], true) {
            open.extend(&into[state as usize]);
        }
    }
    let lost = reached.iter().position(|&reached| !reached)?;
    Some(lost as u32)
}
