//! A table with its constants fitted anew to other values: those that they were fitted to become predictions.

use super::claims::Constant;
use super::description::{DescriptionError, Experiment};
use super::workload::Load;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The file of a refit.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Refit {
    /// Name of the table's experiment.
    refit_of: String,
    title: String,
    /// A platform's file, relative to the folder of experiments.
    platform: String,
    /// By workload: updates or lookups under way.
    under_way: BTreeMap<String, u64>,
    /// By workload: idle cycles after a row of targets, an image, a lookup or an edge.
    pause: BTreeMap<String, u64>,
    /// Replaces the constants of the table's claims.
    constant: Vec<Constant>,
}

impl Refit {
    /// Whether the text of an experiment file is a refit's.
    pub(super) fn is(text: &str) -> bool {
        #[derive(Deserialize)]
        struct Probe {
            #[serde(rename = "refit_of")]
            _table: String,
        }
        toml::from_str::<Probe>(text).is_ok()
    }

    /// The table's experiment with the constants of this file, and only the cells that the table's own alone are fitted to.
    ///
    /// # Errors
    /// The table cannot be read, or has no such workload or value.
    pub(super) fn of(self, folder: &Path, name: &str) -> Result<Experiment, DescriptionError> {
        let rule = |rule: String| DescriptionError::Rule {
            path: folder.join(name).with_extension("toml"),
            rule,
        };
        let mut experiment = Experiment::read(folder, &self.refit_of)?;
        let claims = experiment.claims.take();
        let claims = claims.ok_or_else(|| rule(format!("{}: no claims", self.refit_of)))?;
        let fitted = claims.fitted();
        let claims = claims.with(self.constant).map_err(rule)?;
        // Values that a constant is still fitted to have nothing to say.
        experiment.only = fitted
            .into_iter()
            .filter_map(|cells| claims.predicted(cells))
            .collect();
        experiment.claims = Some(claims);
        for (constant, values) in [("under_way", self.under_way), ("pause", self.pause)] {
            for (workload, value) in values {
                let mut workloads = experiment.workloads.iter_mut();
                let found = workloads.find(|one| one.name == workload);
                let old = match found.map(|one| &mut one.load) {
                    Some(Load::Updates { under_way } | Load::Triangles { under_way, .. })
                        if constant == "under_way" =>
                    {
                        under_way
                    }
                    Some(
                        Load::Pairs { pause }
                        | Load::Images { pause, .. }
                        | Load::Ranks { pause }
                        | Load::Triangles { pause, .. },
                    ) if constant == "pause" => pause,
                    _ => return Err(rule(format!("no workload `{workload}` with `{constant}`"))),
                };
                *old = value;
            }
        }
        name.clone_into(&mut experiment.name);
        experiment.title = self.title;
        experiment.platform = folder.join(self.platform).display().to_string();
        Ok(experiment)
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::claims::ValueState;
    use crate::experiment::fsrf::{REFIT, TABLE};
    use crate::experiment::Experiment;

    fn experiment(name: &str) -> Experiment {
        Experiment::read(&simcard::home().join("experiments"), name).unwrap()
    }

    /// Every cell of the refit is calibrated in the table, and predicted here.
    #[test]
    fn calibrated_values_become_predictions() {
        let (table, refit) = (experiment(TABLE), experiment(REFIT));
        let state = |of: &'_ Experiment, cell: &crate::experiment::Cell<'_>| {
            let column = format!("{}_{}", cell.temperature.name(), cell.size.name());
            let at = (
                cell.workload.paper.as_str(),
                cell.system.name.as_str(),
                column.as_str(),
            );
            let claims = of.claims.as_ref().unwrap();
            matches!(claims.state(at), ValueState::Calibrated(_))
        };
        let cells = refit.cells();
        assert!(cells.iter().all(|cell| state(&table, cell)));
        assert!(!cells.iter().any(|cell| state(&refit, cell)));
        // All but the two of `read_queue`, which no other value depends on.
        let both = |of: &Experiment| of.claims.as_ref().unwrap().fitted();
        let same = both(&table)
            .into_iter()
            .filter(|one| both(&refit).contains(one));
        assert_eq!(same.count(), 2);
        assert_eq!(cells.len(), 68);
    }

    /// The platform differs from the table's in the constants that the file names, and in nothing else.
    #[test]
    fn the_platform_differs_only_in_the_constants() {
        let figures = |path: &str| -> toml::Table {
            let text = std::fs::read_to_string(simcard::home().join(path)).unwrap();
            toml::from_str(&text).unwrap()
        };
        let table = figures("platforms/f1-mig.toml");
        let mut refit = figures("experiments/refit/f1-mig.toml");
        for key in ["name", "description"] {
            refit[key] = table[key].clone();
        }
        for key in [
            "service_event_ps",
            "service_fault_ps",
            "copy_bytes_per_second",
            "storage_read_bytes_per_second",
            "storage_write_bytes_per_second",
        ] {
            assert_ne!(refit["host"][key], table["host"][key], "{key}");
            refit["host"][key] = table["host"][key].clone();
        }
        assert_eq!(refit, table);
    }

    #[test]
    fn files_that_break_a_rule_are_named() {
        let home = simcard::home().join("experiments");
        let folder = tempfile::tempdir().unwrap();
        let table = home.join(TABLE).with_extension("toml");
        std::fs::copy(table, folder.path().join("fsrf-table2.toml")).unwrap();
        let text = std::fs::read_to_string(home.join(REFIT).with_extension("toml")).unwrap();
        let error = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            let changed = text.replace(from, to);
            std::fs::write(folder.path().join("odd.toml"), changed).unwrap();
            Experiment::read(folder.path(), "odd")
                .unwrap_err()
                .to_string()
        };
        let unknown = error("nw = 1", "md5 = 1");
        assert!(
            unknown.contains("odd.toml: no workload `md5` with `pause`"),
            "{unknown}"
        );
        let value = error("\"warm_large\"", "\"warm_huge\"");
        assert!(value.contains("no such published value"), "{value}");
        let other = error("refit_of = \"fsrf-table2\"", "refit_of = \"none\"");
        assert!(other.contains("none.toml"), "{other}");
    }
}
