//! `tombolo lab fleximem`: FlexiMem's evaluation.

use super::files::{can_be_written, write};
use super::run::{expected, run, work, LabProgress, PageOption, RunOptions, WorkerOption};
use crate::print::{print, say};
use clap::{Args, ValueEnum};
use lab::experiment::fleximem::{self, area, components, features, FlexiMem, FleximemFigures};
use lab::experiment::{fleximem_parts, Failure, PaperPart, Workers};
use std::path::PathBuf;

/// Options of `tombolo lab fleximem`.
#[derive(Args)]
pub struct FleximemOptions {
    /// Fits the accelerator's rate and the host's costs to the paper's ratios, instead of using those in
    /// `experiments/fleximem.toml` and `hosts/fleximem.toml`; prints them.
    #[arg(long)]
    fit: bool,

    /// Runs only these parts.
    #[arg(long)]
    part: Vec<FlexiMemPart>,

    /// Writes one line per page size to this file; without pages among the parts, one line per number of lanes and
    /// length.
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
enum FlexiMemPart {
    /// Table I: features of systems.
    Features,
    /// Figures 7 and 8: shared pointers, by page size.
    Pages,
    /// Figure 6: rows a cycle by address lanes and burst length. The first run builds six test benches, a minute or
    /// more each.
    Lanes,
    /// Table II: area of the interconnect, by address lanes; some minutes.
    Area,
    /// Table III: area of TLBs, walker, table engine and DMA, compared with the paper's components; some minutes.
    Components,
}

/// Reads the experiment.
pub(crate) fn read() -> Result<FlexiMem, Failure> {
    Ok(FlexiMem::read(&simcard::home().join("experiments"))?)
}

/// Runs parts; a failure does not affect the others. Returns the figures and what failed.
pub(crate) fn measure(
    workers: &Workers,
    parts: Vec<PaperPart<'_>>,
    progress: &mut LabProgress,
) -> (FleximemFigures, Vec<String>) {
    let (mut measured, mut failures) = (FleximemFigures::default(), Vec::new());
    for (part, outcome) in run(workers, parts, progress) {
        match outcome {
            Ok(outcome) => measured.add(outcome.figures),
            Err(error) => failures.push(format!("{}: {error}", part.name())),
        }
    }
    (measured, failures)
}

impl FleximemOptions {
    fn has(&self, part: FlexiMemPart) -> bool {
        self.part.is_empty() || self.part.contains(&part)
    }

    fn takes(&self, part: &PaperPart<'_>) -> bool {
        self.has(match part {
            PaperPart::Pages(_) => FlexiMemPart::Pages,
            PaperPart::Lanes => FlexiMemPart::Lanes,
            PaperPart::Area => FlexiMemPart::Area,
            _ => FlexiMemPart::Components,
        })
    }

    /// Runs the selected parts and prints their tables.
    ///
    /// # Errors
    /// The experiment cannot be read, or parts failed.
    pub fn run(&self) -> Result<(), Failure> {
        let experiment = read()?;
        if let Some(name) = &self.worker.worker {
            return work(&fleximem_parts(&experiment), name);
        }
        can_be_written(&[&self.csv, &self.page.html])?;
        if self.fit {
            let told = |fitted: &_| say!("{fitted:?}");
            print(format_args!("{:?}\n", experiment.fit(told)?))?;
            return Ok(());
        }
        let workers = self.run.workers()?;
        let mut parts = fleximem_parts(&experiment).to_vec();
        parts.retain(|part| self.takes(part));
        let parts = self.run.chosen(parts)?;
        let mut progress = LabProgress::new(&workers, expected(&workers, &parts));
        let (measured, failures) = measure(&workers, parts, &mut progress);
        drop(progress);
        if self.has(FlexiMemPart::Features) {
            print(format_args!("{}\n", features::table()))?;
        }
        if let Some(pages) = &measured.pages {
            print(format_args!("{}\n", experiment.table(pages)))?;
        }
        if let Some(figure) = &measured.lanes {
            print(format_args!("{}\n", figure.table()))?;
        }
        if let Some(areas) = &measured.area {
            print(format_args!("{}\n", area::table(&experiment, areas)))?;
        }
        if let Some(costs) = &measured.components {
            print(format_args!(
                "{}\n",
                components::table(&experiment.component, costs)
            ))?;
        }
        if let Some(path) = &self.csv {
            match (&measured.pages, &measured.lanes) {
                (Some(pages), _) => write(path, experiment.comma_separated(pages))?,
                (None, Some(figure)) => write(path, figure.comma_separated())?,
                (None, None) => {}
            }
        }
        let study = fleximem::study(&experiment, &measured);
        print(study.verdicts())?;
        if let Some(path) = &self.page.html {
            write(path, study.to_string())?;
        }
        match failures.first() {
            None => Ok(()),
            Some(first) => Err(format!(
                "{} parts failed ({first}); the others are kept",
                failures.len()
            )
            .into()),
        }
    }
}
