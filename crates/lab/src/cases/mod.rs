//! User scenarios: small inputs that once revealed a defect, each with its expected outcome.
//!
//! `tests/cases/*.toml` lists them, and its README explains how to add one. The test `cases` of `tombolo-cli` and the
//! bar `stranger.cases` run them with the code of this module.

mod run;

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::{fs, io, thread};

/// A case of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique among all lists: `AREA.WHAT`.
    pub name: String,
    /// The expected result for a user, in one sentence.
    pub wanted: String,
    /// Programs that the case needs; if one is not installed, the case is skipped.
    #[serde(default)]
    needs: Vec<String>,
    /// Files to create in the case's folder before its first command.
    #[serde(default)]
    files: BTreeMap<String, Content>,
    /// Commands, run one after another in the case's folder.
    command: Vec<Line>,
    /// Expected contents of files after the last command.
    #[serde(default)]
    equal: BTreeMap<String, Content>,
    /// Files that must not exist after the last command.
    #[serde(default)]
    absent: Vec<String>,
}

/// Contents of a file. Words are little-endian.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum Content {
    /// Bytes of a generator (SplitMix64) with the given seed.
    Random {
        bytes: usize,
        #[serde(default)]
        seed: u64,
    },
    /// 32-bit words.
    Words(Vec<u32>),
    Text(String),
    /// This many zero bytes.
    Zero(usize),
    /// A range of another file: an input of the case, or one of the repository (`{cases}/…`).
    Same {
        file: String,
        #[serde(default)]
        offset: usize,
        bytes: Option<usize>,
    },
    /// Concatenation of several.
    Parts(Vec<Content>),
}

/// A command and its expected outcome.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Arguments of `tombolo`, separated by spaces; `'` quotes arguments with spaces.
    run: Option<String>,
    /// Alternatively, a script for `sh -eu`, in which `tombolo` is the command.
    sh: Option<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    /// Standard input: a file of the case's folder.
    input: Option<String>,
    #[serde(default)]
    status: i32,
    /// Text that standard output must contain, and must not.
    #[serde(default)]
    stdout: Vec<String>,
    #[serde(default)]
    stdout_lacks: Vec<String>,
    /// Text that standard error must contain, and must not.
    #[serde(default)]
    stderr: Vec<String>,
    #[serde(default)]
    stderr_lacks: Vec<String>,
    /// Number of lines on standard error.
    stderr_lines: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    case: Vec<Case>,
}

/// Why no case could be run.
#[derive(Debug, thiserror::Error)]
pub enum CasesError {
    /// A list or its folder cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A list is not in the format that the README describes.
    #[error("{path}: {source}")]
    Malformed {
        /// Path of the list.
        path: PathBuf,
        /// The parser's error, with its location.
        source: Box<toml::de::Error>,
    },
    /// Two cases have the same name.
    #[error("case {name} is there twice: names are unique among all lists; rename one")]
    Twice {
        /// Name of both cases.
        name: String,
    },
}

/// Outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseOutcome {
    /// As expected.
    Held,
    /// Skipped: this program is not installed.
    Skipped(String),
    /// Failed: the first difference.
    Failed(String),
}

/// The folder of the lists in a checkout.
pub fn folder() -> PathBuf {
    simcard::home().join("tests/cases")
}

/// The folder of kernels for other tools, whose lists have the same format.
pub fn bring_folder() -> PathBuf {
    simcard::home().join("tests/bring")
}

/// All cases of a folder, in the order of its lists.
///
/// # Errors
/// A list cannot be read or is malformed; a duplicate name.
pub fn read(folder: &Path) -> Result<Vec<Case>, CasesError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| CasesError::Unreadable { path, source }
    };
    let mut lists = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
        let path = entry.map_err(unreadable(folder))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            lists.push(path);
        }
    }
    lists.sort();
    let mut cases: Vec<Case> = Vec::new();
    let mut names = BTreeSet::new();
    for path in lists {
        let text = fs::read_to_string(&path).map_err(unreadable(&path))?;
        let list: List = toml::from_str(&text).map_err(|source| CasesError::Malformed {
            path,
            source: Box::new(source),
        })?;
        for case in list.case {
            if !names.insert(case.name.clone()) {
                return Err(CasesError::Twice { name: case.name });
            }
            cases.push(case);
        }
    }
    Ok(cases)
}

/// Runs cases with the `tombolo` command at a path, `jobs` at a time; returns outcomes in the order of the cases.
/// `folder` replaces `{cases}` in them.
pub fn run(tombolo: &Path, folder: &Path, cases: &[Case], jobs: usize) -> Vec<CaseOutcome> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![None; cases.len()]);
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(case) = cases.get(number) else {
            return;
        };
        let outcome = run::run(tombolo, folder, case);
        let mut all = outcomes.lock().unwrap_or_else(|poison| poison.into_inner());
        all[number] = Some(outcome);
    };
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(work);
        }
    });
    let all = outcomes
        .into_inner()
        .unwrap_or_else(|poison| poison.into_inner());
    let lost = || CaseOutcome::Failed("the runner did not run it".to_owned());
    all.into_iter()
        .map(|outcome| outcome.unwrap_or_else(lost))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell script replaces the command: each case differs from its expectation in one way.
    #[test]
    fn every_difference_is_found_and_named() {
        let good = r#"
            files."a" = { random = { bytes = 10, seed = 3 } }
            command = [{ sh = "cat a a >b; echo out; echo 'er' >&2; exit 3", status = 3,
                stdout = ["out"], stderr = ["er"], stdout_lacks = ["er"], stderr_lines = 1 }]
            equal."b" = { parts = [{ same = { file = "a" } }, { same = { file = "a" } }] }
            absent = ["c"]
        "#;
        let changes = [
            ("status = 3", "status = 0", "exit status 3"),
            ("[\"out\"]", "[\"oot\"]", "standard output lacks `oot`"),
            (
                "[\"er\"], stdout_lacks",
                "[\"err\"], stdout_lacks",
                "standard error lacks `err`",
            ),
            (
                "stdout_lacks = [\"er\"]",
                "stdout_lacks = [\"ou\"]",
                "standard output has `ou`",
            ),
            ("stderr_lines = 1", "stderr_lines = 0", "1 lines"),
            ("cat a a >b", "cat a >b", "10 bytes, not 20"),
            ("cat a a >b", "(cat a; head -c5 a) >b", "15 bytes, not 20"),
            (
                "cat a a >b",
                "(cat a; head -c9 a; echo) >b",
                "byte 19 is 10, not",
            ),
            ("cat a a >b", "cat a a >b; >c", "c exists"),
            ("cat a a >b", ":", "b: No such file"),
            ("exit 3", "kill -9 $$", "signal 9"),
            ("'er'", "er panicked at", "standard error has `panicked at`"),
        ];
        let one = |text: &str| {
            let list = format!("[[case]]\nname = \"x\"\nwanted = \"y\"\n{text}");
            let list: List = toml::from_str(&list).unwrap();
            run(Path::new("/bin/false"), Path::new("/"), &list.case, 2).remove(0)
        };
        assert_eq!(one(good), CaseOutcome::Held);
        for (from, to, told) in changes {
            assert!(good.contains(from), "{from}");
            let CaseOutcome::Failed(what) = one(&good.replace(from, to)) else {
                panic!("`{to}` went unseen");
            };
            assert!(what.contains(told), "{to}: {what}");
        }
        let without = format!("needs = [\"no-such-program\"]\n{good}");
        assert_eq!(
            one(&without),
            CaseOutcome::Skipped("no-such-program".to_owned())
        );
    }

    #[test]
    fn the_lists_of_the_project_can_be_read() {
        assert!(!read(&folder()).unwrap().is_empty());
    }
}
