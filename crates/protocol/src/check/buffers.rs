//! Dependencies between buffers: without a cycle there is no deadlock, for any number of lines.
//!
//! A message leaves its buffer only when the messages that its receiver sends in response have room, so its buffer
//! waits for the buffers of those responses. If no buffer waits, over any path, for its own room, the buffers at the
//! end always drain, then those before them, and so on: with room for one message in each, for any number of lines.
//! Only reachable steps count; in the exploration that found them, a class had room for every message of the line.
//!
//! A class is one buffer in each direction, and the buffers of all caches count as one: a cycle over two caches is one
//! as well.

use std::fmt;

use super::Verdict;
use crate::generate::Protocol;
use crate::machine::{CacheEvent, Cell, DirEvent};
use crate::spec::{ClassId, MsgId, Spec};

/// A message that waits for room for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Message that stays in its buffer.
    pub taken: String,
    /// Buffer of that message, in words.
    pub buffer: String,
    /// Message that the receiver sends in response.
    pub sent: String,
    /// Buffer of the response, in words.
    pub into: String,
}

/// Result of the buffer analysis of a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// No cycle: the buffers in an order in which each waits for later ones only.
    Ordered(Vec<String>),
    /// A cycle, which leads to a deadlock with some number of lines and messages.
    Circle(Vec<Wait>),
}

impl fmt::Display for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Buffers::Ordered(names) => write!(f, "{}", names.join(", ")),
            Buffers::Circle(waits) => {
                for wait in waits {
                    writeln!(
                        f,
                        "      {} stays in `{}` until {} finds room in `{}`",
                        wait.taken, wait.buffer, wait.sent, wait.into
                    )?;
                }
                write!(
                    f,
                    "      move one of these messages to a class of its own, with a channel of \
                     its own;\n      or say `never full` of a class whose buffers have room for \
                     every line"
                )
            }
        }
    }
}

/// Class of a buffer, and its direction.
type Buffer = (ClassId, bool);

/// Finds the order of a protocol's buffers, from the steps used in an exploration.
#[must_use]
pub fn buffers(protocol: &Protocol, verdict: &Verdict) -> Buffers {
    let spec = &protocol.spec;
    let waits = waits(protocol, verdict);
    let mut left: Vec<Buffer> = Vec::new();
    for id in spec.message_ids() {
        let buffer = buffer(spec, id);
        if !left.contains(&buffer) {
            left.push(buffer);
        }
    }
    // Buffers without a remaining waiter come first.
    let mut order = Vec::new();
    while let Some(place) = left.iter().position(|&b| {
        let awaited = |&(taken, sent): &(MsgId, MsgId)| {
            buffer(spec, sent) == b && left.contains(&buffer(spec, taken))
        };
        !waits.iter().any(awaited)
    }) {
        order.push(left.remove(place));
    }
    if left.is_empty() {
        let names = order.into_iter().map(|b| name(protocol, b));
        return Buffers::Ordered(names.collect());
    }
    let words = |&(taken, sent): &(MsgId, MsgId)| Wait {
        taken: spec.message(taken).name.clone(),
        buffer: name(protocol, buffer(spec, taken)),
        sent: spec.message(sent).name.clone(),
        into: name(protocol, buffer(spec, sent)),
    };
    Buffers::Circle(circle(spec, &waits, &left).iter().map(words).collect())
}

fn buffer(spec: &Spec, id: MsgId) -> Buffer {
    let message = spec.message(id);
    (message.class, message.to_home)
}

fn name(protocol: &Protocol, (class, to_home): Buffer) -> String {
    let spec = &protocol.spec;
    let to = if to_home { &spec.home } else { &spec.remote };
    format!("{} to {to}", spec.classes[class.index()].name)
}

/// Pairs of a message and another whose room it needs, over the steps that were used.
fn waits(protocol: &Protocol, verdict: &Verdict) -> Vec<(MsgId, MsgId)> {
    let (home, cache) = (&protocol.directory, &protocol.cache);
    let mut waits = Vec::new();
    for (number, cell) in home.cells.iter().enumerate() {
        let event = home.events[number % home.events.len()];
        if let (true, DirEvent::Receive { message, .. }, Cell::Go { actions, .. }) =
            (verdict.home_used[number], event, cell)
        {
            waits.extend(actions.sends.iter().map(|send| (message, send.message)));
        }
    }
    for (number, step) in cache.steps.iter().enumerate() {
        let event = cache.events[number % cache.events.len()];
        if let (true, CacheEvent::Receive(message), Some(step)) =
            (verdict.cache_used[number], event, step)
        {
            waits.extend(step.send.map(|send| (message, send)));
        }
    }
    // A buffer that always has room causes no wait.
    waits.retain(|&(_, sent)| !protocol.spec.class_of(sent).never_full);
    waits.sort_unstable();
    waits.dedup();
    waits
}

/// The shortest cycle among buffers that each have a waiter among them.
fn circle(spec: &Spec, waits: &[(MsgId, MsgId)], left: &[Buffer]) -> Vec<(MsgId, MsgId)> {
    let ways = left.iter().filter_map(|&start| {
        let mut seen = vec![start];
        let mut ways: Vec<Vec<(MsgId, MsgId)>> = vec![Vec::new()];
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                let at = way.last().map_or(start, |&(_, sent)| buffer(spec, sent));
                for &wait in waits.iter().filter(|wait| buffer(spec, wait.0) == at) {
                    let mut next = way.clone();
                    next.push(wait);
                    let into = buffer(spec, wait.1);
                    if into == start {
                        return Some(next);
                    }
                    if !seen.contains(&into) {
                        seen.push(into);
                        longer.push(next);
                    }
                }
            }
            ways = longer;
        }
        None
    });
    ways.min_by_key(Vec::len).unwrap_or_default()
}
