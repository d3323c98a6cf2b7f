//! A model cache shared by processes in different PID namespaces (containers).

use super::{the_command, Failure};
use crate::progress::Progress;
use crate::row::Row;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Figures produced.
pub const NAMES: &[&str] = &["cache.builds_deleted", "cache.rounds"];

/// Number of builds observed, each while another namespace starts one.
const ROUNDS: usize = 60;
/// Timeout for the start of a build.
const BEGINS: Duration = Duration::from_secs(120);

/// Builds that fail or leave no entry because a process in another namespace considered their folder abandoned.
pub fn builds_deleted() -> Result<Vec<Row>, Failure> {
    let tombolo = the_command()?;
    let folder = tempfile::tempdir()?;
    let cache = folder.path().join("cache");
    fs::create_dir_all(cache.join("models"))?;
    let tools = verilated::cache_root().join("venv");
    std::os::unix::fs::symlink(tools, cache.join("venv"))?;
    let mut progress = Progress::of(NAMES[0]);
    let mut deleted = 0.0;
    for round in 0..ROUNDS {
        progress.at(&format!("{round} of {ROUNDS} rounds"));
        let first = kernel(folder.path(), 2 * round)?;
        let second = kernel(folder.path(), 2 * round + 1)?;
        // Its process ID does not exist in the other namespace.
        let mut building = check(&tombolo, &cache, &first, 40)?;
        let begin = Instant::now();
        while !builds(&cache)? && building.try_wait()?.is_none() {
            if begin.elapsed() > BEGINS {
                return Err("no build begins".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let other = check(&tombolo, &cache, &second, 0)?;
        for child in [building, other] {
            let output = child.wait_with_output()?;
            if !output.status.success() {
                eprintln!("round {round}: {}", String::from_utf8_lossy(&output.stderr));
                deleted += 1.0;
            }
        }
    }
    if builds(&cache)? {
        return Err("a build left its folder".into());
    }
    let rounds = ROUNDS as f64;
    Ok(vec![
        Row::new(NAMES[0], deleted, "builds"),
        Row::new(NAMES[1], rounds, "rounds"),
    ])
}

/// Whether the cache contains the folder of an unfinished build.
fn builds(cache: &Path) -> Result<bool, Failure> {
    for entry in fs::read_dir(cache.join("models"))? {
        let name = entry?.file_name();
        if name.to_string_lossy().contains(".build-") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Creates a kernel that is in no cache.
fn kernel(folder: &Path, number: usize) -> Result<std::path::PathBuf, Failure> {
    let from = crate::cases::folder().join("kernels/tiny");
    let to = folder.join(format!("kernel{number}"));
    fs::create_dir_all(&to)?;
    fs::copy(from.join("kernel.toml"), to.join("kernel.toml"))?;
    let rtl = fs::read_to_string(from.join("tiny.v"))?;
    fs::write(to.join("tiny.v"), format!("{rtl}\n// {number}\n"))?;
    Ok(to)
}

/// Starts `tombolo kernel check` in a separate PID namespace, after `before` other processes.
fn check(tombolo: &Path, cache: &Path, kernel: &Path, before: usize) -> Result<Child, Failure> {
    let script = format!(
        "i=0; while [ $i -lt {before} ]; do /bin/true; i=$((i+1)); done; \"$0\" kernel check \"$1\"; exit $?"
    );
    let child = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", "sh", "-c", &script])
        .args([tombolo, kernel])
        .env("TOMBOLO_CACHE", cache)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    Ok(child)
}
