//! Opens inputs and begins outputs and records, before the card is opened.

use super::files::{self, Ready};
use super::{Run, RunError};
use crate::connect;
use crate::outputs::{OutputPath, Outputs};
use crate::text_file::TextFile;
use card::kernel::{AccessMode, KernelPackage};
use std::path::{Path, PathBuf};
use tombolo::{Timeline, Waves};
use units::StreamDirection;

/// Outputs other than mapped files.
#[derive(Default)]
pub(super) struct Written {
    pub(super) timeline: Option<Timeline>,
    pub(super) waves: Option<Waves>,
    pub(super) report: Option<TextFile>,
    pub(super) page: Option<TextFile>,
}

impl Run {
    /// Whether the JSON report goes to the standard output; `./-` is a file of that name.
    pub(super) fn prints_json(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// Opens inputs, finds the destinations of outputs, refuses clashes, and begins the outputs.
    pub(super) fn prepare(
        &self,
        kernel: &KernelPackage,
        outputs: &mut Outputs,
    ) -> Result<(Vec<Ready<'_>>, Written), RunError> {
        let access_of = |name: &str| {
            let stream = kernel.manifest.stream(name).map(|(port, _)| port.direction);
            match (kernel.manifest.argument(name), stream) {
                (Some(argument), _) => argument.access,
                (None, Some(StreamDirection::In)) => AccessMode::Read,
                (None, _) => AccessMode::ReadWrite,
            }
        };
        let planned = files::plan(&self.files, access_of)?;
        let find = |path: &PathBuf| OutputPath::find(path).map_err(RunError::writing(path));
        let json = self.json.as_ref().filter(|_| !self.prints_json());
        let report = json.map(find).transpose()?;
        let page = self.html.as_ref().map(find).transpose()?;
        let trace = self.trace.as_ref().map(find).transpose()?;
        let waves = self
            .wave_files()
            .iter()
            .map(find)
            .collect::<Result<Vec<_>, _>>()?;
        let fills = connect::fills_standard_output(&self.connections, &kernel.manifest);
        if fills
            && (self.prints_json() || report.as_ref().is_some_and(OutputPath::is_standard_output))
        {
            let text = "--json: a port writes the standard output; name another file";
            return Err(RunError::Arguments(text.to_owned()));
        }
        let mut others: Vec<(&str, &OutputPath)> = Vec::new();
        others.extend(report.iter().map(|place| (files::REPORT, place)));
        others.extend(page.iter().map(|place| ("--html", place)));
        others.extend(trace.iter().map(|place| ("--trace", place)));
        others.extend(waves.iter().map(|place| ("--wave", place)));
        let mut read = vec![(Path::new(&self.platform), "the platform's file")];
        read.extend(
            self.access
                .iter()
                .map(|path| (&**path, "what --access reads")),
        );
        read.extend(
            self.shell
                .iter()
                .map(|path| (&**path, "what --shell reads")),
        );
        files::refuse_clashes(&planned, &others, kernel, &read)?;

        let ready: Result<Vec<_>, _> = planned
            .into_iter()
            .map(|file| file.begin(outputs))
            .collect();
        let ready = ready?;
        let mut written = Written {
            report: self.prints_json().then(TextFile::standard_output),
            ..Written::default()
        };
        if let Some(place) = report {
            let name = place.named.clone();
            let file = TextFile::begin(place, outputs, false).map_err(RunError::writing(&name))?;
            written.report = Some(file);
        }
        if let Some(place) = page {
            let name = place.named.clone();
            let file = TextFile::begin(place, outputs, true).map_err(RunError::writing(&name))?;
            written.page = Some(file);
        }
        // The page and the sentence about the bound need activity over time.
        let here = !self.functional && self.external_card().is_none();
        written.timeline = here.then(Timeline::recorder);
        if let Some(place) = trace {
            let name = place.named.clone();
            let timeline = begin_timeline(place, outputs).map_err(RunError::writing(&name))?;
            written.timeline = Some(timeline);
        }
        written.waves = self.begin_waves(waves, outputs)?;
        Ok((ready, written))
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
