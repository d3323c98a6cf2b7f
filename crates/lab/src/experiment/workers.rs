//! Executes work in separate processes, several concurrently. A worker that dies loses only its own piece.

use super::cache::{self, Cached, Kept};
use super::{Experiment, Failure, Outcome, PaperPart, PartOutcome, Work};
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{mpsc, Mutex};

/// Least estimate of work that was not run yet: starting its process.
const MIN_SECONDS: f64 = 1.0;

/// A command that executes work on other machines, which share the folder of results.
#[derive(Clone, Debug)]
pub struct Farm {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Farm {
    /// Machines of HyperQueue: its server's directory, or `local:N` for N workers on this machine
    /// (`tools/lab-hyperqueue`).
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

/// Work whose result is kept, and which a process of its own can do.
pub(super) trait KeptWork: Sync {
    /// Figures, as written to the cache.
    type Done: Serialize + DeserializeOwned + Send;

    /// Name, unique among jobs with the same arguments.
    fn name(&self) -> String;

    /// Arguments of the program for the job; its name follows.
    fn arguments(&self) -> Vec<String>;

    /// Cache entry of its result, with all its inputs, in the folder `root`.
    fn cached(&self, root: &Path) -> Result<Cached, Failure>;

    /// Does it in this process and keeps its result, or returns that of an earlier run.
    fn perform(&self) -> Result<Self::Done, Failure>;

    /// Result of an earlier run in the folder `root`.
    fn kept(&self, root: &Path) -> Result<Kept<Self::Done>, Failure> {
        self.cached(root)?.read()
    }
}

/// Work of an experiment of FSRF.
struct TableJob<'a> {
    experiment: &'a Experiment,
    work: &'a Work<'a>,
}

fn of_table<'a>(experiment: &'a Experiment, work: &'a [Work<'a>]) -> Vec<TableJob<'a>> {
    let of = |work| TableJob { experiment, work };
    work.iter().map(of).collect()
}

impl KeptWork for TableJob<'_> {
    type Done = Outcome;

    fn name(&self) -> String {
        self.work.name()
    }

    fn arguments(&self) -> Vec<String> {
        let name = self.experiment.name.as_str();
        ["lab", "fsrf", "--experiment", name, "--worker"]
            .map(str::to_owned)
            .to_vec()
    }

    fn cached(&self, root: &Path) -> Result<Cached, Failure> {
        self.work.cached_on(root, &self.experiment.platform)
    }

    fn perform(&self) -> Result<Outcome, Failure> {
        self.work.run(&self.experiment.platform)
    }
}

/// Order passed to a farm.
#[derive(Serialize)]
struct WorkOrder<'a> {
    /// Beginning of each command line.
    command: Vec<String>,
    /// Last arguments of the command lines.
    names: Vec<&'a str>,
}

/// Executors of work.
#[derive(Clone, Debug)]
pub struct Workers {
    /// The `tombolo` command, started for each piece of work; `None`: this process does all work.
    pub program: Option<PathBuf>,
    /// Maximum number of concurrent pieces.
    pub count: usize,
    /// A farm that receives work first, if configured.
    pub farm: Option<Farm>,
    /// Folder of the workers' results.
    results: PathBuf,
}

impl Workers {
    /// Threads of this process, one per core.
    pub fn threads() -> Self {
        Self {
            program: None,
            count: std::thread::available_parallelism().map_or(1, usize::from),
            farm: None,
            results: cache::root(),
        }
    }

    /// Processes of a program, one per core.
    pub fn processes(program: PathBuf) -> Self {
        Self {
            program: Some(program),
            ..Self::threads()
        }
    }

    /// Passes work without a cached result to the farm. Work that it does not complete remains for this machine, and
    /// the reason is reported.
    fn farm_out<J: KeptWork>(&self, jobs: &[J], numbers: &[usize]) -> Result<(), Failure> {
        let (Some(farm), Some(program)) = (&self.farm, &self.program) else {
            return Ok(());
        };
        let mut names = Vec::new();
        for &number in numbers {
            match jobs[number].kept(&self.results)? {
                Kept::Whole(_) => {}
                Kept::Spoilt(_) | Kept::Nothing => names.push(jobs[number].name()),
            }
        }
        let Some(job) = jobs.first().filter(|_| !names.is_empty()) else {
            return Ok(());
        };
        let program = program.to_string_lossy().into_owned();
        let order = WorkOrder {
            command: [program].into_iter().chain(job.arguments()).collect(),
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
            // If it exits without reading the order, its status shows the error.
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

    fn run<J: KeptWork>(&self, job: &J) -> Result<J::Done, Failure> {
        let Some(program) = &self.program else {
            return job.perform();
        };
        // A cached result needs no process.
        if let Kept::Whole(outcome) = job.kept(&self.results)? {
            return Ok(outcome);
        }
        let output = Command::new(program)
            .args(job.arguments())
            .arg(job.name())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let told = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(died(output.status, &told).into());
        }
        for line in told.lines().filter(|line| line.contains("spoilt")) {
            eprintln!("{line}");
        }
        match job.kept(&self.results)? {
            Kept::Whole(outcome) => Ok(outcome),
            Kept::Spoilt(why) => Err(why.into()),
            Kept::Nothing => Err(
                "the worker ended well and kept no result: are the sources being changed?".into(),
            ),
        }
    }

    /// Expected processor seconds of each piece of work: 0 if its result is cached, else the time of its last
    /// execution, else the mean of the most similar earlier work; `None` if there was none. If several pieces share a
    /// result, the first accounts for all of it.
    pub fn expected(&self, experiment: &Experiment, work: &[Work<'_>]) -> Vec<Option<f64>> {
        self.expected_of(&of_table(experiment, work))
    }

    /// As [`expected`](Self::expected), of parts.
    pub fn expected_parts(&self, parts: &[PaperPart<'_>]) -> Vec<Option<f64>> {
        self.expected_of(parts)
    }

    /// Whether a job has a result.
    pub(super) fn has<J: KeptWork>(&self, job: &J) -> Result<bool, Failure> {
        Ok(matches!(job.kept(&self.results)?, Kept::Whole(_)))
    }

    pub(super) fn expected_of<J: KeptWork>(&self, jobs: &[J]) -> Vec<Option<f64>> {
        let spent = cache::spent(&self.results);
        let mut met = HashSet::new();
        let of = |job: &J| {
            let kept = job.kept(&self.results);
            let first = job
                .cached(&self.results)
                .is_ok_and(|cached| met.insert(cached.hash()));
            match kept {
                Ok(Kept::Whole(_)) => Some(0.0),
                _ if !first => Some(0.0),
                _ => similar(&spent, &job.name()),
            }
        };
        jobs.iter().map(of).collect()
    }

    /// Executes work of an experiment, shortest first; `ended` is called as each piece ends. Outcomes are in the order
    /// of the work. If several pieces share a result, one is completed before the others look it up.
    pub fn all(
        &self,
        experiment: &Experiment,
        work: &[Work<'_>],
        mut ended: impl FnMut(&Work<'_>, &Result<Outcome, Failure>),
    ) -> Vec<Result<Outcome, Failure>> {
        let jobs = of_table(experiment, work);
        self.execute(&jobs, |job, outcome| ended(job.work, outcome))
    }

    /// Executes parts of one paper's evaluation; as [`all`](Self::all).
    pub fn parts(
        &self,
        parts: &[PaperPart<'_>],
        mut ended: impl FnMut(&PaperPart<'_>, &Result<PartOutcome, Failure>),
    ) -> Vec<Result<PartOutcome, Failure>> {
        self.execute(parts, |part, outcome| ended(part, outcome))
    }

    pub(super) fn execute<J: KeptWork>(
        &self,
        jobs: &[J],
        mut ended: impl FnMut(&J, &Result<J::Done, Failure>),
    ) -> Vec<Result<J::Done, Failure>> {
        let expected = self.expected_of(jobs);
        let mut met = HashSet::new();
        let (mut first, mut same) = (Vec::new(), Vec::new());
        for (number, job) in jobs.iter().enumerate() {
            let cached = job.cached(&self.results);
            match cached.map_or(true, |cached| met.insert(cached.hash())) {
                true => first.push(number),
                false => same.push(number),
            }
        }
        // Without earlier work all are `None`, and keep their order.
        let seconds = |number: usize| expected[number].unwrap_or_default();
        first.sort_by(|&one, &other| seconds(one).total_cmp(&seconds(other)));
        if let Err(error) = self.farm_out(jobs, &first) {
            // A user who requested other machines does not want to run everything on this one.
            let why = error.to_string();
            return jobs.iter().map(|_| Err(why.clone().into())).collect();
        }
        let mut outcomes: Vec<_> = jobs.iter().map(|_| None).collect();
        for order in [first, same] {
            self.these(jobs, order, |number, outcome| {
                ended(&jobs[number], &outcome);
                outcomes[number] = Some(outcome);
            });
        }
        outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(|| Err("it ended without a result".into())))
            .collect()
    }

    /// Executes pieces of work in this order.
    fn these<J: KeptWork>(
        &self,
        jobs: &[J],
        order: Vec<usize>,
        mut ended: impl FnMut(usize, Result<J::Done, Failure>),
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
                    let outcome = self.run(&jobs[number]);
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

/// Processor seconds of the work with this name, else the mean of the work whose names share most words with it: of a
/// cell `dnn.fsrf.cold_small`, the other cold cells and those of other temperatures come before other workloads.
fn similar(spent: &HashMap<String, f64>, name: &str) -> Option<f64> {
    if let Some(seconds) = spent.get(name) {
        return Some(*seconds);
    }
    let words = |name: &str| -> HashSet<String> {
        name.split(['.', ' ', '_']).map(str::to_owned).collect()
    };
    let wanted = words(name);
    let (mut most, mut sum, mut count) = (0, 0.0, 0_u32);
    for (name, seconds) in spent {
        let common = words(name).intersection(&wanted).count();
        if common > most {
            (most, sum, count) = (common, 0.0, 0);
        }
        if common == most {
            sum += seconds;
            count += 1;
        }
    }
    (count > 0).then(|| (sum / f64::from(count)).max(MIN_SECONDS))
}

/// Describes the abnormal exit of a worker, with the remedy.
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

    /// A stub for the program: it logs its arguments, and "simulates" by taking the result from a folder. One piece of
    /// work kills it until a file `mended` exists.
    struct Bench {
        // Serialised: a file that another thread's new process still holds open cannot be executed.
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

        /// Work requested from workers since the last call.
        fn asked(&self) -> Vec<String> {
            let path = self.path().join("asked");
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let _ = std::fs::remove_file(path);
            let mut asked: Vec<String> = text.lines().map(str::to_owned).collect();
            asked.sort();
            asked
        }
    }

    /// Work that the farm completes is not repeated here, and work that it fails is done here.
    #[test]
    fn a_farm_works_first() {
        let mut bench = Bench::new();
        // It does not parse JSON, but the names are whole words in it.
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
        // Everything is cached: no worker is started.
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
        // Then only that piece is run again.
        std::fs::write(bench.path().join("mended"), "").unwrap();
        let outcomes = bench.run(&work);
        assert!(outcomes.iter().all(Result::is_ok));
        assert_eq!(outcomes[1].as_ref().unwrap().mib_per_s, 1.0);
        assert_eq!(bench.asked(), [DEADLY]);
    }

    /// Work completed before an interrupt is not repeated.
    #[test]
    fn an_interrupted_run_goes_on_where_it_was() {
        let bench = Bench::new();
        std::fs::write(bench.path().join("mended"), "").unwrap();
        let work = bench.work();
        bench.run(&work[..4]);
        assert_eq!(bench.asked().len(), 4);
        // A worker killed while writing leaves this file, which is not a result.
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
    fn similar_work_estimates_what_has_not_run() {
        let spent = [
            ("dnn.fsrf.hot_small", 4.0),
            ("dnn.amorphos.cold_small", 60.0),
            ("tri.fsrf.cold_small", 100.0),
            ("rng_read.fsrf.warm_large", 1000.0),
        ];
        let spent: HashMap<String, f64> = spent
            .map(|(name, seconds)| (name.to_owned(), seconds))
            .into();
        // Its own time; the cell with three common words of four, twice; one word; none: the mean.
        assert_eq!(similar(&spent, "dnn.fsrf.hot_small"), Some(4.0));
        let near = similar(&spent, "dnn.fsrf.cold_small").unwrap();
        assert!((near - (4.0 + 60.0 + 100.0) / 3.0).abs() < 1e-9, "{near}");
        assert_eq!(
            similar(&spent, "gups.coyote-4k.warm_oversubscribed"),
            Some(1000.0)
        );
        assert_eq!(similar(&spent, "vfpio.latency"), Some(291.0));
        assert_eq!(similar(&HashMap::new(), "vfpio.latency"), None);
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
