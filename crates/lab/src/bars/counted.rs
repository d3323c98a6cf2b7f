//! Counting tests of other crates, run with larger counts than in `make test`; their figures are bars.

use super::Failure;
use serde_json::Value;
use std::process::Command;

/// A test file of a crate.
pub(super) struct Counting {
    pub(super) package: &'static str,
    pub(super) file: &'static str,
    /// A single test to run, even if it is ignored; `None`: all tests that `make test` runs, one after another.
    pub(super) name: Option<&'static str>,
}

/// Counts that tests have printed: JSON objects, one per line.
pub(super) struct Counts(Vec<Value>);

impl Counting {
    /// Runs the tests. A failing test is reported but is not an error here, since its figures show the fault.
    ///
    /// # Errors
    /// The tests printed no object.
    pub(super) fn run(&self, environment: &[(&str, String)]) -> Result<Counts, Failure> {
        let mut command = Command::new("cargo");
        command
            .args(["test", "--quiet", "--release", "-p", self.package])
            .args(["--test", self.file, "--", "--nocapture"]);
        match self.name {
            Some(name) => command.args(["--include-ignored", "--exact", name]),
            None => command.args(["--test-threads", "1"]),
        };
        let run = command
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir(simcard::home())
            .output()?;
        let said = String::from_utf8_lossy(&run.stdout);
        let wrong = || format!("{said}{}", String::from_utf8_lossy(&run.stderr));
        if !run.status.success() {
            eprintln!("{}", wrong());
        }
        // A line may begin with the test's name.
        let objects = said
            .lines()
            .filter_map(|line| line.find('{').map(|at| &line[at..]));
        let counts: Vec<Value> = objects
            .filter_map(|text| serde_json::from_str(text).ok())
            .collect();
        match counts.is_empty() {
            true => Err(wrong().into()),
            false => Ok(Counts(counts)),
        }
    }
}

impl Counts {
    /// The figure with this name.
    ///
    /// # Errors
    /// No object contains it: a test ended before it printed its counts.
    pub(super) fn get(&self, name: &str) -> Result<f64, Failure> {
        let mut found = self.0.iter().filter_map(|counts| counts[name].as_f64());
        let lost = || format!("a test ended before it had counted `{name}`");
        Ok(found.next().ok_or_else(lost)?)
    }
}
