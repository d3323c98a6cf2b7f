//! `tombolo cache`: models that were built and are kept.

use crate::print::{print, say, NotPrinted};
use clap::{Args, Subcommand};
use rustix::fs::{flock, FlockOperation};
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Lists, measures and clears the cache of built models.
///
/// Models of shells and kernels are kept in TOMBOLO_CACHE (~/.cache/tombolo), by a hash of all that they were built from: one
/// that is removed is built again when it is needed.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo cache list
  tombolo cache size
  tombolo cache clear
  tombolo cache clear --unused-for 30")]
pub struct Cache {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists models: name, size, days since the last use.
    List,
    /// Prints how many there are, their size, and where they are.
    Size,
    /// Removes models. Those that are being built or loaded right now stay, and cards that are open are not disturbed.
    Clear {
        /// Only those that nobody has used for so many days.
        #[arg(long, value_name = "DAYS")]
        unused_for: Option<u64>,
    },
}

/// Why the cache is not listed or cleared.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A file or folder of it.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Some are in use.
    #[error("{0} are being built or loaded right now and stay; clear again later")]
    Busy(usize),
    /// The standard output.
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
}

/// A model that is kept.
struct Entry {
    path: PathBuf,
    bytes: u64,
    /// How long nobody has made or read it, as far as the file system says.
    unused: Duration,
}

impl Entry {
    fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    fn days(&self) -> u64 {
        self.unused.as_secs() / 86_400
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Failure + '_ {
    |source| Failure::Io {
        path: path.to_owned(),
        source,
    }
}

/// What lies below a folder; what is removed meanwhile is not there.
fn files(folder: &Path, found: &mut Vec<Metadata>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if metadata.is_dir() {
            files(&entry.path(), found);
        } else {
            found.push(metadata);
        }
    }
}

/// Models in a folder, by name; none if there is no folder.
fn entries(folder: &Path) -> Result<Vec<Entry>, Failure> {
    let read = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(failed(folder))?,
    };
    let now = SystemTime::now();
    let mut all = Vec::new();
    for entry in read.flatten() {
        let name = entry.file_name();
        // One with a process in its name is being made, or taken away.
        let whole = !name.to_string_lossy().contains(".tmp");
        if !whole || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let mut found = Vec::new();
        files(&entry.path(), &mut found);
        let used = found
            .iter()
            .flat_map(|file| [file.accessed(), file.modified()]);
        let used = used.flatten().max().unwrap_or(now);
        all.push(Entry {
            path: entry.path(),
            bytes: found.iter().map(|file| file.blocks() * 512).sum(),
            unused: now.duration_since(used).unwrap_or_default(),
        });
    }
    all.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(all)
}

/// Removes a model, unless somebody builds or loads it.
fn remove(entry: &Entry) -> Result<bool, Failure> {
    let path = &entry.path;
    // The lock of whoever builds it. It stays, because somebody may wait for it.
    let mut lock = path.clone().into_os_string();
    lock.push(".lock");
    let lock = PathBuf::from(lock);
    let mut how = OpenOptions::new();
    let held = how.create(true).truncate(false).write(true).open(&lock);
    let held = held.map_err(failed(&lock))?;
    if flock(&held, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    // Out of the way in one step, so that nobody meets half of it.
    let mut aside = path.clone().into_os_string();
    aside.push(format!(".tmp{}-clear", std::process::id()));
    let aside = PathBuf::from(aside);
    fs::rename(path, &aside).map_err(failed(path))?;
    fs::remove_dir_all(&aside).map_err(failed(&aside))?;
    Ok(true)
}

fn megabytes(entries: &[Entry]) -> f64 {
    entries.iter().map(|entry| entry.bytes).sum::<u64>() as f64 / 1e6
}

impl Cache {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        let folder = verilated::cache_root().join("models");
        let entries = entries(&folder)?;
        let sum = format!(
            "{} models, {:.1} MB, in {}\n",
            entries.len(),
            megabytes(&entries),
            folder.display()
        );
        match self.command {
            Command::List => {
                let lines = entries.iter().map(|entry| {
                    let (name, size) = (entry.name(), entry.bytes as f64 / 1e6);
                    format!(
                        "{name:40} {size:10.1} MB  unused for {} days\n",
                        entry.days()
                    )
                });
                print(lines.collect::<String>() + &sum)?;
            }
            Command::Size => print(sum)?,
            Command::Clear { unused_for } => {
                let old = |entry: &&Entry| unused_for.is_none_or(|days| entry.days() >= days);
                let (mut removed, mut busy) = (0, 0);
                for entry in entries.iter().filter(old) {
                    match remove(entry)? {
                        true => removed += 1,
                        false => busy += 1,
                    }
                }
                let said = format!("removed {removed} models from {}\n", folder.display());
                if let Err(error) = print(said) {
                    say!("tombolo: warning: {error}");
                }
                if busy > 0 {
                    return Err(Failure::Busy(busy));
                }
            }
        }
        Ok(())
    }
}
