//! Checks that results arrive in order, once, and independently of how often the channel is polled.

use crate::common::checker::encode;
use crate::common::{f1_with, mixed, platform, random_rows, stream, Port, Random, AXI};
use proptest::prelude::*;
use tombolo_timing::dram::{Access, CommandKind, Controller, MemoryChannel};
use units::Picoseconds;

fn random_accesses(seed: u64, count: u32, span: u64) -> Vec<Access> {
    let mut random = Random(seed);
    (0..count)
        .map(|token| Access {
            token,
            offset: random.below(span) * 64,
            rows: (random.below(16) + 1) as u16,
            write: random.below(2) == 1,
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn rows_and_ends_come_in_order(seed: u64, span in prop_oneof![Just(8u64), Just(4096), Just(1 << 28)]) {
        let accesses = random_accesses(seed, 300, span);
        let seen = AXI.run(&mut f1_with(|_| {}), &accesses);
        let mut expected = Vec::new();
        for access in accesses.iter().filter(|access| !access.write) {
            expected.extend((0..access.rows).map(|row| (access.token, row, row + 1 == access.rows)));
        }
        let rows: Vec<_> = seen.rows.iter().map(|done| (done.token, done.row, done.last)).collect();
        prop_assert_eq!(rows, expected);
        let expected: Vec<_> = accesses
            .iter()
            .filter(|access| access.write)
            .map(|access| (access.token, access.rows - 1, true))
            .collect();
        let ends: Vec<_> = seen.ends.iter().map(|done| (done.token, done.row, done.last)).collect();
        prop_assert_eq!(ends, expected);
        for pair in seen.rows.windows(2).chain(seen.ends.windows(2)) {
            prop_assert!(pair[0].at <= pair[1].at);
        }
    }

    /// A user that polls at every edge, and one that sleeps until `next_event`, get the same results.
    #[test]
    fn asking_changes_nothing(seed: u64, span in prop_oneof![Just(8u64), Just(4096), Just(1 << 28)]) {
        let accesses = random_accesses(seed, 300, span);
        let lazy = Port { lazy: true, ..AXI };
        let eager_seen = AXI.run(&mut f1_with(|_| {}), &accesses);
        let lazy_seen = lazy.run(&mut f1_with(|_| {}), &accesses);
        prop_assert_eq!(eager_seen, lazy_seen);
    }

    /// The same with long pauses (refreshes of an idle channel), and with questions in between.
    #[test]
    fn asking_while_idle_changes_nothing(seed: u64, questions in 0..40u64) {
        let ask = |questions: u64, record: bool| {
            let mut channel = f1_with(|_| {});
            if record {
                channel.record_commands();
            }
            let mut random = Random(seed);
            let mut now = Picoseconds::ZERO;
            let mut times = Vec::new();
            for token in 0..20 {
                let start = now + Picoseconds::new(random.below(40_000_000));
                for _ in 0..questions {
                    let gap = (start - now).get() / (questions + 1);
                    now += Picoseconds::new(gap);
                    assert_eq!(channel.pop_read(now), None);
                    channel.next_event();
                }
                now = start;
                channel.push(now, Access {
                    token,
                    offset: random.below(1 << 20) * 64,
                    rows: 4,
                    write: random.below(3) == 0,
                });
                for _ in 0..4 {
                    while let Some(wake) = channel.next_event() {
                        now = now.max(wake);
                        times.extend(channel.pop_read(now));
                        times.extend(channel.pop_write(now));
                    }
                }
            }
            (times, channel.take_commands(), channel.activations(), channel.refreshes())
        };
        prop_assert_eq!(ask(0, true), ask(questions, true));
        // Without a trace the refreshes of an idle channel are counted, not stepped through.
        let (times, _, activations, refreshes) = ask(questions, true);
        prop_assert_eq!(ask(0, false), (times, Vec::new(), activations, refreshes));
    }
}

#[test]
fn equal_calls_give_equal_answers() {
    let accesses = mixed(
        stream(0, 500, 16, false),
        random_rows(9, 500, 1 << 34, true),
    );
    let run = || AXI.run(&mut f1_with(|_| {}), &accesses);
    assert_eq!(run(), run());
}

#[test]
fn next_event_is_never_late() {
    let accesses = random_accesses(5, 200, 1 << 28);
    let mut channel = f1_with(|_| {});
    let mut now = Picoseconds::ZERO;
    let mut left = accesses.iter();
    let mut next = left.next();
    let mut open = 0;
    while next.is_some() || open > 0 {
        let wake = channel.next_event();
        let read = channel.pop_read(now);
        let write = channel.pop_write(now);
        if let Some(done) = read.or(write) {
            assert!(
                wake.is_some_and(|wake| wake <= now),
                "{wake:?} > {now}: {done:?}"
            );
        }
        open -= usize::from(read.is_some_and(|done| done.last)) + usize::from(write.is_some());
        if let Some(&access) = next.filter(|access| channel.can_accept(access.write)) {
            channel.push(now, access);
            open += 1;
            next = left.next();
        }
        now += Picoseconds::new(500);
    }
    assert_eq!(channel.next_event(), None);
}

#[test]
fn outstanding_accesses_are_bounded() {
    let memory = platform("f1").memory().clone();
    for write in [false, true] {
        let mut channel = Controller::new(&memory);
        let mut pushed = 0;
        while channel.can_accept(write) {
            channel.push(
                Picoseconds::ZERO,
                Access {
                    token: pushed,
                    offset: u64::from(pushed) * 4096,
                    rows: 64,
                    write,
                },
            );
            pushed += 1;
        }
        assert_eq!(pushed, 32);
        assert!(channel.can_accept(!write));
    }
}

/// A read of a row that a queued write will change comes after the write.
#[test]
fn a_read_sees_the_write_before_it() {
    let mut channel = f1_with(|memory| memory.controller.drain_idle = 100_000);
    channel.record_commands();
    let access = |token, write| Access {
        token,
        offset: 640,
        rows: 1,
        write,
    };
    channel.push(Picoseconds::ZERO, access(0, true));
    let end = channel
        .pop_write(Picoseconds::from_micros(1))
        .expect("accepted");
    assert!(
        end.at < Picoseconds::from_nanos(50),
        "an end does not wait for the devices"
    );
    channel.push(Picoseconds::from_micros(1), access(1, false));
    let read = channel.pop_read(Picoseconds::from_micros(2)).expect("read");
    // cwl + burst + wtr_l after the write, which opened the row: rcd.
    let t = platform("f1").memory().timing;
    let c = platform("f1").memory().controller;
    let clocks = t.cwl + t.burst + t.wtr_l + t.cl + t.burst;
    let least = Picoseconds::from_micros(1) + c.request_ps + t.clock_ps * clocks + c.response_ps;
    assert!(read.at >= least, "{} < {least}", read.at);
}

/// Row hits go first, but overtake an older row at most `bypass_limit` times.
#[test]
fn row_hits_overtake_within_the_limit() {
    for (write, limit, expected) in [(false, 8, 9), (false, 64, 31), (true, 8, 9), (true, 64, 31)] {
        let mut memory = platform("f1").memory().clone();
        memory.controller.bypass_limit = limit;
        let mut channel = Controller::new(&memory);
        channel.record_commands();
        // One row open, one access of another row of the bank, thirty more of the open row.
        for index in 0..32u32 {
            let row = u32::from(index == 1);
            channel.push(
                Picoseconds::ZERO,
                Access {
                    token: index,
                    offset: encode(&memory, 0, 0, row, index),
                    rows: 1,
                    write,
                },
            );
        }
        let last = Access {
            token: 99,
            offset: 0,
            rows: 1,
            write: !write,
        };
        let later = Picoseconds::from_micros(5);
        while channel.pop_read(later).is_some() || channel.pop_write(later).is_some() {}
        channel.push(later, last);
        let conflicting = (encode(&memory, 0, 0, 1, 1) / 64) as u32;
        let columns: Vec<u32> = channel
            .take_commands()
            .iter()
            .filter_map(|command| match command.kind {
                CommandKind::Read { address } | CommandKind::Write { address } => Some(address),
                _ => None,
            })
            .collect();
        let place = columns.iter().position(|&address| address == conflicting);
        assert_eq!(place, Some(expected), "{write} {limit}");
    }
}
