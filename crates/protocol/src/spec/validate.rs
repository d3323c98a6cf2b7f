//! Rules for a specification as a whole, so that the generator gets consistent input.

use super::diagnostic::{Fault, Span};
use super::model::{Effect, GrantWhen, MsgId, Spec, StateId};
use super::parse::{Name, Rule};

/// Checks a resolved specification; `rules` gives the positions.
pub(super) fn validate(spec: &Spec, rules: &[(Span, Rule<'_>)]) -> Result<(), Fault> {
    first_state_is_empty(spec, rules)?;
    something_happens(spec, rules)?;
    states_are_in_order(spec, rules)?;
    channels_differ(spec, rules)?;
    let mut used = vec![Use::Unused; spec.messages.len()];
    for (span, rule) in rules {
        check_rule(spec, rules, *span, rule, &mut used)?;
    }
    every_message_is_used(rules, &used)?;
    no_rule_comes_twice(rules)?;
    requests_are_answered_alike(spec, rules)?;
    forwards_exist(spec, rules)?;
    conflicts_exist(spec, rules)
}

/// Purpose of a message. Each has one, except that answers to forwards may be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Unused,
    Request,
    Downgrade,
    Forward,
    Answer,
    /// The answer to a forward whose sender keeps the data, dirty.
    Copy,
    Grant,
}

fn check_rule(
    spec: &Spec,
    rules: &[(Span, Rule<'_>)],
    span: Span,
    rule: &Rule<'_>,
    used: &mut [Use],
) -> Result<(), Fault> {
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
            let (before, after) = (state_of(spec, from), state_of(spec, to));
            if Some(after) == spec.owned() {
                return Err(Fault::new(
                    to.span,
                    format!(
                        "no answer gives `{}`: it is dirty, and nobody wrote",
                        to.text
                    ),
                )
                .help(format!(
                    "a cache comes to `{0}` by a forward: `forward M -> {0} : ...`",
                    to.text
                )));
            }
            if spec.state(before).dirty && !spec.state(after).dirty {
                return Err(Fault::new(
                    to.span,
                    format!("`{}` is dirty and `{}` is not", from.text, to.text),
                )
                .help("memory is old while a copy is dirty; ask for a dirty state"));
            }
            claim(spec, used, request, Use::Request)?;
            for (grant, when) in grants {
                claim(spec, used, grant, Use::Grant)?;
                let old = *when == GrantWhen::Always && spec.state(before).dirty;
                if old && spec.message(find(spec, grant)).data {
                    return Err(Fault::new(
                        grant.span,
                        format!("memory is old while a cache has `{}`", from.text),
                    )
                    .help(
                        "answer without data: `answer X, Y if lost`, X of a class without `data`",
                    ));
                }
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
            let dirty = spec.state(state_of(spec, from)).dirty;
            if spec.state(state_of(spec, to)).dirty {
                return Err(Fault::new(
                    to.span,
                    format!(
                        "a cache in `{}` would keep the data that it gives up",
                        to.text
                    ),
                )
                .help("a downgrade leads to a state that is not dirty, and brings the data home"));
            }
            let Some(message) = message else {
                return may_be_silent(spec, from);
            };
            claim(spec, used, message, Use::Downgrade)?;
            carries_data(spec, message, dirty)?;
            if let Some(answer) = answer {
                claim(spec, used, answer, Use::Grant)?;
                carries_data(spec, answer, false)?;
            }
        }
        Rule::Forward {
            from,
            to,
            dirty_to,
            message,
            answer,
            dirty_answer,
        } => {
            let fetches = from.text == to.text && Some(state_of(spec, from)) == spec.owned();
            if !fetches {
                falls(spec, from, to)?;
            }
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
            let members = || spec.states.iter().filter(|s| s.level == level);
            let copies = Copies {
                clean: members().any(|s| !s.dirty),
                dirty: members().any(|s| s.dirty),
            };
            dirty_end_is_legal(spec, from, to, dirty_to.as_ref(), copies)?;
            let end = dirty_to.as_ref().unwrap_or(to);
            let keeps = spec.state(state_of(spec, end)).dirty;
            if let Some(first) = earlier_forward(rules, message) {
                return Err(Fault::new(
                    message.span,
                    format!("`{}` is a forward on line {first} already", message.text),
                )
                .help("the cache must see from the message what it asks for: name another one"));
            }
            if copies.clean {
                claim(spec, used, answer, Use::Answer)?;
                carries_data(spec, answer, false)?;
            } else if let Some(name) = dirty_answer {
                return Err(
                    Fault::new(name.span, format!("`{}` is always dirty", from.text))
                        .help(format!("there is one answer: `answer {}`", name.text)),
                );
            }
            if copies.dirty {
                let name = dirty_answer.as_ref().unwrap_or(answer);
                let purpose = if keeps { Use::Copy } else { Use::Answer };
                claim(spec, used, name, purpose)?;
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
            let readable = spec.strongest_clean();
            let fault = |message: &str| Err(Fault::new(name.span, message));
            match (effect, strongest) {
                (Effect::Write, Some(most)) if most != Spec::NO_COPY => {
                    return fault("a write needs `at most` the state without a copy");
                }
                (Effect::Read | Effect::Lock, Some(most)) if spec.state(most).level > readable => {
                    if Some(spec.state(most).level) == spec.owned() {
                        return fault("memory is old while a cache keeps a dirty copy");
                    }
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

/// A protocol without requests of caches has no messages: nothing could be checked or generated.
fn something_happens(spec: &Spec, rules: &[(Span, Rule<'_>)]) -> Result<(), Fault> {
    if !spec.upgrades.is_empty() || !spec.accesses.is_empty() {
        return Ok(());
    }
    let what = "nothing happens in this protocol: no cache ever asks for anything";
    Err(Fault::new(first_state(rules), what).help(format!(
        "at least one `upgrade` or `access` is missing, and the classes with its messages: `upgrade {} -> S on load : Get answer \
         Data`, or `access read : Get answer Data`",
        spec.states[0].name
    )))
}

/// Position of the first state.
fn first_state(rules: &[(Span, Rule<'_>)]) -> Span {
    let at = rules.iter().find_map(|(_, rule)| match rule {
        Rule::State { name, .. } => Some(name.span),
        _ => None,
    });
    at.unwrap_or(Span {
        line: 1,
        column: 1,
        length: 1,
    })
}

fn first_state_is_empty(spec: &Spec, rules: &[(Span, Rule<'_>)]) -> Result<(), Fault> {
    let first = &spec.states[0];
    if first.read || first.write || first.dirty {
        return Err(Fault::new(
            first_state(rules),
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
            if state.write && !state.dirty && state.store_to.is_none() {
                return Err(Fault::new(name.span, "a store makes a copy dirty")
                    .help("add `dirty`, or name the dirty state: `write -> M`"));
            }
        }
    }
    Ok(())
}

/// A right to write is stronger than none, and a dirty copy than a clean one.
fn states_are_in_order(spec: &Spec, rules: &[(Span, Rule<'_>)]) -> Result<(), Fault> {
    // Rank of a state as the home sees it, which may be a level of several.
    let rank = |id: StateId| {
        let level = spec.state(id).level;
        let mut members = spec.states.iter().filter(|s| s.level == level);
        if members.any(|s| s.write) {
            2
        } else {
            u8::from(spec.state(id).dirty)
        }
    };
    let mut before: Option<Name<'_>> = None;
    for (_, rule) in rules {
        let Rule::State { name, .. } = rule else {
            continue;
        };
        let (id, last) = (
            state_of(spec, name),
            before.map(|name| state_of(spec, &name)),
        );
        if let (Some(last), Some(stronger)) = (last, before) {
            if rank(id) < rank(last) {
                return Err(Fault::new(
                    name.span,
                    format!(
                        "`{}` permits less than `{}` before it",
                        name.text, stronger.text
                    ),
                )
                .help(
                    "states are listed weakest first: clean ones without `write`, then the dirty \
                     one without `write`, then those with it",
                ));
            }
            if rank(id) == 1 && rank(last) == 1 {
                return Err(Fault::new(
                    name.span,
                    format!("`{}` is dirty without `write` already", stronger.text),
                )
                .help("the home must know whom to ask for the data: one such state"));
            }
        }
        before = Some(*name);
    }
    Ok(())
}

/// Classes of one channel would share its buffer, and the checker gives each its own.
fn channels_differ(spec: &Spec, rules: &[(Span, Rule<'_>)]) -> Result<(), Fault> {
    for (_, rule) in rules {
        let Rule::Class { name, channel, .. } = rule else {
            continue;
        };
        let own = spec.classes.iter().position(|c| c.name == name.text);
        let twin = spec.classes.iter().position(|c| c.channel == *channel);
        if let Some(twin) = twin.filter(|&twin| Some(twin) != own) {
            let twin = &spec.classes[twin].name;
            return Err(
                Fault::new(name.span, format!("channel {channel} is that of `{twin}`"))
                    .help("classes have buffers of their own: give it another channel"),
            );
        }
    }
    Ok(())
}

/// Two rules for the same step of a cache would be one event with two meanings.
fn no_rule_comes_twice(rules: &[(Span, Rule<'_>)]) -> Result<(), Fault> {
    let mut seen: Vec<(String, usize)> = Vec::new();
    for (span, rule) in rules {
        let what = match rule {
            Rule::Upgrade {
                from, to, trigger, ..
            } => format!("upgrade {} -> {} on {trigger}", from.text, to.text),
            Rule::Downgrade { from, to, .. } => format!("downgrade {} -> {}", from.text, to.text),
            Rule::Forward {
                from, to, dirty_to, ..
            } => {
                let end = dirty_to.as_ref().unwrap_or(to);
                format!("forward {} -> {}", from.text, end.text)
            }
            Rule::Access { kind, .. } => format!("access {kind}"),
            _ => continue,
        };
        if let Some((_, line)) = seen.iter().find(|(other, _)| *other == what) {
            return Err(Fault::new(*span, format!("a second rule `{what}`"))
                .help(format!("the first is on line {line}; keep one of them")));
        }
        seen.push((what, span.line));
    }
    Ok(())
}

/// Upgrades that share a request must share its answers: the home sees the request only.
fn requests_are_answered_alike(spec: &Spec, rules: &[(Span, Rule<'_>)]) -> Result<(), Fault> {
    let upgrades = rules.iter().filter_map(|(_, rule)| match rule {
        Rule::Upgrade { request, .. } => Some(request),
        _ => None,
    });
    for (request, upgrade) in upgrades.zip(&spec.upgrades) {
        let first = spec.upgrades.iter().find(|u| u.request == upgrade.request);
        if first.is_some_and(|first| first.grants != upgrade.grants) {
            return Err(Fault::new(
                request.span,
                format!(
                    "another upgrade asks with `{}` for other answers",
                    request.text
                ),
            )
            .help("the home sees only the request: give them the same answers, or two requests"));
        }
        if spec.accesses.iter().any(|a| a.request == upgrade.request) {
            return Err(Fault::new(
                request.span,
                format!("`{}` is the request of an access too", request.text),
            )
            .help("the home sees only the request: name another one"));
        }
    }
    Ok(())
}

/// A silent eviction: the home must not depend on knowing of it.
fn may_be_silent(spec: &Spec, from: &Name<'_>) -> Result<(), Fault> {
    let level = spec.state(state_of(spec, from)).level;
    if level <= spec.strongest_clean() {
        return Ok(());
    }
    Err(Fault::new(
        from.span,
        format!("the home would wait for data of `{}` for ever", from.text),
    )
    .help("only a state that is neither dirty nor may write can be given up silently"))
}

/// The copies of a level.
#[derive(Clone, Copy)]
struct Copies {
    clean: bool,
    dirty: bool,
}

/// Checks the state that a forward leaves of a dirty copy.
fn dirty_end_is_legal(
    spec: &Spec,
    from: &Name<'_>,
    to: &Name<'_>,
    dirty_to: Option<&Name<'_>>,
    copies: Copies,
) -> Result<(), Fault> {
    let Copies { clean, dirty } = copies;
    let is_dirty = |name: &Name<'_>| spec.state(state_of(spec, name)).dirty;
    if clean && is_dirty(to) {
        return Err(Fault::new(
            to.span,
            format!("a clean copy in `{}` would become dirty", from.text),
        )
        .help(format!(
            "say both: `forward {} -> S, {} if dirty : ...`",
            from.text, to.text
        )));
    }
    let Some(end) = dirty_to else { return Ok(()) };
    if !dirty || !clean {
        let what = if dirty { "always" } else { "never" };
        return Err(
            Fault::new(end.span, format!("`{}` is {what} dirty", from.text)).help(format!(
                "name one state: `forward {} -> ... : ...`",
                from.text
            )),
        );
    }
    if !is_dirty(end) {
        return Err(Fault::new(
            end.span,
            format!("a dirty copy would become `{}`, which is clean", end.text),
        )
        .help(format!(
            "then both do: `forward {} -> {} : ...`",
            from.text, to.text
        )));
    }
    falls(spec, from, end)
}

/// The line of an earlier forward with the same message.
fn earlier_forward(rules: &[(Span, Rule<'_>)], name: &Name<'_>) -> Option<usize> {
    rules.iter().find_map(|(_, rule)| match rule {
        Rule::Forward { message, .. }
            if message.text == name.text && message.span.line < name.span.line =>
        {
            Some(message.span.line)
        }
        _ => None,
    })
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
    let owned = spec.owned();
    let levels = || {
        let granted = spec.upgrades.iter().map(|u| spec.state(u.to).level);
        granted.chain(owned)
    };
    let needs = |most: StateId| {
        levels()
            .find(|&level| level > spec.state(most).level && spec.forward(level, most).is_none())
    };
    let reads = |rule: &Rule<'_>| match rule {
        Rule::Upgrade { to, .. } => spec.others_beside(state_of(spec, to)) != Spec::NO_COPY,
        Rule::Access { kind, .. } => *kind == super::model::AccessKind::Read,
        _ => false,
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
            let mut members = spec.states.iter().filter(|s| s.level == level);
            let help = if Some(most) == owned && members.any(|s| !s.dirty) {
                let clean = &spec.state(spec.strongest_clean()).name;
                format!("add a rule `forward {from} -> {clean}, {to} if dirty : ...`")
            } else {
                format!("add a rule `forward {from} -> {to} : ...`")
            };
            return Err(
                Fault::new(span, format!("nothing takes a cache from {from} to {to}")).help(help),
            );
        }
        if let Some(owned) = owned.filter(|_| reads(rule)) {
            if spec.forward(owned, owned).is_none() {
                let name = &spec.state(owned).name;
                return Err(Fault::new(
                    span,
                    format!("memory is old while a cache has {name}, and nothing fetches its data"),
                )
                .help(format!("add a rule `forward {name} -> {name} : ...`")));
            }
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
