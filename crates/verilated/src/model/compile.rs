//! Compiles generated C++ into the shared library of a model.

use super::verilate::Generated;
use crate::compile::{append_includes, run, run_all, size};
use crate::error::BuildError;
use crate::sandbox::Sandbox;
use crate::toolchain::Toolchain;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Version of the C interface in `glue.cpp`.
pub const ABI: u32 = 3;

pub(crate) const GLUE: &str = include_str!("glue.cpp");
pub(crate) const WAVES: &str = include_str!("waves.cpp");
pub(crate) const RUNTIME_HEADER: &str = include_str!("runtime.h");

/// Flags of every compilation: hidden symbols, so that models cannot see one another; without the assertions of
/// Verilator's own files, one of which clang compiles to a call of libatomic.
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

/// Additional flags of models that write waveforms.
pub(crate) const WAVE_FLAGS: [&str; 3] = ["-UVM_TRACE", "-DVM_TRACE=1", "-DVM_TRACE_FST=1"];

/// Names of the compiled parts: code that runs every cycle, and code that runs once.
const FIRST_PART: &str = "tmb_fast";
const SECOND_PART: &str = "tmb_fast_blocks";
const SLOW_PART: &str = "tmb_slow";

/// Flags of code that runs every cycle.
pub(crate) const FAST_FLAGS: [&str; 2] = ["-O3", "-fno-strict-aliasing"];

/// The same for models that run for a short time: they compile in a fraction of the time, with the same results, edge
/// by edge.
pub(crate) const QUICK_FLAGS: [&str; 2] = ["-O1", "-fno-strict-aliasing"];

/// Flags of code that runs once: cheap to compile.
pub(crate) const SLOW_FLAGS: [&str; 1] = ["-O1"];

/// Up to this many bytes, C++ is compiled as one file: reading the headers again would take longer than compiling the
/// code that runs once.
const SMALL: u64 = 1 << 19;

/// Beyond this many bytes, code that runs every cycle is compiled in two parallel parts, on any machine.
pub(crate) const WHOLE: u64 = 1 << 20;

/// Share of the second part, in per cent: the first contains the glue, and the code that runs once is compiled
/// concurrently.
pub(crate) const SECOND: u64 = 40;

/// Verilator's own files, which generated code calls.
const RUNTIME_SOURCES: [&str; 2] = ["verilated.cpp", "verilated_threads.cpp"];

/// Additional files for waveforms.
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
    // Verilator's own files: nothing of others.
    run_all(
        "the Verilator runtime",
        commands,
        &Sandbox::None,
        &mut |_, _| {},
    )
}

/// Compiles and links `generated` into `folder/model.so`. `step(done, of)` reports progress.
pub(crate) fn compile(
    tools: &Toolchain,
    generated: &Generated,
    fast_flags: &[&str],
    waves: bool,
    runtime: &Path,
    (folder, sandbox): (&Path, &Sandbox),
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
    let quick = fast_flags == QUICK_FLAGS;
    let bytes = |files: &[PathBuf]| files.iter().map(size).sum::<u64>();
    let (first, second) = match quick || bytes(&generated.fast) <= WHOLE {
        true => (generated.fast.clone(), Vec::new()),
        false => in_two(&generated.fast),
    };
    append_includes(&mut fast, &first);
    let mut parts: Vec<(&str, String, &[&str])> = Vec::new();
    if !second.is_empty() {
        let mut text = String::new();
        append_includes(&mut text, &second);
        parts.push((SECOND_PART, text, fast_flags));
    }
    if quick && bytes(&generated.fast) + bytes(&generated.slow) <= SMALL {
        append_includes(&mut fast, &generated.slow);
    } else {
        let mut slow = String::new();
        append_includes(&mut slow, &generated.slow);
        parts.push((SLOW_PART, slow, &SLOW_FLAGS));
    }
    parts.insert(0, (FIRST_PART, fast, fast_flags));
    let mut objects = Vec::new();
    let mut commands = Vec::new();
    for (part, text, flags) in parts {
        let source = folder.join(format!("{part}.cpp"));
        let object = folder.join(format!("{part}.o"));
        std::fs::write(&source, text).map_err(BuildError::io(&source))?;
        let mut command = unit(tools, folder, &header, flags, &source, &object);
        command.args(wave_flags(waves));
        if part != SLOW_PART {
            command.arg(format!("-march={}", tools.processor));
        }
        commands.push(command);
        objects.push(object);
    }
    run_all(name, commands, sandbox, step)?;

    let mut link = tools.compiler.command();
    link.args([
        "-shared",
        "-pthread",
        "-Wl,-Bsymbolic",
        "-Wl,--gc-sections",
        // Unresolved symbols are an error here, instead of ending the program that loads the library.
        "-Wl,-z,defs",
        "-o",
    ]);
    link.arg(folder.join("model.so"))
        .args(&objects)
        .args(runtime_objects(runtime, waves));
    if waves {
        link.args(["-llz4", "-lz"]);
    }
    run(name, link, sandbox)
}

/// Divides the code that runs every cycle into two parts: the largest blocks go to the second, up to its share. Their
/// callers and small functions stay together, because nothing is inlined across parts (halves of equal size are 3 %
/// slower).
fn in_two(files: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_caller = |file: &Path| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        !name.starts_with("Vmodel_") || name.starts_with("Vmodel___024root")
    };
    let mut blocks: Vec<(u64, &PathBuf)> = (files.iter())
        .filter(|file| !is_caller(file))
        .map(|file| (size(file), file))
        .collect();
    blocks.sort_by(|a, b| b.cmp(a));
    let most = files.iter().map(size).sum::<u64>() * SECOND / 100;
    let mut bytes = 0;
    let largest = blocks.into_iter().map_while(|(size, file)| {
        bytes += size;
        (bytes <= most).then(|| file.clone())
    });
    let second: Vec<PathBuf> = largest.collect();
    let first = files.iter().filter(|file| !second.contains(file));
    (first.cloned().collect(), second)
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

/// The macros that adapt the glue to this model.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_blocks_are_beside_who_calls_them() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = [
            ("Vmodel.cpp", 1),
            ("Vmodel___024root__0.cpp", 60),
            ("Vmodel_a__0.cpp", 9),
            ("Vmodel_b__0.cpp", 30),
            ("Vmodel_c__0.cpp", 20),
            ("Vmodel_d__0.cpp", 15),
        ]
        .into_iter()
        .map(|(name, bytes)| {
            let path = folder.path().join(name);
            std::fs::write(&path, vec![b' '; bytes]).unwrap();
            path
        })
        .collect();
        // 135 bytes, of which the second part has at most 54.
        let (first, second) = in_two(&files);
        assert_eq!(second, [files[3].clone(), files[4].clone()]);
        let left = [0, 1, 2, 5].map(|index| files[index].clone());
        assert_eq!(first, left);
    }
}
