//! FlexiMem's evaluation: its interconnect by address lanes (figure 6: [`lanes`], table II: [`area`]), its components
//! (table III: [`components`]), itself beside others (table I: [`features`]), and shared pointers (figures 7 and 8: [`FlexiMem`]).
//!
//! Figures 7 and 8: an array changed in place by a kernel, in memory that the program has, by page size;
//! over the same with the data already there, and with traps over without.
//!
//! The paper prints ratios only: neither the accelerator's rate nor what its host takes for a page. So both are
//! fitted ([`fit`]), frozen in `experiments/fleximem.toml` and its host file, and what is left of each ratio is shown.

pub mod area;
pub mod components;
pub mod features;
mod fit;
pub mod lanes;
mod page;
mod run;
mod table;

pub use fit::Fitted;
pub use page::{study, FleximemFigures};
pub use run::{OfSize, PageTimes, Pages};

use super::{description, DescriptionError};
use serde::Deserialize;
use simcard::ShellConfig;
use std::path::{Path, PathBuf};
use tombolo::HostFile;
use units::PageSize;

/// The experiment, as `experiments/fleximem.toml` says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlexiMem {
    /// What it compares.
    pub title: String,
    /// Figures of the card.
    pub platform: String,
    /// Bytes of the array.
    pub bytes: u64,
    /// Its bytes along figure 7; `bytes` is among them.
    pub sizes: Vec<u64>,
    /// Why figures may differ although the model is right.
    pub known_differences: Vec<String>,
    /// The paper's system, as far as it is known, and fitted where it is not.
    pub paper: AcceleratorSystem,
    /// Ours.
    pub ours: AcceleratorSystem,
    /// The paper's page sizes and what it prints.
    pub page: Vec<Page>,
    #[serde(skip)]
    folder: PathBuf,
}

/// A shell, a host and an accelerator.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorSystem {
    /// Cycles for each row of 64 bytes.
    pub pace: u32,
    /// Name of the host file in `hosts/`.
    pub host: String,
    /// Bytes that are fetched ahead of faults.
    pub read_ahead_bytes: u64,
    /// The shell.
    pub shell: ShellConfig,
}

/// A page size and its ratios in the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// For tables and bars: `2m`.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// Figure 7: time with traps over time with the data there.
    pub over_ready: f64,
    /// Figure 8: time with traps over time without, minus 1.
    pub traps: f64,
}

impl Page {
    /// The size.
    ///
    /// # Errors
    /// There is no such page.
    pub(crate) fn size(&self) -> Result<PageSize, super::Failure> {
        PageSize::from_bytes(self.bytes)
            .ok_or_else(|| format!("{} bytes are no page", self.bytes).into())
    }
}

impl FlexiMem {
    /// Reads `fleximem.toml` in a folder.
    ///
    /// # Errors
    /// It is missing or malformed, or has no pages.
    pub fn read(folder: &Path) -> Result<Self, DescriptionError> {
        let path = folder.join("fleximem.toml");
        let read: Self = description::read(&path)?;
        let divides = |page: &Page, bytes: u64| page.bytes > 0 && bytes % page.bytes == 0;
        let fits = |page: &Page| read.sizes.iter().all(|&bytes| divides(page, bytes));
        if read.page.is_empty() || !read.page.iter().all(fits) || !read.sizes.contains(&read.bytes)
        {
            let rule = "there are pages, each of which divides `sizes`, and `bytes` is one of them"
                .to_owned();
            return Err(DescriptionError::Rule { path, rule });
        }
        Ok(Self {
            folder: folder.to_owned(),
            ..read
        })
    }

    /// The host file of a system.
    pub(crate) fn host(&self, system: &AcceleratorSystem) -> Result<HostFile, super::Failure> {
        let hosts = self.folder.join("../hosts");
        Ok(HostFile::load(hosts.join(format!("{}.toml", system.host)))?)
    }
}
