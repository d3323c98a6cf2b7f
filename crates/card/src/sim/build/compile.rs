//! From C++ to a shared library.

use super::error::BuildError;
use super::toolchain::Toolchain;
use super::verilate::Generated;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// Version of the C interface in `glue.cpp`.
pub(crate) const ABI: u32 = 1;

pub(crate) const GLUE: &str = include_str!("glue.cpp");
pub(crate) const RUNTIME_HEADER: &str = include_str!("runtime.h");

/// Flags of every compilation: hidden symbols, so that models cannot see one another.
pub(crate) const COMMON_FLAGS: [&str; 12] = [
    "-std=gnu++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-fno-gnu-unique",
    "-w",
    "-DVERILATOR=1",
    "-DVM_COVERAGE=0",
    "-DVM_SC=0",
    "-DVM_TIMING=0",
    "-DVM_TRACE=0",
    "-pthread",
];

/// What runs every cycle.
pub(crate) const FAST_FLAGS: [&str; 3] = ["-O3", "-march=native", "-fno-strict-aliasing"];

/// What runs once. Cheap to compile.
pub(crate) const SLOW_FLAGS: [&str; 1] = ["-O1"];

/// Verilator's own files, which generated code calls.
const RUNTIME_SOURCES: [&str; 2] = ["verilated.cpp", "verilated_threads.cpp"];

/// Compiles and links `generated` into `folder/model.so`. `step(done, of)` reports progress.
pub(crate) fn compile(
    tools: &Toolchain,
    generated: &Generated,
    folder: &Path,
    step: &mut dyn FnMut(usize, usize),
) -> Result<(), BuildError> {
    let runtime_header = folder.join("tmb_runtime.h");
    std::fs::write(&runtime_header, RUNTIME_HEADER).map_err(BuildError::io(&runtime_header))?;
    let fast = folder.join("tmb_fast.cpp");
    let mut fast_text = definitions(generated);
    fast_text.push_str(GLUE);
    append_includes(&mut fast_text, &generated.fast);
    std::fs::write(&fast, fast_text).map_err(BuildError::io(&fast))?;
    let slow = folder.join("tmb_slow.cpp");
    let mut slow_text = String::new();
    append_includes(&mut slow_text, &generated.slow);
    std::fs::write(&slow, slow_text).map_err(BuildError::io(&slow))?;

    let include = tools.verilator_root.join("include");
    let mut units: Vec<(PathBuf, &[&str])> = vec![(fast, &FAST_FLAGS), (slow, &SLOW_FLAGS)];
    for name in RUNTIME_SOURCES {
        units.push((include.join(name), &SLOW_FLAGS));
    }
    let objects: Vec<PathBuf> = (0..units.len())
        .map(|index| folder.join(format!("tmb_{index}.o")))
        .collect();
    let commands: Vec<Command> = units
        .iter()
        .zip(&objects)
        .map(|((source, flags), object)| {
            let mut command = Command::new(&tools.compiler);
            command.args(COMMON_FLAGS).args(*flags);
            command.arg("-include").arg(&runtime_header);
            command.arg("-I").arg(folder).arg("-I").arg(&include);
            command.arg("-I").arg(include.join("vltstd"));
            command.arg("-c").arg(source).arg("-o").arg(object);
            command
        })
        .collect();
    run_all(generated, commands, step)?;

    let mut link = Command::new(&tools.compiler);
    link.args([
        "-shared",
        "-pthread",
        "-Wl,-Bsymbolic",
        "-Wl,--gc-sections",
        "-o",
    ]);
    link.arg(folder.join("model.so")).args(&objects);
    run(generated, link)
}

/// The macros that make the glue this model's.
fn definitions(generated: &Generated) -> String {
    let info = &generated.info;
    let mut text = format!(
        "#define TMB_ABI {ABI}\n#define TMB_CLOCK {}\n",
        info.clock_member
    );
    if let Some(history) = &info.clock_history {
        text.push_str(&format!("#define TMB_CLOCK_HISTORY {history}\n"));
    }
    text.push_str("#define TMB_PORTS");
    for port in &info.ports {
        text.push_str(&format!(" \\\n  TMB_PORT({})", port.member));
    }
    text.push_str("\n\n");
    text
}

fn append_includes(text: &mut String, files: &[PathBuf]) {
    for file in files {
        text.push_str(&format!("#include \"{}\"\n", file.display()));
    }
}

/// Runs compilations on as many threads as the machine has.
fn run_all(
    generated: &Generated,
    commands: Vec<Command>,
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
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            let (queue, failed) = (&queue, &failed);
            scope.spawn(move || loop {
                let next = queue.lock().ok().and_then(|mut queue| queue.next());
                let Some(command) = next.filter(|_| failed.load(Ordering::Relaxed) == 0) else {
                    return;
                };
                let result = run(generated, command);
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

fn run(generated: &Generated, mut command: Command) -> Result<(), BuildError> {
    let program = PathBuf::from(command.get_program());
    let output = command.output().map_err(BuildError::io(program))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(BuildError::Compiler {
        design: generated.info.name.clone(),
        messages: said.lines().take(30).collect::<Vec<_>>().join("\n"),
    })
}
