//! Fairness on the simulated card: programs that load it equally, each a process of its own, get equal parts of it, whatever
//! another one does.

mod common;

use common::kernel;
use std::fs::{read, write};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;
use tombolo::{Card, MapOptions, OwnerOptions, PageSize, SimOptions};
use tombolo_daemon::Daemon;

/// What the process of a program does.
const WHO: &str = "TOMBOLO_TEST_CHILD";
/// Slots, and so programs.
const SLOTS: u8 = 8;
/// What each program copies; and one that wants more than its part.
const EQUAL: usize = 1 << 20;
const GREEDY: usize = 4 << 20;
/// Times that all begin anew.
const ROUNDS: usize = 2;
/// Deviation of runtimes that FSRF prints (§6.4), in per cent.
const BAR: f64 = 1.1;

/// No test, but the process of a program.
#[test]
fn a_program_copies_if_it_is_one() {
    let Ok(name) = std::env::var(WHO) else {
        return;
    };
    let card = Card::open("unix:card").unwrap();
    let space = card.create_space().unwrap();
    let input = space
        .map_file(
            format!("in-{name}"),
            MapOptions::read_only().page_size(PageSize::KIB_4),
        )
        .unwrap();
    let output = MapOptions::create(input.bytes()).page_size(PageSize::KIB_4);
    let output = space.map_file(format!("out-{name}"), output).unwrap();
    let slot = card.load_anywhere(kernel("copy"), &space).unwrap();
    slot.set_mapping("input", &input).unwrap();
    slot.set_mapping("output", &output).unwrap();
    slot.set("bytes", input.bytes()).unwrap();
    println!("\nready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    if name == "greedy" {
        // All at once.
        input.prefetch().unwrap();
        output.prefetch().unwrap();
    }
    slot.run().unwrap();
    println!("\ntime {}", card.report().unwrap().runs[0].time.get());
    output.unmap().unwrap();
}

/// A program that is ready, or over.
struct Program {
    name: String,
    process: Child,
    said: BufReader<ChildStdout>,
}

impl Program {
    fn begin(folder: &Path, name: &str, bytes: usize) -> Self {
        let content: Vec<u8> = (0..bytes).map(|n| (n * 7 + n / 251) as u8).collect();
        write(folder.join(format!("in-{name}")), content).unwrap();
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_program_copies_if_it_is_one", "--nocapture"])
            .env(WHO, name)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut program = Self {
            name: name.to_owned(),
            said: BufReader::new(process.stdout.take().unwrap()),
            process,
        };
        program.hear("ready");
        program
    }

    /// The rest of the line that begins so.
    fn hear(&mut self, begins: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let bytes = self.said.read_line(&mut line).unwrap();
            assert!(bytes > 0, "{} has ended", self.name);
            if let Some(rest) = line.strip_prefix(begins) {
                return rest.trim().to_owned();
            }
        }
    }

    fn go(&mut self) {
        let input = self.process.stdin.as_mut().unwrap();
        input.write_all(b"\n").unwrap();
    }

    /// How long its kernel took, in seconds of virtual time; its bytes are looked at.
    fn end(mut self, folder: &Path) -> f64 {
        let time: u64 = self.hear("time ").parse().unwrap();
        assert!(self.process.wait().unwrap().success());
        let place = |way: &str| read(folder.join(format!("{way}-{}", self.name))).unwrap();
        assert!(place("in") == place("out"), "{} has other bytes", self.name);
        time as f64 * 1e-12
    }
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

/// Standard deviation over the mean, in per cent.
fn deviation(times: &[f64]) -> f64 {
    let mean = mean(times);
    let squares: Vec<f64> = times.iter().map(|time| (time - mean).powi(2)).collect();
    (squares.iter().sum::<f64>() / times.len() as f64).sqrt() / mean * 100.0
}

/// Runtimes of so many programs that begin together, beside a greedy one or not.
fn round(folder: &Path, count: u8, beside_greedy: bool) -> Vec<f64> {
    let mut greedy = beside_greedy.then(|| Program::begin(folder, "greedy", GREEDY));
    let begin = |number| Program::begin(folder, &format!("{number}"), EQUAL);
    let mut programs: Vec<Program> = (0..count).map(begin).collect();
    greedy.iter_mut().for_each(Program::go);
    programs.iter_mut().for_each(Program::go);
    let times = programs.into_iter().map(|program| program.end(folder));
    let times = times.collect();
    if let Some(mut greedy) = greedy {
        greedy.process.kill().unwrap();
        greedy.process.wait().unwrap();
    }
    times
}

/// The shell with eight slots is built for it: `make test-deep`.
#[test]
#[ignore = "builds a shell of eight slots and simulates it for a minute"]
fn equal_programs_get_equal_parts_whatever_another_does() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let mut options = SimOptions::named("f1").unwrap();
    options.channel_bytes = Some(64 << 20);
    options.shell.slots = SLOTS;
    options.shell.spaces = options.shell.spaces.max(SLOTS);
    let card = Card::simulated(options, OwnerOptions::default(), |_| {}).unwrap();
    let daemon = Daemon::listen(card, &folder.join("card")).unwrap();
    let equal: Vec<Vec<f64>> = (0..ROUNDS).map(|_| round(folder, SLOTS, false)).collect();
    let beside: Vec<Vec<f64>> = (0..ROUNDS)
        .map(|_| round(folder, SLOTS - 1, true))
        .collect();
    daemon.stop();
    // Seconds of virtual time, of each program in each round.
    println!("equal {equal:.6?}, beside a greedy one {beside:.6?}");
    let worst = |rounds: &[Vec<f64>]| rounds.iter().map(|r| deviation(r)).fold(0.0, f64::max);
    let (fair, greedy) = (worst(&equal), worst(&beside));
    let longer = (mean(&beside.concat()) / mean(&equal.concat()) - 1.0) * 100.0;
    // For the bar.
    println!("{{\"equal\":{fair},\"greedy\":{greedy},\"longer\":{longer}}}");
    // How much longer others take beside one that is greedy is a bar of its own, and missed.
    assert!(fair <= BAR && greedy <= BAR);
}
