//! The C++ compiler: selection and flags.

use crate::error::BuildError;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variable in which the Python package passes the path of the compiler of PyPI's `ziglang`.
const ZIG: &str = "TOMBOLO_ZIG";

/// Flag of g++ that clang does not know, nor need: it makes no such symbols.
const NOT_CLANGS: &str = "-fno-gnu-unique";

/// A C++ compiler.
#[derive(Clone, Debug)]
pub struct Compiler {
    program: PathBuf,
    /// Arguments before all others.
    first: &'static [&'static str],
    /// Folder in which Zig keeps files that it compiles once for all programs.
    zig_cache: Option<PathBuf>,
    version: String,
}

impl Compiler {
    /// The compiler of `TOMBOLO_CXX`; else g++; else the one of PyPI's `ziglang`, which keeps its own files under
    /// `cache`.
    ///
    /// # Errors
    /// [`BuildError::MissingTool`].
    pub fn locate(cache: &Path) -> Result<Self, BuildError> {
        let set = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        if let Some(path) = set("TOMBOLO_CXX") {
            return Self::named(&path);
        }
        let zig = || {
            // Undefined behaviour would trap otherwise, at a cost.
            let first = &["c++", "-fno-sanitize=undefined"];
            Self::new(&set(ZIG)?, first, Some(cache.join("zig")))
        };
        let found = Self::new("g++".as_ref(), &[], None).or_else(zig);
        found.ok_or_else(|| missing("`g++` does not run".to_owned()))
    }

    /// The compiler at a path.
    ///
    /// # Errors
    /// [`BuildError::MissingTool`].
    pub fn named(path: &OsStr) -> Result<Self, BuildError> {
        let looked = || {
            format!(
                "`{}` of TOMBOLO_CXX does not run",
                Path::new(path).display()
            )
        };
        Self::new(path, &[], None).ok_or_else(|| missing(looked()))
    }

    /// A compiler that runs; `None` if it does not.
    fn new(
        program: &OsStr,
        first: &'static [&'static str],
        zig_cache: Option<PathBuf>,
    ) -> Option<Self> {
        let mut compiler = Self {
            program: program.into(),
            first,
            zig_cache,
            version: String::new(),
        };
        compiler.version = version_of(compiler.command().arg("--version"))?;
        Some(compiler)
    }

    /// Name for messages.
    #[must_use]
    pub fn name(&self) -> String {
        match self.zig_cache {
            Some(_) => "ziglang".to_owned(),
            None => {
                let name = self.program.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
        }
    }

    /// Version, for cache keys.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Folder of the installation: that of its program, or the one above `bin`.
    pub(crate) fn prefix(&self) -> Option<PathBuf> {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let mut found = std::env::split_paths(&paths).map(|folder| folder.join(&self.program));
        let program = std::fs::canonicalize(found.find(|path| path.is_file())?).ok()?;
        let folder = program.parent()?;
        let home = std::env::var_os("HOME").map(PathBuf::from);
        // In `~/bin` it is a link, or it needs nothing else: the rest of `~` is no part of it.
        let is_home = |above: &Path| home.as_ref().is_some_and(|home| home.starts_with(above));
        match folder.parent() {
            Some(above) if folder.ends_with("bin") && !is_home(above) => Some(above.to_owned()),
            _ => Some(folder.to_owned()),
        }
    }

    /// Folder that it writes for later builds, if it does.
    pub(crate) fn written(&self) -> Option<&Path> {
        self.zig_cache.as_deref()
    }

    /// A command that runs it.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.first);
        if let Some(cache) = &self.zig_cache {
            command.env("ZIG_GLOBAL_CACHE_DIR", cache);
            command.env("ZIG_LOCAL_CACHE_DIR", cache);
        }
        command
    }

    /// The flags that the compiler knows, out of `flags`.
    pub fn known<'a>(&'a self, flags: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
        let clang = self.version.contains("clang");
        let flags = flags.iter().copied();
        flags.filter(move |flag| !clang || *flag != NOT_CLANGS)
    }
}

fn missing(looked: String) -> BuildError {
    BuildError::MissingTool {
        tool: "the C++ compiler",
        looked,
        remedy: "install g++ (`apt-get install g++`), or name another in TOMBOLO_CXX; the Python package also takes \
                 the one that `pip install ziglang` brings",
    }
}

/// The first line of a tool's version output.
pub(crate) fn version_of(command: &mut Command) -> Option<String> {
    let output = threads::child(command).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().unwrap_or("").trim().to_owned();
    output.status.success().then_some(line)
}
