//! The independent checker: Debian's `rumur` on the exported Murphi model.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::check::{check, CheckError, Setting};
use crate::export::murphi;
use crate::generate::Protocol;

/// Reason why `rumur` gave no verdict.
#[derive(Debug, thiserror::Error)]
pub enum RumurError {
    /// A program could not be started.
    #[error("cannot run {program}: {source} (on Debian: apt-get install rumur gcc)")]
    Start {
        /// Name of the program.
        program: &'static str,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A program rejected its input.
    #[error("{program} failed: {message}")]
    Refused {
        /// Name of the program.
        program: &'static str,
        /// The last lines of its output.
        message: String,
    },
    /// A file could not be written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The verifier's report contains no number of states.
    #[error("the verifier of rumur reports no number of states: {0}")]
    NoReport(String),
    /// Our own checker could not explore the model.
    #[error(transparent)]
    Check(#[from] CheckError),
}

/// Verdict of `rumur`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RumurVerdict {
    /// Whether all properties hold.
    pub holds: bool,
    /// Distinct states reached.
    pub states: usize,
}

/// Exports a protocol's model, generates a verifier of it with `rumur`, and runs it.
///
/// # Errors
///
/// [`RumurError`] if a step fails; a broken property is a verdict and no error.
pub fn verify(protocol: &Protocol, folder: &Path) -> Result<RumurVerdict, RumurError> {
    let base = folder.join(&protocol.spec.name);
    let (model, source, verifier) = (
        base.with_extension("m"),
        base.with_extension("c"),
        base.with_extension("verifier"),
    );
    std::fs::write(&model, murphi(protocol, &setting())).map_err(|source| RumurError::File {
        path: model.clone(),
        source,
    })?;
    let mut rumur = Command::new("rumur");
    rumur.args([
        "--deadlock-detection",
        "off",
        "--threads",
        "1",
        "--quiet",
        "--colour",
        "off",
    ]);
    rumur
        .args(["--counterexample-trace", "off", "--output"])
        .arg(&source)
        .arg(&model);
    finish("rumur", rumur)?;
    let mut compiler = Command::new("gcc");
    compiler
        .args(["-O0", "-mcx16", "-w", "-o"])
        .arg(&verifier)
        .arg(&source);
    finish("gcc", compiler.args(["-lpthread", "-latomic"]))?;
    let output = Command::new(&verifier)
        .output()
        .map_err(|source| RumurError::Start {
            program: "the verifier",
            source,
        })?;
    let report = String::from_utf8_lossy(&output.stdout);
    let states = report
        .lines()
        .find_map(|line| line.trim().split_once(" states, ")?.0.parse().ok())
        .ok_or_else(|| RumurError::NoReport(report.chars().take(400).collect()))?;
    Ok(RumurVerdict {
        holds: output.status.success(),
        states,
    })
}

/// Whether `rumur` and this checker agree on the verdict and, if the protocol holds, on the number of states.
///
/// # Errors
///
/// Those of [`verify`] and of [`check`].
pub fn agrees(protocol: &Protocol) -> Result<bool, RumurError> {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let name = format!("tombolo-rumur-{}-{run}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).map_err(|source| RumurError::File {
        path: folder.clone(),
        source,
    })?;
    let theirs = verify(protocol, &folder);
    // Leftovers in the temporary folder do no harm.
    let _ = std::fs::remove_dir_all(&folder);
    let theirs = theirs?;
    let ours = check(protocol, &setting(), &mut |_| {})?;
    let holds = ours.failure.is_none();
    Ok(theirs.holds == holds && (!holds || theirs.states == ours.states))
}

/// Both explore the same model: no symmetry.
fn setting() -> Setting {
    Setting {
        symmetry: false,
        ..Setting::default()
    }
}

fn finish(
    program: &'static str,
    mut command: impl std::borrow::BorrowMut<Command>,
) -> Result<(), RumurError> {
    let output = command
        .borrow_mut()
        .output()
        .map_err(|source| RumurError::Start { program, source })?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr)
        .chars()
        .take(600)
        .collect();
    Err(RumurError::Refused { program, message })
}
