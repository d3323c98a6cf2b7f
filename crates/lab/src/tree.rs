//! The source tree that figures belong to, and figures that are older than the sources they measure.

use crate::row::Row;
use std::collections::BTreeMap;
use std::process::Command;

/// Why a tree or its history cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The tree has uncommitted changes, so its figures are not reproducible.
    #[error("the tree has changes that are not committed (`{0}`): commit them, or measure with --trial, which writes nothing")]
    Changed(String),
    /// A command failed.
    #[error("{command}: {told}")]
    Command {
        /// Command line.
        command: String,
        /// Error output of the command.
        told: String,
    },
    /// `bench/sources.toml` is invalid.
    #[error("bench/sources.toml: {0}")]
    Sources(String),
}

/// A commit, and the day of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    commit: String,
    date: String,
}

impl Tree {
    /// The present tree and day (UTC).
    ///
    /// # Errors
    /// [`TreeError::Changed`]: there are uncommitted changes, apart from the file of results.
    pub fn now() -> Result<Self, TreeError> {
        let changed = git(&["status", "--porcelain", "--", ".", ":!bench/results.json"])?;
        match changed.lines().next() {
            Some(line) => Err(TreeError::Changed(line.trim().to_owned())),
            None => Ok(Self {
                commit: git(&["rev-parse", "--short=12", "HEAD"])?,
                date: said(Command::new("date").args(["-u", "+%F"]))?,
            }),
        }
    }

    /// The row, marked as measured on this tree.
    pub fn mark(&self, row: Row) -> Row {
        Row {
            commit: Some(self.commit.clone()),
            date: Some(self.date.clone()),
            ..row
        }
    }
}

/// Source paths that figures depend on, by prefix of a bar's name; the longest prefix applies.
#[derive(Debug)]
pub struct Sources(BTreeMap<String, Vec<String>>);

impl Sources {
    /// Reads `bench/sources.toml`.
    ///
    /// # Errors
    /// [`TreeError::Sources`]: it cannot be read, or has no default entry.
    pub fn load() -> Result<Self, TreeError> {
        let path = simcard::home().join("bench/sources.toml");
        let text =
            std::fs::read_to_string(path).map_err(|error| TreeError::Sources(error.to_string()))?;
        let sources: BTreeMap<String, Vec<String>> =
            toml::from_str(&text).map_err(|error| TreeError::Sources(error.to_string()))?;
        match sources.contains_key("") {
            true => Ok(Self(sources)),
            false => Err(TreeError::Sources("no entry \"\"".to_owned())),
        }
    }

    fn of(&self, name: &str) -> &[String] {
        let begins = self
            .0
            .iter()
            .filter(|(begin, _)| name.starts_with(begin.as_str()));
        let longest = begins.max_by_key(|(begin, _)| begin.len());
        longest.map_or(&[], |(_, paths)| paths)
    }

    /// Rows that are older than the sources they measure, one line each.
    ///
    /// # Errors
    /// [`TreeError::Command`]: there is no history.
    pub fn stale(&self, rows: &[Row]) -> Result<Vec<String>, TreeError> {
        git(&["rev-parse", "HEAD"])?;
        let mut known = BTreeMap::new();
        let mut stale = Vec::new();
        for row in rows {
            let why = match (&row.commit, &row.date) {
                (Some(commit), Some(date)) => {
                    let paths = self.of(&row.name);
                    let since = known
                        .entry((commit, paths))
                        .or_insert_with(|| since(commit, paths));
                    match since {
                        Ok(0) => continue,
                        Ok(count) => format!(
                            "{date}, {commit}: {count} commits to {} since",
                            paths.join(", ")
                        ),
                        Err(_) => format!("{date}, {commit}: a commit that is not in this history"),
                    }
                }
                _ => "no commit is known".to_owned(),
            };
            stale.push(format!("{:<44}{why}", row.name));
        }
        Ok(stale)
    }
}

/// Number of commits since `commit` that changed files below these paths.
fn since(commit: &str, paths: &[String]) -> Result<u64, TreeError> {
    let range = format!("{commit}..HEAD");
    let mut arguments = vec!["rev-list", "--count", &range, "--"];
    arguments.extend(paths.iter().map(String::as_str));
    let count = git(&arguments)?;
    count.parse().map_err(|_| TreeError::Command {
        command: "git rev-list".to_owned(),
        told: count,
    })
}

fn git(arguments: &[&str]) -> Result<String, TreeError> {
    said(
        Command::new("git")
            .args(arguments)
            .current_dir(simcard::home()),
    )
}

/// Output of a command, without the final newline.
fn said(command: &mut Command) -> Result<String, TreeError> {
    let output = command.output();
    let failed = |told: String| TreeError::Command {
        command: format!("{command:?}"),
        told,
    };
    let output = output.map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()),
        false => Err(failed(
            String::from_utf8_lossy(&output.stderr)
                .trim_end()
                .to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars;
    use crate::row::Target;

    #[test]
    fn every_source_is_a_path_and_of_a_bar() {
        let sources = Sources::load().unwrap();
        let home = simcard::home();
        for (begin, paths) in &sources.0 {
            let mut names = bars::ALL.iter().flat_map(|bar| bar.names);
            assert!(
                names.any(|name| name.starts_with(begin.as_str())),
                "{begin} begins no bar"
            );
            for path in paths {
                assert!(home.join(path).exists(), "{begin}: there is no {path}");
            }
        }
        assert_ne!(
            sources.of("docs.broken_links"),
            sources.of("small.copy_4k.cycles")
        );
    }

    #[test]
    fn rows_of_no_known_commit_are_stale() {
        let head = match git(&["rev-parse", "HEAD"]) {
            Ok(head) => head,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        let row = |commit: Option<&str>| Row {
            commit: commit.map(str::to_owned),
            date: commit.map(|_| "2026-01-02".to_owned()),
            ..Row::new("docs.pages", 1.0, "", Target::Shown)
        };
        let rows = [row(None), row(Some(&head)), row(Some("0123456789ab"))];
        let stale = Sources::load().unwrap().stale(&rows).unwrap();
        assert_eq!(stale.len(), 2, "{stale:?}");
        assert!(stale[0].contains("no commit") && stale[1].contains("not in this history"));
    }
}
