//! Helpers shared by the tests: the F1 platform, and a user of a channel that behaves like an AXI4 port.

#![allow(dead_code)] // each test binary uses a part

pub mod checker;

use std::collections::VecDeque;
use tombolo_timing::dram::{Access, Controller, MemoryChannel, RowDone};
use tombolo_timing::platform::Platform;
use units::Picoseconds;

/// The platforms of the repository.
pub fn platform(name: &str) -> Platform {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms");
    Platform::named(name, &[directory]).expect("a platform of the repository")
}

/// The F1 channel with changed figures.
pub fn f1_with(change: impl FnOnce(&mut tombolo_timing::platform::Memory)) -> Controller {
    let mut memory = platform("f1").memory().clone();
    change(&mut memory);
    Controller::new(&memory)
}

/// Results observed by a [`Port`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub rows: Vec<RowDone>,
    pub ends: Vec<RowDone>,
    /// The last edge with anything on a channel.
    pub finished: Picoseconds,
}

/// A user of a channel: at most one read request, one row of read data and one row of write data per edge; a write is
/// pushed when its last row has arrived.
pub struct Port {
    pub period: Picoseconds,
    /// Poll only when the channel announces a possible event.
    pub lazy: bool,
}

impl Port {
    pub fn run(&self, channel: &mut Controller, accesses: &[Access]) -> Seen {
        let mut reads: VecDeque<Access> = accesses.iter().copied().filter(|a| !a.write).collect();
        let mut writes: VecDeque<Access> = accesses.iter().copied().filter(|a| a.write).collect();
        let (mut reads_left, mut writes_left) = (reads.len(), writes.len());
        let mut write_rows = 0;
        let mut seen = Seen::default();
        let mut now = Picoseconds::ZERO;
        while reads_left + writes_left > 0 {
            let wake = channel.next_event();
            if !self.lazy || wake.is_some_and(|wake| wake <= now) {
                if let Some(done) = channel.pop_read(now) {
                    assert!(done.at <= now);
                    reads_left -= usize::from(done.last);
                    seen.rows.push(done);
                    seen.finished = now;
                }
                if let Some(done) = channel.pop_write(now) {
                    assert!(done.at <= now);
                    writes_left -= 1;
                    seen.ends.push(done);
                    seen.finished = now;
                }
            }
            if let Some(&access) = reads.front() {
                if channel.can_accept(false) {
                    channel.push(now, access);
                    reads.pop_front();
                }
            }
            if let Some(&access) = writes.front() {
                if write_rows < access.rows {
                    write_rows += 1;
                }
                if write_rows == access.rows && channel.can_accept(true) {
                    channel.push(now, access);
                    writes.pop_front();
                    write_rows = 0;
                }
            }
            now += self.period;
            assert!(
                now < Picoseconds::from_millis(50),
                "a channel that never answers"
            );
        }
        seen
    }
}

/// An AXI4 port of the F1 shell.
pub const AXI: Port = Port {
    period: Picoseconds::new(4000),
    lazy: false,
};

/// Faster than any pins: what the channel itself can do.
pub const UNBOUNDED: Port = Port {
    period: Picoseconds::new(938),
    lazy: false,
};

/// `count` bursts of `rows`, one after another from `offset`.
pub fn stream(offset: u64, count: u64, rows: u16, write: bool) -> Vec<Access> {
    (0..count)
        .map(|index| Access {
            token: index as u32,
            offset: offset + index * u64::from(rows) * 64,
            rows,
            write,
        })
        .collect()
}

/// `count` single rows at pseudo-random places below `bytes`.
pub fn random_rows(seed: u64, count: u64, bytes: u64, write: bool) -> Vec<Access> {
    let mut random = Random(seed);
    (0..count)
        .map(|index| Access {
            token: index as u32,
            offset: random.below(bytes / 64) * 64,
            rows: 1,
            write,
        })
        .collect()
}

/// Both, in turn.
pub fn mixed(a: Vec<Access>, b: Vec<Access>) -> Vec<Access> {
    a.into_iter().zip(b).flat_map(|(a, b)| [a, b]).collect()
}

/// Bytes per second that a port observed.
pub fn bandwidth(accesses: &[Access], seen: &Seen) -> f64 {
    let rows: u64 = accesses.iter().map(|access| u64::from(access.rows)).sum();
    (rows * 64) as f64 / seen.finished.as_seconds()
}

/// A small generator (SplitMix64), so that tests need no seed from outside.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
