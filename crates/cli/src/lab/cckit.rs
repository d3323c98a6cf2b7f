//! `tombolo lab cckit`: CCKit's evaluation.

use super::files::{at, can_be_written, write};
use super::run::{expected, run, work, LabProgress, PageOption, RunOptions, WorkerOption};
use crate::print::print;
use clap::Args;
use lab::experiment::cckit::{self, Cckit, Figure, Measurements};
use lab::experiment::{Failure, PaperPart, Workers};
use std::path::PathBuf;

/// Options of `tombolo lab cckit`.
#[derive(Args)]
pub struct CckitOptions {
    /// Runs only table 2 and figures 7 and 10.
    #[arg(long)]
    quick: bool,

    /// Runs only these (table1, table2, table3, figure6 to figure10, and their variants; an unknown name lists all).
    #[arg(long, value_name = "NAME")]
    figure: Vec<String>,

    /// Writes one line per point to this file.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Draws each figure into this folder, as NAME.svg.
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,

    #[command(flatten)]
    page: PageOption,

    #[command(flatten)]
    run: RunOptions,

    #[command(flatten)]
    worker: WorkerOption,
}

/// Reads the experiment.
pub(crate) fn read() -> Result<Cckit, Failure> {
    Ok(Cckit::read(
        &simcard::home().join("experiments"),
        lab::BARS,
    )?)
}

/// Runs parts; a failure does not affect the others.
pub(crate) fn measure(
    experiment: &Cckit,
    workers: &Workers,
    parts: Vec<PaperPart<'static>>,
    progress: &mut LabProgress,
) -> Measurements {
    let done = run(workers, parts, progress).into_iter();
    let done = done.map(|(part, outcome)| (part.name(), outcome.map(|one| one.figures)));
    experiment.measured(done)
}

impl CckitOptions {
    /// Runs the selected figures and prints their tables.
    ///
    /// # Errors
    /// A name that the experiment does not have, measurements that failed.
    pub fn run(&self) -> Result<(), Failure> {
        let experiment = read()?;
        if let Some(name) = &self.worker.worker {
            return work(&experiment.parts(&experiment.figures(false)), name);
        }
        can_be_written(&[&self.csv, &self.page.html])?;
        let names = experiment.figure.iter().map(|one| one.name.as_str());
        let known = names.collect::<Vec<_>>().join(", ");
        for name in &self.figure {
            if experiment.figure(name).is_none() {
                return Err(format!("no figure `{name}`; there are {known}").into());
            }
        }
        let chosen =
            |figure: &&Figure| self.figure.is_empty() || self.figure.contains(&figure.name);
        let mut figures = experiment.figures(self.quick);
        figures.retain(chosen);
        if figures.is_empty() {
            return Err("none of the selected figures is quick".into());
        }
        let mut pictures: Vec<Option<PathBuf>> = Vec::new();
        if let Some(folder) = &self.pictures {
            std::fs::create_dir_all(folder).map_err(at(folder))?;
            let path = |figure: &&Figure| Some(folder.join(format!("{}.svg", figure.name)));
            pictures = figures.iter().map(path).collect();
            can_be_written(&pictures.iter().collect::<Vec<_>>())?;
        }
        let workers = self.run.workers()?;
        let parts = self.run.chosen(experiment.parts(&figures))?;
        let mut progress = LabProgress::new(&workers, expected(&workers, &parts));
        let outcome = measure(&experiment, &workers, parts, &mut progress);
        drop(progress);
        print(experiment.table(&figures, &outcome))?;
        if let Some(path) = &self.csv {
            write(path, experiment.comma_separated(&figures, &outcome))?;
        }
        for (figure, path) in figures.iter().zip(pictures.iter().flatten()) {
            write(path, figure.picture(&experiment.rows, &outcome))?;
        }
        if let Some(path) = &self.page.html {
            let study = cckit::study(&experiment, &figures, &outcome);
            write(path, study.to_string())?;
        }
        match outcome.failures.len() {
            0 => Ok(()),
            failed => Err(format!("{failed} measurements failed; the others are kept").into()),
        }
    }
}
