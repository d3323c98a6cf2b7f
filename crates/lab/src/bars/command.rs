//! Robustness of the `tombolo` command: no arguments cause an internal error, and Ctrl-C ends it in every state.

use super::counted::Counting;
use super::{the_command, Failure};
use crate::progress::Progress;
use crate::row::Row;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Random command lines on the functional card: `crates/cli/tests/grammar.rs`, with a larger count.
pub fn internal_errors() -> Result<Vec<Row>, Failure> {
    let grammar = Counting {
        package: "tombolo-cli",
        file: "grammar",
        name: None,
    };
    let counts = grammar.run(&[("TOMBOLO_COMMAND_LINES", "20000".to_owned())])?;
    Ok(vec![
        Row::new(
            "stranger.internal_errors",
            counts.get("internal_errors")?,
            "",
        ),
        Row::new("stranger.command_lines", counts.get("command_lines")?, ""),
        Row::new("stranger.other_files_changed", counts.get("changed")?, ""),
    ])
}

/// Size in bytes of the file that is copied while a run is interrupted.
const BYTES: usize = 256 << 20;
/// Repetitions of each state; the median counts.
const TIMES: usize = 3;

/// A state of the command: its arguments, and how to detect that it has been reached.
struct CommandState {
    name: &'static str,
    words: Vec<String>,
    /// Builds models in a separate cache.
    builds: bool,
    reached: fn(&RunningCommand) -> bool,
}

/// A running command, with its cache and start time.
struct RunningCommand {
    process: u32,
    cache: PathBuf,
    since: Instant,
}

impl RunningCommand {
    fn read(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.process)).unwrap_or_default()
    }

    /// Number of models loaded.
    fn models(&self) -> usize {
        let maps = self.read("maps");
        let mut models: Vec<&str> = maps
            .lines()
            .filter(|line| line.ends_with("model.so"))
            .filter_map(|line| line.split_whitespace().last())
            .collect();
        models.sort_unstable();
        models.dedup();
        models.len()
    }

    /// Size in bytes of the largest new file that the command has open below its folder. Outputs are written when the
    /// kernel is done.
    fn new_file(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        let process = PathBuf::from(format!("/proc/{}", self.process));
        let folder = fs::read_link(process.join("cwd")).unwrap_or_default();
        let open = fs::read_dir(process.join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        let new = open.filter(|entry| {
            fs::read_link(entry.path())
                .is_ok_and(|file| file.starts_with(&folder) && !file.ends_with("in"))
        });
        let found = new.filter_map(|entry| fs::metadata(entry.path()).ok());
        found.map(|file| file.blocks() * 512).max().unwrap_or(0)
    }

    /// Whether a program with this name is working in its cache.
    fn runs(&self, program: &str) -> bool {
        let cache = self.cache.display().to_string();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        lines
            .map(|line| String::from_utf8_lossy(&line).into_owned())
            .any(|line| {
                let mut words = line.split('\0');
                words.next().is_some_and(|word| word.ends_with(program)) && line.contains(&cache)
            })
    }

    fn after(&self, milliseconds: u64) -> bool {
        self.since.elapsed() >= Duration::from_millis(milliseconds)
    }
}

fn states(home: &Path) -> Vec<CommandState> {
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let state = |name, text: &str, builds, reached| CommandState {
        name,
        words: words(text),
        builds,
        reached,
    };
    let kernels = home.join("crates/cli/tests/kernels").display().to_string();
    let endless = home
        .join("crates/tombolo/tests/kernels/endless")
        .display()
        .to_string();
    let copy = "--quiet --map input=in --map output=out:new --set bytes=size(input)";
    let small = "--quiet --map input=small --map output=out:new --set bytes=size(input)";
    vec![
        state(
            "a pipe without a reader",
            &format!("run copy --functional {small} --json pipe"),
            false,
            |place| place.read("syscall").starts_with("257 ") && place.after(500),
        ),
        state("Verilator", &format!("run copy {small}"), true, |place| {
            place.runs("verilator_bin")
        }),
        state(
            "the C++ compiler",
            &format!("run copy {small}"),
            true,
            |place| place.runs("cc1plus"),
        ),
        state(
            "inside one evaluation",
            &format!("run {kernels}/stuck --quiet"),
            false,
            |place| place.models() == 2 && place.after(1000),
        ),
        state(
            "a kernel that is never done",
            &format!("run {endless} --quiet"),
            false,
            |place| place.models() == 2 && place.after(1000),
        ),
        state(
            "pages of the simulated card",
            &format!("run copy {copy}"),
            false,
            |place| place.models() == 2 && place.after(1500),
        ),
        state(
            "eviction and write-back",
            &format!("run copy --functional --card-memory 16MiB {copy}"),
            false,
            |place| place.after(300),
        ),
        state(
            "the functional card",
            &format!("run copy --functional {copy}"),
            false,
            |place| place.after(150),
        ),
        state(
            "writing back",
            &format!("run copy --functional {copy}"),
            false,
            |place| place.new_file() > 1 << 20,
        ),
    ]
}

/// Time from Ctrl-C to the end of the command: the median of each state, and the maximum of these.
pub fn interrupt() -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    let tombolo = the_command()?;
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("in"), vec![5; BYTES])?;
    fs::write(folder.path().join("small"), vec![5; 1000])?;
    Command::new("mkfifo")
        .arg(folder.path().join("pipe"))
        .status()?;
    let mut progress = Progress::of("stranger.interrupt_s");
    let mut worst = 0.0f64;
    for state in states(&home) {
        progress.at(state.name);
        let mut times = Vec::new();
        for _ in 0..TIMES {
            times.push(interrupted(&tombolo, folder.path(), &state)?);
        }
        times.sort_by(f64::total_cmp);
        worst = worst.max(times[TIMES / 2]);
    }
    Ok(vec![Row::new("stranger.interrupt_s", worst, "s")])
}

/// Interrupts one command; returns the seconds until it has ended. Files or processes left behind are a failure.
fn interrupted(tombolo: &Path, folder: &Path, state: &CommandState) -> Result<f64, Failure> {
    let cache = tempfile::tempdir()?;
    let mut command = Command::new(tombolo);
    command
        .args(&state.words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if state.builds {
        // A cache without models, but with the machine's Verilator.
        let tools = verilated::cache_root().join("venv");
        std::os::unix::fs::symlink(tools, cache.path().join("venv"))?;
        command.env("TOMBOLO_CACHE", cache.path());
    }
    let mut child = command.spawn()?;
    let place = RunningCommand {
        process: child.id(),
        cache: cache.path().to_owned(),
        since: Instant::now(),
    };
    while !(state.reached)(&place) {
        if child.try_wait()?.is_some() {
            return Err(format!("{}: {}", state.name, last_words(child)?).into());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let begin = Instant::now();
    Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()?;
    let status = child.wait()?;
    let seconds = begin.elapsed().as_secs_f64();
    let said = last_words(child)?;
    let mut left: Vec<_> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    left.sort();
    let models = fs::read_dir(cache.path().join("models"))
        .into_iter()
        .flatten()
        .flatten();
    let half_made = models.filter(|entry| entry.path().extension().is_none_or(|e| e != "lock"));
    if status.code() != Some(130) || left != ["in", "pipe", "small"] || half_made.count() > 0 {
        return Err(format!("{}: {status}, left {left:?}: {said}", state.name).into());
    }
    Ok(seconds)
}

fn last_words(child: Child) -> Result<String, Failure> {
    Ok(String::from_utf8_lossy(&child.wait_with_output()?.stderr).into_owned())
}
