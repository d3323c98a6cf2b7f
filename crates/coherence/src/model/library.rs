//! From RTL to a shared library: Verilator, a C++ compiler, and a cache by content.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use card::sim::build::{cache_root, Design, FileSet, Toolchain};
use card::sim::home;

use super::build::ModelError;

const VERILATOR_FLAGS: [&str; 10] = [
    "--cc",
    "--quiet",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--no-timing",
    "-Wno-fatal",
    "-Wno-lint",
];
const COMPILER_FLAGS: [&str; 10] = [
    "-std=gnu++17",
    "-fPIC",
    "-O2",
    "-march=native",
    "-fno-strict-aliasing",
    "-w",
    "-shared",
    "-pthread",
    "-DVERILATOR=1",
    "-DVM_TRACE=0",
];

/// What the C interfaces share.
const SHARED_GLUE: &str = include_str!("glue.hpp");

/// A change of the RTL, to see whether the tests find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// What it breaks, in words.
    pub what: &'static str,
    /// The file, relative to the checkout.
    pub file: &'static str,
    /// Text that the file has once ...
    pub from: &'static str,
    /// ... and what stands there instead.
    pub to: &'static str,
}

/// What a library is made of.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    /// Its name; the Verilated class is `V` and the name.
    pub(crate) name: &'static str,
    /// File list of the RTL, relative to the checkout.
    pub(crate) rtl: &'static str,
    /// The top module, defined in `harness`.
    pub(crate) top: &'static str,
    pub(crate) harness: &'static str,
    /// The C interface.
    pub(crate) glue: &'static str,
    pub(crate) parameters: Vec<(&'static str, usize)>,
    /// Macros of the C interface.
    pub(crate) defines: Vec<String>,
    /// Assertions of the RTL end a run.
    pub(crate) assertions: bool,
    pub(crate) mutation: Option<Mutation>,
}

impl Recipe {
    /// Builds the library, or finds it in the cache.
    pub(crate) fn build(&self) -> Result<PathBuf, ModelError> {
        // Threads of a process take turns; the second finds the work done.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let tools = Toolchain::locate()?;
        let design = Design {
            name: self.name.to_owned(),
            top: self.top.to_owned(),
            clock: "clk_i".to_owned(),
            file_sets: vec![FileSet::from_list(&home(), Path::new(self.rtl))?],
            defines: Vec::new(),
            sleeping: Vec::new(),
            generated: Some(self.harness.to_owned()),
        };
        let Self {
            parameters,
            defines,
            glue,
            assertions,
            mutation,
            ..
        } = self;
        let environment = format!(
            "{}\n{parameters:?}{defines:?}{assertions}{mutation:?}\n{SHARED_GLUE}\n{glue}\n{VERILATOR_FLAGS:?}{COMPILER_FLAGS:?}",
            tools.identity
        );
        let folder = cache_root()
            .join("coherence")
            .join(design.hash(&environment)?);
        let file = format!("{}.so", self.name);
        let library = folder.join(&file);
        if library.is_file() {
            return Ok(library);
        }
        // Built beside and renamed, so that a half-built model is never seen.
        let work = folder.with_extension(format!("{}", std::process::id()));
        std::fs::create_dir_all(&work).map_err(io(&work))?;
        let sources = self.sources(&design.file_sets[0], &work)?;
        self.verilate(&tools, &design.file_sets[0], &sources, &work)?;
        self.compile(&tools, &work, &file)?;
        if std::fs::rename(&work, &folder).is_err() && !library.is_file() {
            return Err(ModelError::Load {
                path: library,
                reason: "cannot be put in place".to_owned(),
            });
        }
        // Another process may have been quicker.
        let _ = std::fs::remove_dir_all(&work);
        Ok(library)
    }

    /// The SystemVerilog files: those of the checkout, one perhaps changed, and the harness.
    fn sources(&self, files: &FileSet, work: &Path) -> Result<Vec<PathBuf>, ModelError> {
        let mut sources = files.files.clone();
        if let Some(mutation) = self.mutation {
            let path = files.base.join(mutation.file);
            let text = std::fs::read_to_string(&path).map_err(io(&path))?;
            let place = sources.iter().position(|f| f == Path::new(mutation.file));
            let (Some(place), 1) = (place, text.matches(mutation.from).count()) else {
                return Err(ModelError::Mutation {
                    what: mutation.what,
                    file: mutation.file,
                });
            };
            let changed = work.join("mutant.sv");
            let text = text.replacen(mutation.from, mutation.to, 1);
            std::fs::write(&changed, text).map_err(io(&changed))?;
            sources[place] = changed;
        }
        for (name, text) in [
            ("harness.sv", self.harness),
            ("glue.hpp", SHARED_GLUE),
            ("glue.cpp", self.glue),
        ] {
            let path = work.join(name);
            std::fs::write(&path, text).map_err(io(&path))?;
        }
        sources.push(work.join("harness.sv"));
        Ok(sources)
    }

    fn verilate(
        &self,
        tools: &Toolchain,
        files: &FileSet,
        sources: &[PathBuf],
        work: &Path,
    ) -> Result<(), ModelError> {
        let mut command = tools.verilator();
        command.current_dir(&files.base).args(VERILATOR_FLAGS);
        command.arg(if self.assertions {
            "--assert"
        } else {
            "--no-assert"
        });
        command.arg("--prefix").arg(format!("V{}", self.name));
        command.args(["--top-module", self.top, "--Mdir"]).arg(work);
        for (name, value) in &self.parameters {
            command.arg(format!("-G{name}={value}"));
        }
        for include in &files.include {
            command.arg(format!("-I{}", include.display()));
        }
        command.args(sources);
        self.run("Verilator", command)
    }

    fn compile(&self, tools: &Toolchain, work: &Path, file: &str) -> Result<(), ModelError> {
        let include = tools.verilator_root.join("include");
        let mut command = Command::new(&tools.compiler);
        command.args(COMPILER_FLAGS);
        command.args(self.defines.iter().map(|define| format!("-D{define}")));
        command
            .arg("-I")
            .arg(work)
            .arg("-I")
            .arg(&include)
            .arg("-I")
            .arg(include.join("vltstd"));
        let entries = std::fs::read_dir(work).map_err(io(work))?;
        let mut sources: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "cpp"))
            .collect();
        sources.sort();
        command.args(sources);
        command.args(["verilated.cpp", "verilated_threads.cpp"].map(|name| include.join(name)));
        command.arg("-o").arg(work.join(file));
        self.run("the C++ compiler", command)
    }

    fn run(&self, tool: &'static str, mut command: Command) -> Result<(), ModelError> {
        let refused = |messages: String| ModelError::Tool {
            tool,
            model: self.name,
            messages,
        };
        let output = command
            .output()
            .map_err(|error| refused(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        let messages = String::from_utf8_lossy(&output.stderr);
        let messages = messages.lines().take(30).collect::<Vec<_>>().join("\n");
        Err(refused(messages))
    }
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> ModelError {
    let path = path.to_owned();
    move |source| ModelError::Io { path, source }
}
