//! `tombolo cache`: built models that are kept for later runs.

use crate::print::{print, say, NotPrinted};
use clap::{Args, Subcommand};
use verilated::{BuildError, CachedModel};

/// Lists, measures and clears the cache of built models.
///
/// Models of shells and kernels are kept in TOMBOLO_CACHE (~/.cache/tombolo), keyed by a hash of everything that they
/// are built from. A removed model is rebuilt when a run needs it.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo cache list
  tombolo cache size
  tombolo cache clear
  tombolo cache clear --unused-for 30")]
pub struct Cache {
    #[command(subcommand)]
    command: CacheCommand,
}

#[derive(Subcommand)]
enum CacheCommand {
    /// Lists models: name, size, days since the last use.
    List,
    /// Prints the number of models, their size and their folder.
    Size,
    /// Removes models. A model that is being built or loaded stays, and open cards are not disturbed.
    Clear {
        /// Removes only models that have not been used for this number of days.
        #[arg(long, value_name = "DAYS")]
        unused_for: Option<u64>,
    },
}

/// Why the cache is not listed or cleared.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// A file or folder of it.
    #[error(transparent)]
    Cache(#[from] BuildError),
    /// Models that other processes are building or loading.
    #[error("{0} are being built or loaded right now and stay; clear again later")]
    Busy(usize),
    /// The standard output.
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
}

fn days(model: &CachedModel) -> u64 {
    model.unused().as_secs() / 86_400
}

fn megabytes(models: &[CachedModel]) -> f64 {
    models.iter().map(CachedModel::bytes).sum::<u64>() as f64 / 1e6
}

impl Cache {
    pub fn run(self) -> Result<(), CacheError> {
        let folder = verilated::models();
        let models = CachedModel::all(&folder)?;
        let sum = format!(
            "{} models, {:.1} MB, in {}\n",
            models.len(),
            megabytes(&models),
            folder.display()
        );
        match self.command {
            CacheCommand::List => {
                let lines = models.iter().map(|model| {
                    let (name, size) = (model.name(), model.bytes() as f64 / 1e6);
                    format!(
                        "{name:40} {size:10.1} MB  unused for {} days\n",
                        days(model)
                    )
                });
                print(lines.collect::<String>() + &sum)?;
            }
            CacheCommand::Size => print(sum)?,
            CacheCommand::Clear { unused_for } => {
                let old =
                    |model: &&CachedModel| unused_for.is_none_or(|least| days(model) >= least);
                let (mut removed, mut busy) = (0, 0);
                for model in models.iter().filter(old) {
                    match model.remove()? {
                        true => removed += 1,
                        false => busy += 1,
                    }
                }
                let said = format!("removed {removed} models from {}\n", folder.display());
                if let Err(error) = print(said) {
                    say!("tombolo: warning: {error}");
                }
                if busy > 0 {
                    return Err(CacheError::Busy(busy));
                }
            }
        }
        Ok(())
    }
}
