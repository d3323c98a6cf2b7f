//! Location and versions of Verilator and the C++ compiler.

use crate::compiler::{version_of, Compiler};
use crate::error::BuildError;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The cache folder: `$TOMBOLO_CACHE`, else `~/.cache/tombolo`.
pub fn cache_root() -> PathBuf {
    if let Some(path) = std::env::var_os("TOMBOLO_CACHE").filter(|path| !path.is_empty()) {
        return PathBuf::from(path);
    }
    let home = std::env::var_os("HOME").unwrap_or_else(|| "/tmp".into());
    Path::new(&home).join(".cache/tombolo")
}

/// The tools of a build.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// Verilator's root: `bin/verilator_bin` and `include/`.
    pub verilator_root: PathBuf,
    /// The C++ compiler.
    pub compiler: Compiler,
    /// Verilator's version, as it prints it.
    pub verilator_version: String,
    /// Processor that models are compiled for, as the compiler names it.
    pub processor: String,
    /// Both tools, their versions and the CPU: part of every cache key.
    pub identity: String,
}

/// Variable by which measurements request models that are the same on every machine.
const PROCESSOR: &str = "TOMBOLO_PROCESSOR";

const INSTALL: &str = "install it with `pip install 'tombolo-fpga[simulated]'`, or run `make setup` in a checkout of Tombolo";

/// Whether a variable has a value.
pub(crate) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

impl Toolchain {
    /// Finds the tools and queries their versions.
    ///
    /// # Errors
    /// [`BuildError::MissingTool`].
    pub fn locate() -> Result<Self, BuildError> {
        let verilator_root = find_verilator_root()?;
        let verilator_version = version_in(&verilator_root)?;
        let compiler = Compiler::locate(&cache_root())?;
        let compiler_version = compiler.version();
        let processor = std::env::var(PROCESSOR).unwrap_or_else(|_| "native".to_owned());
        let identity = format!(
            "{verilator_version}\n{compiler_version}\n{processor}\n{}",
            cpu_identity()
        );
        Ok(Self {
            verilator_root,
            verilator_version,
            compiler,
            processor,
            identity,
        })
    }

    /// Folders that the tools read, apart from those of the system.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.verilator_root.clone()];
        folders.extend(self.compiler.prefix());
        let more = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&more).filter(|path| path.is_absolute()));
        folders
    }

    /// A command that runs Verilator. The binary itself: its Perl front end is not needed.
    pub fn verilator(&self) -> Command {
        let mut command = Command::new(self.verilator_root.join("bin/verilator_bin"));
        command.env("VERILATOR_ROOT", &self.verilator_root);
        command
    }
}

impl Toolchain {
    /// Whether the compiler finds a header.
    pub(crate) fn check_header(
        &self,
        header: &'static str,
        package: &'static str,
    ) -> Result<(), BuildError> {
        let include = format!("#include <{header}>");
        let mut command = self.compiler.command();
        command.args(["-fsyntax-only", "-x", "c++", "-"]);
        let found = with_input(command, &include).map_err(BuildError::io("the C++ compiler"))?;
        match found {
            true => Ok(()),
            false => Err(BuildError::MissingTool {
                tool: header,
                looked: format!("{} does not find it", self.compiler.name()),
                remedy: match package {
                    "zlib1g-dev" => "waveforms need it: `apt-get install zlib1g-dev`",
                    _ => "waveforms need it: `apt-get install liblz4-dev`",
                },
            }),
        }
    }
}

/// The version of the Verilator that builds models, as it prints it.
///
/// # Errors
/// [`BuildError::MissingTool`].
pub fn verilator_version() -> Result<String, BuildError> {
    version_in(&find_verilator_root()?)
}

fn version_in(root: &Path) -> Result<String, BuildError> {
    let mut verilator = Command::new(root.join("bin/verilator_bin"));
    version_of(verilator.arg("--version")).ok_or_else(|| BuildError::MissingTool {
        tool: "Verilator",
        looked: format!("{} does not run", root.display()),
        remedy: INSTALL,
    })
}

fn find_verilator_root() -> Result<PathBuf, BuildError> {
    let is_root = |path: &Path| {
        path.join("bin/verilator_bin").is_file() && path.join("include/verilated.cpp").is_file()
    };
    if let Some(root) = std::env::var_os("TOMBOLO_VERILATOR_ROOT").map(PathBuf::from) {
        if is_root(&root) {
            return Ok(root);
        }
        return Err(BuildError::MissingTool {
            tool: "Verilator",
            looked: format!("TOMBOLO_VERILATOR_ROOT is {}", root.display()),
            remedy: "unset it, or let it name a folder with bin/verilator_bin and include/",
        });
    }
    let libraries = cache_root().join("venv/lib");
    let found = std::fs::read_dir(&libraries).ok().and_then(|entries| {
        entries
            .flatten()
            .map(|entry| entry.path().join("site-packages/verilator"))
            .find(|path| is_root(path))
    });
    found.ok_or_else(|| BuildError::MissingTool {
        tool: "Verilator",
        looked: format!("{}/python3*/site-packages/verilator", libraries.display()),
        remedy: INSTALL,
    })
}

/// Whether a command succeeds with a text as its input.
fn with_input(mut command: Command, text: &str) -> std::io::Result<bool> {
    command.stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = threads::child(&mut command).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A command that reads nothing gives its verdict by its status.
        drop(writeln!(input, "{text}"));
    }
    Ok(child.wait()?.success())
}

/// Models are compiled for this exact CPU.
fn cpu_identity() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .filter(|line| line.starts_with("model name") || line.starts_with("flags"))
        .take(2)
        .collect::<Vec<_>>()
        .join("\n")
}
