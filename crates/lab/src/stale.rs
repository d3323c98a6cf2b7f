//! Figures that are older than the sources they measure.

use crate::results::Stored;
use crate::tree::{git, TreeError};
use std::collections::BTreeMap;

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
    pub fn stale(&self, rows: &[Stored]) -> Result<Vec<String>, TreeError> {
        git(&["rev-parse", "HEAD"])?;
        let mut known = BTreeMap::new();
        let mut stale = Vec::new();
        for row in rows {
            let (commit, date) = (&row.commit, &row.date);
            let paths = self.of(&row.name);
            let since = known
                .entry((commit, paths))
                .or_insert_with(|| since(commit, paths));
            let why = match since {
                Ok(0) => continue,
                Ok(count) => format!(
                    "{date}, {commit}: {count} commits to {} since",
                    paths.join(", ")
                ),
                Err(_) => format!("{date}, {commit}: a commit that is not in this history"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars;

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
    fn rows_of_an_unknown_commit_are_stale() {
        let head = match git(&["rev-parse", "HEAD"]) {
            Ok(head) => head,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        let row = |commit: &str| Stored {
            name: "docs.pages".to_owned(),
            value: 1.0,
            unit: String::new(),
            target: String::new(),
            met: None,
            command: String::new(),
            commit: commit.to_owned(),
            date: "2026-01-02".to_owned(),
        };
        let rows = [row(&head), row("0123456789ab")];
        let stale = Sources::load().unwrap().stale(&rows).unwrap();
        assert_eq!(stale.len(), 1, "{stale:?}");
        assert!(stale[0].contains("not in this history"));
    }
}
