//! The tables as a Rust module without dependencies, for the runtime.

use std::collections::HashMap;
use std::fmt::Write;

use super::names::distinct_camel;
use super::{addressed, banner, places, Agent, Listing, Outcome};
use crate::generate::Protocol;
use crate::machine::DirEvent;

/// Both machines as one Rust module.
#[must_use]
pub fn rust(protocol: &Protocol) -> String {
    let spec = &protocol.spec;
    let mut text = format!("// {}\n", banner(protocol));
    let _ = write!(
        text,
        "\n//! The protocol `{}`: what the {} and a {} do on each event.\n\n",
        spec.name, spec.home, spec.remote
    );
    let messages = distinct_camel(spec.messages.iter().map(|m| m.name.as_str()));
    enumeration(
        &mut text,
        &format!("A message between the {} and a {}.", spec.home, spec.remote),
        "Message",
        spec.messages.iter().map(|m| &*m.name),
        &messages,
    );
    let has_data: Vec<String> = spec
        .messages
        .iter()
        .zip(&messages)
        .filter(|(message, _)| message.data)
        .map(|(_, name)| format!("Message::{name}"))
        .collect();
    let _ = write!(
        text,
        "impl Message {{\n    /// Whether the message carries the data of the line or page.\n    \
         #[must_use]\n    pub fn has_data(self) -> bool {{\n        {}\n    }}\n}}\n\n",
        if has_data.is_empty() {
            "false".to_owned()
        } else {
            format!("matches!(self, {})", has_data.join(" | "))
        }
    );
    text.push_str(
        "/// A memory access that a step of the home starts.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\npub enum Memory {\n    \
         /// No access.\n    None,\n    /// Read the data of the line or page.\n    Read,\n    \
         /// Write the payload of the message that is the event.\n    WritePayload,\n    \
         /// Write the payload of the request that is being served.\n    WriteHeld,\n    \
         /// Write the data of the operation under way.\n    WriteOperation,\n}\n\n",
    );
    machine(&mut text, protocol, Agent::Home, &messages);
    machine(&mut text, protocol, Agent::Cache, &messages);
    text
}

fn enumeration<'a>(
    text: &mut String,
    doc: &str,
    name: &str,
    originals: impl Iterator<Item = &'a str>,
    variants: &[String],
) {
    let _ = writeln!(
        text,
        "/// {doc}\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\npub enum {name} {{"
    );
    for (original, variant) in originals.zip(variants) {
        let _ = writeln!(text, "    /// `{original}`.\n    {variant},");
    }
    text.push_str("}\n\n");
}

/// A function from a message and its sender to the home's event.
fn event_of(
    text: &mut String,
    protocol: &Protocol,
    listing: &Listing,
    (events, messages): (&[String], &[String]),
) {
    let (spec, caches) = (&protocol.spec, protocol.directory.caches);
    let _ = write!(
        text,
        "/// How many of them: a {} is one of 0 to {}.\npub const REMOTES: usize = {caches};\n\n\
         /// The event of a message that came from a {}; `None` for what it never sends.\n\
         #[must_use]\npub const fn home_event_of(remote: usize, message: Message) -> \
         Option<HomeEvent> {{\n    Some(match (remote, message) {{\n",
        spec.remote,
        caches - 1,
        spec.remote,
    );
    let places = places(&listing.events);
    for cache in 0..caches {
        for id in spec.message_ids().filter(|&id| spec.message(id).to_home) {
            let cache = cache as u8;
            let event = DirEvent::Receive { cache, message: id }.name(spec, caches);
            let event = places
                .get(event.as_str())
                .map_or("", |&place| &events[place]);
            let message = &messages[id.index()];
            let _ = writeln!(
                text,
                "        ({cache}, Message::{message}) => HomeEvent::{event},"
            );
        }
    }
    text.push_str("        _ => return None,\n    })\n}\n\n");
}

fn machine(text: &mut String, protocol: &Protocol, agent: Agent, messages: &[String]) {
    let listing = Listing::of(protocol, agent);
    let (prefix, owner) = match agent {
        Agent::Home => ("Home", &protocol.spec.home),
        Agent::Cache => ("Remote", &protocol.spec.remote),
    };
    let states = distinct_camel(listing.states.iter().map(String::as_str));
    let events = distinct_camel(listing.events.iter().map(String::as_str));
    let originals = listing.states.iter().map(String::as_str);
    let doc = format!("A state of the {owner}; the first is the initial one.");
    enumeration(text, &doc, &format!("{prefix}State"), originals, &states);
    let originals = listing.events.iter().map(String::as_str);
    let doc = format!("An event of the {owner}.");
    enumeration(text, &doc, &format!("{prefix}Event"), originals, &events);
    // The home sends to each of several caches; a cache sends to the home.
    let caches = match agent {
        Agent::Home => protocol.directory.caches,
        Agent::Cache => 1,
    };
    let (sends, sends_doc) = match caches {
        1 => ("Option<Message>".to_owned(), "Message to send."),
        _ => (
            format!("[Option<Message>; {caches}]"),
            "Message to send, by its receiver.",
        ),
    };
    if caches > 1 {
        event_of(text, protocol, &listing, (&events, messages));
    }
    let fields = match agent {
        Agent::Home => {
            "    /// Memory access to start.\n    pub memory: Memory,\n    \
             /// Acknowledge the operation under way.\n    pub done: bool,\n"
        }
        Agent::Cache => "    /// A store is performed.\n    pub store: bool,\n",
    };
    let _ = write!(
        text,
        "/// A step of the {owner}.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n\
         pub struct {prefix}Step {{\n    /// State after.\n    pub next: {prefix}State,\n    \
         /// {sends_doc}\n    pub send: {sends},\n{fields}}}\n\n"
    );
    let _ = write!(
        text,
        "/// The outcome of an event at the {owner}.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\npub enum {prefix}Outcome {{\n    \
         /// The event cannot happen in this state.\n    Unexpected,\n    \
         /// The event waits until the state changes.\n    Stall,\n    \
         /// The event causes a step.\n    Go({prefix}Step),\n}}\n\n"
    );
    let (parameters, pattern) = match agent {
        Agent::Home => ("memory: Memory, done: bool", "memory, done"),
        Agent::Cache => ("store: bool", "store"),
    };
    let matched = if caches == 1 {
        "(state, event)"
    } else {
        "state"
    };
    let short = prefix.to_lowercase();
    let _ = write!(
        text,
        "const fn {short}_go(next: {prefix}State, send: {sends}, {parameters}) -> \
         {prefix}Outcome {{\n    {prefix}Outcome::Go({prefix}Step {{ next, send, {pattern} }})\n}}\n\n\
         /// The {owner}'s table.\n#[must_use]\n#[allow(clippy::match_same_arms)]\n\
         pub const fn {short}_step(state: {prefix}State, event: {prefix}Event) -> \
         {prefix}Outcome {{\n    use {prefix}Event as E;\n    use {prefix}State as S;\n    \
         match {matched} {{\n"
    );
    let (state_places, event_places) = (places(&listing.states), places(&listing.events));
    let find = |all: &HashMap<&str, usize>, name: &str| all.get(name).copied().unwrap_or(0);
    let mut opened = None;
    for row in &listing.rows {
        let state = &states[find(&state_places, &row.state)];
        let event = &events[find(&event_places, &row.event)];
        let outcome = match &row.outcome {
            Outcome::Stall => format!("{prefix}Outcome::Stall"),
            Outcome::Go {
                next,
                sends,
                memory,
                flag,
            } => {
                let next = &states[find(&state_places, next)];
                let mut slots = vec!["None".to_owned(); caches];
                for (message, cache) in sends.iter().map(|send| addressed(send)) {
                    let known = protocol
                        .spec
                        .messages
                        .iter()
                        .position(|m| m.name == message);
                    slots[cache] = format!("Some(Message::{})", messages[known.unwrap_or(0)]);
                }
                let send = match slots.as_slice() {
                    [only] => only.clone(),
                    all => format!("[{}]", all.join(", ")),
                };
                match agent {
                    Agent::Home => {
                        format!("{short}_go(S::{next}, {send}, Memory::{memory}, {flag})")
                    }
                    Agent::Cache => format!("{short}_go(S::{next}, {send}, {flag})"),
                }
            }
        };
        if caches == 1 {
            let _ = writeln!(text, "        (S::{state}, E::{event}) => {outcome},");
            continue;
        }
        // One match per state, which the compiler can still analyse with many states.
        if opened != Some(state) {
            if opened.is_some() {
                let _ = write!(
                    text,
                    "            _ => {prefix}Outcome::Unexpected,\n        }},\n"
                );
            }
            let _ = writeln!(text, "        S::{state} => match event {{");
            opened = Some(state);
        }
        let _ = writeln!(text, "            E::{event} => {outcome},");
    }
    if opened.is_some() {
        let _ = write!(
            text,
            "            _ => {prefix}Outcome::Unexpected,\n        }},\n    }}\n}}\n"
        );
    } else {
        let _ = write!(
            text,
            "        _ => {prefix}Outcome::Unexpected,\n    }}\n}}\n"
        );
    }
    if agent == Agent::Home {
        text.push('\n');
    }
}
