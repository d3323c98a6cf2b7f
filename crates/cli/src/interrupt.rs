//! Ctrl-C and SIGTERM: every state of the command ends at once, and leaves nothing half-made.
//!
//! A thread waits for the signal, so it does not matter what the others are at: waiting for somebody at the
//! other end of a pipe, for a compiler, or inside one evaluation of a kernel. It ends the compilers, removes
//! what is unfinished, and ends the process without anything being written back.

use crate::print::say;
use rustix::process::{kill_process, Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Compilers get so long to remove their temporary files, and are killed then.
const POLITE: Duration = Duration::from_millis(200);
/// What does not die within this time is left to the system.
const CHILD_TIMEOUT: Duration = Duration::from_millis(500);
/// A folder that somebody still writes to may need it.
const ATTEMPTS: u32 = 3;

/// Folders that must not outlive this process. Who holds the lock is not interrupted meanwhile.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What the user is told.
static WORDS: Mutex<&str> = Mutex::new(
    "error: interrupted; new outputs were not made, and files that are mapped rw keep what was written back so far",
);

/// Says from now on something else to whoever interrupts this process.
pub fn say(words: &'static str) {
    *WORDS.lock().unwrap_or_else(PoisonError::into_inner) = words;
}

/// What comes before the end, once.
type ExitAction = Box<dyn FnOnce() + Send>;
static EXIT_ACTION: Mutex<Option<ExitAction>> = Mutex::new(None);

/// A signal lets this be done before the process ends; a second one ends it at once.
pub fn before_the_end(act: impl FnOnce() + Send + 'static) {
    *EXIT_ACTION.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(act));
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever writes more than `ulimit -f` allows gets an error, and no signal that leaves half-made files behind.
pub fn heed_limits() {
    // What is set nobody looks at. Programs that are started have the signal as ever.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// From now on signals end the process in order.
pub fn listen() {
    let ignored = |signal| signal_is_ignored(signal).unwrap_or(false);
    let mut wanted = vec![SIGINT, SIGTERM];
    // `nohup` means what it says.
    wanted.extend((!ignored(SIGHUP)).then_some(SIGHUP));
    let Ok(mut signals) = Signals::new(wanted) else {
        return;
    };
    let started = Builder::new().spawn(move || {
        for signal in signals.forever() {
            let before = EXIT_ACTION
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            let Some(before) = before else {
                end(signal);
                return;
            };
            let last = Builder::new().spawn(move || {
                before();
                end(signal);
            });
            if last.is_err() {
                end(signal);
            }
        }
    });
    if let Err(error) = started {
        // Signals would come to nothing.
        say!("tombolo: error: starting a thread that waits for signals: {error}");
        std::process::exit(1);
    }
}

/// Runs what must be done wholly or not at all.
pub fn undisturbed<T>(what: impl FnOnce() -> T) -> T {
    let _held = unfinished();
    what()
}

/// From now on the process ends as it wants to. If a signal came before, it does not return: what failed
/// because compilers were killed is not to be called wrong.
pub fn settle() {
    std::mem::forget(unfinished());
}

/// Makes a folder that is removed if the process is interrupted.
pub fn make_folder(path: &Path) -> std::io::Result<()> {
    let mut unfinished = unfinished();
    std::fs::create_dir(path)?;
    unfinished.push(path.to_owned());
    Ok(())
}

/// What is in such a folder is complete: it stays.
pub fn keep_folder(path: &Path) {
    unfinished().retain(|known| known != path);
}

/// Removes such a folder.
pub fn remove_folder(path: &Path) {
    let mut unfinished = unfinished();
    unfinished.retain(|known| known != path);
    // What cannot be removed is in nobody's way: its name says that it was temporary.
    let _ = std::fs::remove_dir_all(path);
}

fn end(signal: i32) {
    let unfinished = unfinished();
    end_children();
    for folder in unfinished.iter() {
        let mut attempts = 0..ATTEMPTS;
        while attempts.next().is_some() && std::fs::remove_dir_all(folder).is_err() {}
    }
    verilated::remove_unfinished();
    let mut out = std::io::stderr();
    // A line that a progress bar left.
    let clear = if out.is_terminal() { "\r\x1b[2K" } else { "" };
    let words = *WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = writeln!(out, "{clear}tombolo: {words}");
    // Nothing else runs: no destructor that writes back, and no unloading of models in use.
    signal_hook::low_level::exit(128 + signal);
}

/// Ends every process that descends from this one. A compiler driver starts others, so again until none is
/// left.
fn end_children() {
    let begin = Instant::now();
    loop {
        let children = descendants(std::process::id());
        if children.is_empty() || begin.elapsed() > CHILD_TIMEOUT {
            return;
        }
        let signal = match begin.elapsed() > POLITE {
            true => Signal::KILL,
            false => Signal::TERM,
        };
        for child in children {
            if let Some(child) = Pid::from_raw(child as i32) {
                let _ = kill_process(child, signal);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Living processes below one.
fn descendants(root: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes: Vec<(u32, u32)> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|id| Some((id, parent_of(id)?)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        let children = processes.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(id, _)| *id));
        next += 1;
    }
    found.split_off(1)
}

/// The parent of a process, if it is alive.
fn parent_of(id: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in brackets may have blanks and brackets.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(parent)
}

/// Whether whoever started this process had it ignore a signal.
fn signal_is_ignored(signal: i32) -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_children_are_found_and_ended() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 1000 & echo; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let below = descendants(child.id());
        assert_eq!(below.len(), 1, "{below:?}");
        assert!(descendants(std::process::id()).contains(&below[0]));
        child.kill().unwrap();
        child.wait().unwrap();
        let orphan = Pid::from_raw(below[0] as i32).unwrap();
        kill_process(orphan, Signal::KILL).unwrap();
    }
}
