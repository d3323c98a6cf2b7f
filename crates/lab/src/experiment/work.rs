//! Units of simulation with cached results: a cell of a table, concurrent kernels, transfers of one size.

use super::cache::{self, Cached, Kept};
use super::fsrf::{Mix, Transfer};
use super::{hot, warm, Cell, Failure, Outcome, Temperature};
use crate::processor;
use simcard::SimOptions;
use std::path::Path;

/// A piece of work; its result is independent of when and where it runs.
#[derive(Clone, Debug)]
pub enum Work<'a> {
    /// Applications of one kind.
    Cell(Cell<'a>),
    /// Different applications (figure 7).
    Mix(Mix<'a>),
    /// Random reads of one size (figure 9).
    Transfer(Transfer),
}

impl<'a> From<Cell<'a>> for Work<'a> {
    fn from(cell: Cell<'a>) -> Self {
        Self::Cell(cell)
    }
}

impl Work<'_> {
    /// Name, unique in an experiment, by which a worker is started.
    pub fn name(&self) -> String {
        match self {
            Self::Cell(cell) => cell.name(),
            Self::Mix(mix) => mix.name(),
            Self::Transfer(transfer) => transfer.name(),
        }
    }

    /// Kernels that it loads.
    fn kernels(&self) -> Vec<&str> {
        match self {
            Self::Cell(cell) => vec![&cell.workload.kernel],
            Self::Mix(mix) => mix.kernels(),
            Self::Transfer(_) => vec!["rng"],
        }
    }

    /// All inputs by name and value.
    fn made_of(&self) -> Result<String, Failure> {
        Ok(match self {
            Self::Cell(cell) => format!("cell {}", cell.made_of()?),
            Self::Mix(mix) => format!("mix {}", mix.made_of()?),
            Self::Transfer(transfer) => format!("transfer {}", transfer.made_of()?),
        })
    }

    fn options(&self, platform: &str) -> Result<SimOptions, Failure> {
        let mut options = SimOptions::named(platform)?;
        options.shell = match self {
            Self::Cell(cell) => cell.preset().shell.clone(),
            Self::Mix(mix) => mix.preset().shell.clone(),
            Self::Transfer(_) => Transfer::preset()?.shell,
        };
        Ok(options)
    }

    /// Cache entry of its result, with all its inputs.
    fn cached(&self, root: &Path, options: &SimOptions) -> Result<Cached, Failure> {
        let made_of = self.made_of()?;
        let parts = cache::Parts {
            name: &self.name(),
            kernels: &self.kernels(),
            platform: options.platform.hash(),
            made_of: &made_of,
        };
        Cached::of(root, &parts)
    }

    /// Cache entry of its result on a platform, in the folder `root`.
    ///
    /// # Errors
    /// Unknown platform, or unreadable sources.
    pub(super) fn cached_on(&self, root: &Path, platform: &str) -> Result<Cached, Failure> {
        self.cached(root, &self.options(platform)?)
    }

    /// Hash of its inputs; work with equal inputs shares a result.
    ///
    /// # Errors
    /// As [`run`](Self::run), before it starts.
    pub fn hash(&self, platform: &str) -> Result<String, Failure> {
        Ok(self.cached_on(&cache::root(), platform)?.hash())
    }

    /// Whether the cache has its result.
    ///
    /// # Errors
    /// As [`run`](Self::run), before it starts.
    pub fn is_kept(&self, platform: &str) -> Result<bool, Failure> {
        let kept = self
            .cached_on(&cache::root(), platform)?
            .read::<Outcome>()?;
        Ok(matches!(kept, Kept::Whole(_)))
    }

    /// Runs it, or returns the cached result of an earlier run. A concurrent caller waits for the first one.
    ///
    /// # Errors
    /// Any error that prevents its execution.
    pub fn run(&self, platform: &str) -> Result<Outcome, Failure> {
        let options = self.options(platform)?;
        let cached = self.cached(&cache::root(), &options)?;
        cached.or_compute(|| {
            let before = processor::own();
            let mut outcome = match self {
                Self::Transfer(transfer) => transfer.run(options)?,
                Self::Mix(mix) => mix.run(options)?,
                Self::Cell(cell) => simulate(cell, options)?,
            };
            outcome.processor_seconds = (processor::own() - before).as_secs_f64();
            Ok(outcome)
        })
    }
}

pub(super) fn simulate(cell: &Cell<'_>, options: SimOptions) -> Result<Outcome, Failure> {
    match cell.temperature {
        Temperature::Hot => hot::run(cell, options),
        Temperature::Warm | Temperature::Cold => warm::run(cell, options),
    }
}

#[cfg(test)]
impl Work<'_> {
    /// Stores a result as if the work had been done; returns the path of the file.
    pub(super) fn keep(
        &self,
        root: &Path,
        platform: &str,
        outcome: &Outcome,
    ) -> std::path::PathBuf {
        let cached = self.cached(root, &self.options(platform).unwrap()).unwrap();
        cached.write(outcome).unwrap();
        cached.path().to_owned()
    }
}
