//! FlexiMem's evaluation: its interconnect by address lanes (figure 6: [`lanes`], table II: [`area`]), its components
//! (table III: [`components`]), its features compared with other systems (table I: [`features`]), and shared pointers
//! (figures 7 and 8: [`FlexiMem`]).
//!
//! Figures 7 and 8: a kernel updates an array in program memory in place, by page size, relative to the same with
//! resident data, and with traps relative to without.
//!
//! The paper publishes ratios only, not the accelerator's rate or its host's cost per page. Both are therefore fitted
//! ([`fit`]), fixed in `experiments/fleximem.toml` and its host file, and the residual of each ratio is reported.

pub mod area;
pub mod components;
pub mod features;
mod fit;
pub mod lanes;
mod page;
mod run;
mod table;

pub use fit::Fitted;
pub use lanes::LaneFigure;
pub use page::{study, FleximemFigures};
pub use run::{OfSize, PageTimes, Pages};

use super::{description, DescriptionError};
use crate::claim::Claims;
use components::Component;
use serde::Deserialize;
use simcard::ShellConfig;
use std::path::{Path, PathBuf};
use tombolo::HostFile;
use units::PageSize;

/// The experiment, as described by `experiments/fleximem.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlexiMem {
    /// Title of the comparison.
    pub title: String,
    /// Platform file of the card.
    pub platform: String,
    /// Size of the array in bytes.
    pub bytes: u64,
    /// Array sizes of figure 7 in bytes, including `bytes`.
    pub sizes: Vec<u64>,
    /// Reasons for deviations that are not errors of the model.
    pub known_differences: Vec<String>,
    /// The paper's system: published parameters, and fitted ones where they are not published.
    pub paper: AcceleratorSystem,
    /// Our system.
    pub ours: AcceleratorSystem,
    /// The paper's page sizes with its published ratios.
    pub page: Vec<Page>,
    /// Rows of the paper's table III.
    pub component: Vec<Component>,
    /// Targets and published values of rows of the bench.
    pub(super) rows: Claims,
    #[serde(skip)]
    folder: PathBuf,
}

/// A shell, a host and an accelerator.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorSystem {
    /// Cycles per row of 64 bytes.
    pub pace: u32,
    /// Name of the host file in `hosts/`.
    pub host: String,
    /// Read-ahead beyond a fault in bytes.
    pub read_ahead_bytes: u64,
    /// Configuration of the shell.
    pub shell: ShellConfig,
}

/// A page size with its ratios in the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Name in tables and bars, such as `2m`.
    pub name: String,
    /// Page size in bytes.
    pub bytes: u64,
    /// Figure 7: time with traps over time with resident data.
    #[serde(skip)]
    pub over_ready: f64,
    /// Figure 8: time with traps over time without, minus 1.
    #[serde(skip)]
    pub traps: f64,
}

impl Page {
    /// The page size as a type.
    ///
    /// # Errors
    /// No page has this size.
    pub(crate) fn size(&self) -> Result<PageSize, super::Failure> {
        PageSize::from_bytes(self.bytes)
            .ok_or_else(|| format!("{} bytes are no page", self.bytes).into())
    }
}

impl FlexiMem {
    /// Reads `fleximem.toml` from a folder.
    ///
    /// # Errors
    /// The file is missing or malformed, or has no pages.
    pub fn read(folder: &Path) -> Result<Self, DescriptionError> {
        let path = folder.join("fleximem.toml");
        let mut read: Self = description::read(&path)?;
        let divides = |page: &Page, bytes: u64| page.bytes > 0 && bytes % page.bytes == 0;
        let fits = |page: &Page| read.sizes.iter().all(|&bytes| divides(page, bytes));
        if read.page.is_empty() || !read.page.iter().all(fits) || !read.sizes.contains(&read.bytes)
        {
            let rule = "there are pages, each of which divides `sizes`, and `bytes` is one of them"
                .to_owned();
            return Err(DescriptionError::Rule { path, rule });
        }
        for page in &mut read.page {
            let published = |figure: &str| {
                let row = format!("shared.repro.{figure}.{}", page.name);
                let value = read.rows.published(&row);
                value.ok_or_else(|| DescriptionError::Rule {
                    path: path.clone(),
                    rule: format!("[rows] has the published value of `{row}`"),
                })
            };
            (page.over_ready, page.traps) = (published("fig7")?, published("fig8")?);
        }
        Ok(Self {
            folder: folder.to_owned(),
            ..read
        })
    }

    /// Table II: LUT and FF of the paper's interconnect with this number of address lanes.
    fn interconnect(&self, lanes: u32) -> Option<[f64; 2]> {
        let value = |what| self.rows.published(&format!("synth.lanes.{lanes}.{what}"));
        Some([value("lut")?, value("ff")?])
    }

    /// Fits rate and costs of the paper's system; `tell` is called for each rate.
    ///
    /// # Errors
    /// The card fails, or a result is wrong.
    pub fn fit(&self, tell: impl FnMut(&Fitted)) -> Result<Fitted, super::Failure> {
        fit::fit(self, tell)
    }

    /// The host file of a system.
    pub(crate) fn host(&self, system: &AcceleratorSystem) -> Result<HostFile, super::Failure> {
        let hosts = self.folder.join("../hosts");
        Ok(HostFile::load(hosts.join(format!("{}.toml", system.host)))?)
    }
}
