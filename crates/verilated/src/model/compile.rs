//! From C++ to the shared library of a model.

use super::verilate::Generated;
use crate::compile::{append_includes, run, run_all, size};
use crate::error::BuildError;
use crate::toolchain::Toolchain;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Version of the C interface in `glue.cpp`.
pub const ABI: u32 = 3;

pub(crate) const GLUE: &str = include_str!("glue.cpp");
pub(crate) const WAVES: &str = include_str!("waves.cpp");
pub(crate) const RUNTIME_HEADER: &str = include_str!("runtime.h");

/// Flags of every compilation: hidden symbols, so that models cannot see one another; without the assertions of
/// Verilator's own files, one of which clang makes a call of libatomic's.
pub(crate) const COMMON_FLAGS: [&str; 13] = [
    "-std=gnu++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-fno-gnu-unique",
    "-w",
    "-DNDEBUG",
    "-DVERILATOR=1",
    "-DVM_COVERAGE=0",
    "-DVM_SC=0",
    "-DVM_TIMING=0",
    "-DVM_TRACE=0",
    "-pthread",
];

/// More of them, for models that write waveforms.
pub(crate) const WAVE_FLAGS: [&str; 3] = ["-UVM_TRACE", "-DVM_TRACE=1", "-DVM_TRACE_FST=1"];

/// What runs every cycle.
pub(crate) const FAST_FLAGS: [&str; 2] = ["-O3", "-fno-strict-aliasing"];

/// The same for models that run for a short time: they are compiled in a fraction of the time, and give
/// the same results, edge by edge.
pub(crate) const QUICK_FLAGS: [&str; 2] = ["-O1", "-fno-strict-aliasing"];

/// What runs once. Cheap to compile.
pub(crate) const SLOW_FLAGS: [&str; 1] = ["-O1"];

/// Of so many bytes, C++ is compiled as one: to read the headers again takes longer than what runs once.
const SMALL: u64 = 1 << 19;

/// Verilator's own files, which generated code calls.
const RUNTIME_SOURCES: [&str; 2] = ["verilated.cpp", "verilated_threads.cpp"];

/// More of them, for waveforms.
const WAVE_SOURCE: &str = "verilated_fst_c.cpp";

fn runtime_sources(waves: bool) -> impl Iterator<Item = &'static str> {
    RUNTIME_SOURCES
        .into_iter()
        .chain(waves.then_some(WAVE_SOURCE))
}

/// Objects of Verilator's own files in a folder that `compile_runtime` filled.
fn runtime_objects(folder: &Path, waves: bool) -> Vec<PathBuf> {
    runtime_sources(waves)
        .map(|name| folder.join(name).with_extension("o"))
        .collect()
}

/// Compiles Verilator's own files, which are the same for every model.
pub(crate) fn compile_runtime(
    tools: &Toolchain,
    waves: bool,
    folder: &Path,
) -> Result<(), BuildError> {
    if waves {
        tools.check_header("lz4.h", "liblz4-dev")?;
        tools.check_header("zlib.h", "zlib1g-dev")?;
    }
    let header = write_runtime_header(folder)?;
    let include = tools.verilator_root.join("include");
    let commands = runtime_sources(waves)
        .zip(runtime_objects(folder, waves))
        .map(|(name, object)| {
            let source = include.join(name);
            let mut command = unit(tools, folder, &header, &SLOW_FLAGS, &source, &object);
            command.args(wave_flags(waves));
            command
        })
        .collect();
    run_all("the Verilator runtime", commands, &mut |_, _| {})
}

/// Compiles and links `generated` into `folder/model.so`. `step(done, of)` reports progress.
pub(crate) fn compile(
    tools: &Toolchain,
    generated: &Generated,
    fast_flags: &[&str],
    waves: bool,
    runtime: &Path,
    folder: &Path,
    step: &mut dyn FnMut(usize, usize),
) -> Result<(), BuildError> {
    let name = &generated.info.name;
    let header = write_runtime_header(folder)?;
    let mut fast = definitions(generated);
    fast.push_str(GLUE);
    fast.push_str(&generated.blocks);
    if waves {
        fast.push_str(WAVES);
    }
    append_includes(&mut fast, &generated.fast);
    let files = generated.fast.iter().chain(&generated.slow);
    let small = fast_flags == QUICK_FLAGS && files.map(size).sum::<u64>() <= SMALL;
    let mut parts: Vec<(&str, String, &[&str])> = Vec::new();
    if small {
        append_includes(&mut fast, &generated.slow);
    } else {
        let mut slow = String::new();
        append_includes(&mut slow, &generated.slow);
        parts.push(("tmb_slow", slow, &SLOW_FLAGS));
    }
    parts.insert(0, ("tmb_fast", fast, fast_flags));
    let mut objects = Vec::new();
    let mut commands = Vec::new();
    for (part, text, flags) in parts {
        let source = folder.join(format!("{part}.cpp"));
        let object = folder.join(format!("{part}.o"));
        std::fs::write(&source, text).map_err(BuildError::io(&source))?;
        let mut command = unit(tools, folder, &header, flags, &source, &object);
        command.args(wave_flags(waves));
        if part == "tmb_fast" {
            command.arg(format!("-march={}", tools.processor));
        }
        commands.push(command);
        objects.push(object);
    }
    run_all(name, commands, step)?;

    let mut link = tools.compiler.command();
    link.args([
        "-shared",
        "-pthread",
        "-Wl,-Bsymbolic",
        "-Wl,--gc-sections",
        // What is missing is an error here, not the end of the program that loads it.
        "-Wl,-z,defs",
        "-o",
    ]);
    link.arg(folder.join("model.so"))
        .args(&objects)
        .args(runtime_objects(runtime, waves));
    if waves {
        link.args(["-llz4", "-lz"]);
    }
    run(name, link)
}

fn wave_flags(waves: bool) -> &'static [&'static str] {
    if waves {
        &WAVE_FLAGS
    } else {
        &[]
    }
}

fn write_runtime_header(folder: &Path) -> Result<PathBuf, BuildError> {
    let path = folder.join("tmb_runtime.h");
    std::fs::write(&path, RUNTIME_HEADER).map_err(BuildError::io(&path))?;
    Ok(path)
}

/// The compilation of one file.
fn unit(
    tools: &Toolchain,
    folder: &Path,
    header: &Path,
    flags: &[&str],
    source: &Path,
    object: &Path,
) -> Command {
    let mut command = crate::compile::unit(tools, folder, &COMMON_FLAGS, source, object);
    command.args(flags).arg("-include").arg(header);
    command
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
    if let Some(phases) = &info.phases {
        text.push_str("#define TMB_PHASES\n");
        if phases.sample {
            text.push_str("#define TMB_PHASE_SAMPLE\n");
        }
        if phases.combinational {
            text.push_str("#define TMB_PHASE_COMBINATIONAL\n");
        }
    }
    if !generated.blocks.is_empty() {
        text.push_str("#define TMB_SLEEP\n");
    }
    text.push_str("#define TMB_PORTS");
    for port in &info.ports {
        text.push_str(&format!(" \\\n  TMB_PORT({})", port.member));
    }
    text.push_str("\n\n");
    text
}
