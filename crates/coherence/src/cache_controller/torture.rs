//! Random accesses from both sides on few lines, under the eyes of the [`oracle`](crate::oracle).
//!
//! Plain lines are loaded, stored, cleaned and evicted. Counters are lines whose first word is
//! incremented under an exclusive hold of the card or under a lock of the CPU: no increment may be
//! lost, so every value is reached by exactly one of them, and the last value is their number.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::controller::{Access, AccessKind, Answer, RowData, Status, ROW_WORDS};
use super::cpu::{CpuAccess, CpuFigures};
use super::model::Geometry;
use super::system::{CardError, CardSystem};
use crate::line::{Data, PlainLine, PARTS, WORDS};
use crate::oracle::{Oracle, Violation};
use crate::platform::LinkFigures;
use crate::random::Random;

/// Cycles without any completion after which a run counts as stuck.
const PATIENCE: u64 = 200_000;
/// Tags of the controller's accesses.
const TAGS: usize = 32;
/// Accesses of the CPU under way at a time.
const CPU_ACCESSES: usize = 16;
/// Words of a part.
const PART_WORDS: usize = WORDS / PARTS;

/// What is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Size of the controller.
    pub geometry: Geometry,
    /// Accesses to complete, on both sides together.
    pub operations: u64,
    /// Plain lines.
    pub lines: u64,
    /// Lines with a counter.
    pub counters: u64,
    /// The link's round trip.
    pub round_trip_ps: u64,
    /// Spread of arrivals: reordering.
    pub jitter_ps: u64,
    /// Equal seeds give equal runs.
    pub seed: u64,
}

impl Plan {
    /// Few lines on a controller of eight, a short link, and much reordering.
    #[must_use]
    pub fn small(operations: u64, seed: u64) -> Self {
        Self {
            geometry: Geometry::SMALL,
            operations,
            lines: 24,
            counters: 4,
            round_trip_ps: 40_000,
            jitter_ps: 200_000,
            seed,
        }
    }
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Accesses of the CPU that completed.
    pub cpu: u64,
    /// Accesses of the card that completed.
    pub card: u64,
    /// Increments under a hold of the card.
    pub card_increments: u64,
    /// Increments under a lock of the CPU.
    pub cpu_increments: u64,
    /// Held accesses that found their hold broken.
    pub lost: u64,
    /// Acquires that found no free hold.
    pub refused: u64,
    /// Requests, forwards, replacements and broken holds.
    pub messages: [u64; 4],
    /// Cycles.
    pub cycles: u64,
    /// Observations without explanation.
    pub unexplained: u64,
    /// The first of them.
    pub first: Option<String>,
}

/// What a tag of the card is doing.
#[derive(Clone, Debug)]
enum Task {
    Load {
        start: u64,
    },
    Store {
        start: u64,
        parts: u8,
        stamp: u64,
    },
    Evict,
    /// A hold, first on its way.
    Acquire {
        start: u64,
    },
    /// A hold that stands, as far as is known: what the row held, rounds to go.
    Held {
        hold: u8,
        row: RowData,
        rounds: u64,
        rest: u64,
    },
    /// A load, or a store if there is a stamp, under the hold.
    Access {
        hold: u8,
        row: RowData,
        rounds: u64,
        start: u64,
        stamp: Option<u64>,
    },
    Release,
}

/// A tag at work.
#[derive(Clone, Debug)]
struct Job {
    line: PlainLine,
    second: bool,
    task: Task,
}

#[derive(Clone, Copy, Debug)]
struct CpuJob {
    line: PlainLine,
    access: CpuAccess,
    start: u64,
}

struct Torture {
    system: CardSystem,
    oracle: Oracle,
    random: Random,
    lines: Vec<PlainLine>,
    counters: Vec<PlainLine>,
    hold_limit: u64,
    jobs: Vec<Option<Job>>,
    cpu: HashMap<u64, CpuJob>,
    /// Of counters: who wrote which value, and every value once.
    value_of_stamp: HashMap<u64, u64>,
    values: HashSet<(PlainLine, u64)>,
    stamps: u64,
    tokens: u64,
    report: Report,
}

/// Runs a plan to its end on a model that [`build`](super::model::build) made.
///
/// # Errors
/// [`CardError`] if controller or CPU meet what they do not know, stop, or get stuck.
pub fn run(plan: &Plan, library: &Path, link: &LinkFigures) -> Result<Report, CardError> {
    let link = LinkFigures {
        round_trip_ps: plan.round_trip_ps,
        jitter_ps: plan.jitter_ps,
        ..link.clone()
    };
    let cpu = CpuFigures {
        memory_ps: 6_000,
        jitter_ps: 60_000,
    };
    let mut random = Random::new(plan.seed);
    let mut lines: Vec<PlainLine> = (0..plan.lines + plan.counters)
        .map(|_| PlainLine(random.below(1 << 33)))
        .collect();
    lines.dedup();
    let counters = lines.split_off(plan.lines as usize);
    let mut torture = Torture {
        system: CardSystem::new(library, plan.geometry, &link, cpu, 3106, 4, plan.seed)?,
        oracle: Oracle::new(),
        random,
        lines,
        counters,
        hold_limit: plan.geometry.hold_limit as u64,
        jobs: vec![None; TAGS],
        cpu: HashMap::new(),
        value_of_stamp: HashMap::from([(0, 0)]),
        values: HashSet::new(),
        stamps: 0,
        tokens: 0,
        report: Report::default(),
    };
    torture.run(plan.operations)?;
    Ok(torture.report)
}

impl Torture {
    fn run(&mut self, operations: u64) -> Result<(), CardError> {
        let (mut done, mut since) = (0, 0);
        while done < operations {
            self.card_work(true);
            self.cpu_work(true);
            self.cycle()?;
            let now = self.report.cpu + self.report.card;
            since = if now == done { since + 1 } else { 0 };
            done = now;
            self.check_progress(since)?;
        }
        self.finish()
    }

    /// Lets everything end, then compares memory, after all copies came home, with what was done.
    fn finish(&mut self) -> Result<(), CardError> {
        self.drain()?;
        let all: Vec<_> = self.lines.iter().chain(&self.counters).copied().collect();
        for line in all {
            while self.free_tag().is_none() {
                self.card_work(false);
                self.cycle()?;
            }
            self.start_evict(line);
            self.system.cpu.give_up(line);
        }
        self.drain()?;
        for line in self.lines.clone() {
            let start = self.oracle.begin();
            let memory = self.system.cpu.memory(line);
            self.reads(line, 0xf, &memory, start);
            self.oracle.end(start);
        }
        let mut total = 0;
        for line in self.counters.clone() {
            let value = self.system.cpu.memory(line)[0];
            let reached = self.values.iter().filter(|(at, _)| *at == line).count() as u64;
            if value != reached {
                self.complain(format!(
                    "counter {:#x} ends at {value} after {reached} increments",
                    line.0
                ));
            }
            total += value;
        }
        if total != self.report.card_increments + self.report.cpu_increments {
            self.complain(format!("the counters end at {total} in sum"));
        }
        let counts = self.system.card.counts;
        self.report.messages = [
            counts.requests,
            counts.forwards,
            counts.evictions,
            counts.broken,
        ];
        self.report.cycles = self.system.cycles();
        self.report.unexplained += self.oracle.violations();
        if self.report.first.is_none() {
            self.report.first = self.oracle.first().map(Violation::to_string);
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), CardError> {
        let mut since = 0;
        while self.jobs.iter().any(Option::is_some)
            || !self.cpu.is_empty()
            || !self.system.is_quiet()
        {
            self.card_work(false);
            self.cpu_work(false);
            self.cycle()?;
            since += 1;
            self.check_progress(since)?;
        }
        Ok(())
    }

    fn check_progress(&self, since: u64) -> Result<(), CardError> {
        if since < PATIENCE {
            return Ok(());
        }
        let card: Vec<_> = self.jobs.iter().flatten().collect();
        let what = format!(
            "{} accesses of the CPU; of the card {card:?}",
            self.cpu.len()
        );
        Err(CardError::Stuck {
            cycles: since,
            what,
        })
    }

    fn stamp(&mut self) -> u64 {
        self.stamps += 1;
        self.stamps
    }

    fn any_line(&mut self) -> (PlainLine, bool) {
        let (plain, counters) = (self.lines.len() as u64, self.counters.len() as u64);
        // Counters are as busy as all plain lines together.
        let counter = counters > 0 && self.random.chance(1, 2);
        let from = if counter { &self.counters } else { &self.lines };
        let index = self.random.below(if counter { counters } else { plain });
        (from[index as usize], counter)
    }

    fn complain(&mut self, what: String) {
        tracing::error!("{what}");
        self.report.unexplained += 1;
        self.report.first.get_or_insert(what);
    }

    // --- what was seen -------------------------------------------------------------------------

    fn write_begins(&mut self, line: PlainLine, parts: u8, stamp: u64, start: u64) {
        for part in places(parts) {
            self.oracle.write_begins((line.0, part), stamp, start);
        }
    }

    fn write_ends(&mut self, line: PlainLine, parts: u8, stamp: u64) {
        for part in places(parts) {
            self.oracle.write_ends((line.0, part), stamp);
        }
    }

    /// Parts of a plain line were read.
    fn reads(&mut self, line: PlainLine, parts: u8, data: &Data, start: u64) {
        for part in places(parts) {
            let words = &data[usize::from(part) * PART_WORDS..][..PART_WORDS];
            if words.iter().any(|word| *word != words[0]) {
                self.complain(format!(
                    "line {:#x} part {part} is torn: {words:x?}",
                    line.0
                ));
            }
            self.oracle.read((line.0, part), words[0], start);
        }
    }

    fn reads_row(&mut self, line: PlainLine, second: bool, row: &RowData, start: u64) {
        let mut data = [0; WORDS];
        let half = usize::from(second);
        data[half * ROW_WORDS..][..ROW_WORDS].copy_from_slice(row);
        self.reads(line, 0b11 << (2 * half), &data, start);
    }

    /// A counter was read: its value is the one that its stamp was written with.
    fn reads_counter(&mut self, line: PlainLine, words: &[u64], start: u64) {
        let (value, stamp) = (words[0], words[1]);
        if words[1..PART_WORDS].iter().any(|word| *word != stamp)
            || self.value_of_stamp.get(&stamp) != Some(&value)
        {
            self.complain(format!("counter {:#x} is torn: {words:x?}", line.0));
        }
        self.oracle.read((line.0, 0), stamp, start);
    }

    /// An increment succeeded.
    fn incremented(&mut self, line: PlainLine, value: u64, stamp: u64) {
        self.write_ends(line, 1, stamp);
        if !self.values.insert((line, value)) {
            self.complain(format!(
                "two increments of counter {:#x} reached {value}",
                line.0
            ));
        }
    }

    // --- the card ------------------------------------------------------------------------------

    fn free_tag(&self) -> Option<usize> {
        self.jobs.iter().position(Option::is_none)
    }

    fn issue(&mut self, tag: usize, kind: AccessKind, hold: Option<u8>, data: (RowData, u64)) {
        let Some(job) = &self.jobs[tag] else { return };
        let access = Access {
            kind,
            hold,
            tag: tag as u8,
            line: job.line,
            second: job.second,
            row: data.0,
            strobe: data.1,
        };
        self.system.card.accesses.push_back(access);
    }

    fn set(&mut self, tag: usize, task: Task) {
        if let Some(job) = &mut self.jobs[tag] {
            job.task = task;
        }
    }

    fn start_evict(&mut self, line: PlainLine) {
        if let Some(tag) = self.free_tag() {
            self.jobs[tag] = Some(Job {
                line,
                second: false,
                task: Task::Evict,
            });
            self.issue(tag, AccessKind::Evict, None, NOTHING);
        }
    }

    /// Starts an access on a free tag, and lets one holder go on.
    fn card_work(&mut self, start: bool) {
        for tag in 0..TAGS {
            let Some(Job {
                task:
                    Task::Held {
                        hold,
                        row,
                        rounds,
                        rest,
                    },
                ..
            }) = self.jobs[tag].clone()
            else {
                continue;
            };
            if rest > 0 {
                let rest = rest - 1;
                self.set(
                    tag,
                    Task::Held {
                        hold,
                        row,
                        rounds,
                        rest,
                    },
                );
            } else {
                self.use_hold(tag, hold, row, rounds);
            }
        }
        if !start || self.system.card.accesses.len() > 2 {
            return;
        }
        let Some(tag) = self.free_tag() else { return };
        let (line, counter) = self.any_line();
        let second = !counter && self.random.chance(1, 2);
        let choice = self.random.below(16);
        if choice == 0 {
            return self.start_evict(line);
        }
        let oracle_start = self.oracle.begin();
        let (task, kind, data) = match (counter, choice) {
            (true, 1..=11) | (false, 1..=2) => (
                Task::Acquire {
                    start: oracle_start,
                },
                AccessKind::Acquire,
                NOTHING,
            ),
            (true, _) | (false, 3..=8) => (
                Task::Load {
                    start: oracle_start,
                },
                AccessKind::Load,
                NOTHING,
            ),
            (false, _) => {
                let half = 2 * u8::from(second);
                let parts = (1 + self.random.below(3) as u8) << half;
                let stamp = self.stamp();
                self.write_begins(line, parts, stamp, oracle_start);
                let strobe = strobe_of(parts >> half);
                let task = Task::Store {
                    start: oracle_start,
                    parts,
                    stamp,
                };
                (task, AccessKind::Store, ([stamp; ROW_WORDS], strobe))
            }
        };
        self.jobs[tag] = Some(Job { line, second, task });
        self.issue(tag, kind, None, data);
    }

    /// The next step under a hold.
    fn use_hold(&mut self, tag: usize, hold: u8, row: RowData, rounds: u64) {
        let Some(Job { line, second, .. }) = self.jobs[tag].clone() else {
            return;
        };
        if rounds == 0 {
            self.set(tag, Task::Release);
            return self.issue(tag, AccessKind::Release, Some(hold), NOTHING);
        }
        let start = self.oracle.begin();
        let counter = self.counters.contains(&line);
        let access = |torture: &mut Self, stamp, kind, data| {
            torture.set(
                tag,
                Task::Access {
                    hold,
                    row,
                    rounds: rounds - 1,
                    start,
                    stamp,
                },
            );
            torture.issue(tag, kind, Some(hold), data);
        };
        if !self.random.chance(2, 3) {
            return access(self, None, AccessKind::Load, NOTHING);
        }
        let stamp = self.stamp();
        let mut data = [stamp; ROW_WORDS];
        let parts = if counter {
            data[0] = row[0] + 1;
            self.value_of_stamp.insert(stamp, data[0]);
            1
        } else {
            3 << (2 * u8::from(second))
        };
        self.write_begins(line, parts, stamp, start);
        let strobe = if counter { strobe_of(1) } else { u64::MAX };
        access(self, Some(stamp), AccessKind::Store, (data, strobe));
    }

    fn sees_row(&mut self, job: &Job, row: &RowData, start: u64) {
        if self.counters.contains(&job.line) {
            self.reads_counter(job.line, row, start);
        } else {
            self.reads_row(job.line, job.second, row, start);
        }
    }

    fn answered(&mut self, answer: &Answer) {
        let tag = usize::from(answer.tag);
        let Some(job) = self.jobs[tag].take() else {
            return self.complain(format!("an answer that nobody waits for: tag {tag}"));
        };
        self.report.card += 1;
        match (job.task.clone(), answer.status) {
            (Task::Load { start }, Status::Ok) => {
                self.sees_row(&job, &answer.row, start);
                self.oracle.end(start);
            }
            (
                Task::Store {
                    start,
                    parts,
                    stamp,
                },
                Status::Ok,
            ) => {
                self.write_ends(job.line, parts, stamp);
                self.oracle.end(start);
            }
            (Task::Evict, Status::Ok) => {}
            (Task::Acquire { start }, Status::Ok) => {
                self.sees_row(&job, &answer.row, start);
                self.oracle.end(start);
                self.jobs[tag] = Some(job);
                let rounds = self.random.below(4);
                self.hold_on(tag, answer.hold, answer.row, rounds);
            }
            (Task::Acquire { start }, Status::Refused) => {
                self.report.refused += 1;
                self.oracle.end(start);
            }
            (
                Task::Access {
                    hold,
                    row,
                    rounds,
                    start,
                    stamp,
                },
                status,
            ) => {
                let mut now = row;
                match (stamp, status) {
                    (Some(stamp), Status::Ok) => now = self.held_store_done(&job, &row, stamp),
                    (Some(stamp), Status::Lost) => self.withdraw(&job, stamp),
                    (None, Status::Ok) => {
                        self.sees_row(&job, &answer.row, start);
                        if answer.row != row {
                            let (line, seen) = (job.line.0, answer.row);
                            self.complain(format!(
                                "line {line:#x} changed under a hold: {row:x?}, then {seen:x?}"
                            ));
                        }
                    }
                    _ => {}
                }
                self.oracle.end(start);
                self.jobs[tag] = Some(job);
                if status == Status::Ok {
                    self.hold_on(tag, hold, now, rounds);
                } else {
                    self.report.lost += 1;
                    self.use_hold(tag, hold, now, 0);
                }
            }
            (Task::Release, Status::Ok | Status::Lost) => {}
            (task, status) => self.complain(format!("{task:?} was answered {status:?}")),
        }
    }

    fn hold_on(&mut self, tag: usize, hold: u8, row: RowData, rounds: u64) {
        // Some owners rest for too long.
        let rest = match self.random.below(64) {
            0 => self.random.below(3 * self.hold_limit),
            1..=8 => self.random.below(50),
            _ => 0,
        };
        self.set(
            tag,
            Task::Held {
                hold,
                row,
                rounds,
                rest,
            },
        );
    }

    fn held_store_done(&mut self, job: &Job, row: &RowData, stamp: u64) -> RowData {
        if self.counters.contains(&job.line) {
            let mut now = *row;
            now[0] += 1;
            now[1..PART_WORDS].fill(stamp);
            self.report.card_increments += 1;
            self.incremented(job.line, now[0], stamp);
            return now;
        }
        self.write_ends(job.line, 3 << (2 * u8::from(job.second)), stamp);
        [stamp; ROW_WORDS]
    }

    /// A store that was answered `Lost` did not take place.
    fn withdraw(&mut self, job: &Job, stamp: u64) {
        let parts = if self.counters.contains(&job.line) {
            self.value_of_stamp.remove(&stamp);
            1
        } else {
            3 << (2 * u8::from(job.second))
        };
        for part in places(parts) {
            self.oracle.write_withdrawn((job.line.0, part), stamp);
        }
    }

    // --- the CPU -------------------------------------------------------------------------------

    fn cpu_work(&mut self, start: bool) {
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
        let start = self.oracle.begin();
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
                self.write_begins(line, parts, stamp, start);
            }
            CpuAccess::Increment { stamp } => self.write_begins(line, 1, stamp, start),
            _ => {}
        }
        self.tokens += 1;
        let job = CpuJob {
            line,
            access,
            start,
        };
        self.cpu.insert(self.tokens, job);
        self.system.cpu.access(line, access, self.tokens);
        self.take_cpu_done();
    }

    fn cpu_done(&mut self, job: CpuJob, data: &Data) {
        self.report.cpu += 1;
        let CpuJob {
            line,
            access,
            start,
        } = job;
        match access {
            CpuAccess::Write { parts, stamp } => self.write_ends(line, parts, stamp),
            CpuAccess::Store { parts, stamp } => {
                self.write_ends(line, parts, stamp);
                self.reads(line, 0xf & !parts, data, start);
            }
            CpuAccess::Increment { stamp } => {
                self.reads_counter(line, data, start);
                self.value_of_stamp.insert(stamp, data[0] + 1);
                self.report.cpu_increments += 1;
                self.incremented(line, data[0] + 1, stamp);
            }
            _ if self.counters.contains(&line) => self.reads_counter(line, data, start),
            _ => self.reads(line, 0xf, data, start),
        }
        self.oracle.end(start);
    }

    fn take_cpu_done(&mut self) {
        for done in std::mem::take(&mut self.system.cpu.done) {
            if let Some(job) = self.cpu.remove(&done.token) {
                self.cpu_done(job, &done.data);
            }
        }
    }

    fn cycle(&mut self) -> Result<(), CardError> {
        self.system.cycle()?;
        self.take_cpu_done();
        for (_, answer) in std::mem::take(&mut self.system.card.answers) {
            self.answered(&answer);
        }
        Ok(())
    }
}

const NOTHING: (RowData, u64) = ([0; ROW_WORDS], 0);

/// The bytes of parts of a row.
fn strobe_of(parts: u8) -> u64 {
    let part = |bit: u8| {
        if parts >> bit & 1 == 1 {
            0xffff_ffff << (32 * bit)
        } else {
            0
        }
    };
    part(0) | part(1)
}

fn places(parts: u8) -> impl Iterator<Item = u8> {
    (0..PARTS as u8).filter(move |part| parts >> part & 1 == 1)
}
