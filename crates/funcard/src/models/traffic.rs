//! `kernels/traffic`.

use super::go_on;
use crate::kernel::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "traffic",
    arguments: &[
        ("input", 8),
        ("output", 8),
        ("bursts", 8),
        ("length_log2", 8),
        ("rows_log2", 8),
        ("seed", 8),
        ("random", 8),
    ],
    ports: 2,
    create: || Box::<Traffic>::default(),
};

/// Bursts announced behind a blocked one.
const AHEAD: usize = 16;

#[derive(Debug, Default)]
struct Traffic {
    run: Option<TrafficRun>,
}

/// Where the bursts of one direction are.
#[derive(Clone, Debug)]
struct Places {
    base: u64,
    is_random: bool,
    state: u64,
    next: u64,
    /// Rows of a burst, and of the buffer minus one.
    length: u64,
    mask: u64,
}

impl Places {
    /// Of the burst under way.
    fn address(&self) -> u64 {
        let row = match self.is_random {
            true => self.state >> 16,
            false => self.next,
        };
        let row = row & self.mask & !(self.length - 1);
        self.base.wrapping_add(row.wrapping_mul(64))
    }

    fn go_on(&mut self) {
        self.state = step(self.state);
        self.next = self.next.wrapping_add(self.length);
    }

    fn announce(&self, port: usize, write: bool, left: u64, memory: &mut dyn VirtualMemory) {
        let mut places = self.clone();
        let count = usize::try_from(left).unwrap_or(AHEAD).min(AHEAD);
        let following: Vec<u64> = (0..count)
            .map(|_| {
                places.go_on();
                places.address()
            })
            .collect();
        memory.announce(port, write, &following);
    }
}

/// The next value of the sequence: xorshift.
fn step(mut x: u64) -> u64 {
    x ^= x << 13;
    x ^= x >> 7;
    x ^ x << 17
}

#[derive(Debug)]
struct TrafficRun {
    reads: Places,
    writes: Places,
    left: u64,
    /// The rows under way, once they were read.
    rows: Option<Vec<u8>>,
}

impl TrafficRun {
    fn new(arguments: &Arguments<'_>) -> Self {
        let seed = arguments.number("seed");
        let random = arguments.number("random");
        let places = |base: &str, bit: u64, seed: u64| Places {
            base: arguments.number(base) & !63,
            is_random: random >> bit & 1 == 1,
            state: step(seed),
            next: 0,
            // As many bits as the RTL has.
            length: 1 << (arguments.number("length_log2") % 8).min(6),
            mask: (1 << (arguments.number("rows_log2") % 64).min(58)) - 1,
        };
        Self {
            reads: places("input", 0, seed),
            writes: places("output", 1, seed.rotate_left(32)),
            left: arguments.number("bursts"),
            rows: None,
        }
    }

    fn step(&mut self, memory: &mut dyn VirtualMemory) -> Step {
        if self.left == 0 {
            return Step::Done;
        }
        let rows = match self.rows.take() {
            Some(rows) => rows,
            None => {
                let mut rows = vec![0; 64 * self.reads.length as usize];
                if memory.read(0, self.reads.address(), &mut rows) == Access::Blocked {
                    self.reads.announce(0, false, self.left - 1, memory);
                    return Step::Blocked;
                }
                rows
            }
        };
        if memory.write(1, self.writes.address(), &rows) == Access::Blocked {
            self.rows = Some(rows);
            self.writes.announce(1, true, self.left - 1, memory);
            return Step::Blocked;
        }
        self.reads.go_on();
        self.writes.go_on();
        self.left -= 1;
        Step::Working
    }
}

impl FunctionalKernel for Traffic {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        go_on(
            &mut self.run,
            || TrafficRun::new(arguments),
            |run| run.step(memory),
        )
    }
}
