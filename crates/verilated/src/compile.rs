//! Runs the C++ compiler: one file per process, several in parallel.

use crate::error::BuildError;
use crate::sandbox::Sandbox;
use crate::toolchain::Toolchain;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// The compilation of one file, which may include files of `folder` and Verilator's headers.
pub(crate) fn unit(
    tools: &Toolchain,
    folder: &Path,
    flags: &[&str],
    source: &Path,
    object: &Path,
) -> Command {
    let include = tools.verilator_root.join("include");
    let mut command = tools.compiler.command();
    command.args(tools.compiler.known(flags));
    for folder in [folder, &include, &include.join("vltstd")] {
        command.arg("-I").arg(folder);
    }
    command.arg("-c").arg(source).arg("-o").arg(object);
    command
}

/// Size of a file in bytes.
pub(crate) fn size(path: &PathBuf) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

/// Joins files into one by includes.
pub(crate) fn append_includes(text: &mut String, files: &[PathBuf]) {
    for file in files {
        text.push_str(&format!("#include \"{}\"\n", file.display()));
    }
}

/// Runs compilations on as many threads as the machine has.
pub(crate) fn run_all(
    design: &str,
    commands: Vec<Command>,
    sandbox: &Sandbox,
    step: &mut dyn FnMut(usize, usize),
) -> Result<(), BuildError> {
    let of = commands.len();
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(of);
    let queue = Mutex::new(commands.into_iter());
    let failed = AtomicUsize::new(0);
    let (sender, finished) = std::sync::mpsc::channel();
    step(0, of);
    threads::scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            let (queue, failed) = (&queue, &failed);
            scope.run("tombolo-compile", move || loop {
                let next = queue.lock().ok().and_then(|mut queue| queue.next());
                let Some(command) = next.filter(|_| failed.load(Ordering::Relaxed) == 0) else {
                    return;
                };
                let result = run(design, command, sandbox);
                failed.fetch_add(usize::from(result.is_err()), Ordering::Relaxed);
                if sender.send(result).is_err() {
                    return;
                }
            });
        }
        drop(sender);
        let mut outcome = Ok(());
        for (index, result) in finished.iter().enumerate() {
            step(index + 1, of);
            outcome = outcome.and(result);
        }
        outcome
    })
}

/// Runs a compiler or a linker; an error contains its output.
pub(crate) fn run(design: &str, mut command: Command, sandbox: &Sandbox) -> Result<(), BuildError> {
    let output = sandbox.output(command.stdout(Stdio::null()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(BuildError::Compiler {
        design: design.to_owned(),
        messages: said.lines().take(30).collect::<Vec<_>>().join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_can_be_interrupted_whoever_starts_them() {
        let blocked = || {
            let mut command = Command::new("sh");
            command.args(["-c", "grep SigBlk /proc/self/status >&2; exit 1"]);
            run("test", command, &Sandbox::None)
                .unwrap_err()
                .to_string()
        };
        let here = blocked();
        assert!(here.contains("SigBlk:\t0000000000000000"), "{here}");
        let there = threads::spawn("tombolo-build", blocked).unwrap();
        assert_eq!(there.join().unwrap(), here);
        let commands = || {
            let mut command = Command::new("sh");
            command.args(["-c", "grep -q 'SigBlk:.0*$' /proc/self/status"]);
            command
        };
        run_all(
            "test",
            vec![commands(), commands()],
            &Sandbox::None,
            &mut |_, _| {},
        )
        .unwrap();
    }
}
