//! Checks that all outputs hold the same transitions: each is read back and compared with the machine.

mod common;

use std::collections::BTreeMap;

use protocol::check::Setting;
use protocol::export::{self, camel, Agent, Listing, Outcome, Row};
use protocol::generate::Protocol;

fn compare(language: &str, protocol: &Protocol, agent: Agent, mut rows: Vec<Row>) {
    let mut wanted = Listing::of(protocol, agent).rows;
    assert!(wanted.len() > 20, "there is something to compare");
    wanted.sort();
    rows.sort();
    let name = &protocol.spec.name;
    assert_eq!(rows.len(), wanted.len(), "{name} {agent:?} in {language}");
    for (row, wanted) in rows.iter().zip(&wanted) {
        assert_eq!(row, wanted, "{name} {agent:?} in {language}");
    }
}

/// Every protocol for one cache, and one for several.
fn cases() -> Vec<(&'static str, usize)> {
    let one = common::ALL.map(|name| (name, 1));
    one.into_iter().chain([("mosi", 2), ("esi", 3)]).collect()
}

const AGENTS: [Agent; 2] = [Agent::Home, Agent::Cache];

fn row(state: &str, event: &str, outcome: Outcome) -> Row {
    Row {
        state: state.to_owned(),
        event: event.to_owned(),
        outcome,
    }
}

fn go(next: &str, sends: Vec<String>, memory: &str, flag: bool) -> Outcome {
    Outcome::Go {
        next: next.to_owned(),
        sends,
        memory: memory.to_owned(),
        flag,
    }
}

#[test]
fn markdown_holds_the_transitions() {
    for (name, caches) in cases() {
        let protocol = common::protocol(name, caches);
        let text = export::markdown(&protocol);
        let tables: Vec<&str> = text.split("\n## ").skip(1).collect();
        for (agent, table) in AGENTS.into_iter().zip(tables) {
            let rows = table
                .lines()
                .filter(|l| l.starts_with("| "))
                .skip(1)
                .map(|line| {
                    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                    if cells[3] == "*stall*" {
                        return row(cells[1], cells[2], Outcome::Stall);
                    }
                    let sends = cells[4].split(", ").filter(|s| !s.is_empty());
                    let memory = if cells[5].is_empty() {
                        "None"
                    } else {
                        cells[5]
                    };
                    let sends = sends.map(str::to_owned).collect();
                    row(
                        cells[1],
                        cells[2],
                        go(cells[3], sends, memory, cells[6] == "yes"),
                    )
                });
            compare("Markdown", &protocol, agent, rows.collect());
        }
    }
}

#[test]
fn graphviz_holds_the_transitions() {
    for (name, caches) in cases() {
        let protocol = common::protocol(name, caches);
        for agent in AGENTS {
            let text = export::graphviz(&protocol, agent);
            let mut rows = Vec::new();
            for line in text.lines() {
                let line = line.trim();
                if let Some((state, stalls)) = line.split_once("stall=\"") {
                    let state = state.split_whitespace().next().unwrap();
                    let stalls = stalls.split('"').next().unwrap().split_whitespace();
                    rows.extend(stalls.map(|event| row(state, event, Outcome::Stall)));
                } else if let Some((state, rest)) = line.split_once(" -> ") {
                    let (next, label) = rest.split_once(" [label=\"").unwrap();
                    let label = label.trim_end_matches("\"];");
                    let mut parts = label.split("\\n");
                    let event = parts.next().unwrap();
                    let (mut sends, mut memory, mut flag) = (Vec::new(), "None", false);
                    for part in parts {
                        match part.split_at(1) {
                            ("!", send) => sends.push(send.to_owned()),
                            ("@", access) => memory = access,
                            _ => flag = true,
                        }
                    }
                    rows.push(row(state, event, go(next, sends, memory, flag)));
                }
            }
            compare("Graphviz", &protocol, agent, rows);
        }
    }
}

/// Between two marks.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?
        .1
        .split_once(after)
        .map(|parts| parts.0)
}

#[test]
fn rust_holds_the_transitions() {
    for (name, caches) in cases() {
        let protocol = common::protocol(name, caches);
        let text = export::rust(&protocol);
        for (agent, prefix) in AGENTS.into_iter().zip(["Home", "Remote"]) {
            let variants = |kind: &str| -> BTreeMap<String, String> {
                let body = between(&text, &format!("pub enum {kind} {{\n"), "\n}").unwrap();
                let lines: Vec<&str> = body.lines().map(str::trim).collect();
                let pair = |two: &[&str]| {
                    let original = two[0].trim_matches(|c| "/ `.".contains(c)).to_owned();
                    (two[1].trim_end_matches(',').to_owned(), original)
                };
                lines.chunks(2).map(pair).collect()
            };
            let states = variants(&format!("{prefix}State"));
            let events = variants(&format!("{prefix}Event"));
            let messages = variants("Message");
            let head = format!("pub const fn {}_step", prefix.to_lowercase());
            let body = text.split_once(&head).unwrap().1;
            let body = body.split("\n}\n").next().unwrap();
            let mut outer = "";
            let mut rows = Vec::new();
            for line in body
                .lines()
                .filter(|l| l.contains("=>") && !l.contains("_ =>"))
            {
                if let Some(state) = between(line, "S::", " => match event") {
                    outer = state;
                    continue;
                }
                // One match for both, or one inside that of the state.
                let both = between(line, "(S::", ", E::");
                let state = &states[both.unwrap_or(outer)];
                let event = line.split_once("E::").unwrap().1;
                let event = &events[event.split([' ', ')']).next().unwrap()];
                let Some((_, arguments)) = line.split_once("_go(S::") else {
                    assert!(line.contains("Stall"), "{line}");
                    rows.push(row(state, event, Outcome::Stall));
                    continue;
                };
                let arguments = arguments.strip_suffix("),").unwrap();
                let (next, rest) = arguments.split_once(", ").unwrap();
                let several = rest.starts_with('[');
                let (slots, rest) = match rest.strip_prefix('[') {
                    Some(rest) => rest.split_once("], ").unwrap(),
                    None => rest.split_once(", ").unwrap(),
                };
                let sends = slots.split(", ").enumerate().filter_map(|(cache, slot)| {
                    let message = &messages[between(slot, "Message::", ")")?];
                    Some(match several {
                        true => format!("{message}>{cache}"),
                        false => message.clone(),
                    })
                });
                let (memory, flag) = rest.split_once(", ").unwrap_or(("None", rest));
                let memory = memory.strip_prefix("Memory::").unwrap_or("None");
                let sends = sends.collect();
                rows.push(row(
                    state,
                    event,
                    go(&states[next], sends, memory, flag == "true"),
                ));
            }
            compare("Rust", &protocol, agent, rows);
        }
    }
}

#[test]
fn murphi_holds_the_transitions() {
    for (name, caches) in [("mesi", 1), ("esi", 1), ("msi", 1), ("esi", 2), ("mosi", 2)] {
        let protocol = common::protocol(name, caches);
        let text = export::murphi(&protocol, &Setting::default());
        for (agent, prefix) in AGENTS.into_iter().zip(["home", &protocol.spec.remote]) {
            let mut rows = Vec::new();
            let opening = format!("rule \"{prefix}: ");
            for rule in text.split(&opening).skip(1) {
                let event = rule.split('"').next().unwrap();
                let body = rule.split("\nend;").next().unwrap();
                for case in body.split("\n  case ").skip(1) {
                    rows.push(murphi_case(agent, event, case, caches));
                }
            }
            compare("Murphi", &protocol, agent, rows);
        }
    }
}

fn murphi_case(agent: Agent, event: &str, case: &str, caches: usize) -> Row {
    let state = case.split(':').next().unwrap();
    let state = &state[2..];
    if case.contains("-- stall") {
        return row(state, event, Outcome::Stall);
    }
    if agent == Agent::Cache {
        let next = between(case, "cache[c] := C_", ";").unwrap();
        let sends = between(case, "send_home(c, M_", ")").map(str::to_owned);
        return row(
            state,
            event,
            go(
                next,
                sends.into_iter().collect(),
                "None",
                case.contains("store(c)"),
            ),
        );
    }
    // Calls of `send`, not the tail of another word; whatever stands before them.
    let sends = case
        .split("send(")
        .skip(1)
        .filter(|call| call.contains(", M_"))
        .map(|call| {
            let (cache, rest) = call.split_once(", M_").unwrap();
            let message = rest.split(',').next().unwrap();
            if caches == 1 {
                message.to_owned()
            } else {
                format!("{message}>{cache}")
            }
        });
    let sends: Vec<String> = sends.collect();
    let memory = match between(case, "start(A_", ",") {
        None => "None",
        Some("Read") => "Read",
        Some("Payload") => "WritePayload",
        Some("Held") => "WriteHeld",
        Some("Operation") => "WriteOperation",
        Some(other) => panic!("{other}"),
    };
    let next = between(case, "home := H_", ";").unwrap();
    row(
        state,
        event,
        go(next, sends, memory, case.contains("acknowledge()")),
    )
}

/// Enumerators of a package, in order, and the width of their type.
fn enumeration(package: &str, kind: &str) -> (Vec<String>, u32) {
    let before = package.split(&format!("}} {kind};")).next().unwrap();
    let body = before.rsplit("typedef enum logic [").next().unwrap();
    let width: u32 = body.split(':').next().unwrap().parse().unwrap();
    let names = body.lines().filter_map(|line| {
        let (name, value) = line.trim().split_once(" = ")?;
        Some((name.to_owned(), value.trim_end_matches(',').to_owned()))
    });
    let names: Vec<String> = names
        .enumerate()
        .map(|(number, (name, value))| {
            assert!(value.ends_with(&format!("'d{number}")), "{name} = {value}");
            name
        })
        .collect();
    (names, width + 1)
}

#[test]
fn systemverilog_holds_the_transitions() {
    for (name, caches) in cases() {
        let protocol = common::protocol(name, caches);
        let package = export::systemverilog_package(&protocol);
        let (messages, message_bits) = enumeration(&package, "message_e");
        let (classes, class_bits) = enumeration(&package, "class_e");
        let (memories, memory_bits) = enumeration(&package, "memory_e");
        for (agent, short) in AGENTS.into_iter().zip(["home", "cache"]) {
            let listing = Listing::of(&protocol, agent);
            let (states, state_bits) = enumeration(&package, &format!("{short}_state_e"));
            let (events, event_bits) = enumeration(&package, &format!("{short}_event_e"));
            for (names, originals, kind) in [
                (&states, &listing.states, "St"),
                (&events, &listing.events, "Ev"),
            ] {
                for (name, original) in names.iter().zip(originals) {
                    let wanted = format!("{}{kind}{}", camel(short), camel(original));
                    assert!(name.starts_with(&wanted), "{name} is not {original}");
                }
            }
            let rom = export::systemverilog_rom(&protocol, agent);
            let rows = rom.lines().filter_map(|line| {
                let (address, rest) = line.trim().split_once(": ")?;
                let address: usize = address.parse().ok()?;
                let word = between(rest, "'h", ",").unwrap();
                let mut word = u64::from_str_radix(word, 16).unwrap();
                // Fields from the last to the first.
                let mut take = |bits: u32| {
                    let value = (word & ((1 << bits) - 1)) as usize;
                    word >>= bits;
                    value
                };
                let flag = take(1) == 1;
                let memory = if agent == Agent::Home {
                    take(memory_bits)
                } else {
                    0
                };
                let receivers = if agent == Agent::Home { caches } else { 1 };
                let mut sends = Vec::new();
                for cache in 0..receivers {
                    let with_data = take(1) == 1;
                    let class = take(class_bits);
                    let message = take(message_bits);
                    if take(1) == 0 {
                        continue;
                    }
                    let sent = &protocol.spec.messages[message];
                    assert_eq!(messages[message], format!("Msg{}", camel(&sent.name)));
                    assert_eq!(sent.data, with_data);
                    let wanted = camel(&protocol.spec.classes[sent.class.index()].name);
                    assert_eq!(classes[class], format!("Class{wanted}"));
                    sends.push(match receivers {
                        1 => sent.name.clone(),
                        _ => format!("{}>{cache}", sent.name),
                    });
                }
                let next = take(state_bits);
                let stall = agent == Agent::Home && take(1) == 1;
                assert_eq!(take(1), 1, "every listed word is valid");
                assert_eq!(word, 0, "nothing is left over");
                let state = &listing.states[address >> event_bits];
                let event = &listing.events[address & ((1 << event_bits) - 1)];
                if stall {
                    return Some(row(state, event, Outcome::Stall));
                }
                let memory = memories[memory].strip_prefix("Mem").unwrap();
                Some(row(
                    state,
                    event,
                    go(&listing.states[next], sends, memory, flag),
                ))
            });
            compare("SystemVerilog", &protocol, agent, rows.collect());
        }
    }
}

#[test]
fn a_changed_transition_would_be_seen() {
    let protocol = common::protocol("esi", 1);
    let mut other = protocol.clone();
    for cell in &mut other.directory.cells {
        if let protocol::machine::Cell::Go { next, .. } = cell {
            *next = 0;
            break;
        }
    }
    other.directory.cells.swap(0, 1);
    for (a, b) in export::all(&protocol).iter().zip(export::all(&other)) {
        let holds_home = !a.name.contains("cache") && !a.name.contains("pkg");
        assert_eq!(a.text != b.text, holds_home, "{}", a.name);
    }
}
