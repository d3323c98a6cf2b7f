//! Checks that the shipped protocols hold, in every setting and any order of messages.

mod common;

use protocol::check::{buffers, check, Buffers, Setting};
use protocol::cli::tasks;
use protocol::generate::generate;
use protocol::machine::DirEvent;

fn holds_in_every_setting(name: &str, caches: usize) {
    let spec = common::spec(name);
    for task in tasks(&spec, caches, 2) {
        let protocol = generate(&spec, task.caches).unwrap();
        let verdict = check(&protocol, &task.setting, &mut |_| {}).unwrap();
        if let Some(trace) = verdict.failure {
            panic!("{name}, {}: {trace}", task.name);
        }
    }
}

#[test]
fn every_protocol_holds_in_every_setting() {
    for name in common::ALL {
        // Two lines of two caches are another test's.
        holds_in_every_setting(name, if name == "moesi" { 1 } else { 2 });
    }
}

#[test]
#[ignore = "deep: 1.7 million states"]
fn two_lines_of_two_caches_hold_with_owners() {
    holds_in_every_setting("moesi", 2);
}

#[test]
fn three_caches_hold() {
    // `the_number_of_states_is_known` does those of mesi.
    for name in ["esi", "msi", "mosi", "moesi"] {
        let verdict = check(&common::protocol(name, 3), &Setting::default(), &mut |_| {}).unwrap();
        assert!(
            verdict.failure.is_none(),
            "{name}: {}",
            verdict.failure.unwrap()
        );
    }
}

/// The published counts (docs/protocols.md): a faster exploration finds the same states.
#[test]
fn the_number_of_states_is_known() {
    let cases = [
        (1, Setting::default(), 2_929),
        (1, Setting::shared_way(), 8_551),
        (1, Setting::application_waits(), 603_544),
        (3, Setting::default(), 1_832_905),
    ];
    for (caches, setting, states) in cases {
        let verdict = check(&common::protocol("mesi", caches), &setting, &mut |_| {}).unwrap();
        assert_eq!(verdict.states, states, "{caches} caches, {setting:?}");
        assert!(verdict.failure.is_none(), "{}", verdict.failure.unwrap());
    }
}

/// A line that another cache reads is not written to memory; a dirty copy is shared.
#[test]
fn an_owner_answers_a_reader_without_memory() {
    use protocol::machine::{Cell, MemoryAccess};
    for name in ["mosi", "moesi"] {
        let protocol = common::protocol(name, 2);
        let (spec, home) = (&protocol.spec, &protocol.directory);
        let owned = spec.owned().unwrap();
        let copies: Vec<usize> = (0..home.events.len())
            .filter(|&column| match home.events[column] {
                DirEvent::Receive { message, .. } => spec.is_copy(message),
                _ => false,
            })
            .collect();
        assert_eq!(copies.len(), 2, "one from each cache");
        let mut passed_on = 0;
        for state in 0..home.states.len() {
            for &column in &copies {
                let Cell::Go { actions, next } = home.cell(state, column) else {
                    continue;
                };
                assert_eq!(
                    actions.memory,
                    MemoryAccess::None,
                    "{name}: a copy is written nowhere"
                );
                passed_on += actions.sends.len();
                for send in &actions.sends {
                    assert!(spec.message(send.message).data);
                    let own = &home.states[*next as usize];
                    assert!(
                        own.levels.iter().all(|&level| level <= owned),
                        "{}",
                        own.name
                    );
                }
            }
        }
        assert!(passed_on > 0, "{name}: nobody reads a dirty line");
        let shared = |s: &protocol::machine::DirState| {
            s.stable && s.levels.contains(&owned) && s.levels.iter().all(|l| l.0 > 0)
        };
        assert!(
            home.states.iter().any(shared),
            "{name}: nobody shares with an owner"
        );
    }
}

#[test]
fn shared_lines_may_be_evicted_silently() {
    let text = common::changed(
        "mesi",
        &[
            ("downgrade S -> I : EvictShared", "downgrade S -> I silent"),
            ("WriteDone, EvictShared,", "WriteDone,"),
        ],
    );
    let spec = common::read(&text);
    for task in tasks(&spec, 2, 2)
        .iter()
        .filter(|task| !task.name.contains("waiting"))
    {
        let protocol = generate(&spec, task.caches).unwrap();
        let verdict = check(&protocol, &task.setting, &mut |_| {}).unwrap();
        assert!(verdict.failure.is_none(), "{}", verdict.failure.unwrap());
    }
    // The home may still forget a line: it recalls it, and the answer shows that there was no copy.
    let protocol = generate(&spec, 1).unwrap();
    let evictions = |step: &protocol::machine::CacheStep| step.send.is_none() && !step.store;
    let shared = protocol
        .cache
        .states
        .iter()
        .position(|s| s.name == "S")
        .unwrap();
    let events = 0..protocol.cache.events.len();
    let silent = events
        .filter_map(|e| protocol.cache.step(shared, e))
        .filter(evictions);
    assert_eq!(silent.count(), 1);
}

#[test]
fn buffers_of_every_protocol_drain_with_any_number_of_lines() {
    for name in common::ALL {
        let protocol = common::protocol(name, 2);
        let verdict = check(&protocol, &Setting::roomy(), &mut |_| {}).unwrap();
        let found = buffers(&protocol, &verdict);
        let Buffers::Ordered(order) = found else {
            panic!("{name}:\n{found}");
        };
        let place = |what: &str| order.iter().position(|b| b.starts_with(what)).unwrap();
        assert!(place("request to") < place("forward to"), "{order:?}");
        assert!(place("forward to") < place("response to"), "{order:?}");
    }
}

/// `docs/protocols.md`, section 4: classes that need separate buffers.
#[test]
fn buffers_that_wait_for_each_other_are_found() {
    let with_responses = ("FwdInvalid, FwdDrop\n", "FwdInvalid, FwdDrop,\n");
    let response = "class response      channel 10                  :";
    let circle = |name: &str, changes: &[(&str, &str)]| {
        let spec = common::read(&common::changed(name, changes));
        let protocol = generate(&spec, 2).unwrap();
        let verdict = check(&protocol, &Setting::roomy(), &mut |_| {}).unwrap();
        assert!(
            verdict.failure.is_none(),
            "one line with room for all holds"
        );
        match buffers(&protocol, &verdict) {
            Buffers::Circle(waits) => waits,
            Buffers::Ordered(order) => panic!("{name}: {order:?}"),
        }
    };
    // Forwards and responses in one class.
    let waits = circle("mesi", &[with_responses, (response, "    ")]);
    assert!(
        waits.iter().any(|w| w.taken.starts_with("Fwd")),
        "{waits:?}"
    );
    // Copies and other data.
    let waits = circle(
        "moesi",
        &[
            ("CleanDirty, AckDirty\n", "CleanDirty, AckDirty,\n"),
            ("class copy          channel 0              data :", "     "),
        ],
    );
    assert!(waits.iter().any(|w| w.taken == "CopyDirty"), "{waits:?}");
    // A request that is held is served when a response comes, and asks for forwards then.
    let waits = circle("esi", &[("never full", "")]);
    assert!(waits.iter().any(|w| w.taken == "Dropped"), "{waits:?}");
    // Every wait's room is what the next one takes from, and the last comes back to the first.
    for (wait, next) in waits.iter().zip(waits.iter().cycle().skip(1)) {
        assert_eq!(wait.into, next.buffer);
    }
}

#[test]
fn a_request_may_be_held_instead_of_stalled() {
    let text = common::text("mesi").replace("hold 0", "hold 1");
    let spec = protocol::spec::parse("mesi", &text).unwrap();
    let protocol = generate(&spec, 1).unwrap();
    let verdict = check(&protocol, &Setting::default(), &mut |_| {}).unwrap();
    assert!(verdict.failure.is_none(), "{}", verdict.failure.unwrap());
    let requests = protocol
        .directory
        .events
        .iter()
        .enumerate()
        .filter(|(_, event)| match event {
            protocol::machine::DirEvent::Receive { message, .. } => {
                protocol.spec.is_request(*message)
            }
            _ => false,
        });
    for (column, event) in requests {
        for state in 0..protocol.directory.states.len() {
            let stalls = *protocol.directory.cell(state, column) == protocol::machine::Cell::Stall;
            assert!(
                !stalls,
                "one cache's request never stalls, but {event:?} does"
            );
        }
    }
}

#[test]
fn symmetry_only_merges() {
    let cases = [
        ("esi", 2, Setting::default()),
        ("msi", 2, Setting::default()),
        ("mesi", 1, Setting::shared_way()),
    ];
    for (name, caches, setting) in cases {
        let protocol = common::protocol(name, caches);
        let with = check(&protocol, &setting, &mut |_| {}).unwrap();
        let setting = Setting {
            symmetry: false,
            ..setting
        };
        let without = check(&protocol, &setting, &mut |_| {}).unwrap();
        assert!(with.states < without.states && without.states <= 2 * with.states);
        assert_eq!(with.depth, without.depth);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let protocol = common::protocol("mesi", 2);
    let states: Vec<usize> = [1, 2, 3]
        .map(|threads| {
            let setting = Setting {
                threads,
                ..Setting::default()
            };
            check(&protocol, &setting, &mut |_| {}).unwrap().states
        })
        .into();
    assert!(states.iter().all(|&count| count == states[0]), "{states:?}");
}

#[test]
fn a_line_that_nobody_has_is_in_the_first_state() {
    for name in common::ALL {
        let protocol = common::protocol(name, 1);
        for state in &protocol.directory.states[1..] {
            let nobody = state.levels[0] == protocol::spec::Spec::NO_COPY;
            let idle = state.stable && !state.locked && nobody;
            assert!(!idle, "{name}: {} could not be forgotten", state.name);
        }
    }
}

#[test]
fn only_requests_and_operations_stall() {
    use protocol::machine::Cell;
    for name in common::ALL {
        let protocol = common::protocol(name, 2);
        let directory = &protocol.directory;
        for (column, event) in directory.events.iter().enumerate() {
            let may = match event {
                DirEvent::Receive { message, .. } => protocol.spec.is_request(*message),
                DirEvent::Operation(_) => true,
                DirEvent::ReadDone | DirEvent::WriteDone => false,
            };
            let stalls = (0..directory.states.len())
                .any(|state| *directory.cell(state, column) == Cell::Stall);
            assert!(may || !stalls, "{name}: {event:?} stalls");
        }
    }
}
