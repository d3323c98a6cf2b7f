//! RTL with C++ of the caller: a library with its own interface, a bench, or a simulation for cocotb.

use crate::compile::{append_includes, run, run_all, size, unit};
use crate::design::Design;
use crate::error::BuildError;
use crate::sandbox::Sandbox;
use crate::toolchain::Toolchain;
use crate::verilator;
use std::path::{Path, PathBuf};

/// Form of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A shared library, `NAME.so`.
    Library,
    /// A standalone program, `bench`.
    Bench,
    /// A program that cocotb drives over VPI, named after the top module. Only the top's ports are accessible: the rest
    /// of the design is optimised as in the simulated card, which is several times as fast.
    Cocotb {
        /// Folder of cocotb's libraries.
        libraries: PathBuf,
    },
}

/// Optimisation of code that runs in each cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// For short runs: compiles fast.
    Short,
    /// For millions of cycles.
    Long,
}

/// RTL and C++ that become one file.
#[derive(Clone, Debug)]
pub struct Program {
    /// RTL of the program.
    pub design: Design,
    /// Form of the result.
    pub form: Form,
    /// Name of the Verilated class.
    pub class: String,
    /// Files of the design, with replaced text.
    pub changed: Vec<(PathBuf, String)>,
    /// C++ files, compiled with Verilator's output; their headers are in the same folder or in `texts`.
    pub sources: Vec<PathBuf>,
    /// Additional C++, by file name; files that end in `.cpp` are compiled.
    pub texts: Vec<(String, String)>,
    /// Compiler flags for the caller's C++.
    pub flags: Vec<String>,
    /// Optimisation for short runs or long ones.
    pub effort: Effort,
    /// Whether assertions of the RTL end a run.
    pub assertions: bool,
    /// Whether undefined values of the RTL are random, so that no result depends on them.
    pub random_start: bool,
}

const VERILATOR_FLAGS: [&str; 7] = [
    "--cc",
    "--quiet",
    "-O3",
    "--no-timing",
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-style",
];

const COMPILER_FLAGS: [&str; 9] = [
    "-std=gnu++17",
    "-fPIC",
    "-fno-strict-aliasing",
    "-w",
    "-DVERILATOR=1",
    "-DVM_COVERAGE=0",
    "-DVM_TRACE=0",
    "-DVM_TIMING=0",
    "-pthread",
];

/// Verilator's own files, which generated code calls.
const RUNTIME: [&str; 3] = [
    "verilated.cpp",
    "verilated_threads.cpp",
    "verilated_vpi.cpp",
];
const RUNTIME_FLAGS: [&str; 1] = ["-O1"];

/// Maximum number of files in which the generated code is compiled, on any machine, and the size that justifies
/// another: each reads Verilator's headers, which takes longer than compiling a small design.
const PARTS: usize = 4;
const PART_BYTES: u64 = 1 << 20;

/// Compiles Verilator's own files into a folder.
pub(crate) fn compile_runtime(tools: &Toolchain, folder: &Path) -> Result<(), BuildError> {
    let include = tools.verilator_root.join("include");
    let compiled = RUNTIME.iter().map(|name| {
        let object = folder.join(name).with_extension("o");
        let mut command = unit(tools, folder, &COMPILER_FLAGS, &include.join(name), &object);
        command.args(RUNTIME_FLAGS);
        command
    });
    run_all(
        "the Verilator runtime",
        compiled.collect(),
        &Sandbox::None,
        &mut |_, _| {},
    )
}

impl Program {
    /// Name of the resulting file.
    pub(crate) fn file(&self) -> String {
        match &self.form {
            Form::Library => format!("{}.so", self.design.name),
            Form::Bench => "bench".to_owned(),
            Form::Cocotb { .. } => self.design.top.clone(),
        }
    }

    /// Flags of code that runs in each cycle.
    fn effort_flags(&self, tools: &Toolchain) -> Vec<String> {
        match self.effort {
            Effort::Short => vec!["-O1".to_owned()],
            Effort::Long => vec!["-O2".to_owned(), format!("-march={}", tools.processor)],
        }
    }

    /// Hash of all inputs of the program.
    ///
    /// # Errors
    /// [`BuildError::Io`], also for a file of the list that does not exist.
    pub(crate) fn hash(&self, tools: &Toolchain) -> Result<String, BuildError> {
        let mut environment = format!(
            "{} {:?} {:?} {} {} {:?} {:?}",
            self.runtime_key(tools),
            self.form,
            self.class,
            self.assertions,
            self.random_start,
            self.flags,
            self.effort_flags(tools),
        );
        for (path, text) in &self.changed {
            environment += &format!("\n{} {}\n{text}", path.display(), text.len());
        }
        for (name, text) in &self.texts {
            environment += &format!("\n{name} {}\n{text}", text.len());
        }
        for source in &self.sources {
            // With the headers next to it.
            for path in with_headers(source)? {
                let text = std::fs::read(&path).map_err(BuildError::io(&path))?;
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let text = String::from_utf8_lossy(&text);
                environment += &format!("\n{name} {}\n{text}", text.len());
            }
        }
        self.design.hash(&environment)
    }

    /// Tools and flags that all programs share.
    pub(crate) fn runtime_key(&self, tools: &Toolchain) -> String {
        format!(
            "{} {VERILATOR_FLAGS:?} {COMPILER_FLAGS:?} {RUNTIME_FLAGS:?} {PARTS}",
            tools.identity
        )
    }

    /// Builds the file into `folder`. `step(done, of)` reports progress.
    pub(crate) fn build(
        &self,
        tools: &Toolchain,
        runtime: &Path,
        folder: &Path,
        step: &mut dyn FnMut(usize, usize),
    ) -> Result<(), BuildError> {
        self.verilate(tools, folder)?;
        let (fast, slow) = generated(folder)?;
        let mut commands = Vec::new();
        let mut objects = Vec::new();
        let mut compile = |source: &Path, flags: &[String], own: &[String]| {
            let object = folder.join(format!("part{}.o", objects.len()));
            let mut command = unit(tools, folder, &COMPILER_FLAGS, source, &object);
            command.args(flags).args(own);
            // Headers next to the caller's.
            command.args(
                source
                    .parent()
                    .map(|parent| format!("-I{}", parent.display())),
            );
            commands.push(command);
            objects.push(object);
        };
        let fast_flags = self.effort_flags(tools);
        let slow_flags = match self.effort {
            Effort::Short => ["-O0".to_owned()],
            Effort::Long => ["-O1".to_owned()],
        };
        let mut sources = &self.sources[..];
        let mut kinds = vec![
            ("fast", fast, &fast_flags[..]),
            ("slow", slow, &slow_flags[..]),
        ];
        let bytes: u64 = kinds.iter().flat_map(|kind| &kind.1).map(size).sum();
        if self.effort == Effort::Short && bytes <= PART_BYTES {
            // As one, with cocotb's main program: reading the headers again would take longer than the rest.
            let mut files: Vec<PathBuf> = kinds.drain(..).flat_map(|kind| kind.1).collect();
            if matches!(self.form, Form::Cocotb { .. }) && self.flags.is_empty() {
                files.extend(std::mem::take(&mut sources).iter().cloned());
            }
            kinds.push(("all", files, &fast_flags));
        }
        for (kind, files, flags) in kinds {
            for (number, files) in parts(files, PARTS, PART_BYTES).iter().enumerate() {
                let mut text = String::new();
                append_includes(&mut text, files);
                let path = folder.join(format!("tmb_{kind}{number}.cc"));
                std::fs::write(&path, text).map_err(BuildError::io(&path))?;
                compile(&path, flags, &[]);
            }
        }
        for source in sources {
            compile(source, &fast_flags, &self.flags);
        }
        for (name, text) in &self.texts {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(BuildError::io(&path))?;
            if path.extension().is_some_and(|extension| extension == "cpp") {
                compile(&path, &fast_flags, &self.flags);
            }
        }
        run_all(&self.design.name, commands, &Sandbox::None, step)?;
        let mut link = tools.compiler.command();
        link.arg("-pthread").args(objects);
        link.args(
            RUNTIME
                .iter()
                .map(|name| runtime.join(name).with_extension("o")),
        );
        match &self.form {
            Form::Library => {
                link.args(["-shared", "-Wl,-Bsymbolic"]);
            }
            Form::Bench => {}
            Form::Cocotb { libraries } => {
                let folder = libraries.display();
                link.args([format!("-Wl,-rpath,{folder}"), format!("-L{folder}")]);
                link.arg("-lcocotbvpi_verilator");
            }
        }
        link.arg("-o").arg(folder.join(self.file()));
        run(&self.design.name, link, &Sandbox::None)
    }

    fn verilate(&self, tools: &Toolchain, folder: &Path) -> Result<(), BuildError> {
        let design = &self.design;
        let mut command = tools.verilator();
        command.args(VERILATOR_FLAGS);
        command.arg(match self.assertions {
            true => "--assert",
            false => "--no-assert",
        });
        command.args(match self.random_start {
            true => ["--x-initial", "unique"],
            false => ["--x-initial", "fast"],
        });
        command.args([
            "--prefix",
            &self.class,
            "--top-module",
            &design.top,
            "--Mdir",
        ]);
        command.arg(folder);
        if let Form::Cocotb { .. } = self.form {
            let path = folder.join("public.vlt");
            let text = format!(
                "`verilator_config\npublic_flat_rw -module \"{}\" -var \"*\"\n",
                design.top
            );
            std::fs::write(&path, text).map_err(BuildError::io(&path))?;
            command.arg("--vpi").arg(path);
        }
        let mut changed = Vec::new();
        for (file, text) in &self.changed {
            let name = file.file_name().unwrap_or_default();
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(BuildError::io(&path))?;
            changed.push((file.as_path(), path));
        }
        verilator::add_sources(&mut command, design, &|file| {
            let found = changed.iter().find(|(name, _)| *name == file);
            found.map(|(_, path)| path.clone())
        });
        verilator::add_generated(&mut command, design, folder)?;
        verilator::run(design, command, &Sandbox::None)
    }
}

/// A file, and the headers in its folder.
fn with_headers(source: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let mut found = vec![source.to_owned()];
    let folder = source.parent().unwrap_or(Path::new("."));
    for entry in std::fs::read_dir(folder).map_err(BuildError::io(folder))? {
        let path = entry.map_err(BuildError::io(folder))?.path();
        let header = |extension: &std::ffi::OsStr| extension == "h" || extension == "hpp";
        if path.extension().is_some_and(header) {
            found.push(path);
        }
    }
    found[1..].sort();
    Ok(found)
}

/// Verilator's output: C++ that runs every cycle, and C++ that runs once.
fn generated(folder: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), BuildError> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(BuildError::io(folder))? {
        let path = entry.map_err(BuildError::io(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "cpp") {
            files.push(path);
        }
    }
    files.sort();
    let is_slow = |path: &PathBuf| path.to_string_lossy().contains("__Slow");
    let (slow, fast) = files.into_iter().partition(is_slow);
    Ok((fast, slow))
}

/// Divides files into at most `most` groups of similar size, one per `bytes` bytes, keeping their order within each.
fn parts(files: Vec<PathBuf>, most: usize, bytes: u64) -> Vec<Vec<PathBuf>> {
    let mut sized: Vec<(u64, PathBuf)> = files.into_iter().map(|f| (size(&f), f)).collect();
    sized.sort_by(|a, b| b.cmp(a));
    let all: u64 = sized.iter().map(|(size, _)| size).sum();
    let worth = usize::try_from(all.div_ceil(bytes)).unwrap_or(most);
    let mut groups = vec![(0, Vec::new()); most.min(sized.len()).min(worth.max(1))];
    for (size, file) in sized {
        if let Some(least) = groups.iter_mut().min_by_key(|group| group.0) {
            least.0 += size;
            least.1.push(file);
        }
    }
    let sorted = |(_, mut files): (u64, Vec<PathBuf>)| {
        files.sort();
        files
    };
    groups.into_iter().map(sorted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shared_out_by_size() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: usize| {
            let path = folder.path().join(name);
            std::fs::write(&path, vec![b' '; bytes]).unwrap();
            path
        };
        let all = vec![file("a", 10), file("b", 60), file("c", 20), file("d", 40)];
        let groups = parts(all.clone(), 2, 1);
        let names = |group: &Vec<PathBuf>| -> Vec<_> {
            let names = group
                .iter()
                .map(|path| path.file_name().unwrap().to_owned());
            names.collect()
        };
        assert_eq!(names(&groups[0]), ["a", "b"]);
        assert_eq!(names(&groups[1]), ["c", "d"]);
        assert_eq!(parts(all.clone(), 9, 1).len(), 4);
        assert_eq!(parts(all.clone(), 9, 50).len(), 3);
        assert_eq!(parts(all, 9, 130).len(), 1);
        assert!(parts(Vec::new(), 2, 50).is_empty());
    }
}
