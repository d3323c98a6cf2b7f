//! Single-point mutations of the generated tables, which the checker should detect.
//!
//! A mutant that the checker accepts counts as *equivalent* only if the tool proves it: the mutated cell is never used
//! by the unmutated protocol in any explored setting (it is unreachable), or mutant and original, run in lockstep, take
//! the same step on every possible event (they are bisimilar).

use crate::check::{check, CheckError, Setting, Verdict};
use crate::generate::Protocol;
use crate::machine::{Actions, Cell, MemoryAccess, Send};
use crate::spec::{MsgId, Spec};

mod product;

/// One changed cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// A cell of the home's table, by position, with its new content.
    Home(usize, Cell),
    /// A step of the cache's table, by position, with its new content.
    Cache(usize, Option<crate::machine::CacheStep>),
}

/// Result of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutantResult {
    /// The checker found a violation.
    Killed,
    /// No reachable state uses the cell.
    Unreachable,
    /// No sequence of events distinguishes the mutant from the original.
    Bisimilar,
    /// The checker accepts the mutant and cannot prove it equivalent.
    Survived,
}

/// The result of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// Mutants tried.
    pub tried: usize,
    /// Mutants with a violation.
    pub killed: usize,
    /// Mutants of unreachable cells.
    pub unreachable: usize,
    /// Mutants that are bisimilar to the original.
    pub bisimilar: usize,
    /// Descriptions of the surviving mutants.
    pub survivors: Vec<String>,
}

/// The settings in which a mutant is checked, cheapest first.
fn settings(protocol: &Protocol) -> Vec<Setting> {
    let spec = &protocol.spec;
    // A mutant treats caches differently, so several are distinguished.
    let several = protocol.directory.caches > 1;
    let one = Setting {
        threads: 1,
        symmetry: !several,
        ..Setting::default()
    };
    let mut all = vec![one];
    if spec.operations.iter().any(|op| op.internal) && !several {
        all.push(Setting {
            threads: 1,
            ..Setting::shared_way()
        });
    }
    all
}

/// Tries `wanted` mutants of a protocol, spread evenly over all of them. With several caches only one line is explored:
/// faults that need two lines also show with one cache.
///
/// # Errors
///
/// [`CheckError`] if a model cannot be explored.
pub fn campaign(
    protocol: &Protocol,
    wanted: usize,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Campaign, CheckError> {
    let settings = settings(protocol);
    let mut home_used = vec![false; protocol.directory.cells.len()];
    let mut cache_used = vec![false; protocol.cache.steps.len()];
    for setting in &settings {
        let verdict = check(protocol, setting, &mut |_| {})?;
        merge(&mut home_used, &verdict.home_used);
        merge(&mut cache_used, &verdict.cache_used);
    }
    let all = mutations(protocol);
    let wanted = wanted.clamp(1, all.len().max(1));
    let mut result = Campaign::default();
    for number in 0..wanted.min(all.len()) {
        let mutation = &all[number * all.len() / wanted];
        let used = match mutation {
            Mutation::Home(cell, _) => home_used[*cell],
            Mutation::Cache(cell, _) => cache_used[*cell],
        };
        result.tried += 1;
        match fate(protocol, mutation, used, &settings)? {
            MutantResult::Killed => result.killed += 1,
            MutantResult::Unreachable => result.unreachable += 1,
            MutantResult::Bisimilar => result.bisimilar += 1,
            MutantResult::Survived => result.survivors.push(describe(protocol, mutation)),
        }
        progress(number + 1, wanted);
    }
    Ok(result)
}

fn merge(all: &mut [bool], more: &[bool]) {
    all.iter_mut().zip(more).for_each(|(a, b)| *a |= *b);
}

fn fate(
    protocol: &Protocol,
    mutation: &Mutation,
    used: bool,
    settings: &[Setting],
) -> Result<MutantResult, CheckError> {
    let mutant = apply(protocol, mutation);
    for setting in settings {
        let Verdict { failure, .. } = check(&mutant, setting, &mut |_| {})?;
        if failure.is_some() {
            return Ok(MutantResult::Killed);
        }
    }
    Ok(if !used {
        MutantResult::Unreachable
    } else if is_bisimilar(protocol, &mutant, settings)? {
        MutantResult::Bisimilar
    } else {
        MutantResult::Survived
    })
}

/// The protocol with one cell changed.
#[must_use]
pub fn apply(protocol: &Protocol, mutation: &Mutation) -> Protocol {
    let mut mutant = protocol.clone();
    match mutation {
        Mutation::Home(cell, content) => mutant.directory.cells[*cell] = content.clone(),
        Mutation::Cache(cell, content) => mutant.cache.steps[*cell] = *content,
    }
    mutant
}

/// Every single-point mutation: dropped transitions, wrong next states, swapped, dropped or added
/// messages, wrong memory accesses, missing or false acknowledgements, lost stores.
#[must_use]
pub fn mutations(protocol: &Protocol) -> Vec<Mutation> {
    let mut all = Vec::new();
    for (number, cell) in protocol.directory.cells.iter().enumerate() {
        all.extend(home_mutations(protocol, number, cell));
    }
    for (number, step) in protocol.cache.steps.iter().enumerate() {
        let Some(step) = *step else { continue };
        let mut add = |content| all.push(Mutation::Cache(number, content));
        add(None);
        for next in others(step.next, protocol.cache.states.len()) {
            add(Some(crate::machine::CacheStep { next, ..step }));
        }
        match step.send {
            Some(message) => {
                add(Some(crate::machine::CacheStep { send: None, ..step }));
                for other in alike(&protocol.spec, message) {
                    add(Some(crate::machine::CacheStep {
                        send: Some(other),
                        ..step
                    }));
                }
            }
            None if step.store => {
                add(Some(crate::machine::CacheStep {
                    store: false,
                    ..step
                }));
            }
            None => {}
        }
    }
    all
}

fn home_mutations(protocol: &Protocol, number: usize, cell: &Cell) -> Vec<Mutation> {
    let mut all = Vec::new();
    match cell {
        Cell::Unexpected => {}
        Cell::Stall => all.push(Mutation::Home(number, Cell::Unexpected)),
        Cell::Go { next, actions } => {
            let go =
                |next: u32, actions: Actions| Mutation::Home(number, Cell::Go { next, actions });
            all.push(Mutation::Home(number, Cell::Unexpected));
            for other in others(*next as usize, protocol.directory.states.len()) {
                all.push(go(other as u32, actions.clone()));
            }
            if actions.done {
                all.push(go(
                    *next,
                    Actions {
                        done: false,
                        ..actions.clone()
                    },
                ));
            }
            for memory in MemoryAccess::ALL
                .into_iter()
                .filter(|_| actions.memory != MemoryAccess::None)
            {
                if memory != actions.memory {
                    all.push(go(
                        *next,
                        Actions {
                            memory,
                            ..actions.clone()
                        },
                    ));
                }
            }
            for (place, send) in actions.sends.iter().enumerate() {
                let mut fewer = actions.clone();
                fewer.sends.remove(place);
                all.push(go(*next, fewer));
                for message in alike(&protocol.spec, send.message) {
                    let mut swapped = actions.clone();
                    swapped.sends[place] = Send { message, ..*send };
                    all.push(go(*next, swapped));
                }
            }
        }
    }
    all
}

/// Three other states, spread over the table.
fn others(state: usize, count: usize) -> Vec<usize> {
    let mut picked = vec![(state + 1) % count, (state + count / 2) % count, 0];
    picked.sort_unstable();
    picked.dedup();
    picked.retain(|&other| other != state);
    picked
}

/// Two other messages of the same direction.
fn alike(spec: &Spec, message: MsgId) -> Vec<MsgId> {
    let same =
        |m: &MsgId| *m != message && spec.message(*m).to_home == spec.message(message).to_home;
    let all: Vec<MsgId> = spec.message_ids().filter(same).collect();
    let start = usize::from(message.0) % all.len().max(1);
    let mut picked = Vec::new();
    for step in [0, all.len() / 2] {
        picked.extend(all.get((start + step) % all.len().max(1)).copied());
    }
    picked.dedup();
    picked
}

/// Whether the mutant takes the same step as the original on every possible event: both run in lockstep as one machine
/// that has a step only where they agree, and the checker verifies that it never misses one.
fn is_bisimilar(
    original: &Protocol,
    mutant: &Protocol,
    settings: &[Setting],
) -> Result<bool, CheckError> {
    let mut both = original.clone();
    both.cache = product::of_caches(&original.cache, &mutant.cache);
    both.directory = product::of_directories(&original.directory, &mutant.directory);
    for setting in settings {
        if check(&both, setting, &mut |_| {})?.failure.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A mutation in words.
#[must_use]
pub fn describe(protocol: &Protocol, mutation: &Mutation) -> String {
    let (spec, home, cache) = (&protocol.spec, &protocol.directory, &protocol.cache);
    match mutation {
        Mutation::Home(number, content) => {
            let (state, event) = (number / home.events.len(), number % home.events.len());
            let name = home.events[event].name(spec, home.caches);
            format!(
                "{} {} on {name}: {content:?}",
                spec.home, home.states[state].name
            )
        }
        Mutation::Cache(number, content) => {
            let (state, event) = (number / cache.events.len(), number % cache.events.len());
            let name = cache.events[event].name(spec);
            format!(
                "{} {} on {name}: {content:?}",
                spec.remote, cache.states[state].name
            )
        }
    }
}
