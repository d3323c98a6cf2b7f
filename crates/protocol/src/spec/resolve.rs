//! Resolution of names to positions.

use super::diagnostic::{Fault, Span};
use super::model::{
    Access, Class, ClassId, Downgrade, Forward, Grant, MessageType, MsgId, Operation, Spec, State,
    StateId, Upgrade,
};
use super::parse::{Name, Rule};

/// Reserved words of the language, which cannot be names, so that a specification stays readable.
const RESERVED: [&str; 6] = ["answer", "if", "on", "then", "at", "for"];

/// Maximum states, messages and operations: what fits the checker's packed words with room to spare.
const MOST_STATES: usize = 8;
const MOST_MESSAGES: usize = 28;
const MOST_CLASSES: usize = 10;
const MOST_OPERATIONS: usize = 15;
const MOST_HELD: u32 = 4;

/// Resolves every name of a file.
pub(super) fn resolve(rules: &[(Span, Rule<'_>)]) -> Result<Spec, Fault> {
    let mut spec = declarations(rules)?;
    for (span, rule) in rules {
        add_rule(&mut spec, *span, rule)?;
    }
    mark_directions(&mut spec);
    Ok(spec)
}

/// First pass: all declarations.
fn declarations(rules: &[(Span, Rule<'_>)]) -> Result<Spec, Fault> {
    let mut spec = Spec {
        name: singleton(rules, "protocol", |r| {
            if let Rule::Protocol(n) = r {
                Some(n)
            } else {
                None
            }
        })?,
        home: singleton(rules, "home", |r| {
            if let Rule::Home(n) = r {
                Some(n)
            } else {
                None
            }
        })?,
        remote: singleton(rules, "remote", |r| {
            if let Rule::Remote(n) = r {
                Some(n)
            } else {
                None
            }
        })?,
        states: Vec::new(),
        classes: Vec::new(),
        messages: Vec::new(),
        upgrades: Vec::new(),
        downgrades: Vec::new(),
        forwards: Vec::new(),
        conflicts: Vec::new(),
        accesses: Vec::new(),
        operations: Vec::new(),
        hold: 0,
    };
    let mut taken: Vec<Name<'_>> = Vec::new();
    for (_, rule) in rules {
        match rule {
            Rule::State {
                name,
                read,
                write,
                dirty,
                ..
            } => {
                declare(&mut taken, *name)?;
                room(*name, spec.states.len(), MOST_STATES, "states")?;
                let level = StateId(spec.states.len() as u8);
                spec.states.push(State {
                    name: name.text.to_owned(),
                    read: *read,
                    write: *write,
                    store_to: None,
                    dirty: *dirty,
                    level,
                });
            }
            Rule::Class {
                name,
                channel,
                may_stall,
                data,
                never_full,
                messages,
            } => {
                declare(&mut taken, *name)?;
                room(*name, spec.classes.len(), MOST_CLASSES, "classes")?;
                let class = ClassId(spec.classes.len() as u8);
                spec.classes.push(Class {
                    name: name.text.to_owned(),
                    channel: *channel,
                    may_stall: *may_stall,
                    data: *data,
                    never_full: *never_full,
                });
                for message in messages {
                    declare(&mut taken, *message)?;
                    room(*message, spec.messages.len(), MOST_MESSAGES, "messages")?;
                    let name = message.text.to_owned();
                    spec.messages.push(MessageType {
                        name,
                        class,
                        data: *data,
                        to_home: false,
                    });
                }
            }
            Rule::Operation { name, .. } => {
                declare_operation(rules, *name)?;
                room(*name, spec.operations.len(), MOST_OPERATIONS, "operations")?;
                // Filled in by the second pass; the place counts for the limit only.
            }
            _ => {}
        }
    }
    if spec.states.is_empty() {
        return Err(Fault::new(START, "a protocol needs states").help("add `state I` and others"));
    }
    spec.conflicts = vec![None; spec.states.len()];
    Ok(spec)
}

const START: Span = Span {
    line: 1,
    column: 1,
    length: 1,
};

fn singleton<'r, 'a: 'r>(
    rules: &'r [(Span, Rule<'a>)],
    keyword: &str,
    pick: impl Fn(&'r Rule<'a>) -> Option<&'r Name<'a>>,
) -> Result<String, Fault> {
    let mut found = rules
        .iter()
        .filter_map(|(span, rule)| pick(rule).map(|name| (span, name)));
    let Some((_, name)) = found.next() else {
        return Err(
            Fault::new(START, format!("the `{keyword}` line is missing"))
                .help(format!("add `{keyword} NAME`")),
        );
    };
    if let Some((again, _)) = found.next() {
        return Err(Fault::new(*again, format!("a second `{keyword}` line")));
    }
    Ok(name.text.to_owned())
}

fn declare<'a>(taken: &mut Vec<Name<'a>>, name: Name<'a>) -> Result<(), Fault> {
    if RESERVED.contains(&name.text) {
        return Err(Fault::new(
            name.span,
            format!("`{}` is a word of the language", name.text),
        )
        .help("give it another name"));
    }
    let same = |other: &&Name<'_>| other.text.eq_ignore_ascii_case(name.text);
    if let Some(first) = taken.iter().find(same) {
        let (line, text) = (first.span.line, first.text);
        return Err(
            Fault::new(name.span, format!("the name `{}` is taken", name.text)).help(format!(
                "`{text}` stands on line {line}; upper and lower case count as equal"
            )),
        );
    }
    taken.push(name);
    Ok(())
}

/// Operations have their own name space, since `read` is both an operation and a right.
fn declare_operation(rules: &[(Span, Rule<'_>)], name: Name<'_>) -> Result<(), Fault> {
    let first = rules.iter().find_map(|(_, rule)| match rule {
        Rule::Operation { name: other, .. } if other.text.eq_ignore_ascii_case(name.text) => {
            Some(other.span)
        }
        _ => None,
    });
    match first {
        Some(span) if span != name.span => Err(Fault::new(
            name.span,
            format!("the operation `{}` is there already", name.text),
        )
        .help(format!("on line {}", span.line))),
        _ => Ok(()),
    }
}

fn room(name: Name<'_>, have: usize, most: usize, what: &str) -> Result<(), Fault> {
    if have < most {
        return Ok(());
    }
    Err(Fault::new(
        name.span,
        format!("a protocol has at most {most} {what}"),
    ))
}

/// Second pass: the rules.
fn add_rule(spec: &mut Spec, span: Span, rule: &Rule<'_>) -> Result<(), Fault> {
    match rule {
        Rule::Protocol(_) | Rule::Home(_) | Rule::Remote(_) | Rule::Class { .. } => {}
        Rule::State { name, store_to, .. } => {
            if let Some(target) = store_to {
                let (from, to) = (state(spec, *name)?, state(spec, *target)?);
                if to <= from {
                    return Err(Fault::new(target.span, "a store leads to a stronger state")
                        .help("states are listed weakest first"));
                }
                let level = spec.state(from).level;
                spec.states[from.index()].store_to = Some(to);
                spec.states[to.index()].level = level;
            }
        }
        Rule::Upgrade {
            from,
            to,
            trigger,
            request,
            grants,
        } => {
            let upgrade = Upgrade {
                from: state(spec, *from)?,
                to: state(spec, *to)?,
                trigger: *trigger,
                request: message(spec, *request)?,
                grants: grants
                    .iter()
                    .map(|&(name, when)| {
                        Ok(Grant {
                            message: message(spec, name)?,
                            when,
                        })
                    })
                    .collect::<Result<_, Fault>>()?,
            };
            spec.upgrades.push(upgrade);
        }
        Rule::Downgrade {
            from,
            to,
            message: name,
            answer,
        } => {
            let downgrade = Downgrade {
                from: state(spec, *from)?,
                to: state(spec, *to)?,
                message: name.map(|name| message(spec, name)).transpose()?,
                answer: answer.map(|name| message(spec, name)).transpose()?,
            };
            spec.downgrades.push(downgrade);
        }
        Rule::Forward {
            from,
            to,
            dirty_to,
            message: name,
            answer,
            dirty_answer,
        } => {
            let forward = Forward {
                from: state(spec, *from)?,
                to: state(spec, *to)?,
                dirty_to: state(spec, dirty_to.unwrap_or(*to))?,
                message: message(spec, *name)?,
                answer: message(spec, *answer)?,
                dirty_answer: message(spec, dirty_answer.unwrap_or(*answer))?,
            };
            spec.forwards.push(forward);
        }
        Rule::Conflict {
            states,
            message: name,
        } => {
            let answer = message(spec, *name)?;
            for name in states {
                let id = state(spec, *name)?;
                if spec.conflicts[id.index()].replace(answer).is_some() {
                    return Err(Fault::new(
                        name.span,
                        format!("`{}` has a conflict answer already", name.text),
                    ));
                }
            }
        }
        Rule::Access {
            kind,
            request,
            answer,
        } => {
            let access = Access {
                kind: *kind,
                request: message(spec, *request)?,
                answer: message(spec, *answer)?,
            };
            spec.accesses.push(access);
        }
        Rule::Operation {
            name,
            at_most,
            effect,
            internal,
        } => {
            let operation = Operation {
                name: name.text.to_owned(),
                at_most: at_most.map(|name| state(spec, name)).transpose()?,
                effect: *effect,
                internal: *internal,
            };
            spec.operations.push(operation);
        }
        Rule::Hold {
            count,
            span: number,
        } => {
            if *count > MOST_HELD {
                return Err(Fault::new(
                    *number,
                    format!("a line holds at most {MOST_HELD}"),
                ));
            }
            if spec.hold != 0 {
                return Err(Fault::new(span, "a second `hold` line"));
            }
            spec.hold = *count as usize;
        }
    }
    Ok(())
}

fn state(spec: &Spec, name: Name<'_>) -> Result<StateId, Fault> {
    match spec.states.iter().position(|s| s.name == name.text) {
        Some(index) => Ok(StateId(index as u8)),
        None => Err(
            Fault::new(name.span, format!("no state is called `{}`", name.text)).help(format!(
                "states: {}",
                list(spec.states.iter().map(|s| s.name.as_str()))
            )),
        ),
    }
}

fn message(spec: &Spec, name: Name<'_>) -> Result<MsgId, Fault> {
    match spec.messages.iter().position(|m| m.name == name.text) {
        Some(index) => Ok(MsgId(index as u8)),
        None => Err(
            Fault::new(name.span, format!("no message is called `{}`", name.text)).help(
                "list it on the line of its class, as `class request channel 6 : ReadShared`",
            ),
        ),
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// A message's direction follows from the rules that use it; `validate` refuses contradictions.
fn mark_directions(spec: &mut Spec) {
    let mut to_home = Vec::new();
    to_home.extend(spec.upgrades.iter().map(|u| u.request));
    to_home.extend(spec.accesses.iter().map(|a| a.request));
    to_home.extend(spec.downgrades.iter().filter_map(|d| d.message));
    to_home.extend(
        spec.forwards
            .iter()
            .flat_map(|f| [f.answer, f.dirty_answer]),
    );
    to_home.extend(spec.conflicts.iter().flatten().copied());
    for id in to_home {
        spec.messages[id.index()].to_home = true;
    }
}
