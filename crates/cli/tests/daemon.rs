//! Two `tombolo run` on one daemon: one is killed in the middle, the other does not notice.

use rustix::process::{kill_process, Pid, Signal};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing that is awaited takes so long, but the build of a model.
const PATIENCE: Duration = Duration::from_secs(120);

fn tombolo(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    command
        .current_dir(folder)
        .args(words)
        .env_remove("TOMBOLO_CARD")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Text of both outputs of a command that must succeed.
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &said
}

/// A daemon's process; it ends with this.
struct Daemon {
    folder: TempDir,
    process: Child,
}

impl Daemon {
    fn start(how: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let words = [&["daemon", "--socket", "card"], how].concat();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let process = tombolo(folder.path(), &words).stderr(log).spawn().unwrap();
        let daemon = Self { folder, process };
        let begin = Instant::now();
        while !daemon.path("card").exists() {
            let log = || fs::read_to_string(daemon.path("log")).unwrap();
            assert!(begin.elapsed() < PATIENCE, "{}", log());
            std::thread::sleep(Duration::from_millis(5));
        }
        daemon
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Command {
        tombolo(
            self.folder.path(),
            &[&["run"], words, &["--card", "unix:card"]].concat(),
        )
    }

    fn status(&self) -> Value {
        let words = ["status", "--socket", "card", "--json"];
        let text = succeed(&mut tombolo(self.folder.path(), &words));
        serde_json::from_str(&text).unwrap()
    }

    /// Waits until the status is so.
    fn until(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let status = self.status();
            if is_so(&status) {
                return status;
            }
            assert!(begin.elapsed() < PATIENCE, "{status:#}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Resources with no client but the one that asks: the minimum of several samples, since threads take a moment to
    /// end.
    fn at_rest(&self) -> Value {
        let looks = (0..10).map(|_| {
            let status = self.until(|status| {
                status["daemon"]["connections"] == 1 && running(status) == 0 && loaded(status) == 0
            });
            status["daemon"].clone()
        });
        let held = |daemon: &Value| (daemon["threads"].as_u64(), daemon["descriptors"].as_u64());
        looks.min_by_key(held).unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Its death is what comes next anyway.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn slots<'a>(status: &'a Value, is_so: impl Fn(&Value) -> bool + 'a) -> usize {
    let slots = status["owner"]["slots"].as_array().unwrap();
    slots.iter().filter(|slot| is_so(slot)).count()
}

fn running(status: &Value) -> usize {
    slots(status, |slot| slot["running"] == true)
}

fn loaded(status: &Value) -> usize {
    slots(status, |slot| !slot["kernel"].is_null())
}

/// A kernel that works for longer than anybody waits, on a file of its own.
fn endless(daemon: &Daemon) -> Child {
    fs::write(daemon.path("table"), vec![1; 64 << 10]).unwrap();
    let words = [
        "gups",
        "--map",
        "table=table:rw",
        "--set",
        "words_log2=12",
        "--set",
        "updates=0x4000000000000",
        "--set",
        "seed=1",
        "--set",
        "under_way=0",
    ];
    daemon.run(&words).spawn().unwrap()
}

/// A file through a kernel into a new one.
const COPIED: &[&str] = &[
    "--map",
    "input=input",
    "--map",
    "output=output:new",
    "--set",
    "bytes=size(input)",
];

/// Copies a file, and gives the report.
fn copy(daemon: &Daemon, bytes: &[u8]) -> Value {
    fs::write(daemon.path("input"), bytes).unwrap();
    let words = [&["copy"], COPIED, &["--json", "report.json"]].concat();
    succeed(&mut daemon.run(&words));
    assert!(fs::read(daemon.path("output")).unwrap() == bytes);
    serde_json::from_slice(&fs::read(daemon.path("report.json")).unwrap()).unwrap()
}

/// The parts of a report that depend on the run alone: slot and space differ between runs, and the card also serves
/// other clients.
fn of_run(report: &Value) -> Value {
    let mut paging = report["paging"].clone();
    // How often a kernel waits is up to the machine on a card without time.
    for field in ["faults", "faults_ahead", "fault_time"] {
        paging.as_object_mut().unwrap().remove(field);
    }
    let mut requesters = report["statistics"]["requesters"].clone();
    let requesters = requesters.as_array_mut().unwrap();
    requesters.retain(|one| one["bytes"] != 0);
    let moved = requesters.iter().map(|one| {
        (
            one["rows"].clone(),
            one["bytes"].clone(),
            one["bursts"].clone(),
        )
    });
    let runs = report["runs"].as_array().unwrap();
    let kernels = runs.iter().map(|run| run["kernel"].clone());
    serde_json::json!({
        "kernels": kernels.collect::<Vec<_>>(),
        "paging": paging,
        "moved": moved.collect::<Vec<_>>(),
        "policies": report["policies"],
        "notes": report["notes"],
    })
}

fn one_is_killed_and_the_other_goes_on(daemon: &Daemon, bytes: &[u8]) {
    let alone = copy(daemon, bytes);
    let mut victim = endless(daemon);
    daemon.until(|status| running(status) == 1);
    let beside = copy(daemon, bytes);
    assert_eq!(of_run(&beside), of_run(&alone));
    assert_eq!(beside["runs"].as_array().unwrap().len(), 1);
    let status = daemon.until(|status| running(status) == 1);
    let text = succeed(&mut tombolo(
        daemon.folder.path(),
        &["status", "--socket", "card"],
    ));
    assert!(text.contains("kernel gups of client"), "{text}");
    assert!(
        !status.to_string().contains("table"),
        "names of files are their client's affair"
    );
    // In the middle of a copy of the other.
    let copies = std::thread::scope(|scope| {
        let other = scope.spawn(|| copy(daemon, bytes));
        daemon.until(|status| loaded(status) == 2 || other.is_finished());
        let id = Pid::from_raw(victim.id() as i32).unwrap();
        kill_process(id, Signal::KILL).unwrap();
        victim.wait().unwrap();
        other.join().unwrap()
    });
    assert_eq!(of_run(&copies), of_run(&alone));
    // Its writes were written back.
    assert!(fs::read(daemon.path("table")).unwrap() != vec![1; 64 << 10]);
}

/// A slot keeps the model of its last kernel, with a thread, so what a daemon holds is that of the second time.
fn nothing_is_left(daemon: &Daemon, bytes: &[u8]) {
    one_is_killed_and_the_other_goes_on(daemon, bytes);
    let before = daemon.at_rest();
    one_is_killed_and_the_other_goes_on(daemon, bytes);
    assert_eq!(daemon.at_rest(), before);
}

#[test]
fn a_run_that_is_killed_takes_nothing_with_it() {
    let daemon = Daemon::start(&["--functional"]);
    let bytes: Vec<u8> = (0..9_000_000u32).map(|n| (n * 7 % 251) as u8).collect();
    nothing_is_left(&daemon, &bytes);
}

#[test]
fn a_run_that_is_killed_on_rtl_takes_nothing_with_it() {
    let daemon = Daemon::start(&["--slots", "2", "--channel-memory", "64MiB"]);
    let bytes: Vec<u8> = (0..300_000u32).map(|n| (n * 7 % 251) as u8).collect();
    nothing_is_left(&daemon, &bytes);
}

/// A kernel's folder with this RTL behind the line of its module.
fn hostile(daemon: &Daemon, name: &str, rtl: &str) -> PathBuf {
    let folder = daemon.path(name);
    fs::create_dir(&folder).unwrap();
    let manifest = format!(
        "[kernel]\nname = '{name}'\ntop = 'k'\nsources = ['k.sv']\ncontrol = 'ap_ctrl_hs'\n[[port]]\nname = \
         'm_axi'\nkind = 'axi4'\ndata_width = 512\naccess = 'read'\n"
    );
    fs::write(folder.join("kernel.toml"), manifest).unwrap();
    let text = format!("module k (input logic ap_clk, output logic [31:0] q);\n{rtl}\nendmodule\n");
    fs::write(folder.join("k.sv"), text).unwrap();
    folder
}

/// A million registers, each of its own expression.
const EXPLODES: &str =
    "for (genvar i = 0; i < 1000; i++) for (genvar j = 0; j < 1000; j++) begin : b\n\
     logic [31:0] r; always_ff @(posedge ap_clk) r <= (r * 32'(i)) ^ (q + 32'(j)); end";

#[test]
fn hostile_rtl_ends_at_its_limits_and_others_go_on() {
    let bytes: Vec<u8> = (0..20_000u32).map(|n| (n * 7 % 251) as u8).collect();
    let shape = ["--slots", "2", "--channel-memory", "64MiB"];
    let refused = |daemon: &Daemon, name: &str, words: &[&str]| {
        let kernel = format!("./{name}");
        let began = Instant::now();
        let output = daemon.run(&[&kernel]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{name}");
        for word in words {
            assert!(said.contains(word), "{name}: {said}");
        }
        assert!(!said.contains("xyzzy") && !said.contains("root:"), "{said}");
        assert!(began.elapsed() < PATIENCE, "{name}");
    };
    let daemon = Daemon::start(&[&shape[..], &["--build-time", "4"]].concat());
    // Its model is in the cache then.
    copy(&daemon, &bytes);
    let before = daemon.at_rest();
    fs::write(daemon.path("secret.svh"), "xyzzy plugh\n").unwrap();
    let secret = daemon.path("secret.svh").display().to_string();
    hostile(&daemon, "slow", EXPLODES);
    for (name, path) in [("passwd", "/etc/passwd"), ("secret", secret.as_str())] {
        hostile(&daemon, name, &format!("`include \"{path}\""));
        refused(&daemon, name, &["k.sv:2"]);
    }
    let linked = hostile(&daemon, "linked", "").join("k.svh");
    std::os::unix::fs::symlink("/etc/shadow", linked).unwrap();
    refused(&daemon, "linked", &["k.svh: a link to a file elsewhere"]);
    hostile(
        &daemon,
        "c",
        "initial q = $c(\"system(\\\"touch here\\\")\");",
    );
    refused(&daemon, "c", &["inline C++"]);
    // Others copy while it builds.
    std::thread::scope(|scope| {
        let build = scope.spawn(|| refused(&daemon, "slow", &["slow: ", "4 seconds"]));
        while !build.is_finished() {
            copy(&daemon, &bytes);
        }
    });
    assert_eq!(daemon.at_rest(), before);
    drop(daemon);
    let daemon = Daemon::start(&[&shape[..], &["--build-memory", "300MiB"]].concat());
    hostile(&daemon, "large", EXPLODES);
    refused(&daemon, "large", &["large: ", "314572800 bytes of memory"]);
    copy(&daemon, &bytes);
}

/// The process of a kernel's model.
fn kernel_host(daemon: &Daemon) -> Pid {
    let host = children(&daemon.process).into_iter().find(|process| {
        let command = fs::read_to_string(format!("/proc/{process}/cmdline"));
        command.is_ok_and(|command| command.contains("kernel-host"))
    });
    Pid::from_raw(host.unwrap()).unwrap()
}

/// The model of each kernel in a process of its own: results are the same, and whatever happens to the process costs its
/// slot only.
#[test]
fn the_process_of_a_kernel_may_die_and_others_go_on() {
    let bytes: Vec<u8> = (0..20_000u32).map(|n| (n * 7 % 251) as u8).collect();
    let shape = ["--slots", "2", "--channel-memory", "64MiB"];
    let here = copy(&Daemon::start(&shape), &bytes);
    let daemon = Daemon::start(&[&shape[..], &["--isolate"]].concat());
    let apart = copy(&daemon, &bytes);
    assert_eq!(apart["runs"], here["runs"]);
    assert_eq!(apart["statistics"], here["statistics"]);
    let before = daemon.at_rest();
    let victim = endless(&daemon);
    daemon.until(|status| running(status) == 1);
    let host = kernel_host(&daemon);
    // It has no descriptors but the shared memory, and no rights.
    let of = |file: &str| format!("/proc/{}/{file}", host.as_raw_nonzero());
    let descriptors = fs::read_dir(of("fd")).unwrap().flatten();
    let targets = descriptors.map(|entry| fs::read_link(entry.path()).unwrap());
    let mut targets: Vec<String> = targets.map(|path| path.display().to_string()).collect();
    targets.sort();
    assert_eq!(
        targets,
        ["/dev/null", "/dev/null", "/memfd:tombolo-kernel (deleted)"]
    );
    let status = fs::read_to_string(of("status")).unwrap();
    assert!(
        status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"),
        "{status}"
    );
    let beside = copy(&daemon, &bytes);
    assert_eq!(of_run(&beside), of_run(&here));
    kill_process(host, Signal::KILL).unwrap();
    let output = victim.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("signal 9"),
        "{said}"
    );
    let after = copy(&daemon, &bytes);
    assert_eq!(of_run(&after), of_run(&here));
    assert_eq!(daemon.at_rest(), before);
}

/// Child processes of a process: the tools of its builds, and the processes of kernels' models.
fn children(process: &Child) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{}/task", process.id()));
    let tasks = tasks.unwrap().flatten();
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children"));
    let all: Vec<String> = tasks.flat_map(of).collect();
    let all = all.iter().flat_map(|of_task| of_task.split_whitespace());
    all.map(|process| process.parse().unwrap()).collect()
}

#[test]
fn a_client_that_is_killed_takes_the_build_of_its_kernel_with_it() {
    let shape = ["--slots", "2", "--channel-memory", "64MiB"];
    let daemon = Daemon::start(&shape);
    let before = daemon.at_rest();
    hostile(&daemon, "abandoned", EXPLODES);
    let until = |is_so: &dyn Fn(usize) -> bool| {
        let begin = Instant::now();
        while !is_so(children(&daemon.process).len()) {
            assert!(begin.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let mut victim = daemon.run(&["./abandoned"]).spawn().unwrap();
    until(&|children| children > 0);
    victim.kill().unwrap();
    victim.wait().unwrap();
    until(&|children| children == 0);
    assert_eq!(daemon.at_rest(), before);
}

#[test]
fn a_daemon_that_is_ended_writes_back_and_says_so() {
    let mut daemon = Daemon::start(&["--functional"]);
    let victim = endless(&daemon);
    daemon.until(|status| running(status) == 1);
    // It runs, and may have written nothing yet: the owner answers between its steps.
    for _ in 0..50 {
        daemon.status();
    }
    let id = Pid::from_raw(daemon.process.id() as i32).unwrap();
    kill_process(id, Signal::TERM).unwrap();
    let output = victim.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("the daemon is gone"),
        "{said}"
    );
    assert_eq!(daemon.process.wait().unwrap().code(), Some(143));
    assert!(!daemon.path("card").exists());
    assert!(fs::read(daemon.path("table")).unwrap() != vec![1; 64 << 10]);
}

/// The limits of a card without a daemon.
#[test]
fn status_prints_the_shape_of_a_card() {
    let folder = TempDir::new().unwrap();
    let shape = |words: &[&str]| succeed(&mut tombolo(folder.path(), words));
    let text = shape(&["status", "--card", "functional"]);
    for part in [
        "card functional",
        "slots, each with",
        "memory channels of",
        "pages of 4 KiB",
    ] {
        assert!(text.contains(part), "`{part}` is missing: {text}");
    }
    let neither = tombolo(folder.path(), &["status"]).output().unwrap();
    assert!(!neither.status.success());
}

#[test]
fn options_that_a_daemon_cannot_have_are_refused_and_others_win_over_the_environment() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("in"), [1; 5000]).unwrap();
    let copy = [
        "run",
        "copy",
        "--map",
        "input=in",
        "--map",
        "output=out:new",
        "--set",
        "bytes=size(input)",
    ];
    let refused = |more: &[&str], environment: &str| {
        let mut command = tombolo(folder.path(), &[&copy, more].concat());
        let output = command.env("TOMBOLO_CARD", environment).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = refused(&["--card", "unix:nobody", "--functional"], "");
    assert!(told.contains("cannot be used with"), "{told}");
    let told = refused(&["--card", "f1"], "");
    assert!(told.contains("write unix:FILE"), "{told}");
    let told = refused(&[], "unix:nobody");
    assert!(told.contains("no daemon can be reached there"), "{told}");
    let mut command = tombolo(folder.path(), &[&copy[..], &["--functional"]].concat());
    succeed(command.env("TOMBOLO_CARD", "unix:nobody"));
}

#[test]
fn pipes_go_through_a_kernel_of_a_daemon() {
    let daemon = Daemon::start(&["--functional"]);
    let bytes: Vec<u8> = (0..300_001u32).map(|n| (n * 11 % 253) as u8).collect();
    fs::write(daemon.path("in"), &bytes).unwrap();
    for _ in 0..2 {
        let input = fs::File::open(daemon.path("in")).unwrap();
        let connected = ["loopback", "--connect", "in=-", "--connect", "out=-"];
        let output = daemon.run(&connected).stdin(input).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        assert!(output.stdout == bytes, "{} bytes", output.stdout.len());
    }
    // A daemon whose slots have no streams is reported as the cause.
    let daemon = Daemon::start(&["--functional", "--streams", "0"]);
    let connected = ["loopback", "--connect", "in=-", "--connect", "out=-"];
    let output = daemon.run(&connected).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("streams_per_slot"),
        "{said}"
    );
}

/// Checks the text format: help and type before the values of each metric, a number for each set of labels, and the suffix of
/// counters.
fn assert_is_prometheus(text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    let mut seen = std::collections::BTreeSet::new();
    let mut name = "";
    for (number, line) in lines.iter().enumerate() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            name = help.split(' ').next().unwrap();
            let kind = match name.ends_with("_total") {
                true => "counter",
                false => "gauge",
            };
            assert_eq!(lines[number + 1], format!("# TYPE {name} {kind}"));
        } else if !line.starts_with('#') {
            let (metric, value) = line.rsplit_once(' ').unwrap();
            value.parse::<f64>().unwrap();
            let labels = metric
                .strip_prefix(name)
                .unwrap_or_else(|| panic!("{line}"));
            let inner = labels
                .strip_prefix('{')
                .map(|rest| rest.strip_suffix("\"}"));
            assert!(labels.is_empty() || inner.flatten().is_some(), "{line}");
            assert!(seen.insert(metric), "twice: {line}");
        }
    }
}

/// The value of a client's metric, by the client's labels.
fn of_clients<'a>(metrics: &'a str, name: &str) -> Vec<(&'a str, u64)> {
    let lines = metrics.lines();
    let own = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix('{'));
    own.map(|line| {
        let (labels, value) = line.rsplit_once(' ').unwrap();
        (labels, value.parse().unwrap())
    })
    .collect()
}

#[test]
fn a_status_is_for_people_for_programs_and_live() {
    let mut daemon = Daemon::start(&["--functional"]);
    let status = |how: &[&str]| {
        let words = [&["status", "--socket", "card"], how].concat();
        tombolo(daemon.folder.path(), &words)
    };
    let metrics = succeed(&mut status(&["--prometheus"]));
    let lines: Vec<&str> = metrics
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert!(
        lines.contains(&"tombolo_slot_running{slot=\"3\",kernel=\"\",client=\"\"} 0"),
        "{metrics}"
    );
    assert!(lines.contains(&"tombolo_daemon_connections 1"), "{metrics}");
    assert_is_prometheus(&metrics);
    let of_this =
        |line: &&&str| line.starts_with("tombolo_client_requests{") && line.ends_with("} 1");
    assert!(lines.iter().any(|line| of_this(&line)), "{metrics}");
    for refused in [
        &["--watch", "0"][..],
        &["--watch", "soon"],
        &["--json", "--prometheus"],
    ] {
        assert!(
            !status(refused).output().unwrap().status.success(),
            "{refused:?}"
        );
    }
    // A line each time, until the daemon is gone.
    let watch = status(&["--json", "--watch", "0.05"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(400));
    let id = Pid::from_raw(daemon.process.id() as i32).unwrap();
    kill_process(id, Signal::TERM).unwrap();
    let seen = watch.wait_with_output().unwrap();
    daemon.process.wait().unwrap();
    let said = String::from_utf8_lossy(&seen.stderr).into_owned();
    assert!(
        !seen.status.success() && said.contains("the daemon is gone"),
        "{said}"
    );
    let lines = String::from_utf8(seen.stdout).unwrap();
    let all: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(all.len() > 1, "{lines}");
    assert!(all
        .iter()
        .all(|one| one["owner"]["slots"].as_array().unwrap().len() == 4));
}

#[test]
fn what_cannot_be_served_to_programs_of_fsrf_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("layout"), "[write]\nsize = 8\napp = 4\n").unwrap();
    let refused = |words: &[&str], told: &str| {
        let words = [&["daemon", "--functional"], words].concat();
        let output = tombolo(folder.path(), &words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains(told),
            "{words:?}: {said}"
        );
    };
    refused(&[], "--socket <FILE>");
    refused(&["--socket", "card", "--app", "0=copy"], "--fsrf");
    let fsrf = |more: &[&'static str]| [&["--fsrf", "aos"], more].concat();
    refused(&fsrf(&[]), "--app");
    refused(&fsrf(&["--app", "copy"]), "0=md5");
    refused(&fsrf(&["--app", "one=copy"]), "0, 1, 2");
    refused(&fsrf(&["--app", "0="]), "the kernel is missing");
    refused(&fsrf(&["--app", "0=nobody"]), "no kernel `nobody`");
    refused(
        &fsrf(&["--app", "4=copy", "--app", "4=md5"]),
        "application 4 is given twice",
    );
    refused(
        &fsrf(&["--app", "0=copy", "--app", "1=md5", "--slots", "1"]),
        "--slots 1: 2 applications",
    );
    refused(
        &fsrf(&["--app", "0=copy", "--fsrf-layout", "layout"]),
        "app = 4: 8 bytes",
    );
    refused(
        &fsrf(&["--app", "0=copy", "--fsrf-layout", "none"]),
        "No such file",
    );
    fs::write(folder.path().join("aos"), "").unwrap();
    refused(&fsrf(&["--app", "0=copy"]), "it is no socket");
}

/// A user without rights of his own.
const NOBODY: u32 = 65_534;

/// Whether a test can run the command as another user; prints why not.
fn can_be_another(test: &str) -> bool {
    let why = if !rustix::process::geteuid().is_root() {
        "only the superuser's processes can be another user's (root)"
    } else {
        let mut version = Command::new(env!("CARGO_BIN_EXE_tombolo"));
        let version = version
            .arg("--version")
            .uid(NOBODY)
            .gid(NOBODY)
            .stdout(Stdio::null());
        match version.status() {
            Ok(status) if status.success() => return true,
            _ => "other users cannot run the command (a checkout for all)",
        }
    };
    let line = format!("skipped: {test}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    false
}

#[test]
fn others_use_a_card_within_their_quotas_and_with_installed_kernels() {
    let quotas = format!("[[tenant]]\nname = 'guests'\nusers = [{NOBODY}]\nslots = 1\nspaces = 2\ncard_memory = '64MiB'\n");
    let with = |quotas: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), quotas).unwrap();
        let path = file.path().display().to_string();
        let daemon = Daemon::start(&["--functional", "--quotas", &path]);
        fs::set_permissions(daemon.folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        daemon
    };
    if !can_be_another("others_use_a_card_within_their_quotas_and_with_installed_kernels") {
        return;
    }
    let daemon = with(&quotas);
    // Theirs, where they can write.
    let own = TempDir::new().unwrap();
    std::os::unix::fs::chown(own.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let bytes: Vec<u8> = (0..300_001u32).map(|n| (n * 13 % 253) as u8).collect();
    fs::write(own.path().join("input"), &bytes).unwrap();
    let card = format!("unix:{}", daemon.path("card").display());
    let as_other = |kernel: &str, card: &str| {
        let words = [&["run", kernel, "--card", card], COPIED].concat();
        let mut command = tombolo(own.path(), &words);
        command.uid(NOBODY).gid(NOBODY).output().unwrap()
    };
    let output = as_other("copy", &card);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(fs::read(own.path().join("output")).unwrap() == bytes);
    // One that they can change would run with the daemon's rights.
    let put = |folder: &Path| {
        for name in ["kernel", "lib"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        let copied = simcard::home().join("kernels/copy");
        for name in ["kernel.toml", "copy.sv"] {
            fs::copy(copied.join(name), folder.join("kernel").join(name)).unwrap();
        }
        folder.join("kernel").display().to_string()
    };
    let installed = TempDir::new().unwrap();
    let mode =
        |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    mode(installed.path(), 0o755);
    let (theirs, ours) = (put(own.path()), put(installed.path()));
    let refused = |output: std::process::Output, told: &str| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(told), "{said}");
    };
    let changeable = "can be changed by others than the superuser";
    refused(as_other(&theirs, &card), changeable);
    let library = installed.path().join("lib");
    mode(&library, 0o777);
    refused(as_other(&ours, &card), changeable);
    mode(&library, 0o755);
    let output = as_other(&ours, &card);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let trusting = with(&format!("{quotas}own_kernels = true\n"));
    let card = format!("unix:{}", trusting.path("card").display());
    let output = as_other(&theirs, &card);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // Names of what others run are theirs.
    let victim = endless(&trusting);
    trusting.until(|status| running(status) == 1);
    let status = |user: u32, how: &[&str]| {
        let words = [&["status", "--socket", "card"], how].concat();
        let mut command = tombolo(trusting.folder.path(), &words);
        succeed(command.uid(user).gid(user))
    };
    let (theirs, ours) = (status(NOBODY, &[]), status(0, &[]));
    assert!(
        theirs.contains("a kernel of client") && !theirs.contains("gups"),
        "{theirs}"
    );
    assert!(ours.contains("kernel gups of client"), "{ours}");
    // Figures are not names: every user sees them. The status command itself has moved nothing.
    for seen in [&theirs, &ours] {
        let own = seen
            .matches("\n    0 faults, 0 B read, 0 B written\n")
            .count();
        let all = seen.matches(" faults, ").count();
        assert_eq!((own, all), (1, 2), "{seen}");
    }
    let tenant = "tenant guests: 1 clients, 0 of 1 slots, 0 of 2 spaces, 0 mappings, 0 B of 64.0 MiB of card memory, 1 requests";
    assert!(theirs.contains(tenant), "{theirs}");
    let metrics = status(NOBODY, &["--prometheus"]);
    assert!(
        metrics.contains("tombolo_tenant_quota{tenant=\"guests\",of=\"slots\"} 1\n"),
        "{metrics}"
    );
    assert_is_prometheus(&metrics);
    for name in [
        "tombolo_client_faults_total",
        "tombolo_client_read_bytes_total",
    ] {
        let mut counts = of_clients(&metrics, name);
        counts.sort_by_key(|(_, count)| *count);
        assert!(
            matches!(counts[..], [(_, 0), (victim, 1..)] if victim.contains("program=\"\"")),
            "{counts:?}"
        );
    }
    drop(trusting);
    drop(victim.wait_with_output().unwrap());
    let strict = with("[[tenant]]\nname = 'one'\nusers = ['root']\n");
    let card = format!("unix:{}", strict.path("card").display());
    refused(
        as_other("copy", &card),
        "no tenant in the quotas of this daemon has user 65534",
    );
}

#[test]
fn a_file_of_quotas_that_is_wrong_is_refused_with_its_line() {
    let folder = TempDir::new().unwrap();
    fs::write(
        folder.path().join("quotas"),
        "[[tenant]]\nname = 'a'\nusers = ['root']\nslots = 0\n",
    )
    .unwrap();
    for (file, told) in [
        ("quotas", "quotas: TOML parse error at line 4"),
        ("none", "none: No such file"),
    ] {
        let words = [
            "daemon",
            "--functional",
            "--socket",
            "card",
            "--quotas",
            file,
        ];
        let output = tombolo(folder.path(), &words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(told), "{said}");
    }
}

/// A file of `packaging/`.
fn packaged(name: &str) -> String {
    fs::read_to_string(simcard::home().join("packaging").join(name)).unwrap()
}

/// The value of a key of a unit.
fn value<'a>(unit: &'a str, key: &str) -> &'a str {
    let mut lines = unit.lines();
    let found = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("no {key}"))
}

/// Passes a service its socket as systemd does: descriptor 3, announced in the environment.
fn activate(folder: &Path, listener: &UnixListener, words: &[&str]) -> Child {
    let script = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\" 3<&0 </dev/null";
    let socket = listener.as_fd().try_clone_to_owned().unwrap();
    let mut service = Command::new("sh");
    service
        .current_dir(folder)
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_tombolo")])
        .args(words)
        .env("NOTIFY_SOCKET", folder.join("notify"))
        .stdin(socket)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    service.spawn().unwrap()
}

#[test]
fn a_service_is_started_with_its_socket_by_its_unit() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("quotas.toml"), packaged("quotas.toml")).unwrap();
    let (socket, service) = (packaged("tombolo.socket"), packaged("tombolo.service"));
    assert!(value(&socket, "ListenStream").starts_with('/'));
    assert_eq!(value(&service, "Type"), "notify");
    // The unit's own words, in a folder of the test.
    let start = value(&service, "ExecStart")
        .strip_prefix("/usr/local/bin/tombolo ")
        .unwrap();
    let start = start
        .replace("/etc/tombolo/", "")
        .replace("/run/tombolo-metrics/socket", "metrics");
    let words: Vec<&str> = start.split(' ').collect();
    let listener = UnixListener::bind(path("card")).unwrap();
    let notified = UnixDatagram::bind(path("notify")).unwrap();
    let bytes: Vec<u8> = (0..100_001u32).map(|n| (n * 17 % 249) as u8).collect();
    fs::write(path("input"), &bytes).unwrap();
    // The service is restarted at the same socket.
    for _ in 0..2 {
        let run = [&["run", "copy", "--card", "unix:card"], COPIED].concat();
        // Before there is a daemon: the socket is there, and its connection waits.
        let early = tombolo(folder.path(), &run).spawn().unwrap();
        let daemon = activate(folder.path(), &listener, &words);
        let mut told = [0; 64];
        let count = notified.recv(&mut told).unwrap();
        assert_eq!(&told[..count], b"READY=1\n");
        let early = early.wait_with_output().unwrap();
        assert!(
            early.status.success(),
            "{}",
            String::from_utf8_lossy(&early.stderr)
        );
        assert!(fs::read(path("output")).unwrap() == bytes);
        let text = succeed(&mut tombolo(folder.path(), &["status", "--socket", "card"]));
        assert!(text.contains("tenant everybody: 1 of 16 clients"), "{text}");
        let get = || {
            ask(
                &path("metrics"),
                "GET /metrics HTTP/1.1\r\nHost: tombolo\r\n\r\n",
            )
        };
        // The daemon hears a moment later that its last client has gone.
        let mut answer = get();
        for _ in 0..200 {
            if answer.contains("\ntombolo_daemon_connections 0\n") {
                break;
            }
            std::thread::sleep(Duration::from_millis(25));
            answer = get();
        }
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"),
            "{head}"
        );
        assert!(
            head.contains(&format!("Content-Length: {}\r\n", body.len())),
            "{head}"
        );
        assert!(body.contains("\ntombolo_daemon_connections 0\n"), "{body}");
        assert!(ask(&path("metrics"), "PUT / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        kill_process(Pid::from_raw(daemon.id() as i32).unwrap(), Signal::TERM).unwrap();
        let ended = daemon.wait_with_output().unwrap();
        assert_eq!(
            ended.status.code(),
            Some(143),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
        assert!(path("card").exists() && !path("metrics").exists());
        fs::remove_file(path("output")).unwrap();
    }
}

fn ask(socket: &Path, words: &str) -> String {
    let mut socket = UnixStream::connect(socket).unwrap();
    socket.write_all(words.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn what_was_handed_over_is_looked_at() {
    let folder = TempDir::new().unwrap();
    let listener = UnixListener::bind(folder.path().join("card")).unwrap();
    let (one, _other) = UnixStream::pair().unwrap();
    let words = ["daemon", "--functional"];
    // A connection is no place to listen at.
    let refused = |child: Child, told: &str| {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(told), "{said}");
    };
    refused(
        activate(
            folder.path(),
            &UnixListener::from(OwnedFd::from(one)),
            &words,
        ),
        "no listening Unix stream socket",
    );
    let mut two = Command::new("sh");
    let script = "LISTEN_PID=$$ LISTEN_FDS=2 exec \"$@\" 3<&0";
    two.args(["-c", script, "sh", env!("CARGO_BIN_EXE_tombolo")])
        .args(words)
        .stdin(listener.as_fd().try_clone_to_owned().unwrap())
        .stderr(Stdio::piped());
    refused(
        two.spawn().unwrap(),
        "LISTEN_FDS=2: a daemon listens at one socket",
    );
    // Sockets for another process are ignored.
    let mut other = tombolo(folder.path(), &words);
    refused(
        other
            .env("LISTEN_PID", "1")
            .env("LISTEN_FDS", "1")
            .spawn()
            .unwrap(),
        "give --socket <FILE>",
    );
}

fn end(daemon: &mut Daemon, signal: Signal) {
    let id = Pid::from_raw(daemon.process.id() as i32).unwrap();
    kill_process(id, signal).unwrap();
    daemon.process.wait().unwrap();
}

/// Two programs, one of them killed, in the journal of a daemon that is stopped or killed itself.
fn journaled(how: &[&str], signal: Signal, bytes: &[u8]) -> (Daemon, String) {
    let recorded = ["--journal", "journal", "--journal-data", "data"];
    let mut daemon = Daemon::start(&[how, &recorded].concat());
    let mut victim = endless(&daemon);
    daemon.until(|status| running(status) == 1);
    copy(&daemon, bytes);
    victim.kill().unwrap();
    victim.wait().unwrap();
    daemon.until(|status| running(status) == 0 && loaded(status) == 0);
    end(&mut daemon, signal);
    let replay = [
        "replay",
        "journal",
        "--journal-data",
        "data",
        "--outputs",
        "again",
    ];
    let first = succeed(&mut tombolo(daemon.folder.path(), &replay));
    let second = succeed(&mut tombolo(daemon.folder.path(), &replay));
    assert_eq!(first, second);
    (daemon, first)
}

#[test]
fn a_journal_replays_in_another_process() {
    let bytes: Vec<u8> = (0..900_001u32).map(|n| (n * 7 % 251) as u8).collect();
    let (daemon, text) = journaled(&["--functional"], Signal::TERM, &bytes);
    assert!(!text.contains("up to its end"), "{text}");
    // This card has none.
    assert!(!text.contains("virtual time"), "{text}");
    // Each written file is named with its copy.
    for name in ["output", "table"] {
        let start = format!("{name} is ");
        let line = text.lines().find_map(|line| line.strip_prefix(&start));
        let again = line.unwrap();
        let read = |path: &Path| fs::read(path).unwrap();
        assert!(
            read(&daemon.path(name)) == read(&daemon.path(again)),
            "{name}"
        );
    }
    // Another shell.
    let folder = daemon.folder.path();
    let journal = fs::read_to_string(daemon.path("journal")).unwrap();
    let bent = journal.replacen("seed", "seen", 1);
    fs::write(daemon.path("bent"), bent).unwrap();
    let refused = tombolo(folder, &["replay", "bent"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("checksum"),
        "{said}"
    );
    // It is not written over.
    let again = [
        "daemon",
        "--functional",
        "--socket",
        "other",
        "--journal",
        "journal",
    ];
    let refused = tombolo(folder, &again).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("journal: File exists"),
        "{said}"
    );
}

#[test]
fn the_journal_of_a_killed_daemon_replays_up_to_its_end() {
    let bytes: Vec<u8> = (0..90_001u32).map(|n| (n * 7 % 251) as u8).collect();
    let (_, text) = journaled(&["--functional"], Signal::KILL, &bytes);
    assert!(text.contains("replayed up to its end: it ends"), "{text}");
}

#[test]
fn a_journal_on_rtl_replays_in_another_process() {
    let bytes: Vec<u8> = (0..30_001u32).map(|n| (n * 7 % 251) as u8).collect();
    let card = ["--slots", "2", "--channel-memory", "64MiB"];
    let (daemon, text) = journaled(&card, Signal::TERM, &bytes);
    assert!(!text.contains("up to its end"), "{text}");
    // One core is enough, and changes nothing.
    let mut slow = Command::new("taskset");
    slow.args(["-c", "0", env!("CARGO_BIN_EXE_tombolo")])
        .args([
            "replay",
            "journal",
            "--journal-data",
            "data",
            "--outputs",
            "again",
        ])
        .current_dir(daemon.folder.path());
    assert_eq!(succeed(&mut slow), text);
}

#[test]
fn a_daemon_takes_the_place_of_another_and_nobody_is_refused() {
    let mut old = Daemon::start(&["--functional"]);
    let victim = endless(&old);
    old.until(|status| running(status) == 1);
    // It may have written nothing yet.
    for _ in 0..50 {
        old.status();
    }
    let begin = Instant::now();
    let folder = old.folder.path();
    let upgrade = [
        "daemon",
        "--socket",
        "card",
        "--functional",
        "--slots",
        "3",
        "--upgrade",
    ];
    let mut new = tombolo(folder, &upgrade).spawn().unwrap();
    // Clients that come meanwhile are served, by one of the two.
    let mut asked = 0;
    let status = loop {
        let words = ["status", "--socket", "card", "--json"];
        let output = tombolo(folder, &words).output().unwrap();
        asked += 1;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            // It was served by the old one at that moment.
            assert!(said.contains("the daemon was restarted"), "{said}");
            continue;
        }
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        if status["daemon"]["process"] == new.id() {
            break status;
        }
        assert!(begin.elapsed() < PATIENCE, "after {asked} clients");
    };
    assert_eq!(status["owner"]["slots"].as_array().unwrap().len(), 3);
    assert_eq!(old.process.wait().unwrap().code(), Some(0));
    let output = victim.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("the daemon was restarted"),
        "{said}"
    );
    // Its kernel's bytes are saved.
    assert!(fs::read(folder.join("table")).unwrap() != vec![1; 64 << 10]);
    copy(&old, &[5; 12_345]);
    let id = Pid::from_raw(new.id() as i32).unwrap();
    kill_process(id, Signal::TERM).unwrap();
    assert_eq!(new.wait().unwrap().code(), Some(143));
    assert!(!folder.join("card").exists());
    // There is none to replace.
    let refused = tombolo(folder, &upgrade).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("without --upgrade"),
        "{said}"
    );
}
