//! Ctrl-C and SIGTERM end the command at once, in any state, without half-made files.
//!
//! A dedicated thread waits for the signal, because other threads may block: on the other end of a pipe, on a compiler,
//! or inside one evaluation of a kernel. It ends the compilers, removes unfinished outputs, and ends the process
//! without any write-back.

use crate::print::say;
use rustix::process::{kill_process, Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// How long compilers may remove their temporary files before they are killed.
const POLITE: Duration = Duration::from_millis(200);
/// Child processes that survive this timeout are left to the system.
const CHILD_TIMEOUT: Duration = Duration::from_millis(500);
/// Attempts to remove a folder: a process that still creates files in it can make one fail.
const ATTEMPTS: u32 = 3;

/// Folders that must not outlive this process. The signal thread takes this lock, so holding it defers an interrupt.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The message for the user.
static WORDS: Mutex<&str> = Mutex::new(
    "error: interrupted; new outputs were not created, and files mapped rw keep the data written back so far",
);

/// Sets the message that is printed if the process is interrupted.
pub fn say(words: &'static str) {
    *WORDS.lock().unwrap_or_else(PoisonError::into_inner) = words;
}

/// Runs once, before the process ends.
type ExitAction = Box<dyn FnOnce() + Send>;
static EXIT_ACTION: Mutex<Option<ExitAction>> = Mutex::new(None);

/// Runs `act` on the first signal, before the process ends; a second signal ends it at once.
pub fn before_the_end(act: impl FnOnce() + Send + 'static) {
    *EXIT_ACTION.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(act));
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Catches SIGXFSZ: a write beyond `ulimit -f` then fails with an error, instead of ending the process and leaving
/// half-made files.
pub fn heed_limits() {
    // The flag is never read; any handler will do. Child processes get the default action back.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Starts the thread that ends the process in order on a signal.
pub fn listen() {
    let ignored = |signal| signal_is_ignored(signal).unwrap_or(false);
    let mut wanted = vec![SIGINT, SIGTERM];
    // Under `nohup`, SIGHUP stays ignored.
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
        // Without the thread, signals would have no effect.
        say!("tombolo: error: starting a thread that waits for signals: {error}");
        std::process::exit(1);
    }
}

/// Runs `what` without interruption: a signal takes effect afterwards.
pub fn undisturbed<T>(what: impl FnOnce() -> T) -> T {
    let _held = unfinished();
    what()
}

/// Stops the signal thread from ending the process. Blocks if a signal has come, so that failures caused by killed
/// compilers are not reported as errors.
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

/// Keeps a folder from [`make_folder`]: it is complete.
pub fn keep_folder(path: &Path) {
    unfinished().retain(|known| known != path);
}

/// Removes a folder from [`make_folder`].
pub fn remove_folder(path: &Path) {
    let mut unfinished = unfinished();
    unfinished.retain(|known| known != path);
    // If this fails the folder is harmless: its name marks it as temporary.
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
    // Clears a line of a progress bar.
    let clear = if out.is_terminal() { "\r\x1b[2K" } else { "" };
    let words = *WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = writeln!(out, "{clear}tombolo: {words}");
    // Ends without destructors, which would write back and unload models in use.
    signal_hook::low_level::exit(128 + signal);
}

/// Ends all descendants of this process. Repeats, because a compiler driver starts further processes.
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
    // The name, in parentheses, may contain blanks and parentheses.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(parent)
}

/// Whether the parent process made this one ignore a signal.
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
