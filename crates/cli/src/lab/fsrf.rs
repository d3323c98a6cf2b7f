//! `tombolo lab fsrf`: FSRF's evaluation.

use super::files::{can_be_written, write};
use super::run::{Expected, LabProgress, PageOption, RunOptions, WorkerOption};
use crate::print::print;
use clap::{Args, ValueEnum};
use lab::experiment::fsrf::{self, FsrfFigures};
use lab::experiment::{Cell, Experiment, Failure, Outcome, Size, Temperature, Work, Workers};
use std::path::PathBuf;

/// Options of `tombolo lab fsrf`.
#[derive(Args)]
pub struct FsrfOptions {
    /// Runs only small data sets that are on the card.
    #[arg(long)]
    quick: bool,

    /// Runs only these parts (default: all; the table alone if its cells are selected).
    #[arg(long)]
    part: Vec<FsrfPart>,

    /// The experiment: a file of the folder `experiments` (fsrf-table2, fsrf-refit, fsrf-figure8, fsrf-random).
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

    #[command(flatten)]
    page: PageOption,

    #[command(flatten)]
    run: RunOptions,

    #[command(flatten)]
    worker: WorkerOption,
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

    /// The options of a whole evaluation, or of its quick subset.
    pub(crate) fn of_all(quick: bool, run: RunOptions) -> Self {
        Self {
            quick,
            part: Vec::new(),
            experiment: fsrf::TABLE.to_owned(),
            workload: Vec::new(),
            system: Vec::new(),
            temperature: Vec::new(),
            size: Vec::new(),
            csv: None,
            page: PageOption::default(),
            run,
            worker: WorkerOption::default(),
        }
    }

    /// Reads the experiments.
    ///
    /// # Errors
    /// One that cannot be read, or a name that it does not have.
    pub(crate) fn experiments(&self) -> Result<FsrfExperiments, Failure> {
        let folder = simcard::home().join("experiments");
        let table = Experiment::read(&folder, &self.experiment)?;
        if self.worker.worker.is_none() {
            self.check(&table)?;
        }
        let reads = Experiment::read(&folder, fsrf::READS)?;
        Ok(FsrfExperiments { table, reads })
    }

    /// The work of each selected part.
    ///
    /// # Errors
    /// Sources that cannot be read.
    pub(crate) fn plan<'a>(&self, of: &'a FsrfExperiments) -> Result<Plan<'a>, Failure> {
        let mut planned = Vec::new();
        for part in self.parts() {
            let experiment = match part {
                fsrf::Part::Figure8 => &of.reads,
                _ => &of.table,
            };
            let mut work = part.work(experiment);
            if part == fsrf::Part::Table2 {
                work.retain(|work| matches!(work, Work::Cell(cell) if self.takes(cell)));
            }
            if self.run.kept {
                let mut kept = Vec::new();
                for one in work {
                    if one.is_kept(&experiment.platform)? {
                        kept.push(one);
                    }
                }
                work = kept;
            }
            planned.push((part, experiment, work));
        }
        Ok(planned)
    }

    /// Runs the selected parts and prints their results.
    ///
    /// # Errors
    /// An experiment that cannot be read, a name that it does not have, work that failed.
    pub fn run(&self) -> Result<(), Failure> {
        let experiments = self.experiments()?;
        let experiment = &experiments.table;
        if let Some(name) = &self.worker.worker {
            let work = fsrf::find(experiment, name);
            let work = work.ok_or_else(|| format!("{} has no work `{name}`", self.experiment))?;
            work.run(&experiment.platform)?;
            return Ok(());
        }
        can_be_written(&[&self.csv, &self.page.html])?;
        if self.page.html.is_some() && self.experiment != fsrf::TABLE {
            return Err(format!(
                "--html shows {}; --csv is for {}",
                fsrf::TABLE,
                self.experiment
            )
            .into());
        }
        let workers = self.run.workers()?;
        let plan = self.plan(&experiments)?;
        let mut progress = LabProgress::new(&workers, expected(&workers, &plan));
        let of = progress.of();
        let (measured, failures) = measure(&workers, &plan, &mut progress);
        drop(progress);
        if !measured.table.is_empty() {
            let table = experiment.table(&measured.table);
            let verdict = experiment.verdict(&measured.table);
            print(format_args!("{table}{verdict}\n"))?;
        }
        // Experiments other than table 2 print a table of their own.
        if self.experiment == fsrf::TABLE {
            let study = fsrf::study(experiment, &measured);
            for section in study
                .sections
                .iter()
                .filter(|section| section.is_measured())
            {
                if !["table2", "claims", "figure5"].contains(&section.id.as_str()) {
                    print(format_args!("{}\n", section.text()))?;
                }
            }
            print(study.verdicts())?;
            if let Some(path) = &self.page.html {
                write(path, study.to_string())?;
            }
        }
        if let Some(path) = &self.csv {
            let all: Vec<_> = [measured.table, measured.scaling, measured.reads].concat();
            write(path, experiment.comma_separated(&all))?;
        }
        match failures.len() {
            0 => Ok(()),
            failed => Err(format!("{failed} of {of} failed; the others are kept").into()),
        }
    }
}

/// The experiments of FSRF's evaluation.
pub(crate) struct FsrfExperiments {
    pub(crate) table: Experiment,
    reads: Experiment,
}

/// The work of each part, with the experiment that describes it.
pub(crate) type Plan<'a> = Vec<(fsrf::Part, &'a Experiment, Vec<Work<'a>>)>;

pub(crate) fn expected(workers: &Workers, plan: &Plan<'_>) -> Expected {
    let of = |(_, of, work): &(fsrf::Part, &Experiment, Vec<Work<'_>>)| {
        let names: Vec<String> = work.iter().map(Work::name).collect();
        names.into_iter().zip(workers.expected(of, work))
    };
    plan.iter().flat_map(of).collect()
}

/// Runs the work of a plan; returns the figures and what failed.
pub(crate) fn measure<'a>(
    workers: &Workers,
    plan: &Plan<'a>,
    progress: &mut LabProgress,
) -> (FsrfFigures<'a>, Vec<String>) {
    let (mut measured, mut failures) = (FsrfFigures::default(), Vec::new());
    for (part, of, work) in plan {
        let outcomes = workers.all(of, work, |work, outcome| {
            let result = outcome
                .as_ref()
                .map(speed)
                .map_err(|error| error.to_string());
            if let Err(error) = &result {
                failures.push(format!("{}: {error}", work.name()));
            }
            progress.ended(&work.name(), result);
        });
        let outcomes = outcomes.into_iter().map(Result::ok);
        measured.add(*part, work.iter().cloned().zip(outcomes));
    }
    (measured, failures)
}

/// Throughput, and the speed of the simulation.
fn speed(outcome: &Outcome) -> String {
    let speed = match outcome.cycles {
        0 => String::new(),
        _ => format!(", {:.0} kHz", outcome.kilohertz()),
    };
    let places = if outcome.mib_per_s < 10.0 { 2 } else { 0 };
    format!("{:.places$} MiB/s{speed}", outcome.mib_per_s)
}
