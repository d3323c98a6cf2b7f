//! `tombolo doctor`: what this machine has that a card can use, and what to install where it is missing.

use crate::kernel::{known, library};
use crate::print::{print, NotPrinted};
use clap::Args;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use tombolo::TrapWay;
use verilated::{cache_root, BuildError, Compiler, PrebuiltState, SandboxState};

/// Checks this machine: compiler, Verilator, models, cache, kernels, io_uring, userfaultfd, huge pages, configuration
/// file, sandbox of builds.
///
/// Each check prints its state; a failed one also prints the effect and the remedy. The exit status is 1 if something is
/// missing without which a card cannot be simulated.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo doctor
  tombolo doctor --json")]
pub(crate) struct Doctor {
    /// Prints JSON: a list of checks.
    #[arg(long)]
    json: bool,
}

/// How much a failed check matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    /// Everything works, but slower or with less.
    Note,
    /// Something cannot be done.
    Missing,
}

/// One property of the machine.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    verdict: Verdict,
    state: String,
    /// The consequence of a failed check; empty otherwise.
    effect: &'static str,
    /// How to fix a failed check; empty otherwise.
    remedy: String,
}

/// Severity, consequence and remedy of a check, should it fail.
struct Advice {
    verdict: Verdict,
    effect: &'static str,
    remedy: &'static str,
}

/// Why the checks were not printed, or which of them failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoctorError {
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{} missing: see the remedies above", .0.join(", "))]
    Missing(Vec<&'static str>),
}

impl Doctor {
    pub(crate) fn run(self) -> Result<(), DoctorError> {
        let checks = [
            compiler(),
            verilator(),
            prebuilt(),
            cache(&cache_root()),
            kernels(),
            io_uring(),
            userfaultfd(),
            huge_pages(),
            configuration(),
            sandbox(verilated::sandbox_state()),
        ];
        print(match self.json {
            true => serde_json::to_string_pretty(&checks)? + "\n",
            false => text(&checks),
        })?;
        let missing = checks
            .iter()
            .filter(|check| check.verdict == Verdict::Missing);
        let missing: Vec<_> = missing.map(|check| check.name).collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(DoctorError::Missing(missing)),
        }
    }
}

/// The configuration file in use. A wrong one is reported by every command, also by this one.
fn configuration() -> Check {
    let path = crate::config::path();
    let state = path.map_or_else(
        || "none: options have their own defaults".to_owned(),
        |path| path.display().to_string(),
    );
    Check {
        name: "configuration file",
        verdict: Verdict::Ok,
        state,
        effect: "",
        remedy: String::new(),
    }
}

fn text(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let word = match check.verdict {
            Verdict::Ok => "ok",
            Verdict::Note => "note",
            Verdict::Missing => "MISSING",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{word:<8}{}: {}", check.name, check.state);
        if check.verdict != Verdict::Ok {
            let _ = writeln!(
                text,
                "        effect: {}\n        remedy: {}",
                check.effect, check.remedy
            );
        }
    }
    text
}

/// A check that passes, or fails with the state that was found.
fn check(name: &'static str, found: Result<String, String>, advice: Advice) -> Check {
    match found {
        Ok(state) => Check {
            name,
            verdict: Verdict::Ok,
            state,
            effect: "",
            remedy: String::new(),
        },
        Err(state) => Check {
            name,
            verdict: advice.verdict,
            state,
            effect: advice.effect,
            remedy: advice.remedy.to_owned(),
        },
    }
}

const NOT_SIMULATED: &str = "kernels without a prebuilt model, and other shells, cannot be simulated; the functional card works";

/// A tool that builds models; the error of the builder has the remedy.
fn tool(name: &'static str, found: Result<String, BuildError>) -> Check {
    let (state, remedy) = match found {
        Ok(version) => (Ok(version), ""),
        Err(BuildError::MissingTool { looked, remedy, .. }) => (Err(looked), remedy),
        Err(other) => (Err(other.to_string()), ""),
    };
    check(
        name,
        state,
        Advice {
            verdict: Verdict::Missing,
            effect: NOT_SIMULATED,
            remedy,
        },
    )
}

fn compiler() -> Check {
    let found = Compiler::locate(&cache_root());
    let first = |compiler: Compiler| {
        compiler
            .version()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    tool("C++ compiler", found.map(first))
}

fn verilator() -> Check {
    let version = verilated::verilator_version();
    tool(
        "Verilator",
        version.map(|version| version.trim().to_owned()),
    )
}

fn prebuilt() -> Check {
    let (state, remedy) = match PrebuiltState::now() {
        PrebuiltState::Used(folder) => (Ok(folder.display().to_string()), ""),
        PrebuiltState::Absent => (
            Err("none".to_owned()),
            "none is needed: the first run compiles the shell; a released wheel brings them",
        ),
        PrebuiltState::OtherProcessor => (
            Err("compiled for another processor than this one".to_owned()),
            "none is needed if compiler and Verilator are there",
        ),
        PrebuiltState::Overridden(variable) => (
            Err(format!("not used, because {variable} is set")),
            "unset the variable to use them",
        ),
    };
    check(
        "prebuilt models",
        state,
        Advice {
            verdict: Verdict::Note,
            effect: "the first simulated run compiles the shell, which takes a minute or less; later runs do not",
            remedy,
        },
    )
}

fn cache(folder: &Path) -> Check {
    let there = folder.ancestors().find(|path| path.exists());
    let written = there.map_or_else(
        || Err("no part of its path exists".to_owned()),
        |there| tempfile::tempfile_in(there).map_err(|error| error.to_string()),
    );
    let free = there.and_then(|there| rustix::fs::statvfs(there).ok());
    let free = free.map_or(0.0, |of| (of.f_bavail * of.f_frsize) as f64 / 1e9);
    check(
        "cache of models",
        match written {
            Ok(_) => Ok(format!("{}, {free:.1} GB free", folder.display())),
            Err(error) => Err(format!("{}: {error}", folder.display())),
        },
        Advice {
            verdict: Verdict::Missing,
            effect: "built models cannot be kept, so simulated cards fail",
            remedy: "set TOMBOLO_CACHE to a folder that you may write to",
        },
    )
}

fn kernels() -> Check {
    let (folder, count) = (library(), known().len());
    check(
        "kernels",
        match count {
            0 => Err(format!("none in {}", folder.display())),
            count => Ok(format!("{count} in {}", folder.display())),
        },
        Advice {
            verdict: Verdict::Missing,
            effect:
                "kernels cannot be named, only given as folders, and the shell's RTL is missing too",
            remedy: "set TOMBOLO_HOME to a checkout of Tombolo, or unset it",
        },
    )
}

fn io_uring() -> Check {
    let name = file_io::best().name();
    check(
        "io_uring",
        match name {
            "io_uring" => Ok("available".to_owned()),
            other => Err(format!("not available; files are accessed by {other} calls")),
        },
        Advice {
            verdict: Verdict::Note,
            effect: "files are read and written by threads with pread and pwrite, at more processor time per byte",
            remedy: "sysctl kernel.io_uring_disabled=0; in a container, allow it in the seccomp profile",
        },
    )
}

fn userfaultfd() -> Check {
    let found = tombolo::measure_traps_with(TrapWay::Userfault);
    check(
        "userfaultfd",
        found.map(|_| "available".to_owned()).map_err(|error| error.to_string()),
        Advice {
            verdict: Verdict::Note,
            effect: "shared memory is trapped by mprotect and SIGSEGV; system calls cannot take pointers into it",
            remedy: "sysctl vm.unprivileged_userfaultfd=1; in a container, allow it in the seccomp profile",
        },
    )
}

fn huge_pages() -> Check {
    let text = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let text = text.unwrap_or_default();
    let chosen = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    check(
        "huge pages",
        match chosen {
            Some(state @ ("always" | "madvise")) => Ok(state.to_owned()),
            Some(other) => Err(other.to_owned()),
            None => Err("this system has none".to_owned()),
        },
        Advice {
            verdict: Verdict::Note,
            effect:
                "large memory of a served or functional card costs more TLB misses of the processor",
            remedy: "as root: echo madvise >/sys/kernel/mm/transparent_hugepage/enabled",
        },
    )
}

/// The restrictions of a daemon's builds.
fn sandbox(state: &SandboxState) -> Check {
    let parts = [&state.files, &state.network];
    let missing: Vec<_> = parts
        .iter()
        .filter_map(|part| part.as_ref().err())
        .cloned()
        .collect();
    let remedy = match (&state.files, &state.network) {
        (Err(_), _) => {
            "boot a kernel with Landlock (5.13 or later, lsm=landlock,…); in a container, allow landlock_create_ruleset in \
             the seccomp profile"
        }
        _ => {
            "sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0 (where they exist) \
             and user.max_net_namespaces above 0; in a container, allow unshare in the seccomp profile"
        }
    };
    check(
        "sandbox of a daemon's builds",
        match missing.is_empty() {
            true => Ok("files by Landlock, no network by a namespace".to_owned()),
            false => Err(missing.join("; ")),
        },
        Advice {
            verdict: Verdict::Note,
            effect: match state.files {
                Err(_) => "RTL of a client is compiled with access to files of the daemon's user; limits of time, memory and storage hold",
                Ok(()) => "compilers of a client's RTL can open connections; limits and restricted files hold",
            },
            remedy,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_cannot_be_written_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("not/there/yet");
        assert_eq!(cache(&below).verdict, Verdict::Ok);
        let bad = cache(Path::new("/proc/nothing"));
        assert_eq!(bad.verdict, Verdict::Missing);
        let printed = text(&[bad]);
        assert!(
            printed.starts_with("MISSING cache of models: /proc/nothing: "),
            "{printed}"
        );
        assert!(
            printed.contains("\n        remedy: set TOMBOLO_CACHE"),
            "{printed}"
        );
    }
}
