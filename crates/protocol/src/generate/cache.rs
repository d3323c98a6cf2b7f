//! The remote agent: stable states, waiting states and the effect of forwards on them.

use std::collections::HashMap;

use super::GenerateError;
use crate::machine::{CacheEvent, CacheMachine, CacheState, CacheStep};
use crate::spec::{GrantWhen, MsgId, Spec, StateId, Trigger};

/// A state of the cache before it has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CacheKey {
    Stable(StateId),
    Waiting(Waiting),
}

/// A transaction that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    rule: WaitRule,
    /// The remaining copy of those that the cache had at its request.
    copy: StateId,
    /// The copy is still in the cache, but a forward took the right to use it.
    closed: bool,
    /// A forward may have overtaken the answer: the answer is used once, then downgraded to this state.
    pass: Option<StateId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WaitRule {
    Upgrade(u8),
    Downgrade(u8),
    Access(u8),
}

/// Builds the cache's machine from its rules.
pub(super) fn build(spec: &Spec) -> Result<CacheMachine, GenerateError> {
    let builder = CacheBuilder { spec };
    let events = builder.events();
    let mut keys = vec![CacheKey::Stable(Spec::NO_COPY)];
    let mut numbers = HashMap::from([(keys[0], 0)]);
    let mut steps = Vec::new();
    let mut done = 0;
    while let Some(&key) = keys.get(done) {
        for &event in &events {
            let step = builder.step(key, event)?.map(|(next, send, store)| {
                let fresh = keys.len();
                let next = *numbers.entry(next).or_insert_with(|| {
                    keys.push(next);
                    fresh
                });
                CacheStep { next, send, store }
            });
            steps.push(step);
        }
        done += 1;
    }
    let mut states: Vec<CacheState> = keys.iter().map(|&key| builder.describe(key)).collect();
    make_names_unique(&mut states);
    Ok(CacheMachine {
        states,
        events,
        steps,
    })
}

/// Two rules may join the same states; their waiting states then get a number.
fn make_names_unique(states: &mut [CacheState]) {
    for place in 1..states.len() {
        let (earlier, rest) = states.split_at_mut(place);
        let base = rest[0].name.clone();
        let mut number = 2;
        while earlier.iter().any(|state| state.name == rest[0].name) {
            rest[0].name = format!("{base}_{number}");
            number += 1;
        }
    }
}

type Outcome = Option<(CacheKey, Option<MsgId>, bool)>;

struct CacheBuilder<'a> {
    spec: &'a Spec,
}

impl CacheBuilder<'_> {
    fn events(&self) -> Vec<CacheEvent> {
        let spec = self.spec;
        let mut events = Vec::new();
        events.extend((0..spec.upgrades.len() as u8).map(CacheEvent::Upgrade));
        events.extend((0..spec.accesses.len() as u8).map(CacheEvent::Access));
        if spec.states.iter().any(|s| s.store_to.is_some()) {
            events.push(CacheEvent::Store);
        }
        events.extend((0..spec.downgrades.len() as u8).map(CacheEvent::Downgrade));
        let arriving = spec.message_ids().filter(|&m| !spec.message(m).to_home);
        events.extend(arriving.map(CacheEvent::Receive));
        events
    }

    fn step(&self, key: CacheKey, event: CacheEvent) -> Result<Outcome, GenerateError> {
        match (key, event) {
            (CacheKey::Stable(state), CacheEvent::Receive(message)) => {
                Ok(self.forward_meets_stable(state, message))
            }
            (CacheKey::Stable(state), event) => Ok(self.start(state, event)),
            (CacheKey::Waiting(waiting), CacheEvent::Receive(message)) => {
                if self.spec.forwards.iter().any(|f| f.message == message) {
                    Ok(self.forward_meets_waiting(waiting, message))
                } else {
                    self.answer(waiting, message)
                }
            }
            (CacheKey::Waiting(_), _) => Ok(None),
        }
    }

    /// The CPU or the cache itself starts a transaction in a stable state.
    fn start(&self, state: StateId, event: CacheEvent) -> Outcome {
        let spec = self.spec;
        let waiting = |rule, copy| {
            CacheKey::Waiting(Waiting {
                rule,
                copy,
                closed: false,
                pass: None,
            })
        };
        match event {
            CacheEvent::Upgrade(index) => {
                let rule = &spec.upgrades[usize::from(index)];
                (rule.from == state).then(|| {
                    (
                        waiting(WaitRule::Upgrade(index), state),
                        Some(rule.request),
                        false,
                    )
                })
            }
            CacheEvent::Access(index) => {
                let rule = &spec.accesses[usize::from(index)];
                (state == Spec::NO_COPY).then(|| {
                    (
                        waiting(WaitRule::Access(index), state),
                        Some(rule.request),
                        false,
                    )
                })
            }
            CacheEvent::Downgrade(index) => {
                let rule = &spec.downgrades[usize::from(index)];
                let next = match rule.answer {
                    Some(_) => waiting(WaitRule::Downgrade(index), rule.to),
                    None => CacheKey::Stable(rule.to),
                };
                (rule.from == state).then_some((next, rule.message, false))
            }
            CacheEvent::Store => spec
                .state(state)
                .store_to
                .map(|next| (CacheKey::Stable(next), None, true)),
            CacheEvent::Receive(_) => None,
        }
    }

    /// A forward arrives and nothing is outstanding. A cache with less than the home assumed answers so: its downgrade
    /// is in flight.
    fn forward_meets_stable(&self, state: StateId, message: MsgId) -> Outcome {
        let spec = self.spec;
        let forward = spec.forwards.iter().find(|f| f.message == message)?;
        let level = spec.state(state).level;
        if level > forward.from {
            return None;
        }
        let answer = if level < forward.from {
            spec.conflicts[level.index()]?
        } else if spec.state(state).dirty {
            forward.dirty_answer
        } else {
            forward.answer
        };
        let left = forward.leaves(spec.state(state).dirty);
        Some((CacheKey::Stable(state.min(left)), Some(answer), false))
    }

    /// A forward arrives while an answer is outstanding. The cache answers it immediately: the home may wait for this
    /// before it serves the request.
    fn forward_meets_waiting(&self, waiting: Waiting, message: MsgId) -> Outcome {
        let spec = self.spec;
        let forward = spec.forwards.iter().find(|f| f.message == message)?;
        let visible = if waiting.closed {
            Spec::NO_COPY
        } else {
            waiting.copy
        };
        let level = spec.state(visible).level;
        if level > forward.from {
            return None;
        }
        let dirty = spec.state(visible).dirty;
        let left = forward.leaves(dirty);
        let mut next = waiting;
        let mut answer = if dirty {
            forward.dirty_answer
        } else {
            forward.answer
        };
        // The home may have granted before it sent the forward, and the forward may have overtaken.
        let overtook = self.granted_level(waiting) == Some(forward.from);
        if level < forward.from {
            answer = spec.conflicts[level.index()]?;
            if overtook {
                next.pass = Some(waiting.pass.map_or(forward.to, |pass| pass.min(forward.to)));
            }
        }
        if visible > left {
            let keep = left == Spec::NO_COPY
                && overtook
                && level < forward.from
                && self.may_be_granted_without_data(waiting);
            if keep {
                next.closed = true;
            } else {
                next.copy = left;
            }
        }
        Some((CacheKey::Waiting(next), Some(answer), false))
    }

    /// The answer of the transaction arrives.
    fn answer(&self, waiting: Waiting, message: MsgId) -> Result<Outcome, GenerateError> {
        let spec = self.spec;
        match waiting.rule {
            WaitRule::Access(index) => {
                let rule = &spec.accesses[usize::from(index)];
                let next = CacheKey::Stable(waiting.copy);
                Ok((rule.answer == message).then_some((next, None, false)))
            }
            WaitRule::Downgrade(index) => {
                let rule = &spec.downgrades[usize::from(index)];
                let next = CacheKey::Stable(waiting.copy);
                Ok((rule.answer == Some(message)).then_some((next, None, false)))
            }
            WaitRule::Upgrade(index) => {
                let rule = &spec.upgrades[usize::from(index)];
                let has_data = spec.message(message).data || waiting.copy != Spec::NO_COPY;
                if !has_data || !rule.grants.iter().any(|g| g.message == message) {
                    return Ok(None);
                }
                let store = rule.trigger == Trigger::Store;
                match waiting.pass {
                    Some(most) if spec.state(rule.to).level > spec.state(most).level => {
                        let back = spec
                            .downgrades
                            .iter()
                            .filter(|d| d.from == rule.to && d.to <= most && d.answer.is_none())
                            .max_by_key(|d| d.to);
                        if let Some(back) = back {
                            return Ok(Some((CacheKey::Stable(back.to), back.message, store)));
                        }
                        let acknowledged = spec
                            .downgrades
                            .iter()
                            .enumerate()
                            .find(|(_, d)| d.from == rule.to && d.to <= most);
                        let Some((index, back)) = acknowledged else {
                            return Err(GenerateError::NoWayBack {
                                from: spec.state(rule.to).name.clone(),
                                to: spec.state(most).name.clone(),
                            });
                        };
                        let rule = WaitRule::Downgrade(index as u8);
                        let next = Waiting {
                            rule,
                            copy: back.to,
                            closed: false,
                            pass: None,
                        };
                        Ok(Some((CacheKey::Waiting(next), back.message, store)))
                    }
                    _ => Ok(Some((CacheKey::Stable(rule.to), None, store))),
                }
            }
        }
    }

    /// The level that the home records when it answers, if any.
    fn granted_level(&self, waiting: Waiting) -> Option<StateId> {
        match waiting.rule {
            WaitRule::Upgrade(index) => {
                let to = self.spec.upgrades[usize::from(index)].to;
                Some(self.spec.state(to).level)
            }
            WaitRule::Downgrade(_) | WaitRule::Access(_) => None,
        }
    }

    fn may_be_granted_without_data(&self, waiting: Waiting) -> bool {
        match waiting.rule {
            WaitRule::Upgrade(index) => {
                let grants = &self.spec.upgrades[usize::from(index)].grants;
                grants
                    .iter()
                    .any(|g| g.when == GrantWhen::Always && !self.spec.message(g.message).data)
            }
            WaitRule::Downgrade(_) | WaitRule::Access(_) => false,
        }
    }

    fn describe(&self, key: CacheKey) -> CacheState {
        let spec = self.spec;
        let name = |id: StateId| spec.state(id).name.as_str();
        match key {
            CacheKey::Stable(state) => CacheState {
                name: name(state).to_owned(),
                copy: state,
                keeps_data: state != Spec::NO_COPY,
                stable: true,
                waits_for: None,
                aim: state,
                pass: None,
            },
            CacheKey::Waiting(waiting) => {
                let (mut label, waits_for, from, aim) = match waiting.rule {
                    WaitRule::Upgrade(index) => {
                        let rule = &spec.upgrades[usize::from(index)];
                        let label = format!("{}_to_{}", name(rule.from), name(rule.to));
                        (label, Some(rule.request), rule.from, rule.to)
                    }
                    WaitRule::Downgrade(index) => {
                        let rule = &spec.downgrades[usize::from(index)];
                        let label = format!("{}_to_{}", name(rule.from), name(rule.to));
                        (label, None, rule.to, rule.to)
                    }
                    WaitRule::Access(index) => {
                        let rule = &spec.accesses[usize::from(index)];
                        let label = format!("I_{}", rule.kind);
                        (label, Some(rule.request), Spec::NO_COPY, Spec::NO_COPY)
                    }
                };
                if waiting.closed {
                    label.push_str("_closed");
                } else if waiting.copy == Spec::NO_COPY && from != Spec::NO_COPY {
                    label.push_str("_lost");
                } else if waiting.copy != from {
                    label.push_str("_kept_");
                    label.push_str(name(waiting.copy));
                }
                if let Some(pass) = waiting.pass {
                    label.push_str("_pass_");
                    label.push_str(name(pass));
                }
                CacheState {
                    name: label,
                    copy: if waiting.closed {
                        Spec::NO_COPY
                    } else {
                        waiting.copy
                    },
                    keeps_data: waiting.copy != Spec::NO_COPY,
                    stable: false,
                    waits_for,
                    aim,
                    pass: waiting.pass,
                }
            }
        }
    }
}
