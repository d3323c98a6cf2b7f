//! The tables for the hardware: a package of types and one ROM per agent.
//!
//! `docs/protocols.md` describes their use by a controller. A word of the ROM is a packed structure; the values are
//! written as numbers so that every tool infers a memory from them.

use std::collections::HashMap;
use std::fmt::Write;

use super::names::{bits, camel, distinct_camel};
use super::{addressed, banner, places, Agent, Listing, Outcome};
use crate::generate::Protocol;
use crate::machine::{DirEvent, MemoryAccess};

// No importer uses all of the package.
const LINT_OFF: &str = "// verilator lint_off UNUSEDPARAM";
const LINT_ON: &str = "// verilator lint_on UNUSEDPARAM";

/// The package: messages, classes, states, events and the layout of a ROM word.
#[must_use]
pub fn systemverilog_package(protocol: &Protocol) -> String {
    let spec = &protocol.spec;
    let name = &spec.name;
    let mut text = header(
        protocol,
        &format!("Types of the coherence protocol {name}."),
    );
    let _ = write!(text, "package tmb_{name}_protocol_pkg;\n\n");

    let classes = distinct_camel(spec.classes.iter().map(|c| c.name.as_str()));
    let messages = distinct_camel(spec.messages.iter().map(|m| m.name.as_str()));
    let home = Listing::of(protocol, Agent::Home);
    let cache = Listing::of(protocol, Agent::Cache);
    enumeration(
        &mut text,
        "Message classes, one virtual channel each.",
        "class_e",
        "Class",
        &classes,
    );
    enumeration(&mut text, "Messages.", "message_e", "Msg", &messages);
    let memory: Vec<String> = MemoryAccess::ALL
        .iter()
        .map(|m| m.name().to_owned())
        .collect();
    let doc = "Memory access that a step starts: read; write the event's payload, the payload of \
               the\n  // request being served, or the data of the operation under way.";
    enumeration(&mut text, doc, "memory_e", "Mem", &memory);

    table_types(&mut text, "home", &home, "the home agent (directory)");
    table_types(&mut text, "cache", &cache, "the remote agent (cache)");
    let caches = protocol.directory.caches;
    if caches > 1 {
        many_caches_types(&mut text, caches);
    } else {
        text.push_str(ONE_CACHE_ENTRY);
    }
    text.push_str(
        "  // Word of the cache's ROM.\n  typedef struct packed {\n    \
         logic         valid;      // 0: the event cannot happen here\n    \
         cache_state_e next;       // state after\n    \
         logic         send;       // send a message to the home\n    \
         message_e     message;    // which one\n    \
         class_e       msg_class;  // its class\n    \
         logic         with_data;  // it carries the copy, as it is after the store\n    \
         logic         store;      // a store is performed\n  \
         } cache_entry_t;\n\n",
    );
    let _ = writeln!(text, "  {LINT_OFF}");
    let _ = writeln!(
        text,
        "  localparam int unsigned HomeEntryWidth  = $bits(home_entry_t);"
    );
    let _ = writeln!(
        text,
        "  localparam int unsigned CacheEntryWidth = $bits(cache_entry_t);"
    );
    let _ = write!(text, "  {LINT_ON}\n\n");

    let numbers: Vec<u32> = spec.classes.iter().map(|c| c.channel).collect();
    let _ = writeln!(
        text,
        "  // Virtual channel of a class (the even one of its pair)."
    );
    case_function(
        &mut text,
        "int unsigned",
        "class_channel",
        "class_e",
        "Class",
        &classes,
        |i| numbers[i].to_string(),
    );
    let _ = writeln!(text, "  // Class of a message.");
    case_function(
        &mut text,
        "class_e",
        "message_class",
        "message_e",
        "Msg",
        &messages,
        |i| format!("Class{}", classes[spec.messages[i].class.index()]),
    );
    predicate(
        &mut text,
        "The message carries the line's data.",
        "message_has_data",
        "message_e",
        "Msg",
        &messages,
        |i| spec.messages[i].data,
    );
    predicate(
        &mut text,
        "The message is a request, which may stall.",
        "message_may_stall",
        "message_e",
        "Msg",
        &messages,
        |i| spec.classes[spec.messages[i].class.index()].may_stall,
    );
    let arriving: Vec<usize> = (0..messages.len())
        .filter(|&i| spec.messages[i].to_home)
        .collect();
    if caches > 1 {
        let events = distinct_camel(home.events.iter().map(String::as_str));
        home_event_of_many(&mut text, protocol, &events, &messages);
    } else {
        let _ = writeln!(
            text,
            "  // The home's event for a message of the cache; others map to the last event."
        );
        case_function_some(
            &mut text,
            "home_event_e",
            "home_event_of",
            "message_e",
            "Msg",
            &messages,
            &arriving,
            |i| format!("HomeEv{}", messages[i]),
            "HomeEvWriteDone",
        );
    }
    let _ = writeln!(
        text,
        "  // The cache's event for a message of the home; others map to the last event."
    );
    let leaving: Vec<usize> = (0..messages.len())
        .filter(|&i| !spec.messages[i].to_home)
        .collect();
    let last = leaving.last().map_or(0, |&i| i);
    case_function_some(
        &mut text,
        "cache_event_e",
        "cache_event_of",
        "message_e",
        "Msg",
        &messages,
        &leaving,
        |i| format!("CacheEv{}", messages[i]),
        &format!("CacheEv{}", messages[last]),
    );

    let states = distinct_camel(home.states.iter().map(String::as_str));
    predicate(
        &mut text,
        "Nothing goes on: a transaction may start.",
        "home_is_stable",
        "home_state_e",
        "HomeSt",
        &states,
        |i| protocol.directory.states[i].stable,
    );
    predicate(
        &mut text,
        "The application holds the lock.",
        "home_is_locked",
        "home_state_e",
        "HomeSt",
        &states,
        |i| protocol.directory.states[i].locked,
    );
    let _ = writeln!(
        text,
        "  // A line in this state needs no directory entry.\n  function automatic logic \
         home_is_idle(home_state_e value);\n    return value == HomeSt{};\n  endfunction\n",
        states[0]
    );
    let states = distinct_camel(cache.states.iter().map(String::as_str));
    let about = |i: usize| &protocol.cache.states[i];
    type Predicate<'a> = (&'a str, &'a str, &'a dyn Fn(usize) -> bool);
    let predicates: [Predicate<'_>; 3] = [
        ("Nothing is outstanding.", "stable", &|i| about(i).stable),
        ("Loads may use the copy.", "readable", &|i| {
            spec.state(about(i).copy).read
        }),
        (
            "Stores may change the copy, with Store_hit where the ROM has it.",
            "writable",
            &|i| spec.state(about(i).copy).write,
        ),
    ];
    for (doc, what, holds) in predicates {
        let name = format!("cache_is_{what}");
        predicate(
            &mut text,
            doc,
            &name,
            "cache_state_e",
            "CacheSt",
            &states,
            holds,
        );
    }
    let _ = writeln!(
        text,
        "  // A line in this state needs no place in the cache.\n  function automatic logic \
         cache_is_idle(cache_state_e value);\n    return value == CacheSt{};\n  endfunction\n",
        states[0]
    );
    let _ = writeln!(text, "endpackage");
    text
}

/// Layout of a ROM word of the home with one cache.
const ONE_CACHE_ENTRY: &str = "  // Word of the home's ROM.\n  typedef struct packed {\n    \
     logic        valid;      // 0: the event cannot happen here, a protocol error\n    \
     logic        stall;      // the event waits until the line's state changes\n    \
     home_state_e next;       // state after\n    \
     logic        send;       // send a message to the cache\n    \
     message_e    message;    // which one\n    \
     class_e      msg_class;  // its class\n    \
     logic        with_data;  // it carries the data of the read that is this event\n    \
     memory_e     memory;     // memory access to start\n    \
     logic        done;       // acknowledge the operation under way, or that is this event\n  \
     } home_entry_t;\n\n";

/// The same for several caches: a message for each.
fn many_caches_types(text: &mut String, caches: usize) {
    let _ = write!(
        text,
        "  // Remote agents.\n  {LINT_OFF}\n  localparam int unsigned NumCaches = {caches};\n  \
         localparam int unsigned CacheWidth = {};\n  {LINT_ON}\n\n  \
         // What a step of the home sends to one of them.\n  typedef struct packed {{\n    \
         logic        send;       // send a message to this cache\n    \
         message_e    message;    // which one\n    \
         class_e      msg_class;  // its class\n    \
         logic        with_data;  // it carries the data of the read, or of the message, that is \
         this event\n  \
         }} home_send_t;\n\n  \
         // Word of the home's ROM.\n  typedef struct packed {{\n    \
         logic        valid;      // 0: the event cannot happen here, a protocol error\n    \
         logic        stall;      // the event waits until the line's state changes\n    \
         home_state_e next;       // state after\n    \
         home_send_t [NumCaches-1:0] sends;  // by cache\n    \
         memory_e     memory;     // memory access to start\n    \
         logic        done;       // acknowledge the operation under way, or that is this event\n  \
         }} home_entry_t;\n\n",
        bits(caches)
    );
}

/// The home's event of a message, by the cache that sent it.
fn home_event_of_many(text: &mut String, protocol: &Protocol, events: &[String], names: &[String]) {
    let (spec, caches) = (&protocol.spec, protocol.directory.caches);
    let _ = write!(
        text,
        "  // The home's event for a message of a cache; others map to the last event.\n  \
         function automatic home_event_e home_event_of(message_e value, logic [CacheWidth-1:0] \
         cache);\n    case (cache)\n"
    );
    for cache in 0..caches {
        let _ = write!(
            text,
            "      {}'d{cache}: begin\n        case (value)\n",
            bits(caches)
        );
        for id in spec.message_ids().filter(|&id| spec.message(id).to_home) {
            let event = DirEvent::Receive {
                cache: cache as u8,
                message: id,
            };
            let column = protocol.directory.column(event).unwrap_or(0);
            let _ = writeln!(
                text,
                "          Msg{}: return HomeEv{};",
                names[id.index()],
                events[column]
            );
        }
        let _ = write!(
            text,
            "          default: return HomeEvWriteDone;\n        endcase\n      end\n"
        );
    }
    let _ = write!(
        text,
        "      default: return HomeEvWriteDone;\n    endcase\n  endfunction\n\n"
    );
}

/// One agent's ROM as a module with a registered output.
#[must_use]
pub fn systemverilog_rom(protocol: &Protocol, agent: Agent) -> String {
    let name = &protocol.spec.name;
    let (short, long) = match agent {
        Agent::Home => ("home", "home agent (directory)"),
        Agent::Cache => ("cache", "remote agent (cache)"),
    };
    let listing = Listing::of(protocol, agent);
    let packer = Packer::new(protocol, agent, &listing);
    let (state_bits, event_bits) = (bits(listing.states.len()), bits(listing.events.len()));
    let mut text = header(
        protocol,
        &format!(
            "Protocol ROM of the {long} of {name}: one lookup a cycle, the entry one cycle\n\
             // later. `entry_o` keeps its value while `en_i` is low. Nothing to stall, so no \
             deadlock.\n// Depth {}, width {}.",
            1 << (state_bits + event_bits),
            packer.width()
        ),
    );
    let _ = write!(
        text,
        "module tmb_{name}_{short}_rom\n  import tmb_{name}_protocol_pkg::*;\n(\n  \
         input  {:<w$} clk_i,\n  input  {:<w$} en_i,     // look up\n  \
         input  {short}_state_e state_i,  // state of the line\n  \
         input  {short}_event_e event_i,  // what happens to it\n  \
         output {short}_entry_t entry_o   // one cycle later\n);\n\n",
        "logic",
        "logic",
        w = short.len() + 8,
    );
    let prefix = camel(short);
    let _ = write!(
        text,
        "  localparam int unsigned AddrWidth = {prefix}StateWidth + {prefix}EventWidth;\n  \
         localparam int unsigned Depth = 2 ** AddrWidth;\n\n  \
         // By {{state, event}}. A memory with contents, not a constant: tools keep it a memory.\n  \
         logic [{prefix}EntryWidth-1:0] rom_q [Depth];\n  initial rom_q = '{{\n"
    );
    for row in &listing.rows {
        let (address, word) = (packer.address(row), packer.word(&row.outcome));
        let _ = writeln!(
            text,
            "    {address}: {}'h{word:x},  // {} {}",
            packer.width(),
            row.state,
            row.event
        );
    }
    let _ = write!(
        text,
        "    default: '0\n  }};\n\n  logic [AddrWidth-1:0] addr;\n  \
         logic [{prefix}EntryWidth-1:0] entry_q;\n\n  assign addr = {{state_i, event_i}};\n\n  \
         always_ff @(posedge clk_i) begin\n    if (en_i) begin\n      entry_q <= rom_q[addr];\n    \
         end\n  end\n\n  assign entry_o = {short}_entry_t'(entry_q);\n\nendmodule\n"
    );
    text
}

/// Packs outcomes into ROM words, the first field of the structure on top.
struct Packer<'a> {
    protocol: &'a Protocol,
    agent: Agent,
    listing: &'a Listing,
    states: HashMap<&'a str, usize>,
    events: HashMap<&'a str, usize>,
}

impl<'a> Packer<'a> {
    fn new(protocol: &'a Protocol, agent: Agent, listing: &'a Listing) -> Self {
        Self {
            protocol,
            agent,
            listing,
            states: places(&listing.states),
            events: places(&listing.events),
        }
    }

    /// Receivers of what this agent sends.
    fn receivers(&self) -> usize {
        match self.agent {
            Agent::Home => self.protocol.directory.caches,
            Agent::Cache => 1,
        }
    }

    fn fields(&self, outcome: Option<&Outcome>) -> Vec<(usize, usize)> {
        let spec = &self.protocol.spec;
        let mut next = 0;
        let mut slots = vec![None; self.receivers()];
        let (mut memory, mut flag, mut stall) = (0, false, false);
        match outcome {
            Some(Outcome::Go {
                next: name,
                sends,
                memory: access,
                flag: raised,
            }) => {
                next = self.states.get(name.as_str()).copied().unwrap_or(0);
                for (message, cache) in sends.iter().map(|send| addressed(send)) {
                    slots[cache] = spec.messages.iter().position(|m| m.name == message);
                }
                memory = MemoryAccess::ALL
                    .iter()
                    .position(|m| m.name() == access)
                    .unwrap_or(0);
                flag = *raised;
            }
            Some(Outcome::Stall) => stall = true,
            None => {}
        }
        let mut fields = vec![(usize::from(outcome.is_some()), 1)];
        if self.agent == Agent::Home {
            fields.push((usize::from(stall), 1));
        }
        fields.push((next, bits(self.listing.states.len())));
        // The last element of a packed array stands on top.
        for send in slots.into_iter().rev() {
            let message = send.map(|i| &spec.messages[i]);
            fields.push((usize::from(send.is_some()), 1));
            fields.push((send.unwrap_or(0), bits(spec.messages.len())));
            fields.push((
                message.map_or(0, |m| m.class.index()),
                bits(spec.classes.len()),
            ));
            fields.push((usize::from(message.is_some_and(|m| m.data)), 1));
        }
        if self.agent == Agent::Home {
            fields.push((memory, bits(MemoryAccess::ALL.len())));
        }
        fields.push((usize::from(flag), 1));
        fields
    }

    fn width(&self) -> usize {
        self.fields(None).iter().map(|field| field.1).sum()
    }

    fn word(&self, outcome: &Outcome) -> u64 {
        let fields = self.fields(Some(outcome));
        fields
            .iter()
            .fold(0, |word, &(value, width)| word << width | value as u64)
    }

    fn address(&self, row: &super::Row) -> usize {
        let place = |all: &HashMap<&str, usize>, name: &str| all.get(name).copied().unwrap_or(0);
        let state = place(&self.states, &row.state);
        state << bits(self.listing.events.len()) | place(&self.events, &row.event)
    }
}

fn header(protocol: &Protocol, what: &str) -> String {
    format!("// {}\n//\n// {what}\n\n", banner(protocol))
}

fn enumeration(text: &mut String, doc: &str, kind: &str, prefix: &str, names: &[String]) {
    let width = bits(names.len());
    let _ = write!(
        text,
        "  // {doc}\n  typedef enum logic [{}:0] {{\n",
        width - 1
    );
    for (number, name) in names.iter().enumerate() {
        let comma = if number + 1 == names.len() { "" } else { "," };
        let _ = writeln!(text, "    {prefix}{name} = {width}'d{number}{comma}");
    }
    let _ = write!(text, "  }} {kind};\n\n");
}

fn table_types(text: &mut String, short: &str, listing: &Listing, long: &str) {
    let prefix = camel(short);
    let states = distinct_camel(listing.states.iter().map(String::as_str));
    let events = distinct_camel(listing.events.iter().map(String::as_str));
    let doc = format!("States of a line in {long}; the first is the initial one.");
    enumeration(
        text,
        &doc,
        &format!("{short}_state_e"),
        &format!("{prefix}St"),
        &states,
    );
    let doc = format!("Events of a line in {long}.");
    enumeration(
        text,
        &doc,
        &format!("{short}_event_e"),
        &format!("{prefix}Ev"),
        &events,
    );
    let _ = write!(
        text,
        "  {LINT_OFF}\n  localparam int unsigned {prefix}StateWidth = {};\n  \
         localparam int unsigned {prefix}EventWidth = {};\n  \
         localparam int unsigned {prefix}NumStates  = {};\n  \
         localparam int unsigned {prefix}NumEvents  = {};\n  {LINT_ON}\n\n",
        bits(states.len()),
        bits(events.len()),
        states.len(),
        events.len()
    );
}

fn case_function(
    text: &mut String,
    result: &str,
    name: &str,
    argument: &str,
    prefix: &str,
    names: &[String],
    value: impl Fn(usize) -> String,
) {
    let all: Vec<usize> = (0..names.len()).collect();
    let default = value(names.len() - 1);
    case_function_some(
        text, result, name, argument, prefix, names, &all, value, &default,
    );
}

#[allow(clippy::too_many_arguments)]
fn case_function_some(
    text: &mut String,
    result: &str,
    name: &str,
    argument: &str,
    prefix: &str,
    names: &[String],
    listed: &[usize],
    value: impl Fn(usize) -> String,
    default: &str,
) {
    let _ = write!(
        text,
        "  function automatic {result} {name}({argument} value);\n    case (value)\n"
    );
    for &number in listed {
        let _ = writeln!(
            text,
            "      {prefix}{}: return {};",
            names[number],
            value(number)
        );
    }
    let _ = write!(
        text,
        "      default: return {default};\n    endcase\n  endfunction\n\n"
    );
}

fn predicate(
    text: &mut String,
    doc: &str,
    name: &str,
    argument: &str,
    prefix: &str,
    names: &[String],
    holds: impl Fn(usize) -> bool,
) {
    let _ = write!(
        text,
        "  // {doc}\n  function automatic logic {name}({argument} value);\n    case (value)\n"
    );
    let listed: Vec<&String> = names
        .iter()
        .enumerate()
        .filter(|(i, _)| holds(*i))
        .map(|(_, n)| n)
        .collect();
    for name in listed {
        let _ = writeln!(text, "      {prefix}{name}: return 1'b1;");
    }
    let _ = write!(
        text,
        "      default: return 1'b0;\n    endcase\n  endfunction\n\n"
    );
}
