//! Compares measured figures with the list of bars.

use crate::claim::Judged;
use std::collections::BTreeSet;
use std::fmt;

/// Deviations from the list of bars, by name.
#[derive(Debug, Default, PartialEq)]
pub struct Verdict {
    measured: usize,
    /// Measured, but the target is missed.
    pub missed: Vec<String>,
    /// Requested, but not measured.
    pub missing: Vec<String>,
    /// Measured, but not listed: `make bench ONLY=` rejects the name.
    pub unlisted: Vec<String>,
}

impl Verdict {
    /// Compares the names of requested bars with the measured rows.
    pub fn of<'a>(wanted: impl Iterator<Item = &'a str>, rows: &[Judged]) -> Self {
        let wanted: BTreeSet<&str> = wanted.collect();
        let came: BTreeSet<&str> = rows.iter().map(|one| one.row.name.as_str()).collect();
        let names = |names: Vec<&&str>| names.into_iter().map(|name| (*name).to_owned()).collect();
        Self {
            measured: rows.len(),
            missed: rows
                .iter()
                .filter(|one| one.met == Some(false))
                .map(|one| one.row.name.clone())
                .collect(),
            missing: names(wanted.difference(&came).collect()),
            unlisted: names(came.difference(&wanted).collect()),
        }
    }

    /// Whether every bar was measured and met its target.
    pub fn is_met(&self) -> bool {
        self.missed.is_empty() && self.missing.is_empty() && self.unlisted.is_empty()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (missed, missing) = (self.missed.len(), self.missing.len());
        write!(f, "{} bars, {missed} missed", self.measured)?;
        if missing > 0 {
            write!(f, ", {missing} not measured")?;
        }
        for (what, names) in [
            ("missed", &self.missed),
            ("not measured", &self.missing),
            ("measured, but in no list of bars.rs", &self.unlisted),
        ] {
            if !names.is_empty() {
                write!(f, "\n{what}: {}", names.join(", "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars;
    use crate::results;
    use crate::row::Row;
    use std::path::Path;

    fn row(name: &str, value: f64) -> Judged {
        Judged {
            row: Row::new(name, value, "s"),
            claim: None,
            met: Some(value <= 1.0),
        }
    }

    #[test]
    fn what_is_missed_or_missing_is_named() {
        let met = Verdict::of(["a", "b"].into_iter(), &[row("a", 1.0), row("b", 0.5)]);
        assert!(met.is_met());
        assert_eq!(met.to_string(), "2 bars, 0 missed");
        let rows = [row("a", 2.0), row("c", 1.0), row("d", f64::NAN)];
        let verdict = Verdict::of(["a", "b", "d"].into_iter(), &rows);
        assert!(!verdict.is_met());
        assert_eq!(verdict.missed, ["a", "d"]);
        assert_eq!(verdict.missing, ["b"]);
        assert_eq!(verdict.unlisted, ["c"]);
    }

    fn listed() -> BTreeSet<&'static str> {
        let names: Vec<&str> = bars::ALL
            .iter()
            .flat_map(|bar| bar.names)
            .copied()
            .collect();
        let set: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(set.len(), names.len(), "a bar is listed twice");
        set
    }

    /// `make bench ONLY=name` must accept each name that it has written.
    #[test]
    fn every_row_of_the_results_is_a_bar() {
        let names = listed();
        let rows = results::all().unwrap();
        assert!(rows.len() > 100);
        for row in rows {
            assert!(names.contains(row.name.as_str()), "{} is no bar", row.name);
            let is_marked = !row.commit.is_empty() && !row.date.is_empty();
            assert!(is_marked, "{}: of which commit, and when?", row.name);
        }
    }

    /// Words in backquotes that look like a bar: at least two parts, of which the first is that of a bar.
    fn bars_named(text: &str) -> impl Iterator<Item = &str> {
        let families: BTreeSet<&str> = listed()
            .into_iter()
            .filter_map(|name| name.split_once('.').map(|(family, _)| family))
            .collect();
        let words = text.split('`').skip(1).step_by(2);
        words.filter(move |word| {
            let parts: Vec<&str> = word.split('.').collect();
            let file = [
                "rs", "sv", "py", "toml", "f", "md", "rdl", "json", "h", "hpp",
            ];
            parts.len() > 1
                && families.contains(parts[0])
                && !parts.last().is_some_and(|last| file.contains(last))
                && word
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c))
        })
    }

    fn pages(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pages(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }

    /// Every bar named in a page must exist, or be a prefix of one.
    #[test]
    fn bars_that_pages_name_exist() {
        let names = listed();
        let home = simcard::home();
        let mut found = vec![home.join("README.md"), home.join("CONTRIBUTING.md")];
        pages(&home.join("docs"), &mut found);
        let mut count = 0;
        for page in found {
            let text = std::fs::read_to_string(&page).unwrap();
            for word in bars_named(&text) {
                let family = format!("{word}.");
                let exists = names
                    .iter()
                    .any(|name| *name == word || name.starts_with(&family));
                assert!(exists, "{}: there is no bar `{word}`", page.display());
                count += 1;
            }
        }
        assert!(count >= 10, "{count}");
    }

    #[test]
    fn file_names_are_no_bars() {
        let text = "`stream.hot.share_of_physical`, `stream.rs`, `other.bar`, `synth.shell.no`";
        let found: Vec<&str> = bars_named(text).collect();
        assert_eq!(found, ["stream.hot.share_of_physical", "synth.shell.no"]);
    }
}
