//! Checks that the channel is as fast as its figures allow, and no faster: closed forms by hand, each with its
//! tolerance.

use crate::common::checker::encode;
use crate::common::{
    bandwidth, f1_with, mixed, platform, random_rows, stream, Seen, AXI, UNBOUNDED,
};
use tombolo_timing::dram::{Access, Command, CommandKind, Controller, MemoryChannel};
use tombolo_timing::platform::{Memory, MemoryTiming};
use units::Picoseconds;

/// Bytes per second when `rows` take `clocks`, less the time lost to refreshes: REF itself, the precharge before and
/// the activation after.
fn expected(t: &MemoryTiming, rows: u64, clocks: u64) -> f64 {
    let lost = (t.rfc + t.rp + t.rcd) as f64 / t.refi as f64;
    (rows * 64) as f64 / (t.clock_ps * clocks).as_seconds() * (1.0 - lost)
}

fn within(measured: f64, expected: f64, error: f64) {
    let off = measured / expected - 1.0;
    assert!(
        off.abs() <= error,
        "{:.3} GB/s, expected {:.3}: {:+.2} %",
        measured / 1e9,
        expected / 1e9,
        off * 100.0
    );
}

fn f1() -> Memory {
    platform("f1").memory().clone()
}

fn unbounded(accesses: &[Access]) -> (f64, Seen, u64) {
    let mut channel = f1_with(|_| {});
    let seen = UNBOUNDED.run(&mut channel, accesses);
    (bandwidth(accesses, &seen), seen, channel.activations())
}

#[test]
fn sequential_reads_fill_the_pins() {
    let t = f1().timing;
    let (measured, _, activations) = unbounded(&stream(0, 1500, 64, false));
    within(measured, expected(&t, 1, t.ccd_s), 0.01);
    // One activation for each 8 KiB, and one a bank group after each refresh.
    assert!((750..750 + 4 * 60).contains(&activations), "{activations}");
}

#[test]
fn sequential_writes_fill_the_pins() {
    let t = f1().timing;
    let (measured, ..) = unbounded(&stream(0, 1500, 64, true));
    within(measured, expected(&t, 1, t.ccd_s), 0.015);
}

#[test]
fn an_axi_port_gets_all_it_can_take() {
    for (rows, write) in [(16, false), (64, false), (1, true), (16, true)] {
        let accesses = stream(0, 32_000 / u64::from(rows), rows, write);
        let seen = AXI.run(&mut f1_with(|_| {}), &accesses);
        within(bandwidth(&accesses, &seen), 16e9, 0.01);
    }
}

/// 32 outstanding reads of one row do not bridge a refresh: its time is lost.
#[test]
fn an_axi_port_with_single_rows_loses_the_refreshes() {
    let t = f1().timing;
    let accesses = stream(0, 32_000, 1, false);
    let seen = AXI.run(&mut f1_with(|_| {}), &accesses);
    let share = expected(&t, 1, t.ccd_s) / f1().pin_bytes_per_second();
    within(bandwidth(&accesses, &seen), 16e9 * share, 0.015);
}

/// While reads and writes wait, they take turns of a batch; each pair of turns costs two turns of
/// the bus: rd -> wr instead of ccd_s, and wr -> rd instead of ccd_s.
#[test]
fn mixed_traffic_pays_for_the_turns_of_the_bus() {
    let mut shares = Vec::new();
    for batch in [16, 32] {
        let mut memory = f1();
        memory.controller.drain_batch = batch;
        memory.controller.drain_start = batch;
        let t = memory.timing;
        // Streams in different banks, so that turns are all there is to pay for.
        let distance = encode(&memory, 0, 1, 1 << 8, 0);
        let accesses = mixed(stream(0, 3000, 16, false), stream(distance, 3000, 16, true));
        let mut channel = Controller::new(&memory);
        let seen = AXI.run(&mut channel, &accesses);
        let measured = bandwidth(&accesses, &seen);
        let batch = u64::from(batch);
        let to_write = t.cl + t.burst + t.rtw_gap - t.cwl;
        let to_read = t.cwl + t.burst + t.wtr_s;
        let clocks = 2 * (batch - 1) * t.ccd_s + to_write + to_read;
        within(measured, expected(&t, 2 * batch, clocks), 0.03);
        shares.push(measured / expected(&t, 1, t.ccd_s));
    }
    // DRAMsim3: about 84 % with drains of 16, about 92 % with 32.
    assert!((0.82..0.88).contains(&shares[0]), "{shares:?}");
    assert!((0.90..0.95).contains(&shares[1]), "{shares:?}");
}

#[test]
fn one_bank_takes_a_row_cycle_each() {
    let memory = f1();
    let t = memory.timing;
    for (write, cycle) in [
        (false, (t.ras + t.rp).max(t.rcd + t.rtp + t.rp)),
        (
            true,
            (t.ras + t.rp).max(t.rcd + t.cwl + t.burst + t.wr + t.rp),
        ),
    ] {
        let accesses: Vec<Access> = (0..10_000u32)
            .map(|token| Access {
                token,
                offset: encode(&memory, 2, 3, token, token % 128),
                rows: 1,
                write,
            })
            .collect();
        let (measured, _, activations) = unbounded(&accesses);
        within(measured, expected(&t, 1, cycle), 0.02);
        assert!((9_900..10_200).contains(&activations), "{activations}");
    }
}

#[test]
fn all_banks_in_turn_are_bounded_by_the_window_of_four_activations() {
    let memory = f1();
    let t = memory.timing;
    let accesses: Vec<Access> = (0..16_000u32)
        .map(|token| Access {
            token,
            offset: encode(&memory, token % 4, token / 4 % 4, token / 16, 0),
            rows: 1,
            write: false,
        })
        .collect();
    let (measured, ..) = unbounded(&accesses);
    // Less by up to 5 %: an ACT gives way to a column command of the same clock, and what the window
    // of four loses it does not get back.
    within(measured, expected(&t, 4, t.faw.max(4 * t.rrd_s)), 0.05);
}

#[test]
fn one_bank_group_is_bounded_by_the_long_column_distance() {
    let memory = f1();
    let t = memory.timing;
    let accesses: Vec<Access> = (0..16_000u32)
        .map(|token| Access {
            token,
            offset: encode(&memory, 1, 2, token / 128, token % 128),
            rows: 1,
            write: false,
        })
        .collect();
    let (measured, ..) = unbounded(&accesses);
    // Each 128 columns a new row of the same bank: rtp + rp + rcd after the last one.
    let clocks = 127 * t.ccd_l + t.rtp + t.rp + t.rcd;
    within(measured, expected(&t, 128, clocks), 0.02);
}

/// Random rows meet busy banks: less than the window of four activations allows, by at most a quarter.
#[test]
fn random_rows_come_near_the_bound_of_all_banks() {
    let t = f1().timing;
    let bound = expected(&t, 4, t.faw);
    for write in [false, true] {
        let (measured, _, activations) = unbounded(&random_rows(4, 20_000, 1 << 34, write));
        assert!(
            measured < bound && measured > 0.75 * bound,
            "{measured} of {bound}"
        );
        assert!((19_900..20_200).contains(&activations), "{activations}");
    }
}

/// From the push to the row, with nothing else under way.
#[test]
fn idle_latencies_by_hand() {
    let memory = f1();
    let mut channel = f1_with(|_| {});
    let mut now = Picoseconds::from_nanos(100);
    let mut latency = |bank, row, column| {
        let access = Access {
            token: 0,
            offset: encode(&memory, 0, bank, row, column),
            rows: 1,
            write: false,
        };
        channel.push(now, access);
        let start = now;
        now += Picoseconds::from_nanos(500);
        let done = channel
            .pop_read(now)
            .expect("done after half a microsecond");
        (done.at - start).get()
    };
    // 25 ns to the scheduler, up to one clock to the next edge; then, of 0.938 ns each:
    // closed: 16 (rcd) + 16 (cl) + 4 (burst); hit: 16 + 4; miss: 16 (rp) + 36. 30 ns back.
    let fixed = 55_000;
    let edge = 938;
    let closed = latency(0, 5, 0);
    let hit = latency(0, 5, 1);
    let miss = latency(0, 6, 0);
    for (name, measured, clocks) in [("hit", hit, 20), ("closed", closed, 36), ("miss", miss, 52)] {
        let by_hand = fixed + 938 * clocks;
        assert!(
            (by_hand..by_hand + edge).contains(&measured),
            "{name}: {measured} {by_hand}"
        );
    }
    // Measured on DDR4 of a U280: 73, 90, 107 ns.
    for (measured, published) in [(hit, 73.0), (closed, 90.0), (miss, 107.0)] {
        let off = measured as f64 / 1000.0 / published - 1.0;
        assert!(off.abs() < 0.05, "{measured} ps, published {published} ns");
    }
}

/// A pseudo-channel of HBM2: a row of 64 bytes is two column commands.
#[test]
fn a_pseudo_channel_is_as_fast_as_measured() {
    for name in ["u280", "u55c"] {
        let memory = platform(name).memory().clone();
        let t = memory.timing;
        let accesses = stream(0, 1500, 64, false);
        let mut channel = Controller::new(&memory);
        let measured = bandwidth(&accesses, &UNBOUNDED.run(&mut channel, &accesses));
        within(measured, expected(&t, 1, 2 * t.ccd_s), 0.02);
        // Published: 425 GB/s of 32 pseudo-channels.
        within(measured * f64::from(memory.channels), 425e9, 0.02);
        let published = [("hit", 107.0), ("closed", 122.0), ("miss", 138.0)];
        let mut channel = Controller::new(&memory);
        let mut now = Picoseconds::from_nanos(100);
        let mut latency = |row, column| {
            let access = Access {
                token: 0,
                offset: encode(&memory, 0, 0, row, column),
                rows: 1,
                write: false,
            };
            channel.push(now, access);
            let start = now;
            now += Picoseconds::from_nanos(500);
            let done = channel
                .pop_read(now)
                .expect("done after half a microsecond");
            (done.at - start).as_seconds() * 1e9
        };
        let closed = latency(5, 0);
        let hit = latency(5, 1);
        let miss = latency(6, 0);
        for ((name, published), measured) in published.into_iter().zip([hit, closed, miss]) {
            let off = measured / published - 1.0;
            assert!(
                off.abs() < 0.05,
                "{name}: {measured} ns, published {published} ns"
            );
        }
    }
}

#[test]
fn writes_wait_for_a_pause_of_the_reads() {
    let memory = f1();
    let mut channel = f1_with(|_| {});
    channel.record_commands();
    let at = |offset, write| Access {
        token: 0,
        offset,
        rows: 1,
        write,
    };
    channel.push(Picoseconds::ZERO, at(0, false));
    channel.push(Picoseconds::ZERO, at(1 << 20, true));
    assert!(channel.pop_read(Picoseconds::from_micros(1)).is_some());
    channel.push(Picoseconds::from_micros(1), at(64, false));
    let columns: Vec<_> = channel
        .take_commands()
        .into_iter()
        .filter_map(|command| match command.kind {
            CommandKind::Read { .. } => Some((command.clock, false)),
            CommandKind::Write { .. } => Some((command.clock, true)),
            _ => None,
        })
        .collect();
    let [(read, false), (write, true)] = columns[..] else {
        panic!("{columns:?}")
    };
    assert!(write >= read + memory.controller.drain_idle);
    assert!(write <= read + memory.controller.drain_idle + 1);
}

#[test]
fn refreshes_are_counted_while_idle() {
    let memory = f1();
    let mut channel = f1_with(|_| {});
    let now = Picoseconds::from_millis(64);
    assert_eq!(channel.pop_read(now), None);
    let access = Access {
        token: 0,
        offset: 0,
        rows: 1,
        write: false,
    };
    channel.push(now, access);
    let clocks = now.get() / memory.timing.clock_ps.get();
    assert_eq!(channel.refreshes(), clocks / memory.timing.refi);
    // 64 ms / 7.8 us: 8192 a retention time (the clock is rounded, so one or two more).
    assert!(
        (8192..8220).contains(&channel.refreshes()),
        "{}",
        channel.refreshes()
    );
}

#[test]
fn writes_of_a_pause_give_way_to_a_read_at_once() {
    let memory = f1();
    let mut channel = f1_with(|_| {});
    channel.record_commands();
    for access in stream(0, 30, 1, true) {
        channel.push(Picoseconds::ZERO, access);
    }
    let now = Picoseconds::from_nanos(90);
    while channel.pop_write(now).is_some() {}
    let read = Access {
        token: 0,
        offset: 30 * 64,
        rows: 1,
        write: false,
    };
    channel.push(now, read);
    assert!(channel.pop_read(Picoseconds::from_micros(1)).is_some());
    let commands = channel.take_commands();
    let writes = |from: u64, to: u64| {
        let is_write = |c: &&Command| matches!(c.kind, CommandKind::Write { .. });
        let within = |c: &&Command| (from..to).contains(&c.clock);
        commands.iter().filter(is_write).filter(within).count()
    };
    let arrival = now + memory.controller.request_ps;
    let arrival = arrival.get().div_ceil(memory.timing.clock_ps.get());
    let is_read = |c: &&Command| matches!(c.kind, CommandKind::Read { .. });
    let read = commands.iter().find(is_read).expect("one read").clock;
    assert!((2..28).contains(&writes(0, arrival)), "the drain had begun");
    assert_eq!(writes(arrival, read), 0);
    assert!(writes(read, u64::MAX) > 0, "and goes on later");
}
