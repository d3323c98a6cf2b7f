//! The CPU's side: accesses of its own to the same lines.

use super::ControllerTorture;
use crate::judge::PART_WORDS;
use crate::line::{Data, PlainLine, WORDS};
use ::cpu::home::HomeAccess;

/// Accesses of the CPU under way at a time.
const CPU_ACCESSES: usize = 16;

/// Accesses of the CPU: values are stamps.
#[derive(Clone, Copy, Debug)]
enum CpuAccess {
    Load,
    Write {
        parts: u8,
        stamp: u64,
    },
    Store {
        parts: u8,
        stamp: u64,
    },
    /// Add one to the first word of the line and stamp the rest of its first part, atomically.
    Increment {
        stamp: u64,
    },
    Clean,
    CleanInvalidate,
}

/// The bytes of parts of a line.
fn mask_of(parts: u8) -> u128 {
    let bytes = 8 * PART_WORDS;
    let part = (1u128 << bytes) - 1;
    let chosen = (0..WORDS / PART_WORDS).filter(|place| parts >> place & 1 == 1);
    chosen.fold(0, |mask, place| mask | part << (bytes * place))
}

impl CpuAccess {
    fn at_home(self) -> HomeAccess {
        match self {
            Self::Load => HomeAccess::Load,
            Self::Write { parts, stamp } => HomeAccess::Write {
                parts,
                data: [stamp; WORDS],
            },
            Self::Store { parts, stamp } => HomeAccess::Store {
                mask: mask_of(parts),
                data: [stamp; WORDS],
            },
            Self::Increment { stamp } => HomeAccess::Add {
                word: 0,
                value: 1,
                mask: mask_of(1) & !0xff,
                data: [stamp; WORDS],
            },
            Self::Clean => HomeAccess::Clean,
            Self::CleanInvalidate => HomeAccess::CleanInvalidate,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CpuJob {
    line: PlainLine,
    access: CpuAccess,
    start: u64,
}

impl ControllerTorture {
    pub(super) fn cpu_work(&mut self, start: bool) {
        if self.random.chance(1, 8) {
            for line in self.system.cpu.wanted() {
                if self.random.chance(1, 4) {
                    self.system.cpu.give_up(line);
                }
            }
        }
        if !start || self.cpu.len() >= CPU_ACCESSES || !self.random.chance(1, 8) {
            return;
        }
        let (line, counter) = self.any_line();
        // Some copies leave without being wanted.
        if self.random.chance(1, 32) {
            self.system.cpu.give_up(line);
        }
        if self.cpu.values().any(|job| job.line == line) {
            return;
        }
        let start = self.judge.begin();
        let stamp = self.stamp();
        let parts = 1 + self.random.below(15) as u8;
        let access = match (self.random.below(16), counter) {
            (0..=5, _) => CpuAccess::Load,
            (6, _) => CpuAccess::Clean,
            (7, _) => CpuAccess::CleanInvalidate,
            (_, true) => CpuAccess::Increment { stamp },
            (8..=11, false) => CpuAccess::Write { parts, stamp },
            (_, false) => CpuAccess::Store { parts, stamp },
        };
        match access {
            CpuAccess::Write { parts, stamp } | CpuAccess::Store { parts, stamp } => {
                self.judge.write_begins(line, parts, stamp, start);
            }
            CpuAccess::Increment { stamp } => self.judge.write_begins(line, 1, stamp, start),
            _ => {}
        }
        self.tokens += 1;
        let job = CpuJob {
            line,
            access,
            start,
        };
        self.cpu.insert(self.tokens, job);
        self.system.cpu.access(line, access.at_home(), self.tokens);
        self.take_cpu_done();
    }

    pub(super) fn cpu_done(&mut self, job: CpuJob, data: &Data) {
        self.report.cpu += 1;
        let CpuJob {
            line,
            access,
            start,
        } = job;
        match access {
            CpuAccess::Write { parts, stamp } => self.judge.write_ends(line, parts, stamp),
            CpuAccess::Store { parts, stamp } => {
                self.judge.write_ends(line, parts, stamp);
                self.judge.reads(line, 0xf & !parts, data, start);
            }
            CpuAccess::Increment { stamp } => {
                self.reads_counter(line, data, start);
                self.value_of_stamp.insert(stamp, data[0] + 1);
                self.report.cpu_increments += 1;
                self.incremented(line, data[0] + 1, stamp);
            }
            _ if self.counters.contains(&line) => self.reads_counter(line, data, start),
            _ => self.judge.reads(line, 0xf, data, start),
        }
        self.judge.end(start);
    }
}
