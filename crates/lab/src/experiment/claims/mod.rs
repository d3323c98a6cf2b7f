//! Published values of a table, each once, with their states: predicted, calibrated, or excluded with a reason.

mod count;
mod show;

pub use count::{Count, Share, Value};
pub use show::section;
pub(super) use show::{described, text};

use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};

/// Values by column (`cold_small`), in the source's unit.
pub(super) type Columns = BTreeMap<String, f64>;

/// Maximum share of the values in rows that are run that may be declared not comparable.
const MAX_NOT_COMPARABLE: f64 = 0.1;

/// Published values of one table: the section `[claims]` of an experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Text")]
pub struct TableClaims(Text);

/// The section in the format of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    /// Paper, table and unit.
    source: String,
    /// Maximum relative deviation from a published value that counts as reproduced.
    within: f64,
    /// The paper's own system, whose values are reported separately.
    own_system: String,
    /// Columns of the table, by system.
    columns: BTreeMap<String, Vec<String>>,
    row: Vec<PrintedRow>,
    #[serde(default)]
    constant: Vec<Constant>,
    #[serde(default)]
    apart: Vec<Apart>,
}

/// A row of the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PrintedRow {
    name: String,
    state: RowState,
    /// Reason why the row, or some of its columns, are not run.
    reason: Option<String>,
    /// Columns that are not run in any system, for `reason`, in a row that is run.
    #[serde(default)]
    not_run_columns: Vec<String>,
    /// Workloads of a mean without a kernel here.
    #[serde(default)]
    without: Vec<String>,
    published: BTreeMap<String, Columns>,
}

impl PrintedRow {
    /// Whether a column is run.
    fn runs(&self, column: &str) -> bool {
        self.state == RowState::Predicted && !self.not_run_columns.iter().any(|one| one == column)
    }

    /// Number of values in columns that are run, or in those that are not.
    fn printed(&self, run: bool) -> usize {
        let columns = self.published.values().flat_map(BTreeMap::keys);
        columns.filter(|column| self.runs(column) == run).count()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RowState {
    Predicted,
    NotRun,
}

/// A constant that was fitted to published values.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Key of the constant in `file`.
    pub name: String,
    /// File that sets it, relative to the checkout.
    pub file: String,
    /// Derivation from the published values.
    pub how: String,
    fitted_to: Vec<Cells>,
}

/// Values that are excluded from comparison with predictions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Apart {
    state: ApartState,
    /// The paper's sentence that makes them incomparable, or the reason why the comparison cannot fail.
    sentence: String,
    cells: Vec<Cells>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ApartState {
    NotComparable,
    Identity,
}

/// Columns of a row and system.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cells {
    row: String,
    system: String,
    columns: Vec<String>,
}

impl Cells {
    fn has(&self, row: &str, system: &str, column: &str) -> bool {
        (self.row.as_str(), self.system.as_str()) == (row, system)
            && self.columns.iter().any(|name| name == column)
    }
}

/// Whether a list has this row, system and column.
pub(super) fn any(cells: &[Cells], (row, system, column): (&str, &str, &str)) -> bool {
    cells.iter().any(|cells| cells.has(row, system, column))
}

/// How a published value may be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueState<'a> {
    /// Predicted: no constant was fitted to it.
    Predicted,
    /// Calibrated: this constant was fitted to it.
    Calibrated(&'a Constant),
    /// Not comparable, because of this sentence in the paper.
    NotComparable(&'a str),
    /// The comparison cannot fail, for this reason.
    Identity(&'a str),
    /// Not run, for this reason.
    NotRun(&'a str),
}

impl TryFrom<Text> for TableClaims {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        let claims = Self(text);
        claims.check_rows()?;
        claims.check_states()?;
        Ok(claims)
    }
}

impl TableClaims {
    fn check_rows(&self) -> Result<(), String> {
        let mut names = HashSet::new();
        for row in &self.0.row {
            if !names.insert(&row.name) {
                return Err(format!(
                    "row `{}`: appears twice: a value counts once",
                    row.name
                ));
            }
            let left_out = row.state == RowState::NotRun || !row.not_run_columns.is_empty();
            if left_out != row.reason.is_some() {
                return Err(format!(
                    "row `{}`: `reason` belongs to rows and columns that are not run, and to all of them",
                    row.name
                ));
            }
            let printed =
                |column: &&String| self.0.columns.values().flatten().any(|one| one == *column);
            if let Some(column) = row.not_run_columns.iter().find(|column| !printed(column)) {
                return Err(format!("row `{}`: no column `{column}`", row.name));
            }
            let unknown = |system: &&String| !self.0.columns.contains_key(*system);
            if let Some(system) = row.published.keys().find(unknown) {
                return Err(format!("row `{}`: no columns of `{system}`", row.name));
            }
            for (system, columns) in &self.0.columns {
                let values = row.published.get(system);
                let values = values.ok_or_else(|| format!("row `{}`: no `{system}`", row.name))?;
                let missing = columns.iter().find(|column| !values.contains_key(*column));
                if let Some(column) = missing {
                    return Err(format!(
                        "row `{}`, system `{system}`: `{column}` is missing: the table prints it",
                        row.name
                    ));
                }
                if values.len() != columns.len() {
                    return Err(format!(
                        "row `{}`, system `{system}`: {} values for {} columns",
                        row.name,
                        values.len(),
                        columns.len()
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks that the listed cells exist, and that no value has two states.
    fn check_states(&self) -> Result<(), String> {
        let constants = self.0.constant.iter();
        let fitted = constants.clone().flat_map(|one| &one.fitted_to);
        let apart = self.0.apart.iter().flat_map(|one| &one.cells);
        for cells in fitted.clone().chain(apart.clone()) {
            let row = self.0.row.iter().find(|row| row.name == cells.row);
            let values = row.and_then(|row| row.published.get(&cells.system));
            let known = |column: &String| values.is_some_and(|values| values.contains_key(column));
            if let Some(column) = cells.columns.iter().find(|column| !known(column)) {
                return Err(format!(
                    "`{}` on `{}`, `{column}`: no such published value",
                    cells.row, cells.system
                ));
            }
        }
        let mut once = HashSet::new();
        for cells in fitted.chain(apart) {
            for column in &cells.columns {
                if !once.insert((&cells.row, &cells.system, column)) {
                    return Err(format!(
                        "`{}` on `{}`, `{column}`: two states",
                        cells.row, cells.system
                    ));
                }
            }
        }
        if let Some(one) = self.0.constant.iter().find(|one| one.fitted_to.is_empty()) {
            return Err(format!("constant `{}`: fitted to nothing", one.name));
        }
        let of = self.printed(true);
        let apart = self.0.apart.iter();
        let apart = apart.filter(|one| one.state == ApartState::NotComparable);
        let not: usize = apart
            .flat_map(|one| &one.cells)
            .map(|cells| cells.columns.len())
            .sum();
        match not as f64 > MAX_NOT_COMPARABLE * of as f64 {
            true => Err(format!(
                "{not} of {of} values are not comparable: at most a tenth"
            )),
            false => Ok(()),
        }
    }

    /// The values that constants were fitted to.
    pub(super) fn fitted(&self) -> Vec<Cells> {
        let constants = self.0.constant.iter();
        constants.flat_map(|one| one.fitted_to.clone()).collect()
    }

    /// Those of these values that no constant was fitted to; `None` without one.
    pub(super) fn predicted(&self, mut cells: Cells) -> Option<Cells> {
        let Cells { row, system, .. } = cells.clone();
        cells
            .columns
            .retain(|column| self.state((&row, &system, column)) == ValueState::Predicted);
        (!cells.columns.is_empty()).then_some(cells)
    }

    /// The same values with other fitted constants.
    ///
    /// # Errors
    /// A constant that is fitted to a value that does not exist, or has another state.
    pub(super) fn with(self, constant: Vec<Constant>) -> Result<Self, String> {
        Text { constant, ..self.0 }.try_into()
    }

    fn source(&self) -> &str {
        &self.0.source
    }

    fn within(&self) -> f64 {
        self.0.within
    }

    fn own_system(&self) -> &str {
        &self.0.own_system
    }

    fn rows_that_run(&self) -> impl Iterator<Item = &str> {
        let rows = self.0.row.iter();
        let rows = rows.filter(|row| row.state == RowState::Predicted);
        rows.map(|row| row.name.as_str())
    }

    /// Rows that are not run: name, number of values, reason.
    fn not_run(&self) -> impl Iterator<Item = (&str, usize, &str)> {
        let rows = self.0.row.iter();
        rows.filter_map(|row| {
            Some((
                row.name.as_str(),
                row.printed(false),
                row.reason.as_deref()?,
            ))
        })
    }

    /// Rows whose mean has workloads that are missing here, with these workloads.
    fn means(&self) -> impl Iterator<Item = (&str, &[String])> {
        let rows = self.0.row.iter().filter(|row| !row.without.is_empty());
        rows.map(|row| (row.name.as_str(), row.without.as_slice()))
    }

    /// Systems with values in the table.
    pub(super) fn systems(&self) -> impl Iterator<Item = &String> {
        self.0.columns.keys()
    }

    /// Values of a row by system.
    pub(super) fn published(&self, row: &str) -> Option<&BTreeMap<String, Columns>> {
        let row = self.0.row.iter().find(|one| one.name == row)?;
        Some(&row.published)
    }

    /// Number of values in rows that are run, or in those that are not.
    pub(super) fn printed(&self, run: bool) -> usize {
        let rows = self.0.row.iter();
        rows.map(|row| row.printed(run)).sum()
    }

    /// Whether a column of a row is run.
    pub(super) fn runs(&self, row: &str, column: &str) -> bool {
        let row = self.0.row.iter().find(|one| one.name == row);
        row.is_some_and(|row| row.runs(column))
    }

    /// ValueState of the published value at this row, system and column.
    pub(super) fn state(&self, at: (&str, &str, &str)) -> ValueState<'_> {
        let row = self.0.row.iter().find(|row| row.name == at.0);
        let left_out = row.filter(|row| !row.runs(at.2));
        if let Some(reason) = left_out.and_then(|row| row.reason.as_deref()) {
            return ValueState::NotRun(reason);
        }
        let fitted = |one: &&Constant| any(&one.fitted_to, at);
        if let Some(constant) = self.0.constant.iter().find(fitted) {
            return ValueState::Calibrated(constant);
        }
        match self.0.apart.iter().find(|one| any(&one.cells, at)) {
            Some(one) if one.state == ApartState::Identity => ValueState::Identity(&one.sentence),
            Some(one) => ValueState::NotComparable(&one.sentence),
            None => ValueState::Predicted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TableClaims of one system with one column: two rows, a constant, and additional text.
    fn read(published: &str, more: &str) -> Result<TableClaims, String> {
        let text = format!(
            "source = \"\"\nwithin = 0.25\nown_system = \"a\"\ncolumns = {{ a = [\"hot_small\", \"hot_large\"] }}\n\
             [[row]]\nname = \"r\"\nstate = \"predicted\"\npublished = {{ a = {{ {published} }} }}\n{more}"
        );
        toml::from_str(&text).map_err(|error| error.to_string())
    }

    const WHOLE: &str = "hot_small = 1, hot_large = 2";

    fn fitted(name: &str, column: &str) -> String {
        format!(
            "[[constant]]\nname = \"{name}\"\nfile = \"\"\nhow = \"\"\n\
             fitted_to = [{{ row = \"r\", system = \"a\", columns = [\"{column}\"] }}]\n"
        )
    }

    #[test]
    fn a_published_value_that_is_missing_is_an_error() {
        assert!(read(WHOLE, "").is_ok());
        let error = read("hot_small = 1", "").unwrap_err();
        assert!(error.contains("`hot_large` is missing"), "{error}");
        let error = read(&format!("{WHOLE}, cold_small = 1"), "").unwrap_err();
        assert!(error.contains("3 values for 2 columns"), "{error}");
    }

    #[test]
    fn every_value_has_one_state() {
        let claims = read(WHOLE, &fitted("c", "hot_small")).unwrap();
        let state = |column| claims.state(("r", "a", column));
        assert!(
            matches!(state("hot_small"), ValueState::Calibrated(constant) if constant.name == "c")
        );
        assert_eq!(state("hot_large"), ValueState::Predicted);
        let twice = fitted("c", "hot_small") + &fitted("d", "hot_small");
        let error = read(WHOLE, &twice).unwrap_err();
        assert!(error.contains("two states"), "{error}");
        let error = read(WHOLE, &fitted("c", "cold_small")).unwrap_err();
        assert!(error.contains("no such published value"), "{error}");
        let again = format!(
            "[[row]]\nname = \"r\"\nstate = \"predicted\"\npublished = {{ a = {{ {WHOLE} }} }}\n"
        );
        let error = read(WHOLE, &again).unwrap_err();
        assert!(error.contains("appears twice"), "{error}");
        let without_state = "[[row]]\nname = \"s\"\npublished = {}\n";
        let error = read(WHOLE, without_state).unwrap_err();
        assert!(error.contains("state"), "{error}");
    }

    #[test]
    fn at_most_a_tenth_is_not_comparable() {
        let apart = "[[apart]]\nstate = \"not_comparable\"\nsentence = \"\"\n\
                     cells = [{ row = \"r\", system = \"a\", columns = [\"hot_small\"] }]\n";
        let error = read(WHOLE, apart).unwrap_err();
        assert!(error.contains("1 of 2"), "{error}");
        let identity = apart.replace("not_comparable", "identity");
        let claims = read(WHOLE, &identity).unwrap();
        let state = claims.state(("r", "a", "hot_small"));
        assert!(matches!(state, ValueState::Identity(_)), "{state:?}");
    }
}
