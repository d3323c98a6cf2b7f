//! The library as a guest in a process: signals of a program whose memory kernels share, and resources left behind by
//! hundreds of cards, in C (with the leak sanitizer), C++, Python and Rust.

use super::languages::{home, python, run};
use super::Failure;
use crate::row::Row;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tombolo::{Card, FunctionalCard, FunctionalConfig, MapOptions, PageSize, SlotId, TrapWay};

/// Figures of [`signals`].
pub const SIGNALS: &[&str] = &["guest.signals", "guest.signals.runs"];
/// Figures of [`leaks`].
pub const LEAKS: &[&str] = &[
    "guest.leaks",
    "guest.leaks.bytes_an_open",
    "guest.leaks.opens",
];

/// Number of cards that each language opens.
const OPENS: usize = 500;
/// Signal periods in microseconds.
const TIMERS: [u32; 5] = [100, 300, 1000, 3000, 10_000];
/// Number of kernel runs with each timer and each kind of trap.
const RUNS: usize = 80;
/// Timeout after which a program counts as hung.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The installed C library and programs that use it.
pub(super) struct Installed(TempDir);

impl Installed {
    pub(super) fn new() -> Result<Self, Failure> {
        let folder = TempDir::new()?;
        let mut install = Command::new("tools/install-c");
        run(install.current_dir(home()).arg(folder.path()))?;
        Ok(Self(folder))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Compiles a program of the tests.
    pub(super) fn program(
        &self,
        compiler: &str,
        source: &str,
        flags: &[&str],
    ) -> Result<PathBuf, Failure> {
        let program = self.path(&format!("{source} by {compiler}{}", flags.concat()));
        let lib = self.path("lib");
        run(Command::new(compiler)
            .args(["-g", "-O1"])
            .args(flags)
            .arg(home().join("crates/capi/tests").join(source))
            .arg("-I")
            .arg(self.path("include"))
            .arg("-L")
            .arg(&lib)
            .args(["-ltombolo", "-lpthread", "-o"])
            .arg(&program)
            .arg(format!("-Wl,-rpath,{}", lib.display())))?;
        Ok(program)
    }

    fn kernel(&self) -> PathBuf {
        self.path("share/tombolo/kernels/copy")
    }
}

/// Runs a program with a timeout; returns its output, or `None` if it hung or failed.
fn in_time(command: &mut Command) -> Result<Option<String>, Failure> {
    let mut child = command.stdout(std::process::Stdio::piped()).spawn()?;
    let began = Instant::now();
    while child.try_wait()?.is_none() {
        if began.elapsed() > TIMEOUT {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output()?;
    let said = String::from_utf8(output.stdout)?;
    Ok(output.status.success().then_some(said))
}

/// The numbers in a line, in order.
fn numbers(line: &str) -> Vec<i64> {
    let words = line.split([' ', ':', '\n']);
    words.filter_map(|word| word.parse().ok()).collect()
}

/// `guest.signals`: runs that hung, and signals delivered to a thread that does not belong to the program.
pub fn signals() -> Result<Vec<Row>, Failure> {
    let installed = Installed::new()?;
    let program = installed.program("cc", "guest_signals.c", &[])?;
    let pipe = installed.path("pipe");
    run(Command::new("mkfifo").arg(&pipe))?;
    let (mut wrong, mut runs, mut handled) = (0, 0, 0);
    for way in 0..3 {
        for micros in TIMERS {
            let mut command = Command::new(&program);
            command
                .arg(installed.kernel())
                .arg(format!("pipe:{}", pipe.display()))
                .args([way.to_string(), micros.to_string(), RUNS.to_string()]);
            runs += RUNS;
            let Some(said) = in_time(&mut command)? else {
                eprintln!("guest.signals: way {way}, {micros} us: it stood, or failed");
                wrong += 1;
                continue;
            };
            let found = numbers(&said);
            let [_, times, elsewhere, bad, terms] = found[..] else {
                return Err(format!("guest_signals.c said {said}").into());
            };
            handled += times;
            wrong += elsewhere + bad + i64::from(terms != 1);
        }
    }
    eprintln!("guest.signals: {handled} signals were handled");
    Ok(vec![
        Row::new(SIGNALS[0], wrong as f64, ""),
        Row::new(SIGNALS[1], runs as f64, "runs"),
    ])
}

/// Resources left after the last card, and the growth per card since the hundredth.
#[derive(Clone, Copy, Debug)]
struct LeakCounts {
    descriptors: i64,
    threads: i64,
    bytes_an_open: i64,
}

impl LeakCounts {
    fn told(line: &str) -> Result<Self, Failure> {
        match numbers(line)[..] {
            [descriptors, threads, bytes_an_open] => Ok(Self {
                descriptors,
                threads,
                bytes_an_open,
            }),
            _ => Err(format!("it said {line}").into()),
        }
    }
}

fn entries(folder: &str) -> Result<i64, Failure> {
    Ok(std::fs::read_dir(folder)?.count() as i64)
}

fn resident() -> Result<i64, Failure> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = text.split(' ').nth(1).ok_or("no resident pages")?;
    Ok(pages.parse::<i64>()? * 4096)
}

/// Opens a card with one object of each kind, and drops them in the `number`th order.
fn open_in_rust(file: &Path, number: usize) -> Result<(), Failure> {
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default()))?;
    let space = card.create_space()?;
    let mapping = space.map_file(file, MapOptions::read_write())?;
    let slot = card.load(SlotId(0), home().join("kernels/copy"), &space)?;
    let ways = [TrapWay::Protect, TrapWay::Userfault, TrapWay::InThread];
    let memories = ways.map(|way| space.alloc_with_traps(8192, PageSize::KIB_4, way));
    slot.set_mapping("input", &mapping)?;
    slot.set_mapping("output", &mapping)?;
    slot.set("bytes", 4096)?;
    slot.start()?;
    slot.join(None)?;
    if number % 7 == 6 {
        card.close()?;
    }
    let mut things: Vec<Box<dyn std::any::Any>> = vec![
        Box::new(card),
        Box::new(space),
        Box::new(mapping),
        Box::new(slot),
        Box::new(memories),
    ];
    let mut number = number;
    while !things.is_empty() {
        let at = number % things.len();
        number /= things.len();
        drop(things.swap_remove(at));
    }
    Ok(())
}

fn in_rust(file: &Path) -> Result<LeakCounts, Failure> {
    let (mut descriptors, mut threads, mut bytes) = (0, 0, 0);
    for number in 0..OPENS {
        open_in_rust(file, number)?;
        if number == 1 {
            std::thread::sleep(Duration::from_millis(100));
            (descriptors, threads) = (entries("/proc/self/fd")?, entries("/proc/self/task")?);
        }
        if number == OPENS / 5 {
            bytes = resident()?;
        }
    }
    std::thread::sleep(Duration::from_millis(500));
    Ok(LeakCounts {
        descriptors: entries("/proc/self/fd")? - descriptors,
        threads: entries("/proc/self/task")? - threads,
        bytes_an_open: (resident()? - bytes) / (OPENS - OPENS / 5) as i64,
    })
}

/// `guest.leaks`: descriptors and threads left after the last of many cards, and programs that the sanitizer rejects.
pub fn leaks() -> Result<Vec<Row>, Failure> {
    let installed = Installed::new()?;
    let file = installed.path("file");
    std::fs::write(&file, vec![7; 4096])?;
    let count = OPENS.to_string();
    let told = |program: &Path| -> Result<LeakCounts, Failure> {
        let mut command = Command::new(program);
        let said = in_time(command.arg(installed.kernel()).arg(&file).arg(&count))?;
        LeakCounts::told(&said.ok_or("it stood, or failed")?)
    };
    let c = installed.program("cc", "guest_leaks.c", &[])?;
    let cpp = installed.program("c++", "guest_leaks.cpp", &["-std=c++17"])?;
    let mut all = vec![
        ("Rust", in_rust(&file)?),
        ("C", told(&c)?),
        ("C++", told(&cpp)?),
    ];
    let program = home().join("python/tests/guest_leaks.py");
    let said = run(python()?.arg(program).arg(&file).arg(&count))?;
    all.push((
        "Python",
        LeakCounts::told(&String::from_utf8(said.stdout)?)?,
    ));
    let mut wrong = 0;
    for compiler in ["gcc", "clang"] {
        let sanitized = installed.program(compiler, "guest_leaks.c", &["-fsanitize=address"])?;
        if let Err(error) = told(&sanitized) {
            eprintln!("guest.leaks: LeakSanitizer of {compiler}: {error}");
            wrong += 1;
        }
    }
    for (language, left) in &all {
        eprintln!("guest.leaks: {language}: {left:?}");
        wrong += left.descriptors.max(0) + left.threads.max(0);
    }
    let most = all.iter().map(|(_, left)| left.bytes_an_open).max();
    let opens = all.len() * OPENS;
    Ok(vec![
        Row::new(LEAKS[0], wrong as f64, ""),
        Row::new(LEAKS[1], most.unwrap_or(0) as f64, "bytes"),
        Row::new(LEAKS[2], opens as f64, "cards"),
    ])
}
