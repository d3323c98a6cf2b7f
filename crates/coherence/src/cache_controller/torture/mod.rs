//! Random accesses from both sides on few lines, under the eyes of the [`judge`](crate::judge).
//!
//! Plain lines are loaded, stored, cleaned and evicted. Counters are lines whose first word is
//! incremented under an exclusive hold of the card or under a lock of the CPU: no increment may be
//! lost, so every value is reached by exactly one of them, and the last value is their number.

mod card;
mod cpu;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use ::cpu::home::HomeFigures;
use card::{Job, TAGS};
use cpu::CpuJob;

use super::controller::{RowData, ROW_WORDS};
use super::model::{ControllerGeometry, ControllerModel};
use super::system::{CardError, CardSystem, SystemSetting};
use crate::judge::{Judge, PART_WORDS};
use crate::line::{PlainLine, WORDS};
use crate::platform::LinkFigures;
use crate::random::Random;

/// Cycles without any completion after which a run counts as stuck.
const TIMEOUT_CYCLES: u64 = 200_000;

/// Cycles of traffic before a reset, at most: enough that sets, queues and holds are in use.
const MOST_BEFORE_RESET: u64 = 3_000;

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct ControllerPlan {
    /// Size of the controller.
    pub geometry: ControllerGeometry,
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
    /// Resets in the middle of such traffic before the run: behind each, CPU and link are new.
    pub resets: u64,
    /// Equal seeds give equal runs.
    pub seed: u64,
}

impl ControllerPlan {
    /// Few lines on a controller of eight, a short link, and much reordering.
    #[must_use]
    pub fn small(operations: u64, seed: u64) -> Self {
        Self {
            geometry: ControllerGeometry::SMALL,
            operations,
            lines: 24,
            counters: 4,
            round_trip_ps: 40_000,
            jitter_ps: 200_000,
            resets: 0,
            seed,
        }
    }
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControllerReport {
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
    /// Cycles of the run.
    pub cycles: u64,
    /// Observations without explanation.
    pub unexplained: u64,
    /// The first of them.
    pub first: Option<String>,
}

struct ControllerTorture {
    system: CardSystem,
    judge: Judge,
    random: Random,
    lines: Vec<PlainLine>,
    counters: Vec<PlainLine>,
    hold_limit: u64,
    jobs: Vec<Option<Job>>,
    /// Target of the card's last access.
    last: Option<(PlainLine, bool)>,
    cpu: HashMap<u64, CpuJob>,
    /// Of counters: who wrote which value, and every value once.
    value_of_stamp: HashMap<u64, u64>,
    values: HashSet<(PlainLine, u64)>,
    stamps: u64,
    tokens: u64,
    report: ControllerReport,
}

/// Runs a plan to its end on a model that [`build`](super::model::build) made.
///
/// # Errors
/// [`CardError`] if controller or CPU meet what they do not know, stop, or get stuck.
pub fn run(
    plan: &ControllerPlan,
    library: &Path,
    link: &LinkFigures,
) -> Result<ControllerReport, CardError> {
    let mut model = ControllerModel::load(library)?;
    for reset in 1..=plan.resets {
        let mut torture = start(model, plan, plan.seed + reset, link)?;
        for _ in 0..torture.random.below(MOST_BEFORE_RESET) {
            torture.step()?;
        }
        model = torture.system.card.into_model();
    }
    let mut torture = start(model, plan, plan.seed, link)?;
    torture.run(plan.operations)?;
    Ok(torture.report)
}

/// Resets the model and surrounds it anew.
fn start(
    model: ControllerModel,
    plan: &ControllerPlan,
    seed: u64,
    link: &LinkFigures,
) -> Result<ControllerTorture, CardError> {
    let link = LinkFigures {
        round_trip_ps: plan.round_trip_ps,
        jitter_ps: plan.jitter_ps,
        ..link.clone()
    };
    let cpu = HomeFigures {
        memory_ps: 6_000,
        jitter_ps: 60_000,
    };
    let mut random = Random::new(seed);
    let mut lines: Vec<PlainLine> = (0..plan.lines + plan.counters)
        .map(|_| PlainLine(random.below(1 << 33)))
        .collect();
    lines.dedup();
    let counters = lines.split_off(plan.lines as usize);
    let setting = SystemSetting {
        geometry: plan.geometry,
        link: &link,
        cpu,
        period: 3106,
        stalls: 4,
        seed,
    };
    Ok(ControllerTorture {
        system: CardSystem::new(model, &setting)?,
        judge: Judge::default(),
        random,
        lines,
        counters,
        hold_limit: plan.geometry.hold_limit as u64,
        jobs: vec![None; TAGS],
        last: None,
        cpu: HashMap::new(),
        value_of_stamp: HashMap::from([(0, 0)]),
        values: HashSet::new(),
        stamps: 0,
        tokens: 0,
        report: ControllerReport::default(),
    })
}

impl ControllerTorture {
    fn run(&mut self, operations: u64) -> Result<(), CardError> {
        let (mut done, mut since) = (0, 0);
        while done < operations {
            self.step()?;
            let now = self.report.cpu + self.report.card;
            since = if now == done { since + 1 } else { 0 };
            done = now;
            self.check_progress(since)?;
        }
        self.finish()
    }

    fn step(&mut self) -> Result<(), CardError> {
        self.card_work(true);
        self.cpu_work(true);
        self.cycle()
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
            let start = self.judge.begin();
            let memory = self.system.cpu.memory(line);
            self.judge.reads(line, 0xf, &memory, start);
            self.judge.end(start);
        }
        let mut total = 0;
        for line in self.counters.clone() {
            let value = self.system.cpu.memory(line)[0];
            let reached = self.values.iter().filter(|(at, _)| *at == line).count() as u64;
            if value != reached {
                self.judge.complain(format!(
                    "counter {:#x} ends at {value} after {reached} increments",
                    line.0
                ));
            }
            total += value;
        }
        if total != self.report.card_increments + self.report.cpu_increments {
            self.judge
                .complain(format!("the counters end at {total} in sum"));
        }
        let counts = self.system.card.counts;
        self.report.messages = [
            counts.requests,
            counts.forwards,
            counts.evictions,
            counts.broken,
        ];
        self.report.cycles = self.system.cycles();
        (self.report.unexplained, self.report.first) = self.judge.verdict();
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
        if since < TIMEOUT_CYCLES {
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

    fn reads_row(&mut self, line: PlainLine, second: bool, row: &RowData, start: u64) {
        let mut data = [0; WORDS];
        let half = usize::from(second);
        data[half * ROW_WORDS..][..ROW_WORDS].copy_from_slice(row);
        self.judge.reads(line, 0b11 << (2 * half), &data, start);
    }

    /// A counter was read: its value is the one that its stamp was written with.
    fn reads_counter(&mut self, line: PlainLine, words: &[u64], start: u64) {
        let (value, stamp) = (words[0], words[1]);
        if words[1..PART_WORDS].iter().any(|word| *word != stamp)
            || self.value_of_stamp.get(&stamp) != Some(&value)
        {
            self.judge
                .complain(format!("counter {:#x} is torn: {words:x?}", line.0));
        }
        self.judge.reads_stamp(line, 0, stamp, start);
    }

    /// An increment succeeded.
    fn incremented(&mut self, line: PlainLine, value: u64, stamp: u64) {
        self.judge.write_ends(line, 1, stamp);
        if !self.values.insert((line, value)) {
            self.judge.complain(format!(
                "two increments of counter {:#x} reached {value}",
                line.0
            ));
        }
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
