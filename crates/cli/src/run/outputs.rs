//! Outputs of a run other than mapped files: timeline, waveforms, report and page.

use super::page::{self, Names, PageContent};
use super::report::{self, ReportOutput};
use super::waves::WaveOptions;
use super::{files, RunError};
use crate::outputs::{OutputPath, Outputs};
use crate::standard::{was_closed, Stream};
use crate::text_file::TextFile;
use advice::Bound;
use clap::Args;
use std::path::{Path, PathBuf};
use tombolo::{Card, SimOptions, Timeline, Waves};

/// Options that select outputs.
#[derive(Args)]
pub(super) struct OutputOptions {
    /// Writes a timeline of everything that happens, for <https://ui.perfetto.dev>.
    #[arg(long, value_name = "FILE", conflicts_with = "functional")]
    trace: Option<PathBuf>,

    #[command(flatten)]
    waves: WaveOptions,

    /// Writes the report as JSON; with -, JSON goes to the standard output and the text to the standard error.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Writes a page that shows where the time went: activity and stalls over time, faults, a map of the pages. It is
    /// one file that needs no network; with --trace it links to the timeline.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Prints no report.
    #[arg(long, short)]
    quiet: bool,
}

/// The destinations of outputs, found before any of them is begun.
pub(super) struct Destinations {
    report: Option<OutputPath>,
    page: Option<OutputPath>,
    timeline: Option<OutputPath>,
    waves: Vec<OutputPath>,
}

/// Outputs that were begun.
#[derive(Default)]
pub(super) struct Written {
    timeline: Option<Timeline>,
    waves: Option<Waves>,
    report: Option<TextFile>,
    page: Option<TextFile>,
}

/// The card and the names that outputs show.
pub(super) struct Shown<'a> {
    pub(super) card: &'a Card,
    pub(super) names: &'a Names,
    pub(super) functional: bool,
    /// Whether a port of the kernel writes the standard output.
    pub(super) fills_standard_output: bool,
}

impl Destinations {
    /// The destinations, each with its option.
    pub(super) fn all(&self) -> Vec<(&'static str, &OutputPath)> {
        let mut all = Vec::new();
        all.extend(self.report.iter().map(|place| (files::REPORT, place)));
        all.extend(self.page.iter().map(|place| ("--html", place)));
        all.extend(self.timeline.iter().map(|place| ("--trace", place)));
        all.extend(self.waves.iter().map(|place| ("--wave", place)));
        all
    }
}

impl Written {
    /// Has a simulated card record its activity.
    pub(super) fn record(&self, options: &mut SimOptions) {
        options.timeline = self.timeline.clone();
        options.waves = self.waves.clone();
    }
}

impl OutputOptions {
    /// Whether the JSON report goes to the standard output; `./-` is a file of that name.
    fn prints_json(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// Refuses a run that would write a closed standard output; `filled` if a port of the kernel writes it.
    pub(super) fn check_standard_output(&self, filled: bool) -> Result<(), RunError> {
        if !was_closed(Stream::Output) {
            return Ok(());
        }
        let wrong = |text: &str| Err(RunError::Arguments(text.to_owned()));
        if filled {
            return wrong("the standard output is closed, and `-` writes it: redirect it (>FILE), or name a file or a pipe");
        }
        if self.prints_json() {
            return wrong("the standard output is closed, and `--json -` writes it: redirect it (>FILE), or name a file");
        }
        if !self.quiet {
            return wrong("the standard output is closed, and the report goes there: redirect it, or use --quiet");
        }
        Ok(())
    }

    /// Finds the destinations; `filled` if a port of the kernel writes the standard output.
    pub(super) fn find(&self, filled: bool) -> Result<Destinations, RunError> {
        let find = |path: &PathBuf| OutputPath::find(path).map_err(RunError::writing(path));
        let json = self.json.as_ref().filter(|_| !self.prints_json());
        let found = Destinations {
            report: json.map(find).transpose()?,
            page: self.html.as_ref().map(find).transpose()?,
            timeline: self.trace.as_ref().map(find).transpose()?,
            waves: (self.waves.files().iter())
                .map(find)
                .collect::<Result<_, _>>()?,
        };
        let is_standard = |place: &OutputPath| place.is_standard_output();
        if filled && (self.prints_json() || found.report.as_ref().is_some_and(is_standard)) {
            let text = "--json: a port writes the standard output; name another file";
            return Err(RunError::Arguments(text.to_owned()));
        }
        Ok(found)
    }

    /// Begins the outputs; `recorded` if the card can record its activity.
    pub(super) fn begin(
        &self,
        found: Destinations,
        recorded: bool,
        outputs: &mut Outputs,
    ) -> Result<Written, RunError> {
        let mut written = Written {
            report: self.prints_json().then(TextFile::standard_output),
            ..Written::default()
        };
        let mut text = |place: OutputPath, record: bool| {
            let name = place.named.clone();
            TextFile::begin(place, outputs, record).map_err(RunError::writing(&name))
        };
        if let Some(place) = found.report {
            written.report = Some(text(place, false)?);
        }
        if let Some(place) = found.page {
            written.page = Some(text(place, true)?);
        }
        // The page and the sentence about the bound need activity over time.
        written.timeline = recorded.then(Timeline::recorder);
        if let Some(place) = found.timeline {
            let name = place.named.clone();
            let timeline = begin_timeline(place, outputs).map_err(RunError::writing(&name))?;
            written.timeline = Some(timeline);
        }
        written.waves = self.waves.begin(found.waves, outputs)?;
        Ok(written)
    }

    /// Completes the outputs after a run and adds their errors to those of the run. After a failed run this is the page
    /// and the timeline, but no report.
    pub(super) fn finish(
        &self,
        mut written: Written,
        shown: &Shown<'_>,
        outputs: &mut Outputs,
        failures: &mut Vec<RunError>,
    ) {
        // Read once, for text, JSON and page, because reading the report's counters takes time of the card.
        let report = match failures.is_empty() || written.page.is_some() {
            true => shown.card.report().map(Some),
            false => Ok(None),
        };
        let report = report.unwrap_or_else(|error| {
            failures.push(error.into());
            None
        });
        let record = written.timeline.as_ref().and_then(Timeline::record);
        let bound = (report.as_ref()).map(|report| Bound::of(report, record.as_ref()));
        if let (Some(file), Some(report), Some(bound)) = (written.page.take(), &report, &bound) {
            let content = PageContent {
                report,
                record: record.as_ref(),
                bound,
                trace: self.trace_link(),
                functional: shown.functional,
            };
            if let Err(failure) = page::write(&content, shown.names, failures, file) {
                self.html.iter().for_each(|path| outputs.withdraw(path));
                failures.push(failure);
            }
        }
        if let (Some(timeline), Some(path)) = (written.timeline.take(), &self.trace) {
            if let Err(error) = timeline.finish() {
                outputs.withdraw(path);
                failures.push(RunError::writing(path)(error));
            }
        }
        if let Some(waves) = &written.waves {
            self.waves.warn_if_flat(shown.card, waves);
        }
        if let (Some(report), Some(bound), true) = (report, bound, failures.is_empty()) {
            let place = match self.prints_json() || shown.fills_standard_output {
                _ if self.quiet => ReportOutput::Nobody,
                true => ReportOutput::StandardError,
                false => ReportOutput::StandardOutput,
            };
            let result = report::write(&report, &bound, place, written.report);
            failures.extend(result.err());
        }
    }

    /// The page's link to the timeline.
    fn trace_link(&self) -> Option<String> {
        page::link(self.html.as_deref()?, self.trace.as_deref()?)
    }
}

/// Begins a timeline in a temporary file, or directly in a pipe or device.
fn begin_timeline(place: OutputPath, outputs: &mut Outputs) -> std::io::Result<Timeline> {
    if place.is_special() {
        return Timeline::create_and_record(&place.path);
    }
    let (_, temporary) = outputs.record(place)?;
    Timeline::create_and_record(&temporary)
}
