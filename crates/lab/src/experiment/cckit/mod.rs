//! CCKit's tables 1 to 3 and figures 6 to 10, compared with the published values. `experiments/cckit.toml` lists the
//! bar rows of each figure; each point is exactly the figure that `make bench` measures.

mod page;
mod picture;
mod run;
mod table;

pub use page::study;
pub use run::{Ended, Measurements};

use super::{description, DescriptionError};
use crate::bar::Bar;
use crate::claim::Claims;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The experiment, as described by its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cckit {
    /// Title of the comparison.
    pub title: String,
    /// Platform file of the card and the CPU.
    pub platform: String,
    /// Reasons for deviations that are not errors of the model.
    pub known_differences: Vec<String>,
    /// Tables and figures, in the paper's order.
    pub figure: Vec<Figure>,
    /// Targets and published values of the rows.
    pub rows: Claims,
    /// Bars that measure the rows.
    #[serde(skip)]
    bars: &'static [Bar],
}

/// A table or a figure of the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name on the command line, such as `table2`.
    pub name: String,
    /// Title of the figure.
    pub title: String,
    /// Unit of all its points.
    pub unit: String,
    /// Whether it belongs to a quick run.
    #[serde(default)]
    pub quick: bool,
    /// Measured points.
    pub points: Vec<Point>,
}

/// One of our figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Label of the point.
    pub label: String,
    /// Name of the bar row that contains it.
    pub row: String,
}

impl Cckit {
    /// Reads `cckit.toml` from a folder; `bars` measure its rows.
    ///
    /// # Errors
    /// The file is missing or malformed, or refers to a row that no bar measures.
    pub fn read(folder: &Path, bars: &'static [Bar]) -> Result<Self, DescriptionError> {
        let path: PathBuf = folder.join("cckit.toml");
        let read = Self {
            bars,
            ..description::read(&path)?
        };
        let points = read.figure.iter().flat_map(|figure| &figure.points);
        match points
            .into_iter()
            .find(|point| read.bar(&point.row).is_none())
        {
            None => Ok(read),
            Some(point) => {
                let rule = format!("no bar measures `{}`", point.row);
                Err(DescriptionError::Rule { path, rule })
            }
        }
    }

    /// The bar that measures a row.
    fn bar(&self, row: &str) -> Option<&'static Bar> {
        self.bars.iter().find(|bar| bar.names.contains(&row))
    }

    /// The figures of a quick run, or all.
    pub fn figures(&self, quick: bool) -> Vec<&Figure> {
        let all = self.figure.iter();
        all.filter(|figure| !quick || figure.quick).collect()
    }

    /// The figure with this name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figure.iter().find(|figure| figure.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    const TEXT: &str = r#"
        title = "a title"
        platform = "enzian"
        known_differences = []
        [[figure]]
        name = "table2"
        title = "loads < all"
        unit = "ns"
        points = [
          { label = "on-chip", row = "cckit.table2.onchip_ns" },
          { label = "DDR4", row = "cckit.table2.ddr_ns" },
        ]
        [rows]
        "cckit.table2.onchip_ns" = { at_most = 325, paper = 454, source = "x", state = "other_setup", why = "another directory" }
        "cckit.table2.ddr_ns" = { at_most = 440 }
    "#;

    const BARS: &[Bar] = &[Bar {
        names: &["cckit.table2.onchip_ns", "cckit.table2.ddr_ns"],
        measure: || Ok(Vec::new()),
    }];

    fn folder_with(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cckit.toml"), text).unwrap();
        folder
    }

    fn outcome(experiment: &Cckit) -> Measurements {
        let rows = [
            Row::new("cckit.table2.onchip_ns", 227.0, "ns"),
            Row::new("cckit.table2.ddr_ns", 450.0, "ns"),
        ];
        Measurements::of(rows.map(|row| experiment.rows.judge(row)).into())
    }

    #[test]
    fn the_experiment_is_understood() {
        let experiment =
            Cckit::read(&simcard::home().join("experiments"), crate::bars::ALL).unwrap();
        for figure in &experiment.figure {
            assert!(!figure.points.is_empty(), "{}", figure.name);
        }
        assert!(experiment.figure("figure10").unwrap().quick);
    }

    #[test]
    fn a_row_that_no_bar_measures_is_refused() {
        let folder = folder_with(&TEXT.replace("ddr_ns", "dddr_ns"));
        let error = Cckit::read(folder.path(), BARS).unwrap_err().to_string();
        assert!(
            error.contains("no bar measures `cckit.table2.dddr_ns`"),
            "{error}"
        );
    }

    #[test]
    fn ours_stand_beside_the_papers() {
        let experiment = Cckit::read(folder_with(TEXT).path(), BARS).unwrap();
        let figures: Vec<&Figure> = experiment.figure.iter().collect();
        let text = experiment.table(&figures, &outcome(&experiment));
        let line = |label: &str| text.lines().find(|line| line.contains(label)).unwrap();
        let words = |label: &str| line(label).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            words("on-chip"),
            "on-chip 227 454 0.50 ≤ 325 met; other setup"
        );
        assert_eq!(words("DDR4"), "DDR4 450 - - ≤ 440 MISSED");
        assert!(text.contains("1 of 2 bars met"), "{text}");
        assert!(text.contains("other setup: another directory"), "{text}");
        let missing = experiment.table(&figures, &Measurements::of(Vec::new()));
        assert!(missing.contains("not measured"), "{missing}");
    }

    #[test]
    fn pictures_have_a_bar_a_figure_and_no_open_tags() {
        let experiment = Cckit::read(folder_with(TEXT).path(), BARS).unwrap();
        let svg = experiment.figure[0].picture(&experiment.rows, &outcome(&experiment));
        assert_eq!(svg.matches("class=\"ours\"").count(), 2);
        assert_eq!(svg.matches("class=\"paper\"").count(), 1);
        assert!(svg.contains("loads &lt; all"), "{svg}");
    }
}
