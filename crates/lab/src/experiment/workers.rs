//! Work by processes: one each, as many beside each other as are wanted. A worker that dies takes nothing with it but
//! its own piece.

use super::cache::Kept;
use super::{Experiment, Failure, Outcome, Work};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{mpsc, Mutex};

/// Who works.
#[derive(Clone, Debug)]
pub struct Workers {
    /// The `tombolo` command, of which each piece of work gets a process; without, this process does it all.
    pub program: Option<PathBuf>,
    /// So many pieces at once.
    pub count: usize,
}

impl Workers {
    /// This process, a thread a core.
    pub fn threads() -> Self {
        Self {
            program: None,
            count: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Processes of this program, one a core.
    pub fn processes(program: PathBuf) -> Self {
        Self {
            program: Some(program),
            ..Self::threads()
        }
    }

    /// The command that does a piece of an experiment's work.
    fn command(program: &PathBuf, experiment: &Experiment, work: &Work<'_>) -> Command {
        let mut command = Command::new(program);
        command
            .args(["lab", "fsrf", "--experiment", &experiment.name, "--worker"])
            .arg(work.name())
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, experiment: &Experiment, work: &Work<'_>) -> Result<Outcome, Failure> {
        let Some(program) = &self.program else {
            return work.run(&experiment.platform);
        };
        // What is there needs no process.
        if let Kept::Whole(outcome) = work.kept(&experiment.platform)? {
            return Ok(outcome);
        }
        let output = Self::command(program, experiment, work)
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let told = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(died(output.status, &told).into());
        }
        for line in told.lines().filter(|line| line.contains("spoilt")) {
            eprintln!("{line}");
        }
        match work.kept(&experiment.platform)? {
            Kept::Whole(outcome) => Ok(outcome),
            Kept::Spoilt(why) => Err(why.into()),
            Kept::Nothing => Err(
                "the worker ended well and kept no result: are the sources being changed?".into(),
            ),
        }
    }

    /// Does work of an experiment; `ended` hears of each piece as it ends. The outcomes come in the order of the work.
    pub fn all(
        &self,
        experiment: &Experiment,
        work: &[Work<'_>],
        mut ended: impl FnMut(&Work<'_>, &Result<Outcome, Failure>),
    ) -> Vec<Result<Outcome, Failure>> {
        let next = Mutex::new(0..work.len());
        let (send, receive) = mpsc::channel();
        let mut outcomes: Vec<_> = work.iter().map(|_| None).collect();
        std::thread::scope(|scope| {
            for _ in 0..self.count.clamp(1, work.len().max(1)) {
                let (send, next) = (send.clone(), &next);
                scope.spawn(move || loop {
                    let taken = next.lock().map_or(None, |mut left| left.next());
                    let Some(number) = taken else { break };
                    let outcome = self.run(experiment, &work[number]);
                    if send.send((number, outcome)).is_err() {
                        break;
                    }
                });
            }
            drop(send);
            for (number, outcome) in receive {
                ended(&work[number], &outcome);
                outcomes[number] = Some(outcome);
            }
        });
        outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(|| Err("it ended without a result".into())))
            .collect()
    }
}

/// How a worker ended that did not end well, and what to do.
fn died(status: ExitStatus, told: &str) -> String {
    let last = told.lines().rfind(|line| !line.trim().is_empty());
    match status.signal() {
        Some(signal) => format!(
            "the worker died of signal {signal}{}; the other results are kept, and the same command runs this one again",
            if signal == libc::SIGKILL {
                " (killed, or out of memory)"
            } else {
                ""
            }
        ),
        None => last.unwrap_or("the worker failed and said nothing").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_worker_is_named_by_how_it_died() {
        let killed = died(ExitStatus::from_raw(9), "some line\n");
        assert!(
            killed.contains("signal 9 (killed, or out of memory)"),
            "{killed}"
        );
        assert!(killed.contains("runs this one again"), "{killed}");
        let failed = died(ExitStatus::from_raw(1 << 8), "first\nthe reason\n\n");
        assert_eq!(failed, "the reason");
    }
}
