//! Random coherent operations from both sides on few lines, under the eyes of the [`judge`](crate::judge).

use std::collections::HashMap;
use std::path::Path;

use crate::cache::{Access, Cache, Outcome};
use crate::home::{Acknowledge, Directory, HomeError, Operation, OperationKind, Surroundings};
use crate::judge::Judge;
use crate::line::{write_parts, Data, PlainLine, WORDS};
use crate::model::{build, DirectoryGeometry, DirectoryModel};
use crate::platform::LinkFigures;
use crate::random::Random;
use crate::system::{mesi, System, SystemError};

/// Cycles without any completion after which a run counts as stuck.
const TIMEOUT_CYCLES: u64 = 400_000;

/// Cycles of traffic before a reset, at most: enough that places, queues and timers are in use.
const MOST_BEFORE_RESET: u64 = 3_000;

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct DirectoryPlan {
    /// Size of directory and cache.
    pub geometry: DirectoryGeometry,
    /// Accesses and operations to complete.
    pub operations: u64,
    /// Lines that they fall on.
    pub lines: u64,
    /// Operations of the card under way at a time, a slice; at most 64.
    pub card_operations: usize,
    /// The link's round trip.
    pub round_trip_ps: u64,
    /// Spread of arrivals: reordering.
    pub jitter_ps: u64,
    /// Resets in the middle of such traffic before the run: behind each, CPU, link and memory are new.
    pub resets: u64,
    /// Equal seeds give equal runs.
    pub seed: u64,
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryReport {
    /// Accesses of the CPU that completed.
    pub cpu: u64,
    /// Operations of the card that completed.
    pub card: u64,
    /// Cycles of the run.
    pub cycles: u64,
    /// Observations without explanation, and copies that the CPU had of locked lines.
    pub unexplained: u64,
    /// The first of them.
    pub first: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    Free,
    /// A lock or an unlock is under way.
    Moving,
    Held,
}

#[derive(Clone, Copy, Debug)]
struct PendingCpuAccess {
    line: PlainLine,
    access: Access,
    start: u64,
}

#[derive(Clone, Copy, Debug)]
struct CardOperation {
    line: PlainLine,
    kind: OperationKind,
    parts: u8,
    stamp: u64,
    start: u64,
}

struct DirectoryTorture {
    system: System<Directory>,
    judge: Judge,
    random: Random,
    lines: Vec<PlainLine>,
    locks: HashMap<PlainLine, Lock>,
    cpu: HashMap<u64, PendingCpuAccess>,
    card: Vec<Vec<Option<CardOperation>>>,
    stamps: u64,
    tokens: u64,
    report: DirectoryReport,
}

/// Runs a plan to its end.
///
/// # Errors
/// [`SystemError`] if the directory reports an error, stops, or gets stuck.
pub fn run(plan: &DirectoryPlan, link: &LinkFigures) -> Result<DirectoryReport, SystemError> {
    let library = build(plan.geometry).map_err(HomeError::from)?;
    run_on(&library, plan, link)
}

/// The same on a model of the plan's geometry that was built before.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    library: &Path,
    plan: &DirectoryPlan,
    link: &LinkFigures,
) -> Result<DirectoryReport, SystemError> {
    let mut model = DirectoryModel::load(library, plan.geometry.slices).map_err(HomeError::from)?;
    for reset in 1..=plan.resets {
        let mut torture = start(model, plan, plan.seed + reset, link)?;
        for _ in 0..torture.random.below(MOST_BEFORE_RESET) {
            torture.step()?;
        }
        model = torture.system.home.into_model();
    }
    let mut torture = start(model, plan, plan.seed, link)?;
    torture.run(plan.operations)?;
    Ok(torture.report)
}

/// Resets the model and surrounds it anew.
fn start(
    model: DirectoryModel,
    plan: &DirectoryPlan,
    seed: u64,
    link: &LinkFigures,
) -> Result<DirectoryTorture, SystemError> {
    let protocol = mesi()?;
    let surroundings = Surroundings {
        memory_latency: 2,
        stalls: 4,
        disorder: true,
    };
    let geometry = plan.geometry;
    let rules = &protocol.spec;
    let home = Directory::from_model(model, geometry, rules, surroundings, seed)?;
    let cache = Cache::new(
        protocol,
        geometry.total_sets(),
        geometry.ways,
        geometry.slices,
    )
    .with_requests(geometry.request_ids as u8);
    let link = LinkFigures {
        round_trip_ps: plan.round_trip_ps,
        jitter_ps: plan.jitter_ps,
        ..link.clone()
    };
    let mut random = Random::new(seed);
    // A quarter are the first of memory: their tag is what the directory's places hold before first use.
    let lines = (0..plan.lines)
        .map(|i| match i % 4 {
            0 => PlainLine(i / 4),
            _ => PlainLine(random.below(1 << 33)),
        })
        .collect();
    Ok(DirectoryTorture {
        system: System::new(cache, home, &link, 3106, geometry.slices, seed),
        judge: Judge::default(),
        random,
        lines,
        locks: HashMap::new(),
        cpu: HashMap::new(),
        card: vec![vec![None; plan.card_operations.min(64)]; geometry.slices],
        stamps: 0,
        tokens: 0,
        report: DirectoryReport::default(),
    })
}

impl DirectoryTorture {
    fn run(&mut self, operations: u64) -> Result<(), SystemError> {
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

    fn step(&mut self) -> Result<(), SystemError> {
        self.cpu_access();
        self.cpu_access();
        self.card_operation();
        self.cycle()
    }

    fn check_progress(&self, since: u64) -> Result<(), SystemError> {
        if since < TIMEOUT_CYCLES {
            return Ok(());
        }
        let card = self.card.iter().flatten().flatten().count();
        let what = format!("{} accesses and {card} operations", self.cpu.len());
        Err(SystemError::Stuck {
            cycles: since,
            what,
        })
    }

    /// Lets everything end, then reads every line from the card.
    fn finish(&mut self) -> Result<(), SystemError> {
        let lines = self.lines.clone();
        let mut since = 0;
        // Locked lines may fill a set that a lock on its way needs: unlock whatever is held, again
        // and again.
        while lines.iter().any(|line| self.lock(*line) != Lock::Free) {
            for &line in &lines {
                if self.lock(line) == Lock::Held {
                    self.issue(line, OperationKind::Unlock);
                }
            }
            self.cycle()?;
            since += 1;
            self.check_progress(since)?;
        }
        for line in lines {
            while !self.issue(line, OperationKind::Read) {
                self.cycle()?;
                since += 1;
                self.check_progress(since)?;
            }
        }
        while self.card.iter().flatten().any(Option::is_some) || !self.cpu.is_empty() {
            self.cycle()?;
            since += 1;
            self.check_progress(since)?;
        }
        self.report.cycles = self.system.cycles();
        (self.report.unexplained, self.report.first) = self.judge.verdict();
        Ok(())
    }

    fn line(&mut self) -> PlainLine {
        let index = self.random.below(self.lines.len() as u64) as usize;
        self.lines[index]
    }

    fn lock(&self, line: PlainLine) -> Lock {
        self.locks.get(&line).copied().unwrap_or(Lock::Free)
    }

    fn stamp(&mut self) -> u64 {
        self.stamps += 1;
        self.stamps
    }

    fn parts(&mut self) -> u8 {
        if self.random.chance(1, 2) {
            0xf
        } else {
            1 + self.random.below(15) as u8
        }
    }

    fn cpu_access(&mut self) {
        let line = self.line();
        let folded = line.fold();
        let stamp = self.stamp();
        let parts = self.parts();
        let access = match self.random.below(32) {
            0..=11 => Access::Load,
            12..=21 => Access::Store { parts, stamp },
            22..=23 => Access::PrefetchShared,
            24..=25 => Access::PrefetchExclusive,
            26..=27 => Access::UncachedRead,
            28 => Access::UncachedWrite { parts, stamp },
            _ => {
                let to = self.random.below(2) as usize;
                self.system.cache.downgrade(folded, to);
                return;
            }
        };
        self.tokens += 1;
        let token = self.tokens;
        let outcome = self.system.cache.access(folded, access, token);
        if outcome == Outcome::Busy {
            return;
        }
        let start = self.judge.begin();
        let begun = PendingCpuAccess {
            line,
            access,
            start,
        };
        if let Access::Store { parts, stamp } | Access::UncachedWrite { parts, stamp } = access {
            self.judge.write_begins(line, parts, stamp, start);
        }
        match outcome {
            Outcome::Hit(data) => self.cpu_done(begun, &data),
            _ => {
                self.cpu.insert(token, begun);
            }
        }
    }

    fn cpu_done(&mut self, begun: PendingCpuAccess, data: &Data) {
        self.report.cpu += 1;
        match begun.access {
            Access::Store { parts, stamp } => {
                self.judge.write_ends(begun.line, parts, stamp);
                self.judge
                    .reads(begun.line, 0xf & !parts, data, begun.start);
            }
            Access::UncachedWrite { parts, stamp } => {
                self.judge.write_ends(begun.line, parts, stamp)
            }
            _ => self.judge.reads(begun.line, 0xf, data, begun.start),
        }
        self.judge.end(begun.start);
    }

    fn card_operation(&mut self) {
        let line = self.line();
        let lock = self.lock(line);
        let kind = match (self.random.below(16), lock) {
            (0..=2, _) => OperationKind::Clean,
            (3..=5, _) => OperationKind::CleanInvalidate,
            (6..=8, _) => OperationKind::Read,
            (9..=11, _) => OperationKind::Write,
            (_, Lock::Free) => OperationKind::Lock,
            (_, Lock::Held) => OperationKind::Unlock,
            (_, Lock::Moving) => return,
        };
        self.issue(line, kind);
    }

    /// False if all tags of the slice are taken. One is kept for unlocks, which others wait for.
    fn issue(&mut self, line: PlainLine, kind: OperationKind) -> bool {
        let slice = self.system.home.slice_of(line);
        let free = self.card[slice]
            .iter()
            .filter(|slot| slot.is_none())
            .count();
        if free < 2 && kind != OperationKind::Unlock {
            return false;
        }
        let Some(tag) = self.card[slice].iter().position(Option::is_none) else {
            return false;
        };
        match kind {
            OperationKind::Lock => {
                self.locks.insert(line, Lock::Moving);
            }
            OperationKind::Unlock => {
                self.check_locked(line);
                self.locks.insert(line, Lock::Moving);
            }
            _ => {}
        }
        let start = self.judge.begin();
        let stamp = self.stamp();
        let parts = self.parts();
        let mut data = Box::new([0; WORDS]);
        write_parts(&mut data, parts, stamp);
        if kind == OperationKind::Write {
            self.judge.write_begins(line, parts, stamp, start);
        }
        self.card[slice][tag] = Some(CardOperation {
            line,
            kind,
            parts,
            stamp,
            start,
        });
        let operation = Operation {
            kind,
            tag: tag as u8,
            line,
            parts,
            data,
        };
        self.system.home.operations[slice].push_back(operation);
        true
    }

    fn check_locked(&mut self, line: PlainLine) {
        if self.system.cache.has_copy(line.fold()) {
            self.judge.complain(format!(
                "the CPU has a copy of line {:#x}, which is locked",
                line.0
            ));
        }
    }

    fn acknowledged(&mut self, acknowledge: Acknowledge) {
        let Acknowledge { slice, tag, data } = acknowledge;
        let slot = self.card[slice].get_mut(usize::from(tag));
        let Some(operation) = slot.and_then(Option::take) else {
            self.judge.complain(format!(
                "an acknowledgement nobody waits for: slice {slice} tag {tag}"
            ));
            return;
        };
        self.report.card += 1;
        let CardOperation {
            line,
            kind,
            parts,
            stamp,
            start,
        } = operation;
        match kind {
            OperationKind::Read => match data {
                Some(data) => self.judge.reads(line, 0xf, &data, start),
                None => self
                    .judge
                    .complain("a read was acknowledged without data".to_owned()),
            },
            OperationKind::Write => self.judge.write_ends(line, parts, stamp),
            OperationKind::Lock => {
                self.check_locked(line);
                self.locks.insert(line, Lock::Held);
            }
            OperationKind::Unlock => {
                self.locks.insert(line, Lock::Free);
            }
            OperationKind::Clean | OperationKind::CleanInvalidate => {
                // Memory is up to date: what it holds now was the line's value meanwhile.
                let memory = self.system.home.memory(line);
                self.judge.reads(line, 0xf, &memory, start);
            }
        }
        self.judge.end(start);
    }

    fn cycle(&mut self) -> Result<(), SystemError> {
        self.system.cycle()?;
        for completion in std::mem::take(&mut self.system.cache.completed) {
            if let Some(begun) = self.cpu.remove(&completion.token) {
                self.cpu_done(begun, &completion.data);
            }
        }
        for acknowledge in std::mem::take(&mut self.system.home.acknowledged) {
            self.acknowledged(acknowledge);
        }
        Ok(())
    }
}
