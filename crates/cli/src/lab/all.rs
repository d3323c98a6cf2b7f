//! `tombolo lab all`: the four papers' evaluations, one after the other, with an index page.

use super::files::{at, can_be_written, write};
use super::fsrf::FsrfOptions;
use super::run::{expected, LabProgress, RunOptions};
use crate::print::{print, say};
use clap::Args;
use html::Index;
use lab::experiment::{
    cckit, fleximem, fleximem_parts, fsrf, made, rankings, vfpio, vfpio_parts, Evaluation, Failure,
    PaperPart, CSV_HEAD,
};
use std::path::PathBuf;

/// Options of `tombolo lab all`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tombolo lab all --html pages              pages/index.html, with links to fsrf.html, fleximem.html, vfpio.html, cckit.html
  tombolo lab all --html pages --quick      the subsets that take minutes
  tombolo lab all --html pages              after an interrupt: continues; finished work is not repeated
  tombolo lab all --kept --csv values.csv   runs nothing; one line per published value
  tombolo lab all --hyperqueue SERVER       on several machines (docs/lab.md)")]
pub struct AllOptions {
    /// Runs only the subsets that take minutes: FSRF's small sets on the card, FlexiMem's figures 7 and 8, vFPIO's
    /// figures, CCKit's table 2 and figures 7 and 10.
    #[arg(long)]
    quick: bool,

    /// Writes index.html and a page per paper to this folder; it is created if it is missing.
    #[arg(long, value_name = "DIR")]
    html: Option<PathBuf>,

    /// Writes one line per published value to this file.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    #[command(flatten)]
    run: RunOptions,
}

impl AllOptions {
    fn takes(&self, part: &PaperPart<'_>) -> bool {
        !self.quick
            || match part {
                PaperPart::Lanes
                | PaperPart::Area
                | PaperPart::Components(_)
                | PaperPart::Resource(_) => false,
                PaperPart::Pages(_)
                | PaperPart::Application(..)
                | PaperPart::Priorities
                | PaperPart::Latency(_) => true,
                // The figures are chosen before.
                PaperPart::Bar(_) => true,
            }
    }

    fn chosen<'a>(
        &self,
        parts: impl Into<Vec<PaperPart<'a>>>,
    ) -> Result<Vec<PaperPart<'a>>, Failure> {
        let mut parts = parts.into();
        parts.retain(|part| self.takes(part));
        self.run.chosen(parts)
    }

    /// Pages that will be written, before the work.
    fn check_outputs(&self) -> Result<(), Failure> {
        can_be_written(&[&self.csv])?;
        if let Some(folder) = &self.html {
            std::fs::create_dir_all(folder).map_err(at(folder))?;
            can_be_written(&[&Some(folder.join("index.html"))])?;
        }
        Ok(())
    }

    /// Writes a paper's page as soon as its work is done: the work of the others may be interrupted.
    fn page(&self, evaluation: &Evaluation) -> Result<(), Failure> {
        let verdict = evaluation.indexed();
        say!(
            "{}: {}: {}",
            verdict.title,
            verdict.verdict,
            verdict.because
        );
        match &self.html {
            Some(folder) => write(
                &folder.join(evaluation.page()),
                evaluation.study.to_string(),
            ),
            None => Ok(()),
        }
    }

    /// Runs all evaluations.
    ///
    /// # Errors
    /// An experiment that cannot be read, work that failed.
    pub fn run(&self) -> Result<(), Failure> {
        self.check_outputs()?;
        say!("looking for results of earlier runs");
        let workers = self.run.workers()?;
        let of_fsrf = FsrfOptions::of_all(self.quick, self.run.clone());
        let experiments = of_fsrf.experiments()?;
        let plan = of_fsrf.plan(&experiments)?;
        let fleximem = super::fleximem::read()?;
        let of_fleximem = self.chosen(fleximem_parts(&fleximem))?;
        let vfpio = super::vfpio::read()?;
        let of_vfpio = self.chosen(vfpio_parts(&vfpio))?;
        let cckit = super::cckit::read()?;
        let figures = cckit.figures(self.quick);
        let of_cckit = self.chosen(cckit.parts(&figures))?;
        let mut jobs = super::fsrf::expected(&workers, &plan);
        for parts in [&of_fleximem, &of_vfpio, &of_cckit] {
            jobs.extend(expected(&workers, parts));
        }
        let mut progress = LabProgress::new(&workers, jobs);
        let mut all = Vec::new();
        {
            let (measured, failures) = super::fsrf::measure(&workers, &plan, &mut progress);
            all.push(Evaluation {
                id: "fsrf",
                title: "FSRF",
                study: fsrf::study(&experiments.table, &measured),
                compared: measured.compared(&experiments.table),
                rankings: rankings(&experiments.table, &measured),
                failures,
            });
            self.page(&all[0])?;
        }
        {
            let (measured, failures) =
                super::fleximem::measure(&workers, of_fleximem, &mut progress);
            all.push(Evaluation {
                id: "fleximem",
                title: "FlexiMem",
                study: fleximem::study(&fleximem, &measured),
                compared: measured.compared(&fleximem),
                rankings: None,
                failures,
            });
            self.page(&all[1])?;
        }
        {
            let (measured, failures) =
                super::vfpio::measure(&vfpio, &workers, of_vfpio, &mut progress);
            all.push(Evaluation {
                id: "vfpio",
                title: "vFPIO",
                study: vfpio::study(&vfpio, &measured),
                compared: measured.compared(&vfpio),
                rankings: None,
                failures,
            });
            self.page(&all[2])?;
        }
        let measured = super::cckit::measure(&cckit, &workers, of_cckit, &mut progress);
        all.push(Evaluation {
            id: "cckit",
            title: "CCKit",
            study: cckit::study(&cckit, &figures, &measured),
            compared: measured.compared(&figures),
            rankings: None,
            failures: measured.failures.clone(),
        });
        self.page(&all[3])?;
        let seconds = progress.seconds();
        drop(progress);
        self.finish(&all, seconds)
    }

    /// Writes the index page and the values, and prints the verdicts.
    fn finish(&self, all: &[Evaluation], seconds: f64) -> Result<(), Failure> {
        let [date, commit] = made();
        let quick = if self.quick { " --quick" } else { "" };
        let index = Index {
            title: "Four papers’ evaluations on Tombolo".to_owned(),
            command: format!("tombolo lab all --html DIR{quick}"),
            made: vec![date, commit, format!("{:.1} min", seconds / 60.0)],
            papers: all.iter().map(Evaluation::indexed).collect(),
        };
        print(index.verdicts())?;
        if let Some(folder) = &self.html {
            write(&folder.join("index.html"), index.to_string())?;
        }
        if let Some(path) = &self.csv {
            let lines: String = all.iter().map(Evaluation::comma_separated).collect();
            write(path, format!("{CSV_HEAD}{lines}"))?;
        }
        let failures: Vec<&String> = all.iter().flat_map(|one| &one.failures).collect();
        match failures.first() {
            None => Ok(()),
            Some(first) => Err(format!(
                "{} failed ({first}); the others are kept, and the same command runs these again",
                failures.len()
            )
            .into()),
        }
    }
}
