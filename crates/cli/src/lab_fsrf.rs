//! `tombolo lab fsrf`: FSRF's evaluation.

use crate::lab_files::{can_be_written, write};
use crate::print::{print, say};
use clap::{Args, ValueEnum};
use lab::experiment::fsrf::{self, FsrfFigures};
use lab::experiment::{Cell, Experiment, Failure, Farm, Outcome, Size, Temperature, Work, Workers};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

/// Options of `tombolo lab fsrf`.
#[derive(Args)]
pub struct FsrfOptions {
    /// Runs only small data sets that are on the card.
    #[arg(long)]
    quick: bool,

    /// Runs only these parts (default: all; the table alone if its cells are selected).
    #[arg(long)]
    part: Vec<FsrfPart>,

    /// The experiment: a file of the folder `experiments` (fsrf-table2, fsrf-figure8, fsrf-random).
    #[arg(long, default_value = fsrf::TABLE, value_name = "NAME")]
    experiment: String,

    /// Runs only these workloads (names as in the table).
    #[arg(long)]
    workload: Vec<String>,

    /// Runs only these systems (names as in the table).
    #[arg(long)]
    system: Vec<String>,

    /// Runs only data in this place.
    #[arg(long)]
    temperature: Vec<Warmth>,

    /// Runs only data sets of this size.
    #[arg(long)]
    size: Vec<Extent>,

    /// Writes one line per cell to this file, with the deviation between applications.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Writes a page with plots, tables and a verdict per figure to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Number of concurrent jobs (default: one per core).
    #[arg(long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,

    /// Runs the jobs on the machines of a HyperQueue server: its directory, or local:N for N workers on this machine
    /// (docs/lab.md).
    #[arg(long, value_name = "SERVER")]
    hyperqueue: Option<String>,

    /// Runs nothing: prints the results that earlier runs have kept.
    #[arg(long)]
    kept: bool,

    /// Runs one job and keeps its result: the lab starts this for each job.
    #[arg(long, value_name = "NAME", hide = true)]
    worker: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FsrfPart {
    /// Table 2, and figure 5, which derives from it.
    Table2,
    /// Figure 6: one to four equal applications, and their fairness.
    Figure6,
    /// Figure 7: different applications running concurrently.
    Figure7,
    /// Figure 8: random reads by size.
    Figure8,
    /// Figure 9: transfers by size.
    Figure9,
}

impl FsrfPart {
    fn of(part: fsrf::Part) -> Self {
        match part {
            fsrf::Part::Table2 => Self::Table2,
            fsrf::Part::Figure6 => Self::Figure6,
            fsrf::Part::Figure7 => Self::Figure7,
            fsrf::Part::Figure8 => Self::Figure8,
            fsrf::Part::Figure9 => Self::Figure9,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Warmth {
    /// On the host's storage.
    Cold,
    /// In the host's page cache.
    Warm,
    /// On the card.
    Hot,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Extent {
    /// A small part of card memory.
    Small,
    /// Most of card memory.
    Large,
    /// More than card memory.
    Oversubscribed,
}

impl FsrfOptions {
    fn takes(&self, cell: &Cell<'_>) -> bool {
        let named = |list: &[String], name: &str| list.is_empty() || list.iter().any(|n| n == name);
        let warmth = match cell.temperature {
            Temperature::Cold => Warmth::Cold,
            Temperature::Warm => Warmth::Warm,
            Temperature::Hot => Warmth::Hot,
        };
        let extent = match cell.size {
            Size::Small => Extent::Small,
            Size::Large => Extent::Large,
            Size::Oversubscribed => Extent::Oversubscribed,
        };
        named(&self.workload, &cell.workload.name)
            && named(&self.system, &cell.system.name)
            && (self.temperature.is_empty() || self.temperature.contains(&warmth))
            && (self.size.is_empty() || self.size.contains(&extent))
            && (!self.quick || cell.is_quick())
    }

    /// Fails with a name that the experiment does not have.
    fn check(&self, experiment: &Experiment) -> Result<(), Failure> {
        let workloads: Vec<&str> = experiment
            .workloads
            .iter()
            .map(|w| w.name.as_str())
            .collect();
        let systems: Vec<&str> = experiment.systems.iter().map(|s| s.name.as_str()).collect();
        for (what, given, known) in [
            ("workload", &self.workload, &workloads),
            ("system", &self.system, &systems),
        ] {
            if let Some(name) = given.iter().find(|name| !known.contains(&name.as_str())) {
                let known = known.join(", ");
                return Err(format!("no {what} `{name}`; there are {known}").into());
            }
        }
        Ok(())
    }
}

impl FsrfOptions {
    /// Whether options select cells of the table.
    fn chooses_cells(&self) -> bool {
        let lists = [&self.workload, &self.system];
        self.quick
            || lists.iter().any(|list| !list.is_empty())
            || !self.temperature.is_empty()
            || !self.size.is_empty()
    }

    /// The parts to run.
    fn parts(&self) -> Vec<fsrf::Part> {
        let all = fsrf::Part::ALL.into_iter();
        match self.part.is_empty() {
            true if self.experiment != fsrf::TABLE || self.chooses_cells() => {
                vec![fsrf::Part::Table2]
            }
            true => all.collect(),
            false => all
                .filter(|part| self.part.contains(&FsrfPart::of(*part)))
                .collect(),
        }
    }

    /// Runs the selected parts and prints their results.
    ///
    /// # Errors
    /// An experiment that cannot be read, a name that it does not have, work that failed.
    pub fn run(&self) -> Result<(), Failure> {
        let folder = simcard::home().join("experiments");
        let experiment = Experiment::read(&folder, &self.experiment)?;
        if let Some(name) = &self.worker {
            let work = fsrf::find(&experiment, name);
            let work = work.ok_or_else(|| format!("{} has no work `{name}`", self.experiment))?;
            work.run(&experiment.platform)?;
            return Ok(());
        }
        self.check(&experiment)?;
        can_be_written(&[&self.csv, &self.html])?;
        let reads = Experiment::read(&folder, fsrf::READS)?;
        let mut workers = Workers::processes(std::env::current_exe()?);
        workers.count = self.jobs.map_or(workers.count, usize::from);
        workers.farm = self.hyperqueue.as_deref().map(Farm::hyperqueue);
        let mut planned = Vec::new();
        for part in self.parts() {
            let of = match part {
                fsrf::Part::Figure8 => &reads,
                _ => &experiment,
            };
            let mut work = part.work(of);
            if part == fsrf::Part::Table2 {
                work.retain(|work| matches!(work, Work::Cell(cell) if self.takes(cell)));
            }
            if self.kept {
                let mut kept = Vec::new();
                for one in work {
                    if one.is_kept(&of.platform)? {
                        kept.push(one);
                    }
                }
                work = kept;
            }
            planned.push((part, of, work));
        }
        let mut run = RunProgress::of(&workers, &planned);
        let mut measured = FsrfFigures::default();
        for (part, of, work) in &planned {
            let outcomes = workers.all(of, work, |work, outcome| run.ended(work, outcome));
            let outcomes = outcomes.into_iter().map(Result::ok);
            measured.add(*part, work.iter().cloned().zip(outcomes));
        }
        if !measured.table.is_empty() {
            let table = experiment.table(&measured.table);
            let verdict = experiment.verdict(&measured.table);
            print(format_args!("{table}{verdict}\n"))?;
        }
        // Experiments other than table 2 print a table of their own.
        if self.experiment == fsrf::TABLE {
            let study = fsrf::study(&experiment, &measured);
            for section in study
                .sections
                .iter()
                .filter(|section| section.is_measured())
            {
                if !["table2", "claims", "figure5"].contains(&section.id) {
                    print(format_args!("{}\n", section.text()))?;
                }
            }
            print(study.verdicts())?;
            if let Some(path) = &self.html {
                write(path, study.to_string())?;
            }
        } else if self.html.is_some() {
            return Err(format!(
                "--html shows {}; --csv is for {}",
                fsrf::TABLE,
                self.experiment
            )
            .into());
        }
        if let Some(path) = &self.csv {
            let all: Vec<_> = [measured.table, measured.scaling, measured.reads].concat();
            write(path, experiment.comma_separated(&all))?;
        }
        match run.failed {
            0 => Ok(()),
            failed => Err(format!("{failed} of {} failed; the others are kept", run.of).into()),
        }
    }
}

/// Progress of a run.
struct RunProgress {
    began: Instant,
    done: usize,
    failed: usize,
    of: usize,
    /// Expected processor seconds of each job, and the sums of those done and left.
    expected: HashMap<String, f64>,
    spent: f64,
    left: f64,
}

impl RunProgress {
    fn of(workers: &Workers, planned: &[(fsrf::Part, &Experiment, Vec<Work<'_>>)]) -> Self {
        let of = planned.iter().map(|(_, _, work)| work.len()).sum();
        let mut expected = HashMap::new();
        for (_, of, work) in planned {
            let seconds = workers.expected(of, work);
            for (work, seconds) in work.iter().zip(seconds) {
                expected.entry(work.name()).or_insert(seconds);
            }
        }
        let left = expected.values().fold(0.0, |all, seconds| all + seconds);
        let minutes = left / workers.count as f64 / 60.0;
        say!(
            "{of} pieces of work, about {minutes:.0} min for {} at once, models not counted",
            workers.count
        );
        Self {
            began: Instant::now(),
            done: 0,
            failed: 0,
            of,
            expected,
            spent: 0.0,
            left,
        }
    }

    fn ended(&mut self, work: &Work<'_>, outcome: &Result<Outcome, Failure>) {
        self.done += 1;
        let expected = self.expected.remove(&work.name()).unwrap_or(0.0);
        self.left -= expected;
        self.spent += expected;
        let spent = self.began.elapsed().as_secs_f64();
        // Scales the rest by how far the jobs done deviated from expectation.
        let left = match self.spent > 0.0 {
            true => spent / self.spent * self.left.max(0.0),
            false => 0.0,
        };
        let speed = |outcome: &Outcome| match outcome.cycles {
            0 => String::new(),
            _ => format!(", {:.0} kHz", outcome.kilohertz()),
        };
        let result = match outcome {
            Ok(outcome) if outcome.mib_per_s < 10.0 => {
                format!("{:.2} MiB/s{}", outcome.mib_per_s, speed(outcome))
            }
            Ok(outcome) => format!("{:.0} MiB/s{}", outcome.mib_per_s, speed(outcome)),
            Err(error) => {
                self.failed += 1;
                format!("failed: {error}")
            }
        };
        say!(
            "[{}/{}] {}: {result} ({spent:.0} s, about {left:.0} s left)",
            self.done,
            self.of,
            work.name(),
        );
    }
}
