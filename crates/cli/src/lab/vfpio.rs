//! `tombolo lab vfpio`: vFPIO's evaluation.

use super::files::{can_be_written, write};
use super::run::{expected, run, work, LabProgress, PageOption, RunOptions, WorkerOption};
use crate::print::print;
use clap::{Args, ValueEnum};
use lab::experiment::vfpio::{self, resources, Vfpio, VfpioFigures};
use lab::experiment::{vfpio_parts, Failure, PaperPart, Workers};

/// Options of `tombolo lab vfpio`.
#[derive(Args)]
pub struct VfpioOptions {
    /// Runs only these applications (names as in the table), and nothing else.
    #[arg(long, conflicts_with = "part")]
    application: Vec<String>,

    /// Runs only these parts.
    #[arg(long)]
    part: Vec<StreamPart>,

    #[command(flatten)]
    page: PageOption,

    #[command(flatten)]
    run: RunOptions,

    #[command(flatten)]
    worker: WorkerOption,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StreamPart {
    /// Figure 5 and table 5: each kernel on card memory, on host memory and over the network.
    Applications,
    /// Table 4: lines and branches of the user logic.
    Complexity,
    /// Figure 6: a kernel with priority, concurrently with two others.
    Priorities,
    /// Figure 7: latency of transfers by size.
    Latency,
    /// Table 6: area of the shell's parts (needs Yosys, some minutes the first time).
    Resources,
}

/// Reads the experiment.
pub(crate) fn read() -> Result<Vfpio, Failure> {
    Ok(Vfpio::read(&simcard::home().join("experiments"))?)
}

/// Runs parts; a failure does not affect the others. Returns the figures and what failed.
pub(crate) fn measure<'a>(
    experiment: &'a Vfpio,
    workers: &Workers,
    parts: Vec<PaperPart<'a>>,
    progress: &mut LabProgress,
) -> (VfpioFigures<'a>, Vec<String>) {
    VfpioFigures::collect(experiment, run(workers, parts, progress))
}

impl VfpioOptions {
    fn has(&self, part: StreamPart) -> bool {
        match self.application.is_empty() {
            true => self.part.is_empty() || self.part.contains(&part),
            false => part == StreamPart::Applications,
        }
    }

    fn takes(&self, part: &PaperPart<'_>) -> bool {
        let named = |name| self.application.is_empty() || self.application.contains(name);
        match part {
            PaperPart::Application(_, one) => {
                self.has(StreamPart::Applications) && named(&one.name)
            }
            PaperPart::Priorities => self.has(StreamPart::Priorities),
            PaperPart::Latency(_) => self.has(StreamPart::Latency),
            _ => self.has(StreamPart::Resources),
        }
    }

    /// Runs the selected parts and prints their tables.
    ///
    /// # Errors
    /// A name that the experiment does not have, parts that failed.
    pub fn run(&self) -> Result<(), Failure> {
        let experiment = read()?;
        if let Some(name) = &self.worker.worker {
            return work(&vfpio_parts(&experiment), name);
        }
        can_be_written(&[&self.page.html])?;
        let names = experiment.application.iter().map(|one| one.name.as_str());
        let known = names.collect::<Vec<_>>().join(", ");
        for name in &self.application {
            if experiment.application(name).is_none() {
                return Err(format!("no application `{name}`; there are {known}").into());
            }
        }
        let workers = self.run.workers()?;
        let mut parts = vfpio_parts(&experiment);
        parts.retain(|part| self.takes(part));
        let parts = self.run.chosen(parts)?;
        let mut progress = LabProgress::new(&workers, expected(&workers, &parts));
        let (measured, failures) = measure(&experiment, &workers, parts, &mut progress);
        drop(progress);
        if let Some(outcomes) = &measured.applications {
            print(experiment.throughput(outcomes))?;
        }
        if let Some(figure) = &measured.priorities {
            print(figure.table(experiment.priorities.paper))?;
        }
        if let Some([host, card]) = &measured.latency {
            print(experiment.latencies(host, card))?;
        }
        if self.has(StreamPart::Complexity) {
            print(experiment.complexity()?)?;
        }
        if let Some(mapped) = &measured.resources {
            print(resources::table(&experiment.resource, mapped))?;
        }
        let study = vfpio::study(&experiment, &measured);
        print(format_args!("\n{}", study.verdicts()))?;
        if let Some(path) = &self.page.html {
            write(path, study.to_string())?;
        }
        match failures.len() {
            0 => Ok(()),
            failed => Err(format!("{failed} parts failed; the others are kept").into()),
        }
    }
}
