//! From RTL to a shared library: Verilator, a C++ compiler, and a cache by content.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use card::sim::build::{cache_root, BuildError, Design, FileSet, Toolchain};
use card::sim::home;

const GLUE: &str = include_str!("glue.cpp");
const HARNESS: &str = include_str!("harness.sv");
const RTL: &str = "rtl/directory/tmb_directory.f";
const TOP: &str = "tmb_directory_harness";
const VERILATOR_FLAGS: [&str; 11] = [
    "--cc",
    "--quiet",
    "-O3",
    "--assert",
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

/// Size of a directory: the parameters of `tmb_directory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Link channel pairs.
    pub slices: usize,
    /// Units of a slice.
    pub units: usize,
    /// Sets of a unit.
    pub sets: usize,
    /// Ways of a set.
    pub ways: usize,
    /// Cycles that a request waits for a way before another line is recalled.
    pub patience: usize,
}

impl Geometry {
    /// The paper's: 64 units in two slices, 16 MiB of lines.
    pub const PAPER: Self = Self {
        slices: 2,
        units: 32,
        sets: 128,
        ways: 16,
        patience: 255,
    };

    /// As many lines in eight units: what pipelined units make possible.
    pub const COMPACT: Self = Self {
        slices: 2,
        units: 4,
        sets: 1024,
        ways: 16,
        patience: 255,
    };

    /// Four units with few lines, so that conflicts are frequent.
    pub const SMALL: Self = Self {
        slices: 2,
        units: 2,
        sets: 4,
        ways: 2,
        patience: 63,
    };

    /// All sets: the sets of a cache of the same geometry.
    #[must_use]
    pub fn total_sets(self) -> usize {
        self.slices * self.units * self.sets
    }
}

/// Why there is no model, or no longer one.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Tools or files are missing.
    #[error(transparent)]
    Tools(#[from] BuildError),
    /// A tool refused the RTL or the generated code.
    #[error("{tool} failed on the directory: {messages}")]
    Tool {
        /// Which one.
        tool: &'static str,
        /// Its words.
        messages: String,
    },
    /// A file cannot be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The library is not what it should be.
    #[error("{}: {reason}; delete it and build again", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The model ended itself: an assertion of the RTL failed (its words are on the terminal).
    #[error("the directory stopped: an assertion of the RTL failed")]
    Stopped,
}

/// Builds a model, or finds it in the cache; returns the library for [`super::Model::load`].
///
/// # Errors
/// [`ModelError`] names the tool and what it said.
pub fn build(geometry: Geometry) -> Result<PathBuf, ModelError> {
    // Threads of a process take turns; the second finds the work done.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let tools = Toolchain::locate()?;
    let design = Design {
        name: "directory".to_owned(),
        top: TOP.to_owned(),
        clock: "clk_i".to_owned(),
        file_sets: vec![FileSet::from_list(&home(), Path::new(RTL))?],
        generated: Some(HARNESS.to_owned()),
    };
    let environment = format!(
        "{}\n{geometry:?}\n{GLUE}\n{VERILATOR_FLAGS:?}{COMPILER_FLAGS:?}",
        tools.identity
    );
    let folder = cache_root()
        .join("coherence")
        .join(design.hash(&environment)?);
    let library = folder.join("directory.so");
    if library.is_file() {
        return Ok(library);
    }
    // Built beside and renamed, so that a half-built model is never seen.
    let work = folder.with_extension(format!("{}", std::process::id()));
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| ModelError::Io { path, source }
    };
    std::fs::create_dir_all(&work).map_err(io(&work))?;
    let harness = work.join("harness.sv");
    std::fs::write(&harness, HARNESS).map_err(io(&harness))?;
    let glue = work.join("glue.cpp");
    std::fs::write(&glue, GLUE).map_err(io(&glue))?;
    verilate(&tools, geometry, &work)?;
    compile(&tools, geometry, &work)?;
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

fn verilate(tools: &Toolchain, geometry: Geometry, work: &Path) -> Result<(), ModelError> {
    let mut command = tools.verilator();
    command.current_dir(home()).args(VERILATOR_FLAGS);
    command
        .args(["--prefix", "Vdirectory", "--top-module", TOP, "--Mdir"])
        .arg(work);
    for (name, value) in [
        ("NumSlices", geometry.slices),
        ("UnitsPerSlice", geometry.units),
        ("SetsPerUnit", geometry.sets),
        ("Ways", geometry.ways),
        ("Patience", geometry.patience),
    ] {
        command.arg(format!("-G{name}={value}"));
    }
    command.args(["-f", RTL]).arg(work.join("harness.sv"));
    run("Verilator", command)
}

fn compile(tools: &Toolchain, geometry: Geometry, work: &Path) -> Result<(), ModelError> {
    let include = tools.verilator_root.join("include");
    let mut command = Command::new(&tools.compiler);
    command
        .args(COMPILER_FLAGS)
        .arg(format!("-DNUM_SLICES={}", geometry.slices));
    command
        .arg("-I")
        .arg(work)
        .arg("-I")
        .arg(&include)
        .arg("-I")
        .arg(include.join("vltstd"));
    let entries = std::fs::read_dir(work).map_err(|source| ModelError::Io {
        path: work.to_owned(),
        source,
    })?;
    let mut sources: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cpp"))
        .collect();
    sources.sort();
    command.args(sources);
    command.args(["verilated.cpp", "verilated_threads.cpp"].map(|name| include.join(name)));
    command.arg("-o").arg(work.join("directory.so"));
    run("the C++ compiler", command)
}

fn run(tool: &'static str, mut command: Command) -> Result<(), ModelError> {
    let output = command.output().map_err(|error| ModelError::Tool {
        tool,
        messages: error.to_string(),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let messages = messages.lines().take(30).collect::<Vec<_>>().join("\n");
    Err(ModelError::Tool { tool, messages })
}
