//! `tombolo lab sweep`: a workload on many shells or platforms.

use super::files::{can_be_written, write};
use super::run::{LabProgress, PageOption, RunOptions, WorkerOption};
use crate::print::{print, say};
use crate::suggest::did_you_mean;
use clap::Args;
use lab::experiment::sweep::{area_is_available, Sweep, SweepError, SweepWork};
use lab::experiment::Failure;
use std::path::PathBuf;

/// Options of `tombolo lab sweep`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tombolo lab sweep experiments/sweeps/example.toml --no-area --html sweep.html
  tombolo lab sweep mine.toml --csv points.csv      throughput and area (Yosys, some minutes per shell)
  tombolo lab sweep mine.toml --kept --html p.html  runs nothing: the page of the results so far

A file names a workload and lists values of fields (docs/lab.md):
  title = \"TLB ways\"
  platform = \"u280\"
  [workload]
  kernel = \"copy\"
  arguments = { input = { bytes = 65536 }, output = { bytes = 65536 }, bytes = 65536 }
  [fields]
  \"shell.l1.0.ways\" = [1, 2, 4]
  \"platform.clock.period_ps\" = [4000, 3333]")]
pub struct SweepOptions {
    /// The sweep: a TOML file.
    file: PathBuf,

    /// Without the shell's area (needs Yosys, some minutes per shell): throughput is plotted over an estimate of on-chip
    /// memory. Without Yosys this is the default.
    #[arg(long)]
    no_area: bool,

    /// Writes one line per point to this file.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    #[command(flatten)]
    page: PageOption,

    #[command(flatten)]
    run: RunOptions,

    #[command(flatten)]
    worker: WorkerOption,
}

impl SweepOptions {
    /// Whether the shell's area is measured: without Yosys only kept results have it.
    fn takes_area(&self) -> bool {
        if self.no_area || self.run.kept || area_is_available() {
            return !self.no_area;
        }
        say!(
            "no Yosys on this machine: throughput is plotted over an estimate of on-chip memory, as with --no-area; \
             tools/setup installs it"
        );
        false
    }

    /// Runs the sweep and prints its points.
    ///
    /// # Errors
    /// A file that is wrong, points that failed; refused points are results.
    pub fn run(&self) -> Result<(), Failure> {
        let sweep = Sweep::read(&self.file).map_err(|error| match &error {
            SweepError::UnknownField { unknown, known, .. } => {
                let near = did_you_mean(unknown, known.iter().map(String::as_str));
                Failure::from(format!("{error}{near}"))
            }
            _ => error.into(),
        })?;
        if let Some(name) = &self.worker.worker {
            return sweep.work(name);
        }
        can_be_written(&[&self.csv, &self.page.html])?;
        let workers = self.run.workers()?;
        let selected = SweepWork {
            area: self.takes_area(),
            kept: self.run.kept,
        };
        say!("looking for results of earlier runs");
        let jobs = sweep.expected(&workers, selected)?;
        let mut progress = LabProgress::new(&workers, jobs);
        let results = sweep.run(&workers, selected, |name, result| {
            progress.ended(name, result);
        })?;
        drop(progress);
        print(results.comma_separated())?;
        if let Some(path) = &self.csv {
            write(path, results.comma_separated())?;
        }
        if let Some(path) = &self.page.html {
            write(path, results.study().to_string())?;
        }
        match results.failed() {
            0 => Ok(()),
            failed => Err(format!("{failed} points failed; the others are kept").into()),
        }
    }
}
