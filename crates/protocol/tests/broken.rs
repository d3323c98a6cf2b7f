//! Checks that the checker finds broken properties, with the shortest trace to each.

mod common;

use protocol::check::{check, Setting, Trace, Violation};
use protocol::generate::generate;
use protocol::machine::{CacheEvent, Cell, DirEvent};
use protocol::spec;

fn failure(protocol: &protocol::generate::Protocol, setting: &Setting) -> Trace {
    check(protocol, setting, &mut |_| {})
        .unwrap()
        .failure
        .expect("this protocol is broken")
}

#[test]
fn a_shared_grant_to_a_second_writer_is_found() {
    let mut protocol = common::protocol("esi", 2);
    // The home gives a page for writing without taking it from the other card.
    let directory = &mut protocol.directory;
    let name = |n: usize| directory.states[n].name.clone();
    let target = (0..directory.states.len())
        .find(|&n| name(n).contains("GetForWriting") && name(n).ends_with("_reading"))
        .unwrap();
    let width = directory.events.len();
    let request = |cache| {
        let message = protocol
            .spec
            .message_ids()
            .find(|&m| protocol.spec.message(m).name == "GetForWriting");
        DirEvent::Receive {
            cache,
            message: message.unwrap(),
        }
    };
    let column = directory
        .events
        .iter()
        .position(|&e| e == request(0))
        .unwrap();
    let shared = (0..directory.states.len())
        .find(|&n| name(n) == "I__E")
        .unwrap();
    let actions = protocol::machine::Actions {
        memory: protocol::machine::MemoryAccess::Read,
        ..Default::default()
    };
    directory.cells[shared * width + column] = Cell::Go {
        next: target as u32,
        actions,
    };
    let trace = failure(&protocol, &Setting::default());
    assert!(
        matches!(
            trace.violation,
            Violation::StaleMemory { .. } | Violation::TwoOwners { .. }
        ),
        "{trace}"
    );
}

#[test]
fn a_lost_write_back_is_a_stale_value() {
    let mut protocol = common::protocol("mesi", 1);
    let spec = protocol.spec.clone();
    let evict = spec
        .message_ids()
        .find(|&m| spec.message(m).name == "EvictDirty")
        .unwrap();
    let column = protocol
        .directory
        .column(DirEvent::Receive {
            cache: 0,
            message: evict,
        })
        .unwrap();
    let owned = protocol
        .directory
        .states
        .iter()
        .position(|s| s.name == "E")
        .unwrap();
    let width = protocol.directory.events.len();
    protocol.directory.cells[owned * width + column] = Cell::Go {
        next: 0,
        actions: protocol::machine::Actions::default(),
    };
    let trace = failure(&protocol, &Setting::default());
    assert!(
        matches!(trace.violation, Violation::ValueLost { .. }),
        "{trace}"
    );
    // Request, its arrival, memory, the grant's arrival, the write-back, its arrival.
    assert_eq!(trace.steps.len(), 6, "not the shortest way: {trace}");
}

#[test]
fn a_silent_eviction_leaves_the_next_request_stuck() {
    let mut protocol = common::protocol("mesi", 1);
    let column = protocol
        .cache
        .events
        .iter()
        .position(|e| matches!(e, CacheEvent::Downgrade(0)))
        .unwrap();
    let shared = protocol
        .cache
        .states
        .iter()
        .position(|s| s.name == "S")
        .unwrap();
    let width = protocol.cache.events.len();
    let step = protocol.cache.steps[shared * width + column]
        .as_mut()
        .unwrap();
    step.send = None;
    step.next = 0;
    let trace = failure(&protocol, &Setting::default());
    assert_eq!(trace.violation, Violation::Stuck, "{trace}");
}

#[test]
fn one_buffer_for_grants_and_write_back_acknowledgements_deadlocks() {
    // Our own first version of this protocol: PutAck waits behind GrantM, GrantM's receiver
    // cannot pass the grant on because PutM waits for PutAck.
    let text = common::text("msi")
        .replace("GrantM, PutS", "GrantM, PutAck, PutS")
        .lines()
        .filter(|line| !line.starts_with("class put_ack"))
        .collect::<Vec<_>>()
        .join("\n");
    let spec = spec::parse("msi", &text).unwrap();
    let protocol = generate(&spec, 1).unwrap();
    let one_line = check(&protocol, &Setting::default(), &mut |_| {}).unwrap();
    assert!(one_line.failure.is_none(), "one line has no deadlock");
    let trace = failure(&protocol, &Setting::application_waits());
    assert_eq!(trace.violation, Violation::Stuck);
    assert!(trace.mermaid().starts_with("sequenceDiagram"));
    let svg = trace.svg();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(
        svg.contains("stroke-dasharray"),
        "messages in flight end in the air"
    );
}

#[test]
fn conflict_answers_that_say_too_little_are_not_accepted() {
    // One answer for "I had nothing" and "I had it shared": the home cannot know which messages are still in flight.
    let text = common::text("mesi")
        .replace("AckInvalid,\n", "AckInvalid\n")
        .replace(
            "                                                  AckShared\n",
            "",
        )
        .replace("conflict S : AckShared", "conflict S : AckInvalid");
    let spec = spec::parse("mesi", &text).unwrap_or_else(|error| panic!("{error}"));
    let accepted = match generate(&spec, 1) {
        Err(_) => false,
        Ok(protocol) => check(&protocol, &Setting::default(), &mut |_| {})
            .unwrap()
            .failure
            .is_none(),
    };
    assert!(!accepted);
}

#[test]
fn a_way_that_is_never_freed_is_stuck() {
    let text: String = common::text("mesi")
        .lines()
        .filter(|line| !line.starts_with("operation recall"))
        .map(|line| format!("{line}\n"))
        .collect();
    let spec = spec::parse("mesi", &text).unwrap();
    let protocol = generate(&spec, 1).unwrap();
    let trace = failure(&protocol, &Setting::shared_way());
    assert_eq!(trace.violation, Violation::Stuck, "{trace}");
}

/// The first version of `moesi.protocol`: a cache that owned the line and cleaned it asks with the message of an owner,
/// so the home cannot determine which messages are still in flight.
#[test]
fn a_request_that_does_not_tell_owner_from_sharer_is_stuck_and_says_so() {
    let text = common::changed(
        "moesi",
        &[(": UpgradeOwned ", ": Upgrade "), ("UpgradeOwned, ", "")],
    );
    let protocol = generate(&common::read(&text), 2).unwrap();
    let trace = failure(&protocol, &Setting::default());
    assert_eq!(trace.violation, Violation::Stuck, "{trace}");
    // The trace continues until nothing can be delivered, and then lists the outstanding items.
    let left = trace.outstanding.join("\n");
    assert!(
        left.contains("Upgrade from cache 0 to directory, which stalls there"),
        "{left}"
    );
    assert!(left.contains("cache 0 waits in O_to_M"), "{left}");
    let shown = trace.to_string();
    assert!(shown.contains("[directory | cache 0 | cache 1]"), "{shown}");
    assert!(shown.contains("still outstanding: Upgrade"), "{shown}");
    assert!(trace.mermaid().contains("still outstanding: Upgrade"));
}

#[test]
fn data_that_nothing_brought_is_found() {
    let mut protocol = common::protocol("mesi", 1);
    let find = |name: &str| {
        let id = protocol
            .spec
            .message_ids()
            .find(|&m| protocol.spec.message(m).name == name);
        id.unwrap()
    };
    let (upgrade, data) = (find("Upgrade"), find("DataExclusive"));
    let event = DirEvent::Receive {
        cache: 0,
        message: upgrade,
    };
    let column = protocol.directory.column(event).unwrap();
    let shared = protocol
        .directory
        .states
        .iter()
        .position(|s| s.name == "S")
        .unwrap();
    let cell = shared * protocol.directory.events.len() + column;
    let Cell::Go { actions, .. } = &mut protocol.directory.cells[cell] else {
        panic!("a line that is shared can be upgraded");
    };
    actions.sends[0].message = data;
    let trace = failure(&protocol, &Setting::default());
    assert!(
        matches!(trace.violation, Violation::NothingToSend { .. }),
        "{trace}"
    );
}
