//! Kernel `snapshot` and the CPU's cores that read its record. The bar `app.snapshot` measures with it, too.

use std::collections::VecDeque;
use tombolo::{
    AddressSpace, Card, CoherentMemory, Continue, Error, PendingLine, Picoseconds, ShellConfig,
    SimOptions, Slot, SlotId,
};

const BASE: u64 = 0x1000_0000;
const LINE: u64 = 128;
/// Of the record.
pub const LINES: usize = 32;
/// Cores that may read.
pub const READERS: usize = 8;

/// How cores get a record whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The kernel shows each reader one version.
    Snapshots,
    /// A sequence lock: readers look whether the version is still the same, and begin anew if not.
    SequenceLock,
}

/// Result of a run.
#[derive(Debug, Default)]
pub struct Run {
    /// Whole records that the readers got.
    pub reads: u64,
    /// Nanoseconds from the first load to the last answer.
    pub ns: f64,
    /// Nanoseconds of the longest read, from its beginning until it was whole.
    pub longest_ns: f64,
    /// Times that a reader had to begin anew.
    pub retries: u64,
    /// Reads that were of no version, or of an older one than was seen before they began.
    pub wrong: u64,
    /// Versions that the kernel made.
    pub versions: u64,
}

type Line = [u8; LINE as usize];

/// The access that a reader waits for.
enum Stage {
    First(PendingLine),
    Rest(Line, Vec<PendingLine>),
    Again(Vec<Line>, PendingLine),
}

/// Result of a reader's step.
enum Next {
    Stage(Stage),
    Whole(Vec<Line>),
}

/// A read that has begun.
struct Reading {
    core: u8,
    began: Picoseconds,
    /// The newest version that anybody had seen by then.
    floor: u64,
}

/// The record, on a card of its own.
pub struct Record {
    way: Way,
    _card: Card,
    _space: AddressSpace,
    slot: Slot,
    memory: CoherentMemory,
    /// Which version changed each line last, of every version.
    last: Vec<[u64; LINES]>,
    /// The line that the next version changes first, after line 0.
    first: u64,
    /// The newest version that anybody has seen.
    seen: u64,
}

fn word(line: &[u8], place: usize) -> u64 {
    let bytes = line[8 * place..8 * place + 8].try_into();
    bytes.map_or(0, u64::from_le_bytes)
}

fn version_of(line: &[u8]) -> u64 {
    word(line, 0) >> 16
}

impl Record {
    /// A record of zeroes.
    pub fn new(way: Way) -> Result<Self, Error> {
        let mut options = SimOptions::named("enzian")?;
        options.shell = ShellConfig::coherent();
        let kernel = options.home.join("kernels/snapshot");
        let card = Card::simulated(options, Default::default(), |step| eprintln!("{step}"))?;
        let space = card.create_space()?;
        let slot = card.load(SlotId(0), &kernel, &space)?;
        slot.set("base", BASE)?;
        slot.set("plain", u64::from(way == Way::SequenceLock))?;
        let memory = card.coherent_memory(BASE, (READERS * LINES) as u64 * LINE)?;
        Ok(Self {
            way,
            _card: card,
            _space: space,
            slot,
            memory,
            last: vec![[0; LINES]],
            first: 0,
            seen: 0,
        })
    }

    /// The rule of `snapshot_source.sv`: which lines the next versions change.
    fn extend(&mut self, versions: u64, changes: u64) {
        let others = LINES as u64 - 1;
        for _ in 0..versions {
            let number = self.last.len() as u64;
            let mut lines = self.last[self.last.len() - 1];
            lines[0] = number;
            for n in 0..changes {
                lines[1 + ((self.first + n) % others) as usize] = number;
            }
            self.first = (self.first + changes) % others;
            self.last.push(lines);
        }
    }

    /// All lines are of the version that the first one names.
    fn is_whole(&self, lines: &[Line]) -> bool {
        let Some(last) = self.last.get(version_of(&lines[0]) as usize) else {
            return false;
        };
        let of = |line: usize, place: usize| match last[line] {
            0 => 0,
            number => number << 16 | (16 * line + place) as u64,
        };
        lines
            .iter()
            .enumerate()
            .all(|(line, bytes)| (0..16).all(|place| word(bytes, place) == of(line, place)))
    }

    /// A core begins to load a line of the record.
    fn load(&self, core: u8, line: usize) -> Result<PendingLine, Error> {
        let window = match self.way {
            Way::Snapshots => usize::from(core),
            Way::SequenceLock => 0,
        };
        let place = (window * LINES + line) as u64;
        self.memory.on_core(core).begin_load(place * LINE)
    }

    fn begin(&self, core: u8) -> Result<(Reading, Stage), Error> {
        let reading = Reading {
            core,
            began: self.memory.now()?,
            floor: self.seen,
        };
        Ok((reading, Stage::First(self.load(core, 0)?)))
    }

    /// Waits for what a reader waits for.
    fn go_on(&mut self, core: u8, stage: Stage, run: &mut Run) -> Result<Next, Error> {
        match stage {
            Stage::First(load) => {
                let line = load.wait()?;
                self.seen = self.seen.max(version_of(&line));
                let rest: Result<_, Error> = (1..LINES).map(|n| self.load(core, n)).collect();
                Ok(Next::Stage(Stage::Rest(line, rest?)))
            }
            Stage::Rest(first, rest) => {
                let mut lines = vec![first];
                for load in rest {
                    lines.push(load.wait()?);
                }
                match self.way {
                    Way::Snapshots => Ok(Next::Whole(lines)),
                    Way::SequenceLock => Ok(Next::Stage(Stage::Again(lines, self.load(core, 0)?))),
                }
            }
            Stage::Again(lines, load) => {
                if version_of(&load.wait()?) == version_of(&lines[0]) {
                    return Ok(Next::Whole(lines));
                }
                run.retries += 1;
                Ok(Next::Stage(Stage::First(self.load(core, 0)?)))
            }
        }
    }

    /// The first cores read whole records until each has seen the last version of a run. Each version changes the
    /// first line and `changes` others; the next one begins `pace` cycles after one is there.
    pub fn run(
        &mut self,
        readers: usize,
        versions: u64,
        changes: u64,
        pace: u64,
    ) -> Result<Run, Error> {
        self.extend(versions, changes);
        let last = self.last.len() as u64 - 1;
        let arguments = [("versions", versions), ("changes", changes), ("pace", pace)];
        for (argument, value) in arguments {
            self.slot.set(argument, value)?;
        }
        self.slot.start()?;
        self.settle()?;
        let mut run = self.read(readers, last)?;
        run.versions = versions;
        self.slot.wait(None, |_| Continue::Yes)?;
        Ok(run)
    }

    /// The first cores read whole records until each has seen version `last`.
    fn read(&mut self, readers: usize, last: u64) -> Result<Run, Error> {
        let mut run = Run::default();
        let began = self.memory.now()?;
        let mut reading = VecDeque::new();
        for core in 0..readers {
            reading.push_back(self.begin(core as u8)?);
        }
        while let Some((read, stage)) = reading.pop_front() {
            let lines = match self.go_on(read.core, stage, &mut run)? {
                Next::Whole(lines) => lines,
                Next::Stage(stage) => {
                    reading.push_back((read, stage));
                    continue;
                }
            };
            let ns = (self.memory.now()? - read.began).get() as f64 / 1000.0;
            let version = version_of(&lines[0]);
            run.reads += 1;
            run.longest_ns = run.longest_ns.max(ns);
            run.wrong += u64::from(!self.is_whole(&lines) || version < read.floor);
            if version != last {
                reading.push_back(self.begin(read.core)?);
            }
        }
        run.ns = (self.memory.now()? - began).get() as f64 / 1000.0;
        Ok(run)
    }

    /// Nanoseconds of a read if `changes` lines in addition to the first have changed since the previous read.
    pub fn changed_ns(&mut self, changes: u64) -> Result<f64, Error> {
        self.run(1, 1, changes, 0)?;
        self.extend(1, changes);
        self.slot.start()?;
        self.slot.wait(None, |_| Continue::Yes)?;
        self.settle()?;
        Ok(self.read(1, self.last.len() as u64 - 1)?.longest_ns)
    }

    /// The first access after a write to a register waits until the card has it. A line that the CPU does not have is
    /// given up: that costs no message.
    fn settle(&self) -> Result<(), Error> {
        self.memory.flush(self.memory.bytes() - LINE)
    }

    /// Nanoseconds of a read when nothing has changed since the one before.
    pub fn unchanged_ns(&mut self) -> Result<f64, Error> {
        let last = self.last.len() as u64 - 1;
        self.read(1, last)?;
        Ok(self.read(1, last)?.longest_ns)
    }
}
