//! Do the protocols that ship hold, in every setting, whatever the order of messages?

mod common;

use protocol::check::{check, Setting};
use protocol::cli::tasks;
use protocol::generate::generate;

#[test]
fn every_protocol_holds_in_every_setting() {
    for name in common::ALL {
        let spec = common::spec(name);
        for task in tasks(&spec, 2, 2) {
            let protocol = generate(&spec, task.caches).unwrap();
            let verdict = check(&protocol, &task.setting, &mut |_| {}).unwrap();
            if let Some(trace) = verdict.failure {
                panic!("{name}, {}: {trace}", task.name);
            }
        }
    }
}

#[test]
fn three_caches_hold() {
    for name in common::ALL {
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
    use protocol::machine::{Cell, DirEvent};
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
