//! `tombolo replay`: a daemon's journal, again.

use crate::card_shape::{CardShape, Needs, ShapeError};
use crate::print::{print, say, NotPrinted};
use ::daemon::{End, Replay, ReplayError, ReplayPlaces, Replayed, WrittenFile};
use clap::Args;
use std::fmt::Write;
use std::path::PathBuf;
use verilated::Limits;

/// Replays the journal of a daemon: the same requests at the same virtual times, on a card of its own.
#[derive(Args)]
#[command(
    after_help = "Files that programs wrote are copies here; files that they only read must have their content of \
then, or lie in the folder of --journal-data. It ends with an error if the report, a reply or a written file differs.

Examples:
  Record what programs do, and replay it when the daemon has ended or was killed:
    tombolo daemon --functional --socket card --journal day.journal --journal-data day.files
    tombolo replay day.journal --journal-data day.files
  Keep the files that were written, and the report:
    tombolo replay day.journal --outputs again --report again.json"
)]
pub(crate) struct RunReplay {
    /// The journal, of `tombolo daemon --journal`.
    #[arg(value_name = "FILE")]
    journal: PathBuf,

    /// Folder of the daemon's --journal-data, for files that have changed since.
    #[arg(long, value_name = "FOLDER")]
    journal_data: Option<PathBuf>,

    /// Folder for the files that programs wrote (default: they are removed).
    #[arg(long, value_name = "FOLDER")]
    outputs: Option<PathBuf>,

    /// Writes the report as JSON.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Tries it on a card, a platform or a shell that differs from the recorded one.
    #[arg(long)]
    any_card: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayFailed {
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error(transparent)]
    Card(#[from] ShapeError),
    #[error("{path}: the journal does not say how to make its card: {source}", path = .path.display())]
    Shape {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("{path}: {source}", path = .path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
    #[error("{0}")]
    Different(String),
}

impl RunReplay {
    pub(crate) fn run(self) -> Result<(), ReplayFailed> {
        let failed = |path: &PathBuf| {
            let path = path.clone();
            move |source| ReplayFailed::File { path, source }
        };
        let replay = Replay::open(&self.journal)?;
        let shape = serde_json::from_value::<CardShape>(replay.header().card.clone());
        let shape = shape.map_err(|source| ReplayFailed::Shape {
            path: self.journal.clone(),
            source,
        })?;
        let unopened = shape.prepare(Needs::default(), Limits::default())?;
        if let Err(error) = replay.check(&unopened.same()?) {
            match self.any_card {
                true => say!("tombolo: warning: {error}"),
                false => return Err(error.into()),
            }
        }
        // Removed at the end.
        let mut temporary = None;
        let outputs = match &self.outputs {
            Some(folder) => folder.clone(),
            None => {
                let folder = tempfile::tempdir().map_err(failed(&std::env::temp_dir()))?;
                temporary.insert(folder).path().to_owned()
            }
        };
        let data = self.journal_data.clone();
        let (inputs, replay) = replay.prepare(ReplayPlaces { outputs, data })?;
        let card = unopened.open(inputs)?;
        let replayed = replay.run(&card)?;
        if let Some(path) = &self.report {
            // A report has only strings, numbers and lists, so it always serializes.
            let json = serde_json::to_vec_pretty(&replayed.report).unwrap_or_default();
            std::fs::write(path, json).map_err(failed(path))?;
        }
        let kept = self.outputs.is_some();
        print(text(&replayed, kept))?;
        differences(&replayed).map_or(Ok(()), |rule| Err(ReplayFailed::Different(rule)))
    }
}

fn text(replayed: &Replayed, kept: bool) -> String {
    let mut text = String::new();
    let hash = replayed.report.hash();
    let Replayed {
        inputs,
        requests,
        replies,
        written,
        ..
    } = replayed;
    let time = match replayed.report.time.get() {
        // The functional card has no time.
        0 => String::new(),
        time => format!(", to {time} ps of virtual time"),
    };
    // Writing to text cannot fail.
    let _ = writeln!(
        text,
        "{requests} requests, {inputs} inputs{time}; {replies} replies and {} written files compared",
        written.len()
    );
    if kept {
        for file in written {
            let _ = writeln!(text, "{} is {}", file.label, file.copy.display());
        }
    }
    if let End::Cut(why) = &replayed.end {
        let _ = writeln!(text, "the journal is replayed up to its end: {why}");
    }
    let _ = writeln!(text, "report {hash}");
    text
}

/// Differences from the record, as a message.
fn differences(replayed: &Replayed) -> Option<String> {
    let mut all = Vec::new();
    if let Some(reply) = &replayed.different_reply {
        all.push(reply.clone());
    }
    let differs = |file: &&WrittenFile| !file.is_same();
    for file in replayed.written.iter().filter(differs) {
        let (bytes, hash) = &file.content;
        let (recorded, of) = &file.recorded;
        all.push(format!(
            "{}: the replay wrote {bytes} bytes with SHA-256 {hash}, and {recorded} bytes with {of} were recorded",
            file.label
        ));
    }
    if let End::Report(report) = &replayed.end {
        let hash = replayed.report.hash();
        if hash != report.hash {
            all.push(format!(
                "the report is {hash} at {} ps, and was {} at {} ps",
                replayed.report.time.get(),
                report.hash,
                report.time
            ));
        }
    }
    (!all.is_empty()).then(|| format!("the replay differs: {}", all.join("; ")))
}
