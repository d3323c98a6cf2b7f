//! How `tombolo lab` runs work: options that all papers share, and the progress of a run.

use crate::print::say;
use crate::progress;
use clap::Args;
use lab::experiment::{Failure, Farm, PaperPart, PartOutcome, Workers};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

/// Options of every experiment.
#[derive(Args, Clone, Default)]
pub(crate) struct RunOptions {
    /// Number of concurrent jobs (default: one per core).
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<std::num::NonZeroUsize>,

    /// Runs the jobs on the machines of a HyperQueue server: its directory, or local:N for N workers on this machine
    /// (docs/lab.md).
    #[arg(long, value_name = "SERVER")]
    pub(crate) hyperqueue: Option<String>,

    /// Runs nothing: shows the results that earlier runs have kept.
    #[arg(long)]
    pub(crate) kept: bool,
}

/// Where to write a paper's page.
#[derive(Args, Clone, Default)]
pub(crate) struct PageOption {
    /// Writes a page with plots, tables and a verdict per figure to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// For the worker of a job, which the lab starts.
#[derive(Args, Clone, Default)]
pub(crate) struct WorkerOption {
    /// Runs one job and keeps its result: the lab starts this for each job.
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) worker: Option<String>,
}

impl RunOptions {
    pub(crate) fn workers(&self) -> Result<Workers, Failure> {
        let mut workers = Workers::processes(std::env::current_exe()?);
        workers.count = self.jobs.map_or(workers.count, usize::from);
        workers.farm = self.hyperqueue.as_deref().map(Farm::hyperqueue);
        Ok(workers)
    }

    /// The parts to run: with `kept` only those with a result.
    pub(crate) fn chosen<'a>(
        &self,
        mut parts: Vec<PaperPart<'a>>,
    ) -> Result<Vec<PaperPart<'a>>, Failure> {
        if self.kept {
            let mut kept = Vec::new();
            for part in parts {
                if part.is_kept()? {
                    kept.push(part);
                }
            }
            parts = kept;
        }
        Ok(parts)
    }
}

/// Runs the part with this name; called in a worker.
pub(crate) fn work(parts: &[PaperPart<'_>], name: &str) -> Result<(), Failure> {
    let part = parts.iter().find(|part| part.name() == name);
    part.ok_or_else(|| format!("no part `{name}`"))?.run()?;
    Ok(())
}

/// Runs parts of a paper and reports the progress.
pub(crate) fn run<'a>(
    workers: &Workers,
    parts: Vec<PaperPart<'a>>,
    progress: &mut LabProgress,
) -> Vec<(PaperPart<'a>, Result<PartOutcome, Failure>)> {
    let outcomes = workers.parts(&parts, |part, outcome| {
        let result = match outcome {
            Ok(outcome) => Ok(format!("{:.0} s", outcome.processor_seconds)),
            Err(error) => Err(error.to_string()),
        };
        progress.ended(&part.name(), result);
    });
    parts.into_iter().zip(outcomes).collect()
}

/// Names of jobs with their expected processor seconds, `None` if nothing similar was run before.
pub(crate) type Expected = Vec<(String, Option<f64>)>;

pub(crate) fn expected(workers: &Workers, parts: &[PaperPart<'_>]) -> Expected {
    let names = parts.iter().map(PaperPart::name);
    names.zip(workers.expected_parts(parts)).collect()
}

/// Progress of a run: a line for each job, and one every ten seconds in between.
pub(crate) struct LabProgress {
    began: Instant,
    done: usize,
    of: usize,
    /// Expected processor seconds of each job, and the sums of those done and left.
    expected: HashMap<String, f64>,
    spent: f64,
    left: f64,
    display: progress::Work,
}

impl LabProgress {
    pub(crate) fn new(workers: &Workers, jobs: Expected) -> Self {
        let of = jobs.len();
        let kept = jobs
            .iter()
            .filter(|(_, seconds)| *seconds == Some(0.0))
            .count();
        let known = jobs.iter().all(|(_, seconds)| seconds.is_some());
        let mut expected = HashMap::new();
        for (name, seconds) in jobs {
            // Without earlier work, every piece counts alike.
            expected.entry(name).or_insert(seconds.unwrap_or(1.0));
        }
        let left = expected.values().fold(0.0, |all, seconds| all + seconds);
        let remaining = match known {
            true => format!("about {}", duration(left / workers.count as f64)),
            false => "time unknown before the first piece is done".to_owned(),
        };
        say!(
            "{of} pieces of work, {kept} of them kept, {} at once: {remaining}, models not counted",
            workers.count
        );
        let display = progress::Work::spinner();
        let run = Self {
            began: Instant::now(),
            done: 0,
            of,
            expected,
            spent: 0.0,
            left,
            display,
        };
        run.display.say(format!("0 of {of} done, {remaining}"));
        run
    }

    /// Number of jobs.
    pub(crate) fn of(&self) -> usize {
        self.of
    }

    /// Seconds since the start.
    pub(crate) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    pub(crate) fn ended(&mut self, name: &str, result: Result<String, String>) {
        self.done += 1;
        let expected = self.expected.remove(name).unwrap_or(0.0);
        self.left -= expected;
        self.spent += expected;
        let spent = self.seconds();
        // Scales the rest by how far the jobs done deviated from expectation.
        let left = match self.spent > 0.0 {
            true => spent / self.spent * self.left.max(0.0),
            false => 0.0,
        };
        let (done, of) = (self.done, self.of);
        let result = result.unwrap_or_else(|error| format!("failed: {error}"));
        self.display.line(format_args!(
            "[{done}/{of}] {name}: {result} ({spent:.0} s, about {} left)",
            duration(left)
        ));
        self.display.say(format!(
            "{done} of {of} done, about {} left",
            duration(left)
        ));
    }
}

/// A time in seconds, or in minutes from two minutes on.
fn duration(seconds: f64) -> String {
    match seconds < 120.0 {
        true => format!("{seconds:.0} s"),
        false => format!("{:.0} min", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_unit_that_is_read_at_once() {
        let texts = [0.4, 119.4, 120.0, 5400.0].map(duration);
        assert_eq!(texts, ["0 s", "119 s", "2 min", "90 min"]);
    }
}
