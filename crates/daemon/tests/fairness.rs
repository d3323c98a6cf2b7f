//! Fairness on the simulated card: programs that load it equally, each a process of its own, get equal parts of it, whatever
//! another one does.

mod common;

use common::{kernel, set_copy};
use std::fs::{read, write};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tombolo::{Card, MapOptions, OwnerOptions, OwnerStatus, PageSize, SimOptions};
use tombolo_daemon::Daemon;

/// Role of a program's process.
const WHO: &str = "TOMBOLO_TEST_CHILD";
/// Names of those that leave the size of pages to the owner begin with it; others have pages of 4 KiB.
const DEFAULT: &str = "default";
/// Slots, and so programs.
const SLOTS: u8 = 8;
/// Amount that each program copies, and that of a greedy one.
const EQUAL: usize = 1 << 20;
const GREEDY: usize = 4 << 20;
/// Amount that each copies in pages of the default size.
const SMALL: usize = 256 << 10;
/// Variable with a factor of all amounts. Equal programs end within a few turns of each other, whatever they copy.
const SCALE: &str = "TOMBOLO_FAIRNESS_SCALE";
/// Until all have begun, at most.
const LIMIT: Duration = Duration::from_secs(60);
/// Times that all begin anew.
const ROUNDS: usize = 2;
/// Deviation of runtimes, in per cent, beyond which fairness is broken. FSRF prints 1.1 (§6.4), which is the target of
/// the rows `daemon.fairness` and is missed: 5.2 for equal programs, 4.0 with a greedy one.
const BROKEN: f64 = 8.0;

/// No test, but the process of a program.
#[test]
fn a_program_copies_if_it_is_one() {
    let Ok(name) = std::env::var(WHO) else {
        return;
    };
    let card = Card::open("unix:card").unwrap();
    let space = card.create_space().unwrap();
    let paged = |options: MapOptions| match name.starts_with(DEFAULT) {
        true => options,
        false => options.page_size(PageSize::KIB_4),
    };
    let input = paged(MapOptions::read_only());
    let input = space.map_file(format!("in-{name}"), input).unwrap();
    let output = paged(MapOptions::create(input.bytes()));
    let output = space.map_file(format!("out-{name}"), output).unwrap();
    let slot = card.load_anywhere(kernel("copy"), &space).unwrap();
    set_copy(&slot, &input, &output);
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

/// Virtual time stands while this lives: kernels that are started begin together, however busy the machine is.
struct Gate {
    open: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Gate {
    fn closed(card: &Card) -> Self {
        let open = Arc::new(AtomicBool::new(false));
        let participant = card.participant().unwrap();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let opens = open.clone();
        let thread = std::thread::spawn(move || {
            let _computes = participant.enter().unwrap();
            ready.send(()).unwrap();
            // One that sleeps would be taken for one that waits for others.
            while !opens.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        });
        is_ready.recv().unwrap();
        Self {
            open,
            thread: Some(thread),
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open.store(true, Ordering::Release);
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_none_or(|ended| ended.is_ok()));
    }
}

/// A load of the card: what each of the equal programs copies, and in which pages.
#[derive(Clone, Copy)]
struct Load<'a> {
    folder: &'a Path,
    card: &'a Card,
    name: &'a str,
    bytes: usize,
    scale: usize,
}

impl Load<'_> {
    /// Runtimes of `count` programs that begin together, with or without a greedy one.
    fn round(&self, count: u8, beside_greedy: bool) -> Vec<f64> {
        let mut greedy =
            beside_greedy.then(|| Program::begin(self.folder, "greedy", GREEDY * self.scale));
        let begin = |number| {
            let name = format!("{}{number}", self.name);
            Program::begin(self.folder, &name, self.bytes * self.scale)
        };
        let mut programs: Vec<Program> = (0..count).map(begin).collect();
        let gate = Gate::closed(self.card);
        for (program, others) in greedy.iter_mut().chain(&mut programs).zip(1..) {
            program.go();
            self.wait_until("the next kernel runs", |status| {
                let running = status.slots.iter().filter(|slot| slot.running);
                running.count() == others
            });
        }
        drop(gate);
        let times = programs.into_iter().map(|program| program.end(self.folder));
        let times = times.collect();
        if let Some(greedy) = greedy {
            greedy.end(self.folder);
        }
        self.wait_until("what they had is gone", |status| status.clients.is_empty());
        times
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&OwnerStatus) -> bool) {
        let begun = Instant::now();
        while !is_so(&self.card.status().unwrap().owner) {
            assert!(begun.elapsed() < LIMIT, "waited in vain until {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
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
    // As the daemon's command has them.
    options.shell = options.shell.queue_a_slot();
    let card = Card::simulated(options, OwnerOptions::default(), |_| {}).unwrap();
    let daemon = Daemon::listen(card.clone(), &folder.join("card")).unwrap();
    let scale = std::env::var(SCALE).map_or(1, |scale| scale.parse().unwrap());
    let load = |name, bytes| Load {
        folder,
        card: &card,
        name,
        bytes,
        scale,
    };
    let rounds = |load: Load, count, beside_greedy| -> Vec<Vec<f64>> {
        (0..ROUNDS)
            .map(|_| load.round(count, beside_greedy))
            .collect()
    };
    let equal = rounds(load("", EQUAL), SLOTS, false);
    let beside = rounds(load("", EQUAL), SLOTS - 1, true);
    let default = rounds(load(DEFAULT, SMALL), SLOTS, false);
    daemon.stop();
    // Seconds of virtual time, of each program in each round.
    println!("equal {equal:.6?}, beside a greedy one {beside:.6?}, in default pages {default:.6?}");
    let worst = |rounds: &[Vec<f64>]| rounds.iter().map(|r| deviation(r)).fold(0.0, f64::max);
    let (fair, greedy, default) = (worst(&equal), worst(&beside), worst(&default));
    let longer = (mean(&beside.concat()) / mean(&equal.concat()) - 1.0) * 100.0;
    // For the bar.
    println!("{{\"equal\":{fair},\"greedy\":{greedy},\"longer\":{longer},\"default\":{default}}}");
    assert!(fair <= BROKEN && greedy <= BROKEN);
}
