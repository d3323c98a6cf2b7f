//! Replay of a daemon's journal: the same requests at the same virtual times, on files of its own.

mod files;
mod player;
mod replies;

use crate::journal::{
    Cut, Header, JournalEntry, JournalError, JournalReader, Passed, ReportEntry, Taken,
};
use files::ReplayFiles;
pub use files::WrittenFile;
use player::{Feed, Player};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::Arc;
use tombolo::serving::Inputs;
use tombolo::{Card, Error, Report};

/// Inputs that wait for the owner.
const AHEAD: usize = 256;

/// Why a journal cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The card is another.
    #[error("{name}: {recorded} was recorded, and this is {here}: replay on the same card (--any-card tries in spite of it)")]
    OtherCard {
        /// Name of the property.
        name: String,
        /// Its value in the journal.
        recorded: String,
        /// Its value here.
        here: String,
    },
    /// A file does not have the recorded content.
    #[error(
        "{path}: it had {bytes} bytes with SHA-256 {hash} when a client passed it, and {found}: put that content there, \
         or give the folder of --journal-data", path = .path.display()
    )]
    OtherFile {
        /// Path of the file at that time.
        path: PathBuf,
        /// Recorded size.
        bytes: u64,
        /// Recorded hash.
        hash: String,
        /// Present state.
        found: String,
    },
    /// A kernel's folder has changed.
    #[error("kernel {path}: its identity was {recorded:016x}, and {found}", path = .path.display())]
    OtherKernel {
        /// Folder of the kernel.
        path: PathBuf,
        /// Recorded identity.
        recorded: u64,
        /// Present state.
        found: String,
    },
    /// The card did not do what it did then.
    #[error("the replay differs from line {line} of the journal on: {how}")]
    Differs {
        /// Line of the journal.
        line: u64,
        /// Recorded and present value.
        how: String,
    },
    /// A file of the replay.
    #[error("{path}: {source}", path = .path.display())]
    Files {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A request that is not refused in a journal, and is now.
    #[error(transparent)]
    Card(#[from] Error),
}

/// End of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The daemon stopped, and recorded its report.
    Report(ReportEntry),
    /// Earlier, for this reason.
    Cut(String),
}

/// A journal that was looked through.
#[derive(Debug)]
pub struct Replay {
    path: PathBuf,
    header: Header,
    end: End,
    /// Lines to replay.
    lines: u64,
    /// Files that are written or change, and need a copy.
    copied: BTreeSet<u64>,
}

/// Result of a replay.
#[derive(Debug)]
pub struct Replayed {
    /// The report at the end.
    pub report: Box<Report>,
    /// End of the journal.
    pub end: End,
    /// Inputs that the owner took.
    pub inputs: u64,
    /// Requests of clients among them.
    pub requests: u64,
    /// Replies that were compared with the recorded ones.
    pub replies: u64,
    /// The first reply that differs.
    pub different_reply: Option<String>,
    /// Files that clients wrote.
    pub written: Vec<WrittenFile>,
}

impl Replayed {
    /// Whether everything that was recorded is the same: report, replies, and written files.
    pub fn is_same(&self) -> bool {
        let report = match &self.end {
            End::Report(recorded) => recorded.hash == self.report.hash(),
            End::Cut(_) => true,
        };
        let files = self.written.iter().all(WrittenFile::is_same);
        report && files && self.different_reply.is_none()
    }
}

/// Where a replay finds files.
#[derive(Clone, Debug)]
pub struct ReplayPlaces {
    /// Folder for copies of files that are written.
    pub outputs: PathBuf,
    /// Folder of `--journal-data`.
    pub data: Option<PathBuf>,
}

impl Replay {
    /// Looks through a journal.
    ///
    /// # Errors
    /// [`ReplayError::Journal`]: it is damaged, or of another version.
    pub fn open(path: &Path) -> Result<Self, ReplayError> {
        let (mut reader, header) = JournalReader::open(path)?;
        let mut end = None;
        let mut copied = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut lines = reader.lines();
        while let Some(entry) = reader.entry()? {
            let line = reader.lines();
            let cut = |why: String| Some(End::Cut(format!("line {line}: {why}")));
            match &entry {
                JournalEntry::File(file) if !seen.insert(file.file) => {
                    copied.insert(file.file);
                }
                JournalEntry::Request(request) => {
                    for passed in &request.passed {
                        match passed {
                            Passed::File(file, rights) if rights.write => {
                                copied.insert(*file);
                            }
                            Passed::Memory => {
                                end = cut(format!(
                                    "client {} shares memory of its program (request {}), whose bytes are not in the journal",
                                    request.client, request.number
                                ));
                            }
                            _ => {}
                        }
                    }
                }
                JournalEntry::In(_, _, _, Taken::Timeout) => {
                    end = cut("a file system did not answer in real time".to_owned());
                }
                JournalEntry::Stopped(why) => end = cut(why.clone()),
                JournalEntry::Report(report) => end = Some(End::Report(report.clone())),
                _ => {}
            }
            if end.is_some() {
                // The report has no input of its own.
                break;
            }
            lines = line;
        }
        let end = end.unwrap_or_else(|| End::Cut(cut_of(&reader.cut())));
        Ok(Self {
            path: path.to_owned(),
            header,
            end,
            lines,
            copied,
        })
    }

    /// Version and card of the recording daemon.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Checks that a card has the recorded properties.
    ///
    /// # Errors
    /// [`ReplayError::OtherCard`]: the first one that differs.
    pub fn check(&self, same: &[(String, String)]) -> Result<(), ReplayError> {
        let here: BTreeMap<_, _> = same.iter().cloned().collect();
        for (name, recorded) in &self.header.same {
            let here = here.get(name).map_or("absent", String::as_str);
            if here != recorded {
                return Err(ReplayError::OtherCard {
                    name: name.clone(),
                    recorded: recorded.clone(),
                    here: here.to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Prepares the replay: the option of the owner of the card that it runs on, and the replay itself.
    ///
    /// # Errors
    /// The system's.
    pub fn prepare(self, places: ReplayPlaces) -> Result<(Inputs, PreparedReplay), ReplayError> {
        let (inputs, coming) = sync_channel(AHEAD);
        let shared = Arc::default();
        let feed = Feed::new(coming, Arc::clone(&shared));
        let files = ReplayFiles::new(places, self.copied.clone())?;
        let player = Player::new(inputs, shared, files);
        let replay = PreparedReplay {
            replay: self,
            player,
        };
        Ok((Inputs::replayed(feed), replay))
    }
}

fn cut_of(cut: &Cut) -> String {
    cut.to_string()
}

/// A replay whose card is about to be opened.
pub struct PreparedReplay {
    replay: Replay,
    player: Player,
}

impl std::fmt::Debug for PreparedReplay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PreparedReplay").field(&self.replay).finish()
    }
}

impl PreparedReplay {
    /// Replays the journal on the card that was opened with its inputs. The card must not be used before.
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub fn run(self, card: &Card) -> Result<Replayed, ReplayError> {
        let Self { replay, player } = self;
        let (reader, _) = JournalReader::open(&replay.path)?;
        let played = player.play(reader, replay.lines, &replay.end);
        // Whatever the kernels of its clients still do is not awaited.
        let closed = card.close();
        if let Err(error) = closed {
            tracing::debug!(%error, "closing the card of a replay");
        }
        let played = played?;
        Ok(Replayed {
            report: played.report,
            end: replay.end,
            inputs: played.inputs,
            requests: played.requests,
            replies: played.replies,
            different_reply: played.different_reply,
            written: played.written,
        })
    }
}
