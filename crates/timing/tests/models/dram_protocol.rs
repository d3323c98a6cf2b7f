//! Checks that every command obeys the devices: traces of random traffic, judged by an independent checker.

use crate::common::checker::{check, encode};
use crate::common::{platform, Random};
use proptest::prelude::*;
use tombolo_timing::dram::{Access, Command, CommandKind, Controller, MemoryChannel};
use tombolo_timing::platform::Memory;
use units::Picoseconds;

/// How an access finds its place.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    Anywhere,
    Sequential,
    /// A few rows of few banks: conflicts and hazards all the time.
    Few,
}

fn offset(memory: &Memory, pattern: Pattern, index: u64, rows: u16, random: &mut Random) -> u64 {
    match pattern {
        Pattern::Anywhere => {
            let room = memory.channel_bytes / 64 - u64::from(rows);
            random.below(room) * 64
        }
        Pattern::Sequential => index * u64::from(rows) * 64,
        Pattern::Few => {
            let below = |random: &mut Random, bound| random.below(bound) as u32;
            let group = below(random, 2) % memory.address.bank_groups;
            let (bank, row) = (below(random, 2), below(random, 3));
            let column = below(random, 4);
            encode(
                memory,
                group,
                bank % memory.address.banks_per_group,
                row,
                column,
            )
        }
    }
}

/// Drives a channel with random accesses and pauses, and returns its commands and the accesses in
/// the order of the pushes.
fn traffic(
    memory: &Memory,
    seed: u64,
    count: u64,
    pattern: Pattern,
    longest: u64,
    pause: u64,
) -> (Vec<Command>, Vec<Access>) {
    let mut random = Random(seed);
    let mut channel = Controller::new(memory);
    channel.record_commands();
    let mut now = Picoseconds::ZERO;
    let mut pushed = Vec::new();
    while (pushed.len() as u64) < count {
        now += Picoseconds::new(random.below(pause) + 1);
        while channel.pop_read(now).is_some() {}
        while channel.pop_write(now).is_some() {}
        let write = random.below(2) == 1;
        if channel.can_accept(write) {
            let rows = (random.below(longest) + 1) as u16;
            let access = Access {
                token: pushed.len() as u32,
                offset: offset(memory, pattern, pushed.len() as u64, rows, &mut random),
                rows,
                write,
            };
            channel.push(now, access);
            pushed.push(access);
        }
    }
    // Long after, one more read: everything before it must have been done.
    now += Picoseconds::from_millis(1);
    while channel.pop_read(now).is_some() {}
    while channel.pop_write(now).is_some() {}
    let last = Access {
        token: u32::MAX,
        offset: 0,
        rows: 1,
        write: false,
    };
    channel.push(now, last);
    pushed.push(last);
    now += Picoseconds::from_millis(1);
    assert!(channel
        .pop_read(now)
        .is_some_and(|done| done.token == u32::MAX));
    (channel.take_commands(), pushed)
}

/// Every row has been read or written as often as asked, and accesses of one row of which one is a
/// write kept their order.
fn check_rows(memory: &Memory, commands: &[Command], pushed: &[Access]) -> Result<(), String> {
    use std::collections::BTreeMap;
    let mut asked: BTreeMap<u32, Vec<bool>> = BTreeMap::new();
    for access in pushed {
        let first = (access.offset / 64) as u32;
        for address in first..first + u32::from(access.rows) {
            asked.entry(address).or_default().push(access.write);
        }
    }
    let mut given: BTreeMap<u32, Vec<bool>> = BTreeMap::new();
    for command in commands {
        match command.kind {
            CommandKind::Read { address } => given.entry(address).or_default().push(false),
            CommandKind::Write { address } => given.entry(address).or_default().push(true),
            _ => {}
        }
    }
    let columns = memory.timing.columns_per_row as usize;
    for (address, asked) in &asked {
        let expected: Vec<bool> = asked
            .iter()
            .flat_map(|&write| std::iter::repeat_n(write, columns))
            .collect();
        let given = given.get(address).cloned().unwrap_or_default();
        if expected != given {
            return Err(format!("row {address}: asked {asked:?}, given {given:?}"));
        }
    }
    if given.len() != asked.len() {
        return Err("rows that nobody asked for".into());
    }
    Ok(())
}

/// F1, and changes of it that reach other corners: narrow queues, two columns a row, one group.
fn memories() -> Vec<Memory> {
    let f1 = platform("f1").memory().clone();
    let mut narrow = f1.clone();
    narrow.controller.read_queue = 3;
    narrow.controller.write_queue = 2;
    narrow.controller.drain_start = 1;
    narrow.controller.drain_batch = 1;
    narrow.controller.bypass_limit = 1;
    narrow.controller.read_accesses = 2;
    narrow.controller.write_accesses = 2;
    let mut two_columns = f1.clone();
    two_columns.timing.columns_per_row = 2;
    two_columns.timing.burst = 2;
    two_columns.timing.ccd_s = 2;
    two_columns.timing.ccd_l = 3;
    let mut one_group = f1.clone();
    one_group.address.bank_groups = 1;
    one_group.address.banks_per_group = 8;
    one_group.timing.refi = 1500;
    vec![
        f1,
        narrow,
        two_columns,
        one_group,
        platform("u280").memory().clone(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..Default::default() })]

    #[test]
    fn commands_obey_the_devices(
        which in 0..5usize,
        seed: u64,
        pattern in prop_oneof![
            Just(Pattern::Anywhere),
            Just(Pattern::Sequential),
            Just(Pattern::Few),
        ],
        longest in prop_oneof![Just(1u64), Just(4), Just(64)],
        pause in prop_oneof![Just(1u64), Just(8_000), Just(200_000), Just(30_000_000)],
    ) {
        let memory = &memories()[which];
        let (commands, pushed) = traffic(memory, seed, 60 + 240 / longest, pattern, longest, pause);
        check(memory, &commands).map_err(TestCaseError::fail)?;
        check_rows(memory, &commands, &pushed).map_err(TestCaseError::fail)?;
    }
}

/// The checker itself can fail: each constraint, violated by one clock, is seen.
#[test]
fn the_checker_sees_each_violation() {
    let memory = platform("f1").memory().clone();
    let (commands, _) = traffic(&memory, 3, 1000, Pattern::Few, 4, 4_000);
    assert_eq!(check(&memory, &commands), Ok(()));
    type Change = fn(&mut Memory);
    let changes: [(&str, Change); 14] = [
        ("rcd", |m| m.timing.rcd += 1),
        ("rp", |m| m.timing.rp += 1),
        ("ras", |m| m.timing.ras += 1),
        ("ccd_l", |m| m.timing.ccd_l += 1),
        ("ccd_s", |m| m.timing.ccd_s += 1),
        ("rrd_l", |m| m.timing.rrd_l += 1),
        ("wtr_s", |m| m.timing.wtr_s += 1),
        ("wtr_l", |m| m.timing.wtr_l += 1),
        ("wr", |m| m.timing.wr += 1),
        ("rtp", |m| m.timing.rtp += 20),
        ("rtw_gap", |m| m.timing.rtw_gap += 1),
        ("rfc", |m| m.timing.rfc += 1),
        ("refi", |m| m.timing.refi -= 100),
        ("cwl", |m| m.timing.cwl += 1),
    ];
    for (name, change) in changes {
        let mut stricter = memory.clone();
        change(&mut stricter);
        assert!(check(&stricter, &commands).is_err(), "{name}");
    }
    let (commands, _) = traffic(&memory, 3, 500, Pattern::Anywhere, 1, 2_000);
    assert_eq!(check(&memory, &commands), Ok(()));
    let changes: [(&str, Change); 2] = [
        ("rrd_s", |m| m.timing.rrd_s += 1),
        ("faw", |m| m.timing.faw += 1),
    ];
    for (name, change) in changes {
        let mut stricter = memory.clone();
        change(&mut stricter);
        assert!(check(&stricter, &commands).is_err(), "{name}");
    }
}
