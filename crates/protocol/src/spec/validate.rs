//! Rules that a specification as a whole must obey, so that the generator never meets nonsense.

use super::diagnostic::{Fault, Span};
use super::model::{Effect, GrantWhen, MsgId, Spec, StateId};
use super::parse::{Name, Rule};

/// Checks a resolved specification; `rules` tells where things stand.
pub(super) fn validate(spec: &Spec, rules: &[(Span, Rule<'_>)]) -> Result<(), Fault> {
    first_state_is_empty(spec, rules)?;
    let mut used = vec![Use::Unused; spec.messages.len()];
    for (span, rule) in rules {
        check_rule(spec, *span, rule, &mut used)?;
    }
    every_message_is_used(rules, &used)?;
    forwards_exist(spec, rules)?;
    conflicts_exist(spec, rules)
}

/// What a message is for. One purpose each, except that answers to forwards may be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Unused,
    Request,
    Downgrade,
    Forward,
    Answer,
    Grant,
}

fn check_rule(spec: &Spec, span: Span, rule: &Rule<'_>, used: &mut [Use]) -> Result<(), Fault> {
    match rule {
        Rule::Class {
            name,
            may_stall,
            messages,
            ..
        } => {
            for message in messages {
                let id = find(spec, message);
                if *may_stall && !spec.is_request(id) {
                    return Err(Fault::new(
                        message.span,
                        format!("`{}` is no request, so it must not stall", message.text),
                    )
                    .help(format!(
                        "move it out of class `{}`, or drop `may stall`: a stalled response or \
                         forward can deadlock",
                        name.text
                    )));
                }
                if !*may_stall && spec.is_request(id) {
                    return Err(Fault::new(
                        message.span,
                        format!(
                            "`{}` is a request, but its class may not stall",
                            message.text
                        ),
                    )
                    .help("requests and responses need separate classes"));
                }
            }
        }
        Rule::Upgrade {
            from,
            to,
            request,
            grants,
            ..
        } => {
            rises(spec, from, to)?;
            claim(spec, used, request, Use::Request)?;
            for (grant, when) in grants {
                claim(spec, used, grant, Use::Grant)?;
                let keeps_copy = *when == GrantWhen::Always && state_of(spec, from).0 != 0;
                if !keeps_copy && !spec.message(find(spec, grant)).data {
                    return Err(Fault::new(
                        grant.span,
                        format!(
                            "`{}` carries no data, but the cache has no copy",
                            grant.text
                        ),
                    )
                    .help("use a message of a `data` class"));
                }
            }
            let lost = grants.iter().any(|g| g.1 == GrantWhen::Lost);
            let always = grants.iter().filter(|g| g.1 == GrantWhen::Always).count();
            if always != 1 || grants.len() > 2 {
                return Err(Fault::new(
                    span,
                    "an upgrade has one answer, and one `if lost`",
                ));
            }
            let dataless = grants.iter().any(|g| !spec.message(find(spec, &g.0)).data);
            if dataless && !lost {
                return Err(Fault::new(
                    request.span,
                    format!("a forward may take the copy while `{}` waits", request.text),
                )
                .help("add an answer with data: `answer X, Y if lost`"));
            }
        }
        Rule::Downgrade {
            from,
            to,
            message,
            answer,
        } => {
            falls(spec, from, to)?;
            claim(spec, used, message, Use::Downgrade)?;
            let dirty = spec.state(state_of(spec, from)).dirty;
            carries_data(spec, message, dirty)?;
            if let Some(answer) = answer {
                claim(spec, used, answer, Use::Grant)?;
                carries_data(spec, answer, false)?;
            }
        }
        Rule::Forward {
            from,
            to,
            message,
            answer,
            dirty_answer,
        } => {
            falls(spec, from, to)?;
            let level = state_of(spec, from);
            if spec.state(level).level != level {
                return Err(Fault::new(
                    from.span,
                    format!("the home cannot tell `{}` from a weaker state", from.text),
                )
                .help(format!(
                    "write `{}`",
                    spec.state(spec.state(level).level).name
                )));
            }
            claim(spec, used, message, Use::Forward)?;
            carries_data(spec, message, false)?;
            claim(spec, used, answer, Use::Answer)?;
            let members = || spec.states.iter().filter(|s| s.level == level);
            let (clean, dirty) = (members().any(|s| !s.dirty), members().any(|s| s.dirty));
            if clean {
                carries_data(spec, answer, false)?;
            }
            if dirty {
                let name = dirty_answer.as_ref().unwrap_or(answer);
                claim(spec, used, name, Use::Answer)?;
                carries_data(spec, name, true)?;
            } else if let Some(name) = dirty_answer {
                return Err(Fault::new(
                    name.span,
                    format!("`{}` is never dirty", from.text),
                ));
            }
        }
        Rule::Conflict { message, .. } => {
            claim(spec, used, message, Use::Answer)?;
            carries_data(spec, message, false)?;
        }
        Rule::Access {
            kind,
            request,
            answer,
        } => {
            claim(spec, used, request, Use::Request)?;
            claim(spec, used, answer, Use::Grant)?;
            let reads = *kind == super::model::AccessKind::Read;
            carries_data(spec, request, !reads)?;
            carries_data(spec, answer, reads)?;
        }
        Rule::Operation {
            name,
            at_most,
            effect,
            internal,
        } => {
            let strongest = at_most.as_ref().map(|s| state_of(spec, s));
            let readable = spec.strongest_reader();
            let fault = |message: &str| Err(Fault::new(name.span, message));
            match (effect, strongest) {
                (Effect::Write, Some(most)) if most != Spec::NO_COPY => {
                    return fault("a write needs `at most` the state without a copy");
                }
                (Effect::Read | Effect::Lock, Some(most)) if spec.state(most).level > readable => {
                    return fault("a cache that may write must not stay beside this");
                }
                (Effect::Read | Effect::Write | Effect::Lock, None) => {
                    return fault("say what the caches may keep: `at most S, then ...`");
                }
                (Effect::Nothing, _) if *internal && strongest != Some(Spec::NO_COPY) => {
                    return fault("the directory frees a way only when no cache has a copy");
                }
                _ => {}
            }
        }
        Rule::Protocol(_) | Rule::Home(_) | Rule::Remote(_) | Rule::State { .. } => {}
        Rule::Hold { .. } => {}
    }
    Ok(())
}

fn first_state_is_empty(spec: &Spec, rules: &[(Span, Rule<'_>)]) -> Result<(), Fault> {
    let first = &spec.states[0];
    if first.read || first.write || first.dirty {
        let at = rules.iter().find_map(|(_, rule)| match rule {
            Rule::State { name, .. } => Some(name.span),
            _ => None,
        });
        let span = at.unwrap_or(Span {
            line: 1,
            column: 1,
            length: 1,
        });
        return Err(Fault::new(
            span,
            "the first state means `no copy` and permits nothing",
        ));
    }
    for (_, rule) in rules {
        if let Rule::State { name, .. } = rule {
            let id = state_of(spec, name);
            let state = spec.state(id);
            if id != Spec::NO_COPY && !state.read {
                return Err(
                    Fault::new(name.span, "a copy that nobody may read is no state")
                        .help("add `read`"),
                );
            }
            if state.dirty && !state.write {
                return Err(Fault::new(
                    name.span,
                    "only a state with `write` can be dirty",
                ));
            }
            if state.write && !state.dirty && state.store_to.is_none() {
                return Err(Fault::new(name.span, "a store makes a copy dirty")
                    .help("add `dirty`, or name the dirty state: `write -> M`"));
            }
        }
    }
    Ok(())
}

fn every_message_is_used(rules: &[(Span, Rule<'_>)], used: &[Use]) -> Result<(), Fault> {
    let names = rules.iter().flat_map(|(_, rule)| match rule {
        Rule::Class { messages, .. } => messages.as_slice(),
        _ => &[],
    });
    for (name, purpose) in names.zip(used) {
        if *purpose == Use::Unused {
            return Err(Fault::new(
                name.span,
                format!("no rule uses `{}`", name.text),
            ));
        }
    }
    Ok(())
}

/// Every level above what an operation or another cache's upgrade tolerates needs a forward.
fn forwards_exist(spec: &Spec, rules: &[(Span, Rule<'_>)]) -> Result<(), Fault> {
    let levels = || spec.upgrades.iter().map(|u| spec.state(u.to).level);
    let needs = |most: StateId| {
        levels()
            .find(|&level| level > spec.state(most).level && spec.forward(level, most).is_none())
    };
    for (_, rule) in rules {
        let (span, most) = match rule {
            Rule::Operation {
                name,
                at_most: Some(most),
                ..
            } => (name.span, state_of(spec, most)),
            Rule::Upgrade { to, .. } => (to.span, spec.others_beside(state_of(spec, to))),
            Rule::Access {
                request,
                kind: super::model::AccessKind::Read,
                ..
            } => (request.span, spec.strongest_reader()),
            Rule::Access { request, .. } => (request.span, Spec::NO_COPY),
            _ => continue,
        };
        if let Some(level) = needs(most) {
            let (from, to) = (&spec.state(level).name, &spec.state(most).name);
            return Err(
                Fault::new(span, format!("nothing takes a cache from {from} to {to}"))
                    .help(format!("add a rule `forward {from} -> {to} : ...`")),
            );
        }
    }
    Ok(())
}

/// A forward can meet a cache that has less than expected; that cache must have an answer.
fn conflicts_exist(spec: &Spec, rules: &[(Span, Rule<'_>)]) -> Result<(), Fault> {
    for (_, rule) in rules {
        let Rule::Forward { from, .. } = rule else {
            continue;
        };
        let level = state_of(spec, from);
        let weaker = (0..spec.states.len() as u8).map(StateId).find(|&id| {
            spec.state(id).level == id && id < level && spec.conflicts[id.index()].is_none()
        });
        if let Some(id) = weaker {
            let name = &spec.state(id).name;
            return Err(
                Fault::new(from.span, format!("a forward may meet a cache in {name}"))
                    .help(format!("add its answer: `conflict {name} : ...`")),
            );
        }
    }
    Ok(())
}

fn claim(spec: &Spec, used: &mut [Use], name: &Name<'_>, purpose: Use) -> Result<(), Fault> {
    let slot = &mut used[find(spec, name).index()];
    if *slot != Use::Unused && *slot != purpose {
        return Err(Fault::new(
            name.span,
            format!("`{}` has another purpose already", name.text),
        )
        .help("requests, downgrades, forwards, their answers and grants are different messages"));
    }
    *slot = purpose;
    Ok(())
}

fn carries_data(spec: &Spec, name: &Name<'_>, wanted: bool) -> Result<(), Fault> {
    if spec.message(find(spec, name)).data == wanted {
        return Ok(());
    }
    let (fault, help) = if wanted {
        ("must carry the data", "move it to a class with `data`")
    } else {
        ("has no data to carry", "move it to a class without `data`")
    };
    Err(Fault::new(name.span, format!("`{}` {fault}", name.text)).help(help))
}

fn rises(spec: &Spec, from: &Name<'_>, to: &Name<'_>) -> Result<(), Fault> {
    if state_of(spec, from) < state_of(spec, to) {
        return Ok(());
    }
    Err(Fault::new(
        to.span,
        format!("`{}` is not stronger than `{}`", to.text, from.text),
    )
    .help("states are listed weakest first"))
}

fn falls(spec: &Spec, from: &Name<'_>, to: &Name<'_>) -> Result<(), Fault> {
    if state_of(spec, from) > state_of(spec, to) {
        return Ok(());
    }
    Err(Fault::new(
        to.span,
        format!("`{}` is not weaker than `{}`", to.text, from.text),
    )
    .help("states are listed weakest first"))
}

/// Names were resolved before, so both are found; the fallbacks are never used.
fn find(spec: &Spec, name: &Name<'_>) -> MsgId {
    let index = spec.messages.iter().position(|m| m.name == name.text);
    MsgId(index.unwrap_or(0) as u8)
}

fn state_of(spec: &Spec, name: &Name<'_>) -> StateId {
    let index = spec.states.iter().position(|s| s.name == name.text);
    StateId(index.unwrap_or(0) as u8)
}
