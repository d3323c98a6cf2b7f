//! Work by processes: one each, as many beside each other as are wanted. A worker that dies takes nothing with it but
//! its own piece.

use super::cache::{self, Kept};
use super::{Experiment, Failure, Outcome, Work};
use serde::Serialize;
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{mpsc, Mutex};

/// A command that does work elsewhere: the folder of results is the same there.
#[derive(Clone, Debug)]
pub struct Farm {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Farm {
    /// Machines of HyperQueue: its server's directory, or `local:N`, N workers here (`tools/lab-hyperqueue`).
    pub fn hyperqueue(server: &str) -> Self {
        let python = verilated::cache_root().join("venv/bin/python");
        let program = match python.exists() {
            true => python,
            false => "python3".into(),
        };
        let tool = simcard::home().join("tools/lab-hyperqueue");
        Self {
            program,
            arguments: vec![tool.into(), server.into()],
        }
    }
}

/// What a farm is told.
#[derive(Serialize)]
struct WorkOrder<'a> {
    /// Beginning of each command.
    command: Vec<String>,
    /// Ends of them.
    names: Vec<&'a str>,
}

/// Who works.
#[derive(Clone, Debug)]
pub struct Workers {
    /// The `tombolo` command, of which each piece of work gets a process; without, this process does it all.
    pub program: Option<PathBuf>,
    /// So many pieces at once.
    pub count: usize,
    /// What gets work first, if there is something: a command that does it on other machines.
    pub farm: Option<Farm>,
    /// Where workers keep their results.
    results: PathBuf,
}

impl Workers {
    /// This process, a thread a core.
    pub fn threads() -> Self {
        Self {
            program: None,
            count: std::thread::available_parallelism().map_or(1, usize::from),
            farm: None,
            results: cache::root(),
        }
    }

    /// Processes of this program, one a core.
    pub fn processes(program: PathBuf) -> Self {
        Self {
            program: Some(program),
            ..Self::threads()
        }
    }

    /// What the program is told of an experiment's work; the name of a piece follows.
    fn arguments(experiment: &Experiment) -> [&str; 5] {
        ["lab", "fsrf", "--experiment", &experiment.name, "--worker"]
    }

    /// Lets the farm do what is not kept. What it fails to do is left to us, and why is told.
    fn farm_out(
        &self,
        experiment: &Experiment,
        work: &[Work<'_>],
        numbers: &[usize],
    ) -> Result<(), Failure> {
        let (Some(farm), Some(program)) = (&self.farm, &self.program) else {
            return Ok(());
        };
        let mut names = Vec::new();
        for &number in numbers {
            match work[number].kept(&self.results, &experiment.platform)? {
                Kept::Whole(_) => {}
                Kept::Spoilt(_) | Kept::Nothing => names.push(work[number].name()),
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        let program = program.to_string_lossy().into_owned();
        let arguments = Self::arguments(experiment).map(str::to_owned);
        let order = WorkOrder {
            command: [program].into_iter().chain(arguments).collect(),
            names: names.iter().map(String::as_str).collect(),
        };
        let named = |error| format!("{}: {error}", farm.program.display());
        let mut running = Command::new(&farm.program)
            .args(&farm.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(named)?;
        if let Some(input) = running.stdin.take() {
            // One that ends without reading it tells so by its status.
            let _unread = serde_json::to_writer(input, &order);
        }
        let ended = running.wait_with_output().map_err(named)?;
        for line in String::from_utf8_lossy(&ended.stdout).lines() {
            eprintln!("{line}: done here instead");
        }
        match ended.status.success() || !ended.stdout.is_empty() {
            true => Ok(()),
            false => Err("no work was done on other machines (see above)".into()),
        }
    }

    /// The command that does a piece of an experiment's work.
    fn command(program: &PathBuf, experiment: &Experiment, work: &Work<'_>) -> Command {
        let mut command = Command::new(program);
        command
            .args(Self::arguments(experiment))
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
        if let Kept::Whole(outcome) = work.kept(&self.results, &experiment.platform)? {
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
        match work.kept(&self.results, &experiment.platform)? {
            Kept::Whole(outcome) => Ok(outcome),
            Kept::Spoilt(why) => Err(why.into()),
            Kept::Nothing => Err(
                "the worker ended well and kept no result: are the sources being changed?".into(),
            ),
        }
    }

    /// Seconds that each piece of work can be expected to take of a processor: none if its result is kept, else what it
    /// took when it was last done, and of what never was, the mean of the others. Of pieces that have one result,
    /// the first takes it all.
    pub fn expected(&self, experiment: &Experiment, work: &[Work<'_>]) -> Vec<f64> {
        let spent = cache::spent(&self.results);
        let mean = spent.values().sum::<f64>() / spent.len().max(1) as f64;
        let mut met = HashSet::new();
        let of = |work: &Work<'_>| {
            let kept = work.kept(&self.results, &experiment.platform);
            let first = work
                .hash(&experiment.platform)
                .is_ok_and(|hash| met.insert(hash));
            match kept {
                Ok(Kept::Whole(_)) => 0.0,
                _ if !first => 0.0,
                _ => spent.get(&work.name()).copied().unwrap_or(mean.max(1.0)),
            }
        };
        work.iter().map(of).collect()
    }

    /// Does work of an experiment, what takes little time first; `ended` hears of each piece as it ends. The outcomes come
    /// in the order of the work. Of pieces that have one result, one is done before the others look for it.
    pub fn all(
        &self,
        experiment: &Experiment,
        work: &[Work<'_>],
        mut ended: impl FnMut(&Work<'_>, &Result<Outcome, Failure>),
    ) -> Vec<Result<Outcome, Failure>> {
        let expected = self.expected(experiment, work);
        let mut met = HashSet::new();
        let (mut first, mut same) = (Vec::new(), Vec::new());
        for (number, work) in work.iter().enumerate() {
            let hash = work.hash(&experiment.platform);
            match hash.map_or(true, |hash| met.insert(hash)) {
                true => first.push(number),
                false => same.push(number),
            }
        }
        first.sort_by(|&one, &other| expected[one].total_cmp(&expected[other]));
        if let Err(error) = self.farm_out(experiment, work, &first) {
            // Who asked for other machines does not want to wait for this one alone.
            let why = error.to_string();
            return work.iter().map(|_| Err(why.clone().into())).collect();
        }
        let mut outcomes: Vec<_> = work.iter().map(|_| None).collect();
        for order in [first, same] {
            self.these(experiment, work, order, |number, outcome| {
                ended(&work[number], &outcome);
                outcomes[number] = Some(outcome);
            });
        }
        outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(|| Err("it ended without a result".into())))
            .collect()
    }

    /// Does pieces of work in this order.
    fn these(
        &self,
        experiment: &Experiment,
        work: &[Work<'_>],
        order: Vec<usize>,
        mut ended: impl FnMut(usize, Result<Outcome, Failure>),
    ) {
        let count = self.count.clamp(1, order.len().max(1));
        let next = Mutex::new(order.into_iter());
        let (send, receive) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..count {
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
                ended(number, outcome);
            }
        });
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
    use super::super::fsrf::{Part, TABLE};
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn outcome(mib_per_s: f64) -> Outcome {
        Outcome {
            mib_per_s,
            deviation: 0.0,
            each: Vec::new(),
            processor_seconds: 1.0,
            cycles: 0,
            deviations: Vec::new(),
        }
    }

    /// A stand-in for the program: it notes what it is asked for, and "simulates" by taking the result from a folder. One
    /// piece of work kills it until a file `mended` is there.
    struct Bench {
        // One after the other: a file that another thread's new process still holds open cannot be executed.
        _alone: std::sync::MutexGuard<'static, ()>,
        folder: tempfile::TempDir,
        experiment: Experiment,
        workers: Workers,
    }

    const DEADLY: &str = "transfer.8192";

    impl Bench {
        fn new() -> Self {
            static ALONE: Mutex<()> = Mutex::new(());
            let alone = ALONE.lock().unwrap_or_else(|spoilt| spoilt.into_inner());
            let folder = tempfile::tempdir().unwrap();
            let experiment = simcard::home().join("experiments");
            let experiment = Experiment::read(&experiment, TABLE).unwrap();
            let (results, program) = (folder.path().join("cells"), folder.path().join("program"));
            for (place, work) in Part::Figure9.work(&experiment).iter().enumerate() {
                let made = work.keep(&results, &experiment.platform, &outcome(place as f64));
                let prepared = folder.path().join(work.name());
                std::fs::create_dir(&prepared).unwrap();
                std::fs::rename(&made, prepared.join(made.file_name().unwrap())).unwrap();
            }
            let script = format!(
                "#!/bin/sh\ncd '{}'\nname=$6\necho \"$name\" >> asked\nif [ \"$name\" = {DEADLY} ] && [ ! -e mended ]; \
                 then kill -9 $$; fi\ncp \"$name\"/* cells/\n",
                folder.path().display()
            );
            std::fs::write(&program, script).unwrap();
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
            let workers = Workers {
                program: Some(program),
                count: 2,
                farm: None,
                results,
            };
            Self {
                _alone: alone,
                folder,
                experiment,
                workers,
            }
        }

        fn path(&self) -> &Path {
            self.folder.path()
        }

        fn work(&self) -> Vec<Work<'_>> {
            Part::Figure9.work(&self.experiment)
        }

        fn run(&self, work: &[Work<'_>]) -> Vec<Result<Outcome, Failure>> {
            self.workers.all(&self.experiment, work, |_, _| {})
        }

        /// What workers were asked for since the last time.
        fn asked(&self) -> Vec<String> {
            let path = self.path().join("asked");
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let _ = std::fs::remove_file(path);
            let mut asked: Vec<String> = text.lines().map(str::to_owned).collect();
            asked.sort();
            asked
        }
    }

    /// What the farm does is not done here, and what it fails to do is.
    #[test]
    fn a_farm_works_first() {
        let mut bench = Bench::new();
        // It understands no JSON, but the names are whole words of it.
        let script = format!(
            "cd '{}'\nfor name in $(tr -c 'a-z0-9.' ' '); do case $name in transfer.4096) echo \"$name: broken\";; \
             transfer.*) echo $name >> farmed; cp $name/* cells/;; esac; done\nexit 1",
            bench.path().display()
        );
        bench.workers.farm = Some(Farm {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
        });
        let work = bench.work();
        let outcomes = bench.run(&work);
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        assert_eq!(bench.asked(), ["transfer.4096"]);
        let farmed = std::fs::read_to_string(bench.path().join("farmed")).unwrap();
        assert_eq!(farmed.lines().count(), work.len() - 1);
        // All is kept: nobody is asked.
        bench.run(&work);
        let again = std::fs::read_to_string(bench.path().join("farmed")).unwrap();
        assert_eq!((again, bench.asked().len()), (farmed, 0));
    }

    #[test]
    fn a_farm_that_cannot_be_reached_is_told() {
        let mut bench = Bench::new();
        bench.workers.farm = Some(Farm {
            program: "/bin/false".into(),
            arguments: Vec::new(),
        });
        let work = bench.work();
        let outcomes = bench.run(&work);
        let error = outcomes[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("other machines"), "{error}");
        assert!(bench.asked().is_empty());
    }

    #[test]
    fn a_worker_that_dies_takes_its_own_piece_only() {
        let bench = Bench::new();
        let work = bench.work();
        let outcomes = bench.run(&work);
        for (work, outcome) in work.iter().zip(&outcomes) {
            assert_eq!(outcome.is_err(), work.name() == DEADLY, "{}", work.name());
        }
        let error = outcomes[1].as_ref().unwrap_err().to_string();
        assert!(
            error.contains("signal 9 (killed, or out of memory)"),
            "{error}"
        );
        assert!(error.contains("runs this one again"), "{error}");
        assert_eq!(bench.asked().len(), work.len());
        // And then it alone is run again.
        std::fs::write(bench.path().join("mended"), "").unwrap();
        let outcomes = bench.run(&work);
        assert!(outcomes.iter().all(Result::is_ok));
        assert_eq!(outcomes[1].as_ref().unwrap().mib_per_s, 1.0);
        assert_eq!(bench.asked(), [DEADLY]);
    }

    /// What was done before an interrupt is not done again.
    #[test]
    fn an_interrupted_run_goes_on_where_it_was() {
        let bench = Bench::new();
        std::fs::write(bench.path().join("mended"), "").unwrap();
        let work = bench.work();
        bench.run(&work[..4]);
        assert_eq!(bench.asked().len(), 4);
        // A worker that was killed while it wrote has left this: it is no result.
        std::fs::write(bench.workers.results.join(".tmpXyz"), "{\"name\":").unwrap();
        assert!(bench.run(&work).iter().all(Result::is_ok));
        assert_eq!(bench.asked().len(), work.len() - 4);
        assert!(bench.run(&work).iter().all(Result::is_ok));
        assert!(bench.asked().is_empty());
    }

    #[test]
    fn a_spoilt_result_is_made_again_and_no_other() {
        let bench = Bench::new();
        std::fs::write(bench.path().join("mended"), "").unwrap();
        let work = bench.work();
        bench.run(&work);
        bench.asked();
        let prepared = std::fs::read_dir(bench.path().join(work[2].name())).unwrap();
        let name = prepared.flatten().next().unwrap().file_name();
        std::fs::write(bench.workers.results.join(name), "{\"name\":\"transfer").unwrap();
        let outcomes = bench.run(&work);
        assert_eq!(outcomes[2].as_ref().unwrap().mib_per_s, 2.0);
        assert_eq!(bench.asked(), [work[2].name()]);
    }

    #[test]
    fn a_worker_that_fails_says_why_and_one_that_is_missing_too() {
        let failed = died(ExitStatus::from_raw(1 << 8), "first\nthe reason\n\n");
        assert_eq!(failed, "the reason");
        let mut bench = Bench::new();
        bench.workers.program = Some(bench.path().join("no-such"));
        let work = bench.work();
        let error = bench.run(&work[..1]).remove(0).unwrap_err().to_string();
        assert!(error.contains("no-such"), "{error}");
    }
}
