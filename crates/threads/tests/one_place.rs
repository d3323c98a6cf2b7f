//! Checks that every crate that runs in a user's process creates its threads in one place.

use std::fs;
use std::path::{Path, PathBuf};

/// Programs of this repository, and code used by tests only.
const NOT_LIBRARIES: [&str; 5] = ["cli", "coherence", "lab", "pager/src/testing", "threads"];

/// Ways to create a thread.
const WAYS: [&str; 6] = [
    "thread::spawn",
    "thread::Builder",
    "thread::scope",
    "Builder::new().name(",
    "spawn_scoped",
    "pthread_create",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The part of a file that is compiled for users: its tests are at its end, or in a separate file.
fn without_tests<'a>(path: &Path, text: &'a str) -> &'a str {
    if path.file_name().is_some_and(|name| name == "tests.rs") {
        return "";
    }
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default()
}

#[test]
fn threads_of_libraries_are_made_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let crates = root.join("crates");
    let mut files = Vec::new();
    for entry in fs::read_dir(&crates).unwrap() {
        let folder = entry.unwrap().path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut files);
        }
    }
    sources(&root.join("python/src"), &mut files);
    assert!(files.len() > 100, "{} files", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.strip_prefix(&crates).unwrap_or(&path);
        if NOT_LIBRARIES.iter().any(|part| name.starts_with(part)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let text = without_tests(&path, &text);
        let lines = text.lines().enumerate();
        let code = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (number, line) in code {
            if WAYS.iter().any(|way| line.contains(way)) {
                wrong.push(format!(
                    "{}:{}: {}",
                    name.display(),
                    number + 1,
                    line.trim()
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "a thread that is made like this takes the program's signals; use threads::spawn or threads::scope:\n{}",
        wrong.join("\n")
    );
}
